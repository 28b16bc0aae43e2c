"""Tests of the Kyverno project that hold native policies give what they expect."""

import pytest

from tests.shared import SHARED, shared
from webhook.cli import kyverno

FILES = sorted(SHARED.glob(f"fixtures/kyverno-cli/**/{kyverno.FILE}"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.parent.name)
def test_a_test_of_kyverno_gives_the_expected_results(file) -> None:
    outcomes = kyverno.run(file)
    assert outcomes
    assert [outcome for outcome in outcomes if not outcome.passed] == []


def test_the_fixtures_are_all_found() -> None:
    shared("fixtures")
    assert len(FILES) == 17
