"""What `check` and `normalise` share: files to requests, and each request through the engine."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from webhook import engine
from webhook.admission.decision import Cause, Decision
from webhook.admission.errors import DocumentError, Problem
from webhook.admission.request import GroupVersionKind, Request, group_version
from webhook.cli import choices
from webhook.cluster import ClusterView, MemoryView
from webhook.engine import Options, catalog, policyset
from webhook.engine.catalog import Catalog, KnownKind
from webhook.engine.context import NAMESPACE, Offline
from webhook.engine.installed import with_installed
from webhook.engine.native import Native
from webhook.facts import COMPARISONS
from webhook.facts.settings import Settings
from webhook.manifests.documents import Document
from webhook.manifests.folders import read_all
from webhook.policy import Profile
from webhook.vap import CLUSTER_KINDS, resource_of_kind

__all__ = ["ReviewedManifest", "add_arguments", "outcomes", "review", "stored"]


@dataclass(frozen=True, slots=True)
class ReviewedManifest:
    """One document and the decisions about it.

    ``reviewed`` is False for a kind that neither the catalog nor a policy covers; ``suggestion`` is then a similar kind
    of the catalog. ``comparison`` are lines about the objects among which one is chosen for this one; see ``check -v``.
    """

    document: Document
    reviewed: bool
    mutation: Decision
    validation: Decision
    suggestion: GroupVersionKind | None = None
    comparison: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        value = self.document.value
        metadata = value.get("metadata")
        if not isinstance(metadata, dict) or not isinstance(metadata.get("name") or metadata.get("generateName"), str):
            return f"{value['kind']} without a name"
        name = metadata.get("name") or f"{metadata['generateName']}…"
        namespace = metadata.get("namespace")
        return f"{value['kind']} {namespace}/{name}" if namespace else f"{value['kind']} {name}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="manifest or folder; - reads stdin")
    parser.add_argument(
        "--view",
        action="append",
        type=Path,
        default=[],
        metavar="FILE",
        help="manifest or folder of existing objects (`kubectl get … -o yaml`) that references may point to; not "
        "checked themselves; repeatable",
    )
    parser.add_argument(
        "--references",
        choices=["open", "closed"],
        help="whether an object that is in no file may exist in the cluster: open (the default without --view) warns "
        "of it, closed (the default with --view) reports it as missing, as the cluster does",
    )
    parser.add_argument(
        "--crds",
        action="append",
        type=Path,
        default=[],
        metavar="DIR",
        help="file or folder of the CustomResourceDefinitions that the cluster has installed; where they differ from "
        "Modelgate's, objects are judged by them; repeatable",
    )
    parser.add_argument(
        "--admission-policies",
        type=Path,
        metavar="DIR",
        help="folder of ValidatingAdmissionPolicies, MutatingAdmissionPolicies, bindings and params, evaluated for "
        "every kind, as the API server does",
    )
    parser.add_argument(
        "--profile",
        choices=[profile.value for profile in Profile],
        default=Profile.STANDARD.value,
        help="how strict to be (default standard)",
    )
    choices.add_arguments(parser)
    parser.set_defaults(verbose=False)


def outcomes(options: argparse.Namespace) -> tuple[list[ReviewedManifest], list[Problem]]:
    """Mutate and validate each document of the files, as on CREATE.

    Returns the reviews, and warnings about the admission policies and the installed definitions.

    Raises:
        CatalogError: admission policies that do not load.
        DocumentError: a file cannot be read or holds anything but objects, or no object is found.
        SettingsError: a flag with an invalid value.
    """
    settings = choices.chosen(options)
    loaded, deviations = _installed(catalog.load(settings=settings), options.crds)
    given = read_all(options.files)
    if not given:
        raise DocumentError([Problem(", ".join(map(str, options.files)), "", "no object found")])
    objects = list(stored([*read_all(options.view), *given], loaded))
    native, remarks = _native(options.admission_policies, loaded, objects)
    closed = options.references == "closed" or (options.references is None and bool(options.view))
    decide = Options(Profile(options.profile), strict_fields=True, complete=closed, settings=settings, native=native)
    view = MemoryView(objects)
    found = [review(item, loaded, view, decide) for item in given]
    shown = [_compared(each, view, settings) for each in found] if options.verbose else found
    return shown, [*deviations, *remarks]


def _compared(outcome: ReviewedManifest, view: ClusterView, settings: Settings) -> ReviewedManifest:
    gvk = _kind_of(outcome.document.value)
    compare = COMPARISONS.get((gvk.group, gvk.kind))
    if compare is None or not isinstance(outcome.document.value.get("metadata"), dict):
        return outcome
    lines = compare(_placed(outcome.document.value, None), view, settings)
    return replace(outcome, comparison=tuple(lines))


def _installed(loaded: Catalog, paths: list[Path]) -> tuple[Catalog, list[Problem]]:
    """The catalog by the CustomResourceDefinitions of some files, with warnings about what differs."""
    found = [item for item in read_all(paths) if item.value.get("kind") == "CustomResourceDefinition"] if paths else []
    if paths and not found:
        raise DocumentError([Problem(", ".join(map(str, paths)), "", "no CustomResourceDefinition found")])
    judged, deviations = with_installed(loaded, [item.value for item in found], trusted=False)
    where = ", ".join(map(str, paths))
    return judged, [Problem(where, "", str(each)) for each in deviations if each.is_notable]


def _native(folder: Path | None, loaded: Catalog, objects: list[dict[str, Any]]) -> tuple[Native | None, list[Problem]]:
    """The admission policies of a folder, over the objects given, with warnings about them."""
    if folder is None:
        return None, []
    policies = policyset.load(folder)
    context = Offline(loaded, [*policies.objects, *objects], assume=True)
    return Native(policies.policies, context), policies.remarks(loaded)


def stored(found: Iterable[Document], loaded: Catalog) -> Iterator[dict[str, Any]]:
    """The objects that others can refer to, as a cluster stores them; the last one of a name counts."""
    for item in found:
        metadata = item.value.get("metadata") or {}
        if not any(_name_errors(metadata)) and metadata.get("name"):
            kind = loaded.find(_kind_of(item.value))
            placed = _placed(item.value, kind)
            yield placed if kind is None else kind.schema.default(placed)


def review(document: Document, loaded: Catalog, view: ClusterView, options: Options) -> ReviewedManifest:
    """Review one document as an object that is being created."""
    value = document.value
    gvk = _kind_of(value)
    reviewed = options.native is not None or loaded.find(gvk) is not None
    errors = tuple(_name_errors(value.get("metadata")))
    if errors:
        return ReviewedManifest(document, reviewed, Decision(value), Decision(value, errors))
    request = _request(value, gvk, loaded)
    mutation = engine.mutate(request, loaded, view, options)
    written = _as_written(mutation, value)
    if not mutation.allowed:
        return ReviewedManifest(document, reviewed, written, mutation)
    validation = engine.validate(replace(request, object=mutation.object), loaded, view, options)
    return ReviewedManifest(document, reviewed, written, validation, None if reviewed else loaded.nearest(gvk))


def _as_written(mutation: Decision, value: dict[str, Any]) -> Decision:
    """The decision without the namespace, if the file leaves that to kubectl."""
    obj = mutation.object
    if obj is None or value["metadata"].get("namespace"):
        return mutation
    metadata = {key: item for key, item in obj["metadata"].items() if key != "namespace"}
    return replace(mutation, object={**obj, "metadata": metadata})


def _kind_of(value: dict[str, Any]) -> GroupVersionKind:
    return GroupVersionKind(*group_version(value["apiVersion"]), value["kind"])


def _placed(value: dict[str, Any], kind: KnownKind | None) -> dict[str, Any]:
    """The object where kubectl creates it: in the namespace ``default`` if it names none and its kind has one."""
    group, name = _kind_of(value).group, value["kind"]
    namespaced = (group, name) not in CLUSTER_KINDS if kind is None else kind.namespaced
    metadata = value["metadata"]
    if namespaced:
        metadata = {**metadata, "namespace": metadata.get("namespace") or NAMESPACE}
    else:
        metadata = {key: item for key, item in metadata.items() if key != "namespace"}
    return {**value, "metadata": metadata}


def _request(value: dict[str, Any], gvk: GroupVersionKind, loaded: Catalog) -> Request:
    """The request that the API server makes of a POST. It drops a valid status, which users cannot write."""
    kind = loaded.find(gvk)
    placed = _placed(value, kind)
    if kind is not None and kind.status and not kind.schema.unknown({"status": placed.get("status")}):
        placed.pop("status", None)
    name = placed["metadata"].get("name", "")
    namespace = name if (gvk.group, gvk.kind) == ("", "Namespace") else placed["metadata"].get("namespace", "")
    resource = resource_of_kind(gvk).name if kind is None else kind.plural
    return Request(gvk, resource, "CREATE", placed, name=name, namespace=namespace)


def _name_errors(metadata: Any) -> Iterator[Cause]:
    """What is wrong with the names, in the API server's words."""
    fields = ("name", "generateName", "namespace")
    if metadata is None:
        metadata = {}
    if not isinstance(metadata, dict):
        yield Cause("metadata", "FieldValueTypeInvalid", "Invalid value: must be an object")
        return
    wrong = [field for field in fields if not isinstance(metadata.get(field, ""), str)]
    yield from (
        Cause(f"metadata.{field}", "FieldValueTypeInvalid", "Invalid value: must be a string") for field in wrong
    )
    if not wrong and not (metadata.get("name") or metadata.get("generateName")):
        yield Cause("metadata.name", "FieldValueRequired", "Required value: name or generateName is required")
