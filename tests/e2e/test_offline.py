"""`modelgate check` says of a file what the API server and the gate say: see tests/e2e/offline.py."""

from __future__ import annotations

import os

import pytest

from tests.e2e.offline import differences, law

pytestmark = pytest.mark.usefixtures("gate")

OBJECTS = int(os.environ.get("MODELGATE_E2E_OBJECTS", "200"))


def test_check_and_a_strict_dry_run_agree_on_verdict_causes_and_object(plane):
    with law(plane) as under:
        assert list(differences(under, range(OBJECTS))) == []
