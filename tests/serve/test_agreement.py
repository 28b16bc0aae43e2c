"""The command line and the server agree: the whole corpus of cases and manifests through both.

The server is the real one, over HTTP: uvicorn with the gate's own connections. The only difference is meant: in a
cluster the API server reports unknown fields, so the server warns of them where the command line refuses them.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import contextlib
import http.client
import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonpatch
import pytest
from starlette.types import Receive, Scope, Send

from tests.e2e.processes import free_port
from tests.policies.test_cases import files, read, target
from tests.shared import SHARED, rows
from webhook.admission import status
from webhook.admission.decision import Decision, Request
from webhook.catalog import Catalog
from webhook.cli import manifests
from webhook.cli.cases import run
from webhook.cli.input.flags import add_arguments
from webhook.cluster import ClusterView, MemoryView
from webhook.engine import Options
from webhook.engine.findings import refusals_as_warnings
from webhook.library.apiserver import kind_of
from webhook.library.apiserver.receive import metadata_causes, receive
from webhook.library.judge import Nearby
from webhook.library.review import in_cluster
from webhook.library.rulings import Rulings
from webhook.manifests.folders import read_all
from webhook.policy import Profile
from webhook.serve.app import application
from webhook.serve.gate import Gate
from webhook.serve.gate.state import Call
from webhook.serve.http.connection import Connection
from webhook.serve.http.sockets import listening

UNKNOWN = "unknown field"
FOLDERS = rows({file.parent for file in SHARED.glob("samples/*/*/*.yaml")}, "samples")


class Server:
    """A gate behind a socket; ``use`` gives it other rules, objects and options."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._app = application(Gate())

    def use(self, catalog: Catalog, view: ClusterView, options: Options) -> None:
        self._app = application(Gate(catalog=catalog, view=view, options=options))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)

    def ask(self, call: Call, request: Request) -> dict[str, Any]:
        """The response of one review."""
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port)) as connection:
            head = {"Content-Type": "application/json"}
            connection.request("POST", f"/{call}?timeout=30s", json.dumps(review(request)), head)
            answer = connection.getresponse()
            text = answer.read().decode()
        assert answer.status == 200, text
        response: dict[str, Any] = json.loads(text)["response"]
        return response


def review(request: Request) -> dict[str, Any]:
    api = {"group": request.kind.group, "version": request.kind.version}
    written = {
        "uid": "1",
        "kind": {**api, "kind": request.kind.kind},
        "resource": {**api, "resource": request.resource},
        "operation": request.operation,
        "name": request.name,
        "namespace": request.namespace,
        "object": request.object,
        "oldObject": request.old_object,
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": written}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    found = Server(free_port())
    started, stop = threading.Event(), threading.Event()

    async def serve() -> None:
        async with listening(
            found, None, host="127.0.0.1", port=found.port, http=Connection, proxy_headers=False, log_config=None
        ):
            started.set()
            await asyncio.to_thread(stop.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        assert started.wait(20)
        yield found
    finally:
        stop.set()
        thread.join()


def differences(server: Server, request: Request, mutation: Decision, validation: Decision) -> Iterator[str]:
    """What the server says otherwise than the command line."""
    response, told = server.ask("mutate", request), list[str]()
    if response["allowed"]:
        told = response.get("warnings", [])
        operations = json.loads(base64.b64decode(response.get("patch", b"W10=")))
        obj = jsonpatch.apply_patch(request.object, operations)
        if placed_anywhere(obj) != placed_anywhere(mutation.object):
            yield f"mutated to {obj}, and not to {mutation.object}"
        response = server.ask("validate", replace(request, object=obj))
    expected = causes(validation), warned(validation)
    lines = [line for line in response.get("warnings", []) if UNKNOWN not in line]
    replaced = [line for line in told if line in expected[1] and line not in lines]  # only this call can tell of it
    said = refused(response), [*replaced, *lines]
    if said != expected:
        yield f"said {said}, and not {expected}"


def placed_anywhere(obj: dict[str, Any] | None) -> dict[str, Any]:
    """The object without its namespace, which the command line leaves to kubectl."""
    assert obj is not None
    return {**obj, "metadata": {**obj["metadata"], "namespace": None}}


def refused(response: dict[str, Any]) -> list[tuple[str, str]]:
    details = response.get("status", {}).get("details", {})
    return [(each["field"], each["message"]) for each in details.get("causes", [])]


def causes(decision: Decision) -> list[tuple[str, str]]:
    return [(each.field, each.text) for each in decision.causes if UNKNOWN not in each.message]


def warned(decision: Decision) -> list[str]:
    return status.warnings(tuple(each for each in decision.warnings if UNKNOWN not in each.message))


@pytest.mark.parametrize("file", files(), ids=lambda file: f"{file.parent.parent.name}/{file.stem}")
def test_every_case_gets_the_same_verdict_from_the_server(file: Path, server: Server, loaded: Catalog):
    for document in read(file):
        known = target(document, loaded)
        for case in document.cases:
            if case.release is not None:
                continue  # the server's rules are those of the documented release
            result = run(case, known, loaded)
            if metadata_causes(result.request.object or {}, known, result.request.old_object):
                continue  # the API server refuses it without asking
            server.use(loaded, MemoryView(case.others), Options(Profile(case.profile), settings=case.settings))
            expected = audited(result.validation) if case.profile == "audit" else result.validation
            assert list(differences(server, result.request, result.mutation, expected)) == [], case.name


def audited(decision: Decision) -> Decision:
    """The decision of a server under the audit profile, which leaves it to the API server to refuse by the schema."""
    return Decision(decision.object, warnings=(*refusals_as_warnings(decision.causes), *decision.warnings))


@pytest.mark.parametrize("given", FOLDERS, ids=lambda path: "/".join(path.parts[-2:]))
@pytest.mark.parametrize("profile", ["standard", "strict"])
def test_every_manifest_gets_the_same_verdict_from_the_server(
    given: Path, profile: str, server: Server, loaded: Catalog, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(Nearby, "told", lambda _, decision, __: decision)  # what a name may mean is told of files alone
    monkeypatch.setattr(Rulings, "_shape", lambda _, __: None)  # so is the release that an object's fields are of
    flags = argparse.ArgumentParser()
    add_arguments(flags)
    found = manifests.outcomes(flags.parse_args([str(given), f"--profile={profile}"])).reviews
    view = MemoryView(list(in_cluster(read_all([given]), loaded)))
    server.use(loaded, view, Options(Profile(profile), complete=False))
    asked = 0
    for each in found:
        value = each.document.value
        kind = loaded.find(kind_of(value))
        if kind is None or each.unknown:
            continue  # what Flux substitutes first is not sent as it is written
        received = receive(value, kind)
        if received.causes or metadata_causes(received.object, kind):
            continue  # the API server refuses it before it asks, or without asking
        metadata = received.object["metadata"]
        request = Request(
            kind.gvk,
            kind.plural,
            "CREATE",
            received.object,
            name=metadata.get("name", ""),
            namespace=metadata.get("namespace", ""),
        )
        assert list(differences(server, request, each.mutation, each.validation)) == [], each.title
        asked += 1
    assert asked or not any(loaded.find(kind_of(each.document.value)) for each in found)
