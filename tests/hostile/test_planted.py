"""The table of planted faults is complete, and each fault can still be planted. test_short.py runs the command."""

from __future__ import annotations

import ast
import re

import pytest
import yaml

from tests.hostile import planted
from tests.hostile.planted import Fault, Plain
from tests.shared import ROOT

FAULTS = planted.faults()
TEST = re.compile(r"tests/[\w/]+\.py(?:::\w+)?")


def named() -> dict[str, set[str]]:
    """The tests that each row of the threat model and each point of the checklist names, if it names any."""
    threats = re.findall(r"^\| (\d+) \|(.*)$", (ROOT / "docs" / "threat-model.md").read_text(), re.MULTILINE)
    points = yaml.safe_load((ROOT / "docs" / "checklist.yaml").read_text())
    found = {f"threat-{number}": set(TEST.findall(text)) for number, text in threats}
    found |= {f"point-{each['point']}": set(each["tests"]) for each in points}
    return {row: tests for row, tests in found.items() if tests}


def test_every_row_of_both_documents_has_a_fault_and_no_other_has() -> None:
    assert {each.row for each in FAULTS} == set(named())


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_the_fault_of_a_row_is_for_a_test_that_the_row_names(fault: Fault) -> None:
    tests = named()[fault.row]
    assert fault.test in tests or fault.test.partition("::")[0] in tests


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_every_fault_can_still_be_planted_and_is_a_change_that_can_be_read(fault: Fault) -> None:
    before = (ROOT / fault.file).read_text()
    after = planted.planted(before, fault)
    assert after != before
    if fault.file.endswith(".py"):
        ast.parse(after)
    assert re.compile(fault.shows).pattern


def test_a_text_that_is_not_there_once_is_an_error_that_names_the_table() -> None:
    fault = FAULTS[0]
    for text in ("", fault.old * 2):
        with pytest.raises(Plain, match=r"adapt planted\.yaml"):
            planted.planted(text, fault)


def test_a_row_that_does_not_exist_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        planted.main(["threat-99"])
    assert "planted.yaml has no row threat-99" in capsys.readouterr().err
