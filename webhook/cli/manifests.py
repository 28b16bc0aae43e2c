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
from webhook.engine.native import Native
from webhook.manifests.documents import Document
from webhook.manifests.folders import read_all
from webhook.policy import Profile
from webhook.vap import resource_of_kind
from webhook.vap.context import CLUSTER_KINDS

__all__ = ["ReviewedManifest", "add_arguments", "outcomes", "review"]


@dataclass(frozen=True, slots=True)
class ReviewedManifest:
    """One document and what was decided of it.

    ``known`` is False for a kind the gate has no say in; ``meant`` is then the one of ours that it is much like.
    """

    document: Document
    known: bool
    mutation: Decision
    validation: Decision
    meant: GroupVersionKind | None = None

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
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="manifests, or folders of them; - is stdin")
    parser.add_argument(
        "--view",
        action="append",
        type=Path,
        default=[],
        metavar="FILE",
        help="manifests, or folders of them, of what is in the cluster already (`kubectl get … -o yaml`): "
        "for references to find, not to be checked",
    )
    parser.add_argument(
        "--admission-policies",
        type=Path,
        metavar="DIR",
        help="a folder of ValidatingAdmissionPolicies, MutatingAdmissionPolicies, their bindings and params: "
        "they judge every kind, as the API server would",
    )
    parser.add_argument("--profile", choices=[profile.value for profile in Profile], default=Profile.STANDARD.value)
    choices.add_arguments(parser)


def outcomes(options: argparse.Namespace) -> tuple[list[ReviewedManifest], list[Problem]]:
    """Each document of the named files through the whole way: mutate, then validate, as on CREATE.

    Returns the outcomes, and what is doubtful about the admission policies.

    Raises:
        CatalogError: admission policies that do not load.
        DocumentError: a file that cannot be read, or holds something else than objects; no object at all.
        SettingsError: a flag with a value that does not fit.
    """
    settings = choices.chosen(options)
    known = catalog.load(settings=settings)
    found = read_all(options.files)
    if not found:
        raise DocumentError([Problem(", ".join(map(str, options.files)), "", "no object in it")])
    objects = list(_stored([*read_all(options.view), *found], known))
    how = Options(profile=Profile(options.profile), strict_fields=True, settings=settings)
    remarks: list[Problem] = []
    if options.admission_policies is not None:
        policies = policyset.load(options.admission_policies)
        remarks = policies.remarks(known)
        surroundings = Offline(known, [*policies.objects, *objects], assume=True)
        how = replace(how, native=Native(policies.policies, surroundings))
    view = MemoryView(objects)
    return [review(item, known, view, how) for item in found], remarks


def _stored(found: Iterable[Document], known: Catalog) -> Iterator[dict[str, Any]]:
    """The objects that others can refer to, as a cluster has them; of two with the same name the later one is newer."""
    for item in found:
        metadata = item.value.get("metadata") or {}
        if not any(_nameless(metadata)) and metadata.get("name"):
            kind = known.find(_kind_of(item.value))
            placed = _placed(item.value, kind)
            yield placed if kind is None else kind.schema.default(placed)


def review(document: Document, known: Catalog, view: ClusterView, options: Options) -> ReviewedManifest:
    """One document through the engine, as an object that is being created."""
    value = document.value
    gvk = _kind_of(value)
    judged = options.native is not None or known.find(gvk) is not None
    nameless = tuple(_nameless(value.get("metadata")))
    if nameless:
        return ReviewedManifest(document, judged, Decision(value), Decision(value, nameless))
    request = _request(value, gvk, known)
    mutation = engine.mutate(request, known, view, options)
    if not mutation.allowed:
        return ReviewedManifest(document, judged, _as_written(mutation, value), mutation)
    validation = engine.validate(replace(request, object=mutation.object), known, view, options)
    return ReviewedManifest(
        document, judged, _as_written(mutation, value), validation, None if judged else known.nearest(gvk)
    )


def _as_written(mutation: Decision, value: dict[str, Any]) -> Decision:
    """The outcome without a namespace that its file leaves to kubectl."""
    obj = mutation.object
    if obj is None or value["metadata"].get("namespace"):
        return mutation
    metadata = {key: item for key, item in obj["metadata"].items() if key != "namespace"}
    return replace(mutation, object={**obj, "metadata": metadata})


def _kind_of(value: dict[str, Any]) -> GroupVersionKind:
    return GroupVersionKind(*group_version(value["apiVersion"]), value["kind"])


def _placed(value: dict[str, Any], kind: KnownKind | None) -> dict[str, Any]:
    """The object where kubectl puts it: in its default namespace if it names none, in no one if its kind has none."""
    group, name = _kind_of(value).group, value["kind"]
    namespaced = (group, name) not in CLUSTER_KINDS if kind is None else kind.namespaced
    metadata = value["metadata"]
    if namespaced:
        metadata = {**metadata, "namespace": metadata.get("namespace") or NAMESPACE}
    else:
        metadata = {key: item for key, item in metadata.items() if key != "namespace"}
    return {**value, "metadata": metadata}


def _request(value: dict[str, Any], gvk: GroupVersionKind, known: Catalog) -> Request:
    """As the API server makes it of a POST: of a status, which is not its user's to write, only the fields are read."""
    kind = known.find(gvk)
    placed = _placed(value, kind)
    if kind is not None and kind.status and not kind.schema.unknown({"status": placed.get("status")}):
        placed.pop("status", None)
    name = placed["metadata"].get("name", "")
    namespace = name if (gvk.group, gvk.kind) == ("", "Namespace") else placed["metadata"].get("namespace", "")
    resource = resource_of_kind(gvk).name if kind is None else kind.plural
    return Request(gvk, resource, "CREATE", placed, name=name, namespace=namespace)


def _nameless(metadata: Any) -> Iterator[Cause]:
    """What is wrong with the names, in the words of the API server."""
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
