"""What is followed of the upstreams: nothing is left to be looked at, and each code has what decides it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.shared import ROOT
from tools.follow.upstream import FILE, read
from webhook import catalog
from webhook.catalog import Catalog
from webhook.engine import KUBERNETES_CODES
from webhook.policy.table import Table

FOLDERS = sorted(file.parent for kind in ("policies", "packs") for file in ROOT.glob(f"{kind}/*/pack.yaml"))


@pytest.fixture(params=FOLDERS, ids=lambda folder: folder.name)
def folder(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


@pytest.fixture(scope="module")
def packs() -> Catalog:
    """The built-in packs, and those that are examples."""
    return catalog.load(packs=[ROOT / "packs"])


def test_every_watched_function_was_looked_at(folder: Path) -> None:
    """As it is in the newest release, or in the commit that the rules describe."""
    what = read(folder / FILE)
    marked = [each for each in what.watches if not each.sha256 or (each.lookAt and not what.described)]
    left = [f"{', '.join(each.codes)}: {each}" for each in marked]
    assert not left, f"look at them, then run `python -m tools.follow … --looked FUNCTION` (docs/following.md): {left}"


def test_each_code_has_a_watch_or_is_of_the_schema_alone(folder: Path, packs: Catalog) -> None:
    kinds = (known for known in map(packs.uncompiled, packs.kinds) if known.api == folder.name)
    codes = {code for known in kinds for source in known.sources for code in source.document.codes}
    what = read(folder / FILE)
    assert sorted(codes - what.codes) == [], "write a watch for them, or name them below schema (docs/following.md)"
    assert sorted(what.codes - codes - {*KUBERNETES_CODES}) == [], "there are no such rules"
    watched = {code for each in what.watches for code in each.codes}
    assert sorted(watched & set(what.of_schema)) == [], "what a function decides is not of the schema alone"


def test_no_function_is_watched_twice(folder: Path) -> None:
    names = [(each.file, each.function) for each in read(folder / FILE).watches]
    assert len(names) == len(set(names))


def test_the_table_has_the_definitions_that_are_followed(folder: Path) -> None:
    path = folder / "releases.json"
    assert sorted(read(folder / FILE).definitions) == sorted(Table.parse(path.read_bytes(), path.name).rows)
    assert list(json.loads(path.read_text())) == ["releases", "digests"]
