"""`modelgate demo`: run the webhook on loopback with its own certificates, and send it real AdmissionReviews.

The demo does what a cluster does: a server process, TLS verified against the CA, two calls for each request, and the
patch of the first call applied before the second.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import http.client
import json
import os
import shlex
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from textwrap import fill, indent
from typing import Any, Final
from uuid import UUID

import yaml

from certs import LOCAL, DirectoryStore, Keeper
from webhook import catalog
from webhook.admission import patch
from webhook.admission.errors import Unavailable
from webhook.admission.stamp import ANNOTATION
from webhook.cli.shell.parser import Commands, command
from webhook.ground.fieldpath import field_path

_NEXT: Final = {
    "{command} check --diff FILE…": "your own manifests",
    "{command} rule LK205": "why a rule exists",
    "docs/operations.md": "the gate in a cluster, by Helm",
}

WIDTH: Final = 80
"""Columns of a small terminal."""

START_SECONDS: Final = 30
"""How long a server may take to become ready on a slow machine."""

MODEL: Final = {"group": "inference.llmkube.dev", "version": "v1alpha1", "kind": "Model", "plural": "models"}


def add_parser(commands: Commands) -> None:
    command(
        commands,
        "demo",
        "Start the webhook on loopback, send it AdmissionReviews over HTTPS, and show every verdict and "
        "every change. Exit code 0 if all verdicts are as expected, 1 otherwise.",
    )


def run(_options: argparse.Namespace) -> int:
    scenarios = yaml.safe_load(files("webhook.cli").joinpath("demo.yaml").read_text())
    with tempfile.TemporaryDirectory(prefix="modelgate-demo-") as folder, _gate(Path(folder)) as caller:
        demo = _Demo(caller)
        surprises = [scenario["title"] for scenario in scenarios if not demo.play(scenario)]
    print(f"{len(scenarios) - len(surprises)} of {len(scenarios)} answers as expected")
    for title in surprises:
        print(f"  not as expected: {title}", file=sys.stderr)
    command = "modelgate" if shutil.which("modelgate") else shlex.quote(os.path.relpath(sys.argv[0]))
    print("\nNext:")
    shown = {text.format(command=command): what for text, what in _NEXT.items()}
    for text, what in shown.items():
        print(f"  {text:<{max(map(len, shown)) + 4}}{what}")
    return 1 if surprises else 0


class _Caller:
    """The API server's side: one verified HTTPS connection."""

    def __init__(self, port: int, ca: Path) -> None:
        self._connection = http.client.HTTPSConnection("localhost", port, context=ssl.create_default_context(cafile=ca))

    def ready(self) -> bool:
        with contextlib.suppress(OSError, http.client.HTTPException):
            self._connection.request("GET", "/readyz")
            response = self._connection.getresponse()
            response.read()
            return response.status == 200
        self.close()
        return False

    def close(self) -> None:
        self._connection.close()

    def call(self, path: str, review: dict[str, Any]) -> tuple[int, bytes]:
        headers = {"Content-Type": "application/json"}
        self._connection.request("POST", f"{path}?timeout=5s", json.dumps(review), headers)
        response = self._connection.getresponse()
        return response.status, response.read()


@contextlib.contextmanager
def _gate(folder: Path) -> Iterator[_Caller]:
    """A server in a separate process, ready for requests."""
    now = datetime.now(UTC)
    Keeper(folder, LOCAL, DirectoryStore(folder / "ca"), lambda: now).look()
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "modelgate", "serve", "--port", str(port), "--tls-dir", str(folder)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MODELGATE_")}
    with (
        (folder / "gate.log").open("wb") as log,
        subprocess.Popen(  # noqa: S603 - this interpreter and this package
            [*command, "--drain-seconds", "0"], stdout=log, stderr=log, env=environment
        ) as process,
    ):
        caller = _Caller(port, folder / "ca.crt")
        try:
            until = time.monotonic() + START_SECONDS
            while not caller.ready():
                if process.poll() is not None or time.monotonic() > until:
                    raise Unavailable(f"the server did not start:\n{(folder / 'gate.log').read_text()}")
                time.sleep(0.05)
            yield caller
        finally:
            caller.close()
            process.terminate()


class _Demo:
    """Plays scenarios in order, and keeps the object that each leaves in the imaginary cluster."""

    def __init__(self, caller: _Caller) -> None:
        self._caller = caller
        self._stored: dict[str, dict[str, Any]] = {}
        self._patches: dict[str, str | None] = {}
        self._count = 0
        known = catalog.load().kinds.values()
        self._because = {rule.code: rule.because for kind in known for rule in kind.policy.defaults}
        self._colour = sys.stdout.isatty() or bool(os.environ.get("FORCE_COLOR"))

    def play(self, scenario: dict[str, Any]) -> bool:
        """Send the two calls of a scenario; returns whether the answers are as expected."""
        self._count += 1
        print(self._paint("1", fill(f"{self._count}. {scenario['title']}", WIDTH, subsequent_indent="   ")))
        self._manifest(scenario)
        review = self._review(scenario)
        status, body = self._caller.call("/mutate", review)
        if status != 200:
            print(f"   {self._paint('33', f'HTTP {status}')}: {body.decode().strip()}\n")
            return bool(scenario["expect"] == "malformed" and status == 400)
        mutation = json.loads(body)["response"]
        obj = self._changed(review["request"]["object"], mutation)
        review["request"]["object"] = obj
        status, body = self._caller.call("/validate", review)
        response = json.loads(body)["response"] if status == 200 else {"allowed": None}
        self._verdict(response)
        self._stored.setdefault(scenario["name"], obj)
        self._patches.setdefault(scenario["name"], mutation.get("patch"))
        same = "sameAs" not in scenario or self._patches[scenario["sameAs"]] == mutation.get("patch")
        print()
        return same and response["allowed"] is (scenario["expect"] == "allowed")

    def _manifest(self, scenario: dict[str, Any]) -> None:
        """Print what the user writes."""
        kind, spec = scenario.get("kind", MODEL)["kind"], scenario.get("spec")
        print(self._paint("2", f"   {scenario['operation']} {kind} {scenario['name']}"))
        for line in yaml.safe_dump({"spec": spec}, sort_keys=False, width=WIDTH - 3).splitlines() if spec else ():
            print(f"     {line}" if len(line) < WIDTH - 5 else f"     {line[: WIDTH - 6]}…")
        if "without" in scenario:
            self._said("2", "without Modelgate", scenario["without"])

    def _review(self, scenario: dict[str, Any]) -> dict[str, Any]:
        kind = scenario.get("kind", MODEL)
        gvk = {name: kind[name] for name in ("group", "version", "kind")}
        resource = {"group": kind["group"], "version": kind["version"], "resource": kind["plural"]}
        old = self._stored.get(scenario.get("from", "")) or self._object(scenario, "oldSpec")
        request = {
            "uid": str(UUID(int=self._count)),
            "kind": gvk,
            "resource": resource,
            "operation": scenario["operation"],
            "name": scenario["name"],
            "namespace": "demo",
            "dryRun": scenario.get("dryRun", False),
            "object": self._object(scenario, "spec"),
            "oldObject": old,
            "userInfo": {"username": "demo"},
        }
        return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}

    def _object(self, scenario: dict[str, Any], part: str) -> dict[str, Any] | None:
        if part not in scenario:
            return None
        kind = scenario.get("kind", MODEL)
        metadata: dict[str, Any] = {"name": scenario.get("objectName", scenario["name"]), "namespace": "demo"}
        if scenario.get("deleting"):
            metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
            metadata["finalizers"] = ["example.com/wait"] if part == "oldSpec" else []
        spec = scenario[part]
        if part == "spec" and "from" in scenario:  # as with kubectl apply, fields of others stay
            stored = self._stored[scenario["from"]]
            metadata, spec = stored["metadata"], _overlay(stored["spec"], spec)
        api_version = f"{kind['group']}/{kind['version']}"
        return {"apiVersion": api_version, "kind": kind["kind"], "metadata": metadata, "spec": spec}

    def _changed(self, obj: dict[str, Any] | None, response: dict[str, Any]) -> Any:
        """Apply the patch, and print each change with its reason."""
        if "patch" not in response:
            print("   no changes")
            return obj
        operations = json.loads(base64.b64decode(response["patch"]))
        annotation = response.get("auditAnnotations", {}).get("defaults", "")
        codes = dict(item.rsplit("=", 1) for item in annotation.split(",") if item)
        for operation in sorted(operations, key=_is_stamp):
            self._line(operation, codes)
        return patch.apply(obj, operations)

    def _line(self, operation: dict[str, Any], codes: dict[str, str]) -> None:
        keys = patch.keys(operation["path"])
        if _is_stamp(operation):
            print(self._paint("2", f"   + {ANNOTATION}: what was checked, and by which rules"))
            return
        path = field_path(keys)
        code = codes.get(path, "")
        reason = f"{self._because[code]} ({code})" if code in self._because else "default of the CRD's schema"
        if operation["op"] == "remove":
            self._change("31", f"- {path}", "removed: its source is gone")
            return
        colour, sign = ("32", "+") if operation["op"] == "add" else ("33", "~")
        self._change(colour, f"{sign} {path}: {json.dumps(operation['value'])}", reason)

    def _change(self, colour: str, change: str, reason: str) -> None:
        """A change with its reason, which gets a line of its own where both are too long."""
        between = "  " if len(change) + len(reason) + 7 <= WIDTH else "\n       "
        print(f"   {self._paint(colour, change)}{between}{self._paint('2', f'# {reason}')}")

    def _verdict(self, response: dict[str, Any]) -> None:
        verdict = {True: self._paint("32;1", "allowed"), False: self._paint("31;1", "denied")}
        print(f"   {verdict.get(response['allowed'], 'no answer')}")
        for cause in response.get("status", {}).get("details", {}).get("causes", []):
            self._said("31", cause["field"], cause["message"])
        for warning in response.get("warnings", []):
            self._said("33", "Warning", warning)

    def _said(self, colour: str, label: str, text: str) -> None:
        lines = fill(f"{label}: {text}", WIDTH - 7, subsequent_indent="  ", break_long_words=False)
        print(indent(lines, " " * 5).replace(label, self._paint(colour, label), 1))

    def _paint(self, code: str, text: str) -> str:
        return f"\033[{code}m{text}\033[0m" if self._colour else text


def _is_stamp(operation: dict[str, Any]) -> bool:
    return str(operation["path"]).startswith("/metadata/annotations")


def _overlay(stored: Any, written: Any) -> Any:
    if not isinstance(stored, dict) or not isinstance(written, dict):
        return written
    return {**stored, **{key: _overlay(stored.get(key), value) for key, value in written.items()}}
