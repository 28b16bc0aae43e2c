"""The README of each chart is made from its values."""

import pytest
import yaml

from tests.shared import ROOT
from tools.charts import catalog, readme


@pytest.mark.parametrize("name", readme.CHARTS)
def test_the_readme_of_a_chart_is_made_from_its_values(name):
    made = readme.readme(ROOT / name, readme.CHARTS[name])
    assert (ROOT / name / "README.md").read_text() == made, "stale: make docs"
    for path in leaves(yaml.safe_load((ROOT / name / "values.yaml").read_text())):
        assert f"| `{path}" in made


def test_what_the_chart_knows_of_each_api_is_made_from_policies_and_facts():
    assert catalog.FILE.read_text() == catalog.template(), "stale: make docs"


def leaves(values, path=""):
    """The paths down to the second level."""
    for key, value in values.items():
        if isinstance(value, dict) and value and not path:
            yield from leaves(value, f"{key}.")
        else:
            yield f"{path}{key}"
