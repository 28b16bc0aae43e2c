"""Faults as Events: written by a thread, about the pod, and never a reason to fail."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.reconciler.apiserver import ApiServer
from webhook.serve.faults import Faults, cluster_events

POD = "modelgate-system/gate-1/0123"


@pytest.fixture
def cluster() -> Any:
    with ApiServer() as found:
        yield found


def kubeconfig(folder: Path, server: str) -> Path:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    file = folder / "kubeconfig"
    file.write_text(yaml.safe_dump(config))
    return file


def report(faults: Faults, *notes: str) -> None:
    async def reported() -> None:
        async with faults.running():
            for each in notes:
                faults.report("RulesRefused", each)

    asyncio.run(reported())
    faults._thread.join()


def test_a_fault_is_an_event_about_the_pod(cluster: ApiServer, tmp_path: Path):
    note = "the new rules are not used: https://ann:s3cret@example.com " + "x" * 2000
    report(cluster_events(kubeconfig(tmp_path, cluster.url), POD), note, "another")
    first, second = cluster.all("events")
    assert first["regarding"] == {
        "apiVersion": "v1",
        "kind": "Pod",
        "namespace": "modelgate-system",
        "name": "gate-1",
        "uid": "0123",
    }
    assert (first["reason"], first["type"], len(first["note"])) == ("RulesRefused", "Warning", 1024)
    assert "https://***@example.com" in first["note"]
    assert second["note"] == "another"


def test_without_an_api_server_a_fault_is_logged_and_nothing_fails(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.WARNING, "modelgate")
    report(cluster_events(tmp_path / "missing", POD), "one", "two")
    assert caplog.text.count("no Event was created: cannot connect to the API server") == 2


def test_a_refused_event_is_logged_and_the_next_is_written(
    cluster: ApiServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    cluster.fail("POST", "/events", 403, "no right")
    report(cluster_events(kubeconfig(tmp_path, cluster.url), POD), "one", "two")
    assert "no Event was created: 403" in caplog.text
    assert [each["note"] for each in cluster.all("events")] == ["two"]
