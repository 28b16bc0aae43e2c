"""The fixtures of ``tests/fixtures/reviews`` are what the real API server sends today."""

from __future__ import annotations

import json

import pytest

from tests.e2e.recipes import KUBERNETES
from tests.e2e.record import FIXTURES, STEPS, recordings

RECORDED_WITH = "1.37.2"


@pytest.fixture(scope="module")
def recorded(plane_assets):
    if RECORDED_WITH != KUBERNETES:
        pytest.skip(f"the fixtures are those of Kubernetes {RECORDED_WITH}; this is {KUBERNETES}")
    return dict(recordings(plane_assets))


@pytest.mark.parametrize("step", STEPS)
def test_the_api_server_sends_what_was_recorded(recorded, step):
    assert recorded[step] == json.loads((FIXTURES / f"{step}.json").read_text()), "python -m tests.e2e.record"


def test_every_fixture_has_its_step():
    assert {path.stem for path in FIXTURES.glob("*.json")} == STEPS.keys()
