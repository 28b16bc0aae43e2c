"""What is followed of the upstreams: nothing is left to be looked at."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.shared import ROOT
from tools.follow.upstream import FOLDER, read
from webhook import catalog
from webhook.policy.table import Table

FILES = sorted(FOLDER.glob("*.yaml"))


@pytest.fixture(params=FILES, ids=lambda file: file.stem)
def file(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


def test_every_watched_function_was_looked_at(file: Path) -> None:
    left = [f"{', '.join(each.codes)}: {each}" for each in read(file).watches if each.lookAt or not each.sha256]
    assert not left, f"look at them, then run `python -m tools.follow … --looked FUNCTION` (docs/following.md): {left}"


def test_watches_name_rules_that_exist(file: Path) -> None:
    known = catalog.load().codes()
    assert {code for each in read(file).watches for code in each.codes} <= known


def test_no_function_is_watched_twice(file: Path) -> None:
    names = [(each.file, each.function) for each in read(file).watches]
    assert len(names) == len(set(names))


def test_the_table_has_the_definitions_that_are_followed(file: Path) -> None:
    path = ROOT / "policies" / file.stem / "releases.json"
    assert sorted(read(file).definitions) == sorted(Table.parse(path.read_bytes(), path.name).rows)
    assert list(json.loads(path.read_text())) == ["releases", "digests"]
