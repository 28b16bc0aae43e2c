"""`modelgate fields`: list every field that Modelgate may set, also as settings of GitOps tools."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import yaml

from webhook import catalog
from webhook.admission import GroupVersionKind, patch
from webhook.admission.stamp import ANNOTATION
from webhook.catalog import Catalog, InForce, built_in, forms
from webhook.cli import USAGE, choices
from webhook.cli.input.configuration import packs
from webhook.cli.output import say
from webhook.cli.shell.parser import Commands, command, of_name, unknown_kind
from webhook.policy import Path, defaults_in_force


def add_parser(commands: Commands) -> None:
    parser = command(
        commands,
        "fields",
        "List every field that Modelgate may set; it changes no other field. Defaults in a CRD's schema "
        "are set by the API server and not listed.",
    )
    parser.add_argument("kind", nargs="?", metavar="KIND", help="list only this kind, or resource")
    choices.add_packs(parser)
    formats = ("table", "argocd", "flux")
    parser.add_argument(
        "--output", "-o", choices=formats, default="table", help="print a snippet for Argo CD or Flux instead"
    )


def run(options: argparse.Namespace) -> int:
    loaded = catalog.load(packs=packs(options))
    known_kinds = [loaded.uncompiled(gvk) for gvk in sorted(loaded.kinds)]
    kinds = [known.gvk for known in of_name(options.kind, known_kinds)]
    if not kinds:
        say(f"modelgate fields: {unknown_kind(options.kind, known_kinds)}", sys.stderr)
        return USAGE
    {"table": _table, "argocd": _argocd, "flux": _flux}[options.output](_fields_of(kinds, loaded))
    return 0


class _Field(NamedTuple):
    """A leaf that a rule sets, with the reason. ``releases`` are those that the rule is true of, "" for all."""

    path: Path
    because: str
    code: str
    releases: str


_Fields = Mapping[GroupVersionKind, Sequence[_Field]]
"""The fields that rules set, by kind."""


def _fields_of(kinds: Iterable[GroupVersionKind], loaded: Catalog) -> _Fields:
    """The fields of these kinds that the rules of any release set, each once for a code and its releases."""
    by_kind, all_forms = dict[GroupVersionKind, Sequence[_Field]](), list(forms(loaded))
    for gvk in kinds:
        by_release = dict[InForce, Sequence[_Field]]()
        fields = list[_Field]()
        for form in all_forms:
            in_force = form.uncompiled(gvk).in_force
            if in_force not in by_release:
                by_release[in_force] = list(_set_in(form, gvk))
            fields += by_release[in_force]
        by_rule = {(field.code, field.releases): field for field in reversed(fields)}
        by_kind[gvk] = list(by_rule.values())[::-1]
    return by_kind


def _set_in(form: Catalog, gvk: GroupVersionKind) -> Iterator[_Field]:
    """The fields that the rules in force set. No built-in rule is compiled for it."""
    known = form.uncompiled(gvk)

    def releases(text: str | None) -> str:
        return f"{known.in_force.operator} {text}" if text else ""

    if known.api not in built_in():
        for rule in form.kinds[gvk].policy.defaults:
            yield _Field(rule.path, rule.because, rule.code, releases(rule.operator))
        return
    for source in known.sources:
        for default in defaults_in_force(source.document, known.in_force.holds):
            yield _Field(Path.parse(default.path), default.because, default.code, releases(default.operator))


def _table(kinds: _Fields) -> None:
    for gvk, fields in kinds.items():
        print(f"{gvk}")
        print(f"  metadata.annotations[{ANNOTATION}]: the stamp")
        for field in fields:
            print(f"  {field.path}: {field.because} ({', '.join(filter(None, (field.code, field.releases)))})")


def _pointers(fields: Iterable[_Field]) -> list[str]:
    stamp = patch.pointer("metadata", "annotations", ANNOTATION)
    return [stamp, *dict.fromkeys(patch.pointer(*field.path.keys) for field in fields)]


def _argocd(kinds: _Fields) -> None:
    """For the spec of an Application: the differences between repository and cluster that Modelgate makes."""
    print("# for spec of an Argo CD Application")
    ignored = [
        {"group": gvk.group, "kind": gvk.kind, "jsonPointers": _pointers(fields)} for gvk, fields in kinds.items()
    ]
    print(yaml.safe_dump({"ignoreDifferences": ignored}, sort_keys=False), end="")


def _flux(kinds: _Fields) -> None:
    """For the spec of a HelmRelease; a Kustomization applies server-side and ignores fields of other managers."""
    print("# for spec of a Flux HelmRelease (a Kustomization needs no setting: it ignores fields of other managers)")
    ignored = [
        {"paths": _pointers(fields), "target": {"group": gvk.group, "kind": gvk.kind}} for gvk, fields in kinds.items()
    ]
    print(yaml.safe_dump({"driftDetection": {"mode": "enabled", "ignore": ignored}}, sort_keys=False), end="")
