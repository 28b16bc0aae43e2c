"""Every pack of the repository holds what `modelgate pack check` asks of one."""

from pathlib import Path

import pytest

from tests.shared import ROOT
from webhook import catalog
from webhook.catalog import Catalog, built_in
from webhook.cli.pack.checking import cases_of, problems_of


@pytest.mark.parametrize("api", sorted(built_in()))
def test_a_pack_holds_all_that_is_promised(api: str, loaded: Catalog) -> None:
    cases = cases_of(loaded.packs[api], loaded)
    assert [str(each) for each in problems_of(api, cases, loaded)] == []


@pytest.mark.parametrize("folder", sorted((ROOT / "packs").iterdir()), ids=lambda folder: folder.name)
def test_so_does_one_that_is_not_built_in(folder: Path) -> None:
    loaded = catalog.load(packs=[folder])
    cases = cases_of(loaded.packs[folder.name], loaded)
    assert [str(each) for each in problems_of(folder.name, cases, loaded)] == []
