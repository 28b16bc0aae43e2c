"""Tests of the Kyverno project that hold native policies give what they expect."""

import pytest

from tests.shared import SHARED, rows, shared
from tests.vap import kyverno

FILES = sorted(SHARED.glob("fixtures/kyverno-cli/**/kyverno-test.yaml"))


@pytest.mark.parametrize("file", rows(FILES, "fixtures/kyverno-cli"), ids=lambda file: file.parent.name)
def test_every_kyverno_test_gives_the_expected_results(file) -> None:
    outcomes = kyverno.run(file)
    assert outcomes
    assert [outcome for outcome in outcomes if not outcome.passed] == []


def test_the_fixtures_are_all_found() -> None:
    shared("fixtures")
    assert len(FILES) == 17
