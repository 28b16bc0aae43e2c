"""`modelgate doctor`: find what is wrong with an installation, in a cluster or in rendered manifests."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from webhook import catalog
from webhook.catalog import Catalog
from webhook.cli import FAILED, FINDINGS, GOOD, choices
from webhook.cli.doctor.checks import (
    certificates,
    configurations,
    definitions,
    pods,
    references,
    rights,
    state,
    surroundings,
    template,
)
from webhook.cli.doctor.finding import CHECKS, ERROR, finding
from webhook.cli.doctor.gather import from_cluster, from_files
from webhook.cli.doctor.snapshot import Installation, Snapshot, named
from webhook.cli.input.cluster import add_cluster, connected
from webhook.cli.output import say
from webhook.cli.shell.version import version
from webhook.library import Finding
from webhook.manifests import folders

__all__ = ["add_parser", "examined", "run"]

_DESCRIPTION = """\
Look for faults of an installation: webhook configurations, certificates, definitions, pods, rights, network. In a
cluster, two objects are created as a dry run; nothing is stored. Of rendered manifests, only what they say is checked.

  modelgate doctor                                  the cluster of $KUBECONFIG
  helm template modelgate chart/ | modelgate doctor -
"""
_TRIALS: Final = "canary-"
_OLDEST: Final = (1, 34)
"""Kubernetes; as kubeVersion of the chart."""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    raw = argparse.RawDescriptionHelpFormatter
    parser = commands.add_parser(
        "doctor", help="find what is wrong with an installation", description=_DESCRIPTION, formatter_class=raw
    )
    choices.add_packs(parser)
    add = parser.add_argument
    add(
        "--admission-policies", type=Path, metavar="DIR", help="the gate's admission policies, if no ConfigMap has them"
    )
    add("manifests", nargs="*", metavar="FILE", help="rendered manifests instead of a cluster; - for standard input")
    add_cluster(parser)
    add("--namespace", "-n", metavar="NAME", help="the namespace of the installation (default: wherever it is)")
    add("--read-only", action="store_true", help="no dry runs, and no look at Secrets and metrics: needs fewer rights")
    add("--output", "-o", choices=["text", "json"], default="text", help="how to print (default text)")
    add("--fail-on", choices=["error", "warning"], default="error", help="what makes the exit code 1 (default error)")


def run(options: argparse.Namespace) -> int:
    """Exit code 0 without errors, 1 with errors, 2 if the cluster cannot be asked."""
    loaded = catalog.load(packs=options.packs)
    if options.manifests:
        given: Snapshot | None = from_files(options.manifests, sys.stdin.read() if "-" in options.manifests else "")
    else:
        given = _of_cluster(options, loaded)
    if given is None:
        return FAILED
    if options.admission_policies:
        given = replace(given, policies=folders.scan([options.admission_policies])[0])
    findings = list(examined(given, loaded, options.namespace))
    _print(findings, options.output)
    counts = {"error"} if options.fail_on == "error" else {"error", "warning"}
    return FINDINGS if any(each.severity in counts for each in findings) else GOOD


def _of_cluster(options: argparse.Namespace, loaded: Catalog) -> Snapshot | None:
    """The snapshot; None if the cluster cannot be asked, which is printed."""
    from webhook.cluster import Unreachable  # noqa: PLC0415 - the client library takes a second to load

    try:
        return from_cluster(connected(options), loaded, options.namespace, read_only=options.read_only)
    except Unreachable as error:
        say(f"modelgate doctor: the API server does not answer: {error.message}", sys.stderr)
        return None


def examined(snapshot: Snapshot, loaded: Catalog, namespace: str | None = None) -> Iterator[Finding]:
    """All findings, errors first, and causes before what follows from them: what dry runs show comes last."""
    found = list(dict.fromkeys(_all(snapshot, loaded, namespace)))
    yield from sorted(found, key=lambda each: (each.code.startswith(_TRIALS), each.severity is not ERROR))


def _all(snapshot: Snapshot, loaded: Catalog, namespace: str | None) -> Iterator[Finding]:
    for each in snapshot.unread:
        about, _, why = each.partition(": ")
        yield finding("not-read", about, why)
    number = re.match(r"v?(\d+)\.(\d+)", snapshot.version)
    if number and (int(number[1]), int(number[2])) < _OLDEST:
        yield finding("kubernetes-version", "API server", f"its version is {snapshot.version}")
    installations = Installation.all_of(snapshot, namespace)
    if snapshot.cluster is None:
        yield from _twice(snapshot)
    left = [*configurations.check_leftovers(snapshot, Installation.all_of(snapshot, None))]
    yield from left
    if not installations and not any(fault.code == "gate-missing" for fault in left):
        where = f"namespace {namespace}" if namespace else "any namespace"
        yield finding("gate-missing", where, "no Deployment of the gate is found")
    for installation in installations:
        ruling = definitions.ruling_of(installation, loaded)
        yield from state.check(installation)
        yield from template.check(installation)
        yield from surroundings.check(installation)
        yield from configurations.check(installation, loaded)
        yield from certificates.check(installation)
        yield from definitions.check(installation, ruling)
        yield from references.check(installation)
        yield from pods.check(installation)
        yield from rights.check(installation, loaded)
        yield from configurations.check_network(installation)
        yield from definitions.check_trials(installation, ruling)


def _twice(snapshot: Snapshot) -> Iterator[Finding]:
    """Objects of one kind, namespace and name in the manifests."""
    counts = Counter(map(named, snapshot.objects))
    for about, count in counts.items():
        if count > 1:
            yield finding("object-twice", about, f"it is in the manifests {count} times")


def _print(findings: list[Finding], output: str) -> None:
    if output == "json":
        documents = [_document(each) for each in findings]
        print(json.dumps({"version": version(), "findings": documents}, indent=2, ensure_ascii=False))
        return
    for each in findings:
        say(f"{each.severity}: {each.text} ({each.code})")
        say(f"  why: {CHECKS[each.code].why}")
        say(f"  fix: {CHECKS[each.code].fix}")
        for command in each.helps:
            say(f"  run: {command}")
    errors = sum(each.severity is ERROR for each in findings)
    say(f"{_many(errors, 'error')}, {_many(len(findings) - errors, 'warning')}" if findings else "nothing is wrong")


def _document(fault: Finding) -> dict[str, str]:
    """A finding as JSON."""
    check = CHECKS[fault.code]
    document = {"check": fault.code, "level": check.level, "about": fault.field, "what": fault.message}
    return {**document, "why": check.why, "fix": check.fix, "run": "".join(fault.helps)}


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"
