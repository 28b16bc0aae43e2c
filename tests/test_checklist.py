"""The checklist of docs/checklist.yaml names tests that exist, and the threat model names files that exist."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.shared import ROOT

POINTS: list[dict[str, Any]] = yaml.safe_load((ROOT / "docs" / "checklist.yaml").read_text())
THREATS = (ROOT / "docs" / "threat-model.md").read_text()
TEST = re.compile(r"tests/[\w/]+\.py(?:::\w+)?")


@cache
def functions(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text())
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def exists(name: str) -> bool:
    file, _, function = name.partition("::")
    path = ROOT / file
    return path.is_file() and (not function or function in functions(path))


def test_all_thirty_points_are_there():
    assert [each["point"] for each in POINTS] == list(range(1, 31))


@pytest.mark.parametrize("point", POINTS, ids=lambda point: str(point["point"]))
def test_every_point_has_tests_that_exist(point: dict[str, Any]):
    assert point["tests"]
    assert [name for name in point["tests"] if not exists(name)] == []


def test_every_test_of_the_threat_model_exists():
    named = TEST.findall(THREATS)
    assert named
    assert [name for name in named if not exists(name)] == []


def test_all_eighteen_threats_are_there():
    assert re.findall(r"^\| (\d+) \|", THREATS, re.MULTILINE) == [str(number) for number in range(1, 19)]
