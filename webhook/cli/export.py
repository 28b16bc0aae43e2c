"""`modelgate export`: export rules as Kubernetes admission policies, as CRD rules, or as a JSON Schema."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import yaml

from webhook import catalog
from webhook.catalog import KnownKind
from webhook.cli import USAGE, choices, native
from webhook.cli.input.configuration import packs
from webhook.cli.jsonschema import SchemaSource, json_schema
from webhook.cli.output import say
from webhook.cli.shell.parser import Commands, command, of_name, unknown_kind
from webhook.engine import POD_CODES
from webhook.kubernetes import pod_places
from webhook.manifests import documents
from webhook.manifests.folders import content_of, entries
from webhook.policy import Profile, Release
from webhook.policy.export import left_out, with_rules

_ONLY: Final = {"validating": "ValidatingAdmissionPolicy", "mutating": "MutatingAdmissionPolicy"}


def add_parser(commands: Commands) -> None:
    parser = command(
        commands,
        "export",
        "Print the portable rules of a kind as ValidatingAdmissionPolicy and MutatingAdmissionPolicy with "
        "bindings (policies), the same for the API server's manifest directories (static), or as its CRD with "
        "x-kubernetes-validations (crd). The first line names the versions of Kubernetes that can install it. Rules "
        "that cannot be exported are listed on standard error. As a JSON Schema (jsonschema), for editors without "
        "`modelgate lsp`: the definitions, what it can say of rules, and all of them in the descriptions of fields.",
    )
    parser.add_argument("format", choices=("policies", "static", "crd", "jsonschema"), help="what to print")
    parser.add_argument(
        "kind", nargs="?", metavar="KIND", help="export only this kind, or resource, with or without its group"
    )
    choices.add_packs(parser)
    parser.add_argument(
        "--only",
        choices=tuple(_ONLY),
        help="print one type of policy: the API server has a manifest directory for each",
    )
    choices.add_kubernetes(parser)
    choices.add_release(parser)
    parser.add_argument(
        "--profile",
        choices=[profile.value for profile in Profile],
        default=Profile.STANDARD.value,
        help="how strict to be (default standard)",
    )


def run(options: argparse.Namespace) -> int:
    loaded = catalog.load(settings=choices.chosen(options), packs=packs(options)).kinds.values()
    kinds = of_name(options.kind, loaded)
    if not kinds:
        say(f"modelgate export: {unknown_kind(options.kind, loaded)}", sys.stderr)
        return USAGE
    if options.format == "jsonschema":
        print(_json_schema(kinds, Profile(options.profile)))
        return 0
    release, static = Release.parse(options.kubernetes), options.format == "static"
    if static and not release.has_static:
        print(
            f"Kubernetes {release} reads no policies from manifest directories; use --kubernetes=1.36", file=sys.stderr
        )
        return USAGE
    only = _ONLY.get(options.only, "")
    profile = Profile(options.profile)
    exported = (
        _definitions(kinds, profile) if options.format == "crd" else _policies(kinds, profile, release, static=static)
    )
    found = [item for item in exported if item["kind"].startswith(only)]
    mutates = any(item["kind"].startswith("Mutating") for item in found)
    print(f"# For {release.needs(mutating=mutates, static=static)}")
    yaml.safe_dump_all(found, sys.stdout, sort_keys=False, allow_unicode=True, width=1_000_000)
    return 0


def _json_schema(kinds: Iterable[KnownKind], profile: Profile) -> str:
    """One schema of all kinds. Definitions of other releases have no texts of fields: these are the documented ones."""
    sources = (
        SchemaSource(known.gvk, known.schema.raw, known.policy, (known.documented or known).schema.raw, _release(known))
        for known in kinds
    )
    return json.dumps(json_schema(sources, profile), ensure_ascii=False, separators=(",", ":"))


def _release(kind: KnownKind) -> str:
    """The operator and the release whose definition and rules count."""
    return str(kind.in_force) if kind.in_force.releases else kind.pack.operator


def _definitions(kinds: Sequence[KnownKind], profile: Profile) -> Iterator[dict[str, Any]]:
    """The definition of each kind, with the rules of all its versions."""
    for versions in native.by_definition(kinds):
        crd = _crd(versions[0])
        for known in versions:
            crd, refused = with_rules(crd, known.policy, known.gvk, profile)
            _tell(known, "not exported, because a CRD cannot express them:", [*_of_pods(known), *refused])
        yield crd


def _policies(
    kinds: Sequence[KnownKind], profile: Profile, release: Release, *, static: bool
) -> Iterator[dict[str, Any]]:
    left = {kind.gvk: native.refused(kind, profile) for kind in kinds}
    for known in kinds:
        only_here = [*_of_pods(known), *left_out(known.policy)]
        _tell(known, "not exported, because only Modelgate can evaluate them:", only_here)
        if known.policy.numeric_quantities:
            _tell(
                known,
                "not exported, because only Modelgate does it:",
                ["writing fractions such as cpu: 0.5 as quantities"],
            )
        for code, why in left[known.gvk].items():
            _tell(known, "not exported, because the API server would refuse it:", [f"{code}: {why}"])
    yield from native.documents(kinds, profile, release, left, static=static)


def _of_pods(known: KnownKind) -> list[str]:
    """The codes of what Kubernetes says of the pods in such an object, if it can have any."""
    places = pod_places(known.schema.root, known.policy.pod_types)
    return [] if places is None else list(POD_CODES)


def _tell(known: KnownKind, what: str, parts: list[str]) -> None:
    if parts:
        print(f"{known.gvk}: {what} {', '.join(parts)}", file=sys.stderr)


def _crd(known: KnownKind) -> dict[str, Any]:
    """The definition of a kind, of the release whose rules are exported."""
    _, definition = known.pack.definition(known.plural, known.in_force)
    if definition is not None:
        return dict(definition)
    folder = known.pack.folder.joinpath("crds")
    for file in entries(folder):
        for document in documents.parse(content_of(file).decode(), file.name) if file.is_file() else ():
            spec = document.value.get("spec", {})
            if (spec.get("group"), spec.get("names", {}).get("kind")) == (known.gvk.group, known.gvk.kind):
                return document.value
    raise AssertionError(f"{known.gvk} was loaded from {folder}")
