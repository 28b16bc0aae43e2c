"""The templates of the pods: flags that the programs have, enough memory, and what a restricted namespace allows."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import cache
from typing import Final

from webhook.cli.doctor.checks.state import patch
from webhook.cli.doctor.finding import finding
from webhook.cli.doctor.snapshot import Installation, Object, named
from webhook.cli.shell.running import parser
from webhook.golang.errors import GoError
from webhook.golang.quantity import parse
from webhook.library import Finding

_LEAST: Final = 128 * 1024 * 1024
"""Bytes. A gate has up to 120 MiB at rest, and the reconciler as much."""
_MEMORY: Final = "512Mi"
"""The limit of the chart."""
_PROGRAMS: Final = {"gate": "serve", "reconciler": "reconcile", "certs": "certs"}
_HELP: Final = frozenset({"-h", "--help", "--version"})
_UNPRIVILEGED: Final = 65532


def check(installation: Installation) -> Iterator[Finding]:
    for deployment in filter(None, (installation.gate, installation.reconciler)):
        if deployment["spec"].get("paused"):
            what = "it is paused, so no change of it reaches the pods"
            target = f"deployment/{deployment['metadata']['name']} --namespace={installation.namespace}"
            yield finding("rollout-paused", named(deployment), what, f"kubectl rollout resume {target}")
        yield from _users(deployment)
        for place, container in enumerate(deployment["spec"]["template"]["spec"]["containers"]):
            if container["name"] in _PROGRAMS:
                yield from _flags(deployment, place, container)
                yield from _memory(deployment, container)


def _flags(deployment: Object, place: int, container: Object) -> Iterator[Finding]:
    """Flags that the program does not have: it ends at once, and says so in its log only."""
    arguments = [str(argument) for argument in container.get("args") or ()]
    flags = _flags_of(_PROGRAMS[container["name"]])
    for number, argument in enumerate(arguments):
        if flags > _HELP and argument.startswith("--") and argument.partition("=")[0] not in flags:
            path = f"/spec/template/spec/containers/{place}/args/{number}"
            what = f"container {container['name']}: {argument.partition('=')[0]} is not a flag of its program"
            yield finding("flag-unknown", named(deployment), what, patch(deployment, [{"op": "remove", "path": path}]))


@cache
def _flags_of(command: str) -> frozenset[str]:
    """The flags of a command and of the commands in it; only that of the help where its packages are not installed."""
    return frozenset(_options(parser({"serve", "reconcile", "certs"}), command))


def _options(parser: argparse.ArgumentParser, *only: str) -> Iterator[str]:
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to list them
        yield from action.option_strings
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for name in only or action.choices:
                yield from _options(action.choices[name])


def _memory(deployment: Object, container: Object) -> Iterator[Finding]:
    limit = ((container.get("resources") or {}).get("limits") or {}).get("memory")
    if container["name"] == "certs" or limit is None:
        return
    try:
        amount = parse(str(limit)).as_float()
    except GoError:
        return
    if amount < _LEAST:
        metadata = deployment["metadata"]
        target = f"deployment/{metadata['name']} --namespace={metadata['namespace']} --containers={container['name']}"
        what = f"container {container['name']}: its memory limit is {limit}, and it needs {_LEAST >> 20}Mi"
        yield finding(
            "memory-low", named(deployment), what, f"kubectl set resources {target} --limits=memory={_MEMORY}"
        )


def _users(deployment: Object) -> Iterator[Finding]:
    """Root, which a namespace with the restricted Pod Security Standard refuses."""
    pod = deployment["spec"]["template"]["spec"]
    context = pod.get("securityContext") or {}
    wrong = [key for key, value in (("runAsUser", 0), ("runAsNonRoot", False)) if context.get(key, ...) is value]
    if wrong:
        values = {"runAsNonRoot": True, "runAsUser": _UNPRIVILEGED}
        operations = [
            {"op": "add", "path": f"/spec/template/spec/securityContext/{key}", "value": values[key]} for key in wrong
        ]
        what = f"its pods run as root: securityContext.{' and '.join(wrong)}"
        yield finding("runs-as-root", named(deployment), what, patch(deployment, operations))
