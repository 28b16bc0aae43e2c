"""Upstream's samples, with a fleet that can run them, get no finding of fit."""

import json
from pathlib import Path

import pytest

from tests.shared import SHARED
from webhook.cli import main
from webhook.engine import FIT_CODES

SAMPLES = SHARED / "samples"
FLEET = Path(__file__).with_name("fleet.yaml")


@pytest.mark.parametrize("api", ["aim", "llmaz", "llmd", "llmkube", "ome"])
def test_upstreams_samples_fit(api, capsys):
    folder = SAMPLES / api
    if not folder.is_dir():
        pytest.skip("upstream's samples are not published: MODELGATE_SHARED")
    flags = ["--release=llmkube=0.9.19", "--fail-on=never", "--no-config", "-o", "json"]
    main(["check", f"--view={FLEET}", *flags, str(folder)])
    objects = json.loads(capsys.readouterr().out)["objects"]
    found = [(each.get("name"), finding) for each in objects for finding in each.get("findings", ())]
    assert objects
    assert [(name, finding) for name, finding in found if finding["code"] in FIT_CODES] == []
