"""Upstream's own manifests of OME as one cluster, and what the engine makes of each without one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from tests.shared import shared
from webhook.catalog import Catalog
from webhook.cluster import MemoryView
from webhook.engine import Options
from webhook.library.review import ReviewedManifest, review
from webhook.manifests import documents
from webhook.manifests.documents import Document

# Of two with the same name the later one counts: upstream's newest is last, as in a cluster that was upgraded.
FOLDERS = ("head-docs", "doc-era", "head")

# kubectl asks the API server to refuse fields that the API does not have.
STRICT_FIELDS = Options(strict_fields=True)

Object = dict[str, Any]


def samples(kinds: Iterable[str], namespace: str) -> Iterator[Document]:
    """All documents of some kinds, each moved into this namespace but for those that belong to none."""
    wanted = [f"{kind}.yaml" for kind in kinds]
    for folder in FOLDERS:
        for file in sorted(shared("samples", "ome", folder).iterdir()):
            for document in documents.read(file) if file.name in wanted else ():
                metadata = document.value.get("metadata") or {}
                if not document.value["kind"].startswith("Cluster"):
                    metadata = {**metadata, "namespace": namespace}
                yield replace(document, value={**document.value, "metadata": metadata})


def by_name(found: Iterable[Document]) -> dict[tuple[str, str], Document]:
    """Kind and name → the document that counts."""
    return {(each.value["kind"], each.value["metadata"]["name"]): each for each in found}


def outcomes(found: Iterable[Document], known: Catalog, view: MemoryView) -> list[ReviewedManifest]:
    """What becomes of each, created beside the objects of the view."""
    return [review(each, known, view, STRICT_FIELDS) for each in found]
