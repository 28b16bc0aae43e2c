"""What `check` and `normalise` share: files to requests, and each request through the engine."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from webhook import catalog, documents, engine
from webhook.catalog import Catalog
from webhook.cli import choices
from webhook.cluster import ClusterView, MemoryView
from webhook.decision import Cause, Decision
from webhook.documents import Document
from webhook.engine import Options
from webhook.errors import DocumentError, Problem
from webhook.policy import Profile
from webhook.request import GroupVersionKind, Request, group_version

__all__ = ["Outcome", "add_arguments", "outcomes", "read_all", "review"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One document and what was decided of it; ``known`` is False for a kind the gate has no say in."""

    document: Document
    known: bool
    mutation: Decision
    validation: Decision

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
    parser.add_argument("--profile", choices=[profile.value for profile in Profile], default=Profile.STANDARD.value)
    choices.add_arguments(parser)


def outcomes(options: argparse.Namespace) -> list[Outcome]:
    """Each document of the named files through the whole way: mutate, then validate, as on CREATE.

    Raises:
        DocumentError: a file that cannot be read, or holds something else than objects.
        SettingsError: a flag with a value that does not fit.
    """
    settings = choices.chosen(options)
    known = catalog.load(settings=settings)
    found = read_all(options.files)
    view = MemoryView(_named([*read_all(options.view), *found]))
    how = Options(profile=Profile(options.profile), strict_fields=True, settings=settings)
    return [review(item, known, view, how) for item in found]


def _named(found: Iterable[Document]) -> Iterator[dict[str, Any]]:
    """The objects that others can refer to; of two with the same name the later one is the newer."""
    for item in found:
        metadata = item.value.get("metadata") or {}
        if not any(_nameless(metadata)) and metadata.get("name"):
            yield item.value


def review(document: Document, known: Catalog, view: ClusterView, options: Options) -> Outcome:
    """One document through the engine, as an object that is being created."""
    value = document.value
    gvk = GroupVersionKind(*group_version(value["apiVersion"]), value["kind"])
    nameless = tuple(_nameless(value.get("metadata")))
    if nameless:
        return Outcome(document, known.find(gvk) is not None, Decision(value), Decision(value, nameless))
    metadata = value["metadata"]
    request = Request(
        kind=gvk,
        resource="",
        operation="CREATE",
        object=value,
        name=metadata.get("name", ""),
        namespace=metadata.get("namespace", ""),
    )
    mutation = engine.mutate(request, known, view, options)
    validation = engine.validate(replace(request, object=mutation.object), known, view, options)
    return Outcome(document, known.find(gvk) is not None, mutation, validation)


def read_all(paths: Sequence[Path]) -> list[Document]:
    """Every object in the files.

    Raises:
        DocumentError: with the problems of all files.
    """
    found: list[Document] = []
    problems: list[Problem] = []
    for path in _files(paths):
        try:
            text = documents.parse(sys.stdin.read(), "stdin") if str(path) == "-" else documents.read(path)
            found += text
            problems += [problem for document in text for problem in _headless(document)]
        except DocumentError as error:
            problems += error.problems
    if problems:
        raise DocumentError(problems)
    return found


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            yield from sorted(item for item in path.rglob("*") if item.suffix in {".yaml", ".yml", ".json"})
        else:
            yield path


def _headless(document: Document) -> Iterator[Problem]:
    """What keeps a document from being a Kubernetes object at all."""
    for field in ("apiVersion", "kind"):
        if not isinstance(document.value.get(field), str):
            where = f"{document.source}:{document.line}"
            yield Problem(where, field, "Required value: every object says what it is")


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
