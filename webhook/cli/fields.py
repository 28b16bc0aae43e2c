"""`modelgate fields`: list every field that Modelgate may set, also as settings of GitOps tools."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace

import yaml

from webhook import catalog
from webhook.admission import patch
from webhook.admission.stamp import ANNOTATION
from webhook.catalog import Catalog, KnownKind, forms
from webhook.cli import choices
from webhook.cli.exits import USAGE
from webhook.cli.input.configuration import packs
from webhook.cli.output import say
from webhook.cli.shell.parser import Commands, command, unknown_kind

__all__ = ["add_parser", "run"]


def add_parser(commands: Commands) -> None:
    parser = command(
        commands,
        "fields",
        "List every field that Modelgate may set; it changes no other field. Defaults in a CRD's schema "
        "are set by the API server and not listed.",
    )
    parser.add_argument("kind", nargs="?", metavar="KIND", help="list only this kind")
    choices.add_packs(parser)
    formats = ("table", "argocd", "flux")
    parser.add_argument(
        "--output", "-o", choices=formats, default="table", help="print a snippet for Argo CD or Flux instead"
    )


def run(options: argparse.Namespace) -> int:
    loaded = list(_kinds(catalog.load(packs=packs(options))))
    kinds = [known for known in loaded if options.kind is None or known.gvk.kind.lower() == options.kind.lower()]
    if not kinds:
        say(f"modelgate fields: {unknown_kind(options.kind, loaded)}", sys.stderr)
        return USAGE
    {"table": _table, "argocd": _argocd, "flux": _flux}[options.output](kinds)
    return 0


def _kinds(loaded: Catalog) -> Iterator[KnownKind]:
    """The kinds, sorted, each with the defaults of all releases."""
    found = list(forms(loaded))
    for gvk, known in sorted(loaded.kinds.items()):
        defaults = (rule for form in found for rule in form.kinds[gvk].policy.defaults)
        each = tuple({(rule.code, rule.operator): rule for rule in reversed(list(defaults))}.values())
        yield replace(known, policy=replace(known.policy, defaults=each[::-1]))


def _table(kinds: Iterable[KnownKind]) -> None:
    for known in kinds:
        print(f"{known.gvk}")
        print(f"  metadata.annotations[{ANNOTATION}]: the stamp")
        for rule in known.policy.defaults:
            releases = f", {known.in_force.operator} {rule.operator}" if rule.operator else ""
            print(f"  {rule.path}: {rule.because} ({rule.code}{releases})")


def _pointers(known: KnownKind) -> list[str]:
    stamp = patch.pointer("metadata", "annotations", ANNOTATION)
    return [stamp, *dict.fromkeys(patch.pointer(*rule.path.keys) for rule in known.policy.defaults)]


def _argocd(kinds: Iterable[KnownKind]) -> None:
    """For the spec of an Application: the differences between repository and cluster that Modelgate makes."""
    print("# for spec of an Argo CD Application")
    ignored = [{"group": known.gvk.group, "kind": known.gvk.kind, "jsonPointers": _pointers(known)} for known in kinds]
    print(yaml.safe_dump({"ignoreDifferences": ignored}, sort_keys=False), end="")


def _flux(kinds: Iterable[KnownKind]) -> None:
    """For the spec of a HelmRelease; a Kustomization applies server-side and ignores fields of other managers."""
    print("# for spec of a Flux HelmRelease (a Kustomization needs no setting: it ignores fields of other managers)")
    ignored = [
        {"paths": _pointers(known), "target": {"group": known.gvk.group, "kind": known.gvk.kind}} for known in kinds
    ]
    print(yaml.safe_dump({"driftDetection": {"mode": "enabled", "ignore": ignored}}, sort_keys=False), end="")
