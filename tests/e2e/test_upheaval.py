"""The short form of upheaval.py: what test_reconciler.py does not do to the leader, amid a few objects."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e import upheaval
from tests.e2e.crds import install_crds
from tests.e2e.gate import Gate
from tests.e2e.plane import Plane
from tests.e2e.upheaval import Trial, reconcilers


@pytest.fixture(scope="module")
def trial(plane_assets):
    """A control plane of its own, because it is restarted."""
    with Plane(plane_assets) as plane:
        install_crds(plane.kubectl)
        plane.kubectl("apply", "-f", str(Path(__file__).with_name("openreports.yaml")))
        with Gate(plane) as gate, reconcilers(plane) as both:
            yield Trial(plane, gate, both, "default", 40)


@pytest.mark.parametrize(
    "cause", [upheaval.frozen, upheaval.without_lease, upheaval.restarted], ids=lambda each: each.__name__
)
def test_the_end_is_the_same_and_nothing_is_done_twice(trial, cause):
    trial.batch(cause)
    assert all("Traceback" not in each.log() for each in trial.both)
