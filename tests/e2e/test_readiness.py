"""In a cluster with one of the APIs, gate and reconciler are ready, and stay so, past every constant of either."""

from __future__ import annotations

import time

import pytest

from tests.definitions import definition_files
from tests.e2e.gate import Gate
from tests.e2e.plane import Plane
from tests.e2e.processes import wait_until
from tests.e2e.reconciling import Reconciler
from tests.e2e.seeing import with_view

MINUTES = 10
"""Twice the longest time after which something that is absent is looked for again."""


@pytest.fixture
def alone(plane_assets):
    """A control plane with the definitions of LLMKube and no others."""
    with Plane(plane_assets) as plane:
        files = [flag for file in definition_files() if file.parts[-3] == "llmkube" for flag in ("-f", str(file))]
        plane.kubectl("apply", "--server-side", *files)
        yield plane


def test_what_is_not_installed_makes_nothing_unready_for_ten_minutes(alone):
    with Gate(alone) as gate, with_view(alone, gate), Reconciler(alone) as reconciler:
        wait_until(lambda: gate.readiness() and reconciler.get("/readyz"), "both to be ready")
        end, gaps, asked = time.monotonic() + MINUTES * 60, list[str](), 0
        while time.monotonic() < end:
            said = {"gate": gate.readiness(), "reconciler": reconciler.get("/readyz")}
            gaps += [f"{name} after {time.monotonic() - end + MINUTES * 60:.0f} s" for name in said if not said[name]]
            asked += 1
            time.sleep(1)
        assert asked > MINUTES * 30
        assert gaps == []
        assert reconciler.forbidden() == []
