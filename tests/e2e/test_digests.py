"""The digest of a definition is the same of the file and of what an API server returns. Needs the shared material."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.e2e.plane import Plane
from tests.shared import SHARED, rows
from webhook.schema.crd.digest import digest


@pytest.fixture(scope="module")
def bare(plane_assets):
    with Plane(plane_assets) as started:
        yield started


@pytest.mark.parametrize(
    "file", rows(SHARED.glob("upstream-crds/*/*.yaml"), "upstream's definitions"), ids=lambda file: file.stem
)
def test_an_api_server_changes_nothing_that_the_digest_covers(bare, file: Path) -> None:
    definition = yaml.safe_load(file.read_text())
    bare.kubectl("apply", "--server-side", "--force-conflicts", "-f", str(file))
    answer = json.loads(bare.kubectl("get", "crd", definition["metadata"]["name"], "-o", "json"))
    assert "status" in answer
    assert digest(answer) == digest(definition)
