"""A dry run: the same bytes as the real call, and nothing that leaves the process but reads of the cluster."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.hostile.bodies import good, kinds, review
from tests.reconciler.apiserver import ApiServer
from tests.serve.conftest import until
from webhook.catalog import Catalog
from webhook.cluster.api import Reader
from webhook.cluster.live import LiveView
from webhook.cluster.view import APIResource
from webhook.engine import Options
from webhook.facts import WATCHED
from webhook.serve.gate import Gate
from webhook.serve.gate.state import Call
from webhook.serve.liveview import ViewRunner

OUTWARD = ("socket.connect", "socket.sendto", "socket.sendmsg", "socket.bind", "socket.getaddrinfo", "subprocess.Popen")
SURROUNDINGS = (
    APIResource("", "v1", "nodes", "Node", False),
    APIResource("storage.k8s.io", "v1", "storageclasses", "StorageClass", False),
    APIResource("", "v1", "configmaps", "ConfigMap", True),
)
_seen: list[tuple[Any, ...]] | None = None


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if _seen is None:
        return
    writes = event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+")
    if writes or event in OUTWARD:
        _seen.append((event, *arguments[1:]))


sys.addaudithook(_watch)  # stays for ever: it looks only while a test asks it to


@contextmanager
def outward() -> Iterator[list[tuple[Any, ...]]]:
    """What leaves this process, or is written to a file, while the context lasts."""
    global _seen  # noqa: PLW0603 - an audit hook cannot be removed
    _seen = []
    try:
        yield _seen
    finally:
        _seen = None


def both(gate: Gate, call: Call, body: bytes) -> list[bytes]:
    """The answers to the real call and to the dry run."""
    dry = body.replace(b'"dryRun":false', b'"dryRun":true')
    assert dry != body

    async def asked() -> list[bytes]:
        return [await gate.reply(call, each, 30) for each in (body, dry)]

    return asyncio.run(asked())


def reviews(kind: str) -> Iterator[tuple[Call, bytes]]:
    known, obj = kinds()[kind], good(kinds()[kind])
    bad = {**obj, "spec": {"nowhere": 1}}
    calls: tuple[Call, ...] = ("mutate", "validate")
    for call in calls:
        for new, old in ((obj, None), (obj, obj), (bad, None), (bad, obj)):
            yield call, review(known, new, old)


def test_the_guard_sees_what_leaves_the_process(tmp_path):
    with outward() as seen:
        (tmp_path / "file").write_text("")
    assert [each[0] for each in seen] == ["open"]


@pytest.mark.parametrize("kind", kinds())
def test_a_dry_run_gets_the_same_bytes_and_nothing_leaves_the_process(kind: str, loaded: Catalog):
    gate = Gate(catalog=loaded, options=Options(references=False))
    with outward() as seen:
        answers = [both(gate, call, body) for call, body in reviews(kind)]
    assert [real for real, _ in answers] == [dry for _, dry in answers]
    assert seen == []


def test_with_a_live_view_a_dry_run_only_reads_and_only_from_the_api_server(loaded: Catalog):
    with ApiServer() as cluster:
        cluster.serve(*SURROUNDINGS, *(resource(known) for known in loaded.kinds.values()))
        gate = Gate(catalog=loaded, live_view=ViewRunner(lambda: LiveView(Reader(cluster.client()), WATCHED)))
        with outward() as seen:
            asyncio.run(asked_of_all(gate))
        assert cluster.writes() == []
        assert cluster.dry_runs == []
        assert any("/namespaces/" in path for _, path in cluster.requests), "some review reads an object"
        assert {each[1] for each in seen if each[0] == "socket.connect"} <= {cluster._server.server_address}
        assert {each[0] for each in seen} <= {"socket.connect", "socket.getaddrinfo"}


async def asked_of_all(gate: Gate) -> None:
    assert gate.state.live_view is not None
    async with gate.state.live_view.running():
        await asyncio.to_thread(until, lambda: gate.unready() == [], "the view is current")
        for kind in kinds():
            for call, body in reviews(kind):
                await gate.reply(call, body.replace(b'"dryRun":false', b'"dryRun":true'), 30)


def resource(known: Any) -> APIResource:
    return APIResource(known.gvk.group, known.gvk.version, known.plural, known.gvk.kind, known.namespaced)
