"""`modelgate policies`: policies of Kyverno and Gatekeeper as Kubernetes' own."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from webhook.admission import group_version
from webhook.admission.errors import DocumentError
from webhook.cli import FAILED, FINDINGS, GOOD, choices
from webhook.cli.output import say
from webhook.cli.policies import gatekeeper, kyverno
from webhook.cli.policies.converted import Converted, Untranslated
from webhook.cli.shell.parser import Commands, command
from webhook.manifests.documents import Document
from webhook.manifests.reading import Reading, read_paths
from webhook.policy import Release

_EXAMPLES: Final = """\
examples:
  modelgate policies convert kyverno/ > native.yaml             Kyverno's ValidatingPolicy and MutatingPolicy
  modelgate policies convert templates/ constraints/            Gatekeeper's templates with K8sNativeValidation
  modelgate policies convert kyverno/ | kubectl apply -f -
"""
_OTHER_GROUPS: Final = (
    "kyverno.io",
    kyverno.GROUP,
    *(f"{name}.gatekeeper.sh" for name in ("config", "mutations", "expansion", "externaldata")),
)
_REASON: Final = (
    "this kind does not translate: convert takes ValidatingPolicy and MutatingPolicy of policies.kyverno.io, "
    "and constraints with their templates"
)


def add_parser(commands: Commands) -> None:
    text = "Convert CEL policies of Kyverno and Gatekeeper to Kubernetes' admission policies."
    actions = command(commands, "policies", text, _EXAMPLES).add_subparsers(
        dest="action", metavar="ACTION", required=True
    )
    convert = actions.add_parser(
        "convert",
        help="print them as ValidatingAdmissionPolicies and MutatingAdmissionPolicies with bindings",
        description="Print Kyverno's ValidatingPolicy and MutatingPolicy, and Gatekeeper's templates with "
        "K8sNativeValidation and their constraints, as ValidatingAdmissionPolicies and MutatingAdmissionPolicies with "
        "bindings. Each expression is compiled as the API server does. What does not translate is listed on standard "
        "error with file, line and reason. Exit code 1 if a policy is not converted.",
    )
    convert.add_argument("paths", nargs="+", type=Path, metavar="FILE", help="files, folders, or - for standard input")
    choices.add_kubernetes(convert)


def run(options: argparse.Namespace) -> int:
    """Print what Kubernetes can evaluate, and list what it cannot.

    Exit codes: 0, every policy is converted; 1, one is not; 2, a file cannot be read or none has such a policy.
    """
    given = read_paths(options.paths, Reading(pipes=True))
    if given.problems:
        raise DocumentError(given.problems)
    release = Release.parse(options.kubernetes)
    policies = list(converted(given.documents, release))
    if not policies:
        say("modelgate policies convert: no policy of Kyverno or Gatekeeper is among the files", sys.stderr)
        return FAILED
    good, remarks = sorted_out(policies, release)
    for remark in remarks:
        say(str(remark), sys.stderr)
    _print(good, release)
    say(f"{len(good)} of {len(policies)} converted", sys.stderr)
    return GOOD if len(good) == len(policies) else FINDINGS


def converted(documents: Sequence[Document], release: Release) -> Iterator[Converted]:
    groups = [group_version(str(document.value.get("apiVersion")))[0] for document in documents]
    constraints = [document for document, group in zip(documents, groups, strict=True) if group in gatekeeper.GROUPS]
    for document, group in zip(documents, groups, strict=True):
        made = kyverno.converted(document, release) if group == kyverno.GROUP else None
        if made is not None:
            yield made
        elif group in _OTHER_GROUPS:
            yield Converted(document, (), (Untranslated(document, "kind", _REASON),))
    yield from gatekeeper.converted(constraints, release)


def sorted_out(policies: Iterable[Converted], release: Release) -> tuple[list[Converted], list[Untranslated]]:
    """The policies that the API server takes, each name once, and what is to be said of all."""
    good, remarks, names = list[Converted](), list[Untranslated](), set[tuple[str, str]]()
    for policy in policies:
        refusals = list(policy.refusals(release)) if policy.is_whole else []
        identity = next(((made["kind"], made["metadata"]["name"]) for made in policy.documents), ("", ""))
        if identity in names:
            refusals.append(
                Untranslated(policy.origin, "metadata.name", f'another policy has become {identity[0]} "{identity[1]}"')
            )
        remarks += [*policy.remarks, *refusals]
        if policy.is_whole and not refusals:
            good.append(policy)
            names.add(identity)
    return good, remarks


def _print(policies: Iterable[Converted], release: Release) -> None:
    documents: list[dict[str, Any]] = [document for policy in policies for document in policy.documents]
    if documents:
        mutates = any(document["kind"].startswith("Mutating") for document in documents)
        print(f"# For {release.needs(mutating=mutates, static=False)}")
        yaml.safe_dump_all(documents, sys.stdout, sort_keys=False, allow_unicode=True, width=1_000_000)
