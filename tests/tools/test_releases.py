"""docs/releases.md: the rules in force from release to release."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.tools.world import PACK, WIDGETS
from tools.rules.releases import HEAD, PAGE, made_page
from webhook import catalog
from webhook.catalog import Catalog

POLICY = """\
apiVersion: modelgate.dev/v1alpha1
kind: Policy
metadata: {name: example-widget}
spec:
  target: {group: example.com, versions: [v1], kind: Widget}
  variables:
  - name: most
    expression: "10"
  - name: most
    operator: ">=1.2.0"
    expression: "20"
  defaults:
  - code: EX101
    operator: "<1.3.0"
    path: spec.description
    value: "'none'"
    because: made up
  validations:
  - {code: EX201, at: spec.size, rule: self <= variables.most, message: "too large: use less", docs: It is.}
  - {code: EX202, at: spec.size, operator: ">=1.1.0", rule: self > 2, message: "too small: use more", docs: It is.}
"""
ROWS = """\
| 1.0.0 | 1.0.0 | 1 | EX101 |  |
| 1.1.0 | 1.0.0 | 2 | EX101 | added: EX202 |
| 1.2.0 | 1.0.0 | 2 | EX101 | another form: EX201 |
| 1.3.0 to 1.4.0 | 1.3.0 | 2 | none | definition of 1.3.0; gone: EX101 |
| unknown | 1.3.0 | 1 | none | gone: EX202; another form: EX201 |
"""
ALIKE = "| 1.1.0 to 1.3.0 | EX101, EX201 |\n"


@pytest.fixture
def small(tmp_path: Path) -> Catalog:
    """An API with five releases, of which three have the same definitions."""
    folder = tmp_path / "policies" / "example"
    (folder / "crds").mkdir(parents=True)
    (folder / "forms").mkdir()
    (folder / "crds" / "widgets.yaml").write_text(yaml.safe_dump(WIDGETS))
    forms = ({"since": "1.3.0", "definition": WIDGETS},)
    (folder / "forms" / "widgets.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in forms))
    (folder / "widget.yaml").write_text(POLICY)
    (folder / "pack.yaml").write_text(PACK)
    releases = ["1.0.0", "1.1.0", "1.2.0", "1.3.0", "1.4.0"]
    rows = [["0" * 64, "1.0.0", "1.0.0"], ["1" * 64, "1.1.0", "1.3.0"], ["2" * 64, "1.4.0", "1.4.0"]]
    table = {"releases": releases, "digests": {"widgets.example.com": rows}}
    (folder / "releases.json").write_text(json.dumps(table))
    return catalog.load(tmp_path / "policies")


def test_a_row_has_the_releases_with_the_same_rules(small: Catalog) -> None:
    page = made_page(small)
    assert page.startswith(HEAD)
    assert ROWS in page


def test_what_definitions_cannot_tell_apart_is_named(small: Catalog) -> None:
    assert made_page(small).endswith(f"|---|---|\n{ALIKE}")


def test_an_api_without_releases_is_not_on_the_page(tmp_path: Path) -> None:
    folder = tmp_path / "policies" / "example" / "crds"
    folder.mkdir(parents=True)
    (folder / "widgets.yaml").write_text(yaml.safe_dump(WIDGETS))
    assert made_page(catalog.load(tmp_path / "policies")) == HEAD


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == made_page(catalog.load()), "run `make docs`"
