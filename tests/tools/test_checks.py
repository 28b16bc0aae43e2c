"""The list of what Go webhooks check: each code exists, each function is watched, and the page is as the list."""

import pytest
import yaml

from tests.shared import ROOT
from tools.checks import PAGE, checks, page, read
from webhook import catalog

LISTED = list(checks())


def test_the_page_is_as_the_list() -> None:
    assert PAGE.read_text() == page(), "run python -m tools.checks"


def test_nearly_all_is_data() -> None:
    assert sum(each.is_data for each in LISTED) >= 0.95 * len(LISTED)
    assert all(each.reason for each in LISTED if not each.is_data)


@pytest.mark.parametrize("pack", read())
def test_each_code_exists_and_its_function_is_watched(pack: str) -> None:
    """So a change of the function leads to the code, and to this list."""
    loaded = catalog.load(packs=[ROOT / "packs" / pack])
    codes = {rule.code for known in loaded.kinds.values() if known.api == pack for rule in known.policy.rules}
    watches = yaml.safe_load((ROOT / "packs" / pack / "follow.yaml").read_text())["watches"]
    watched = {(each["file"], each["function"], code) for each in watches for code in each["codes"]}
    mine = [each for each in LISTED if each.pack == pack and each.by not in {"schema", "nothing"}]
    assert [each for each in mine if each.by not in codes] == []
    assert [each for each in mine if (each.file, each.function, each.by) not in watched] == []
