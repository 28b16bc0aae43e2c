"""The soak in a short form: mixed calls leave descriptors as they were. Memory needs the long form, `make soak`."""

from __future__ import annotations

import pytest

from tests.hostile import soak
from tests.hostile.bars import Report

pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")  # of callers that the end has cut off


def test_mixed_calls_leave_descriptors_as_they_were_and_all_are_answered():
    report = Report()
    soak.run(report, 5)
    counted = {row.name: row for row in report.rows if not row.unit}
    assert counted["descriptors left"].met, counted
    assert counted["calls without a proper answer"].met, counted
