"""The values with which the Kustomizations of Flux among the files substitute variables (``postBuild``)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from webhook.library.unknown.substitution import Values, substitutes
from webhook.manifests.documents import Document

__all__ = ["Substitutions"]


@dataclass(frozen=True, slots=True)
class Substitutions:
    """``given`` are values for all files; ``folders`` are those of the Kustomizations that apply a folder."""

    given: Mapping[str, str]
    folders: Mapping[Path, Values]

    @classmethod
    def of(cls, documents: Iterable[Document], top: Path, given: Mapping[str, str]) -> Substitutions:
        """The values of the Kustomizations among documents, whose paths start at the ``top`` of the repository.

        Where two Kustomizations apply one folder, such as for two clusters, only what they agree on is known.
        """
        every = list(documents)
        found: dict[Path, Values] = {}
        for document in filter(substitutes, every):
            spec = document.value["spec"]
            folder = _normal(top / str(spec.get("path") or ".").lstrip("/"))
            values = dict(_values(document.value, every))
            before = found.get(folder, values)
            found[folder] = {
                key: values.get(key) if before.get(key) == values.get(key) else None for key in {**before, **values}
            }
        return cls(given, found)

    def values(self, applied: Path) -> Values:
        """The values for a file, or for the files of a folder that is built: those of the nearest folder above it."""
        place = _normal(applied)
        nearest = next((each for each in (place, *place.parents) if each in self.folders), None)
        return self.given if nearest is None else {**self.folders[nearest], **self.given}


def _normal(path: Path) -> Path:
    return Path(os.path.abspath(path))  # noqa: PTH100 - it follows no link


def _values(kustomization: Mapping[str, Any], documents: Iterable[Document]) -> Iterator[tuple[str, str]]:
    """The values of one Kustomization: of ConfigMaps first, its own count more. Secrets stay unknown."""
    build = kustomization["spec"]["postBuild"]
    sources = build.get("substituteFrom")
    for source in sources if isinstance(sources, list) else ():
        if isinstance(source, dict) and source.get("kind") == "ConfigMap":
            yield from _data(str(source.get("name")), _namespace(kustomization), documents)
    own = build.get("substitute")
    for key, value in own.items() if isinstance(own, dict) else ():
        if isinstance(value, str):
            yield key, value


def _data(name: str, namespace: str, documents: Iterable[Document]) -> Iterator[tuple[str, str]]:
    for document in documents:
        value = document.value
        metadata, data = value.get("metadata"), value.get("data")
        named = isinstance(metadata, dict) and metadata.get("name") == name and _namespace(value) in (namespace, "")
        if value["kind"] == "ConfigMap" and named and isinstance(data, dict):
            yield from ((key, item) for key, item in data.items() if isinstance(item, str))


def _namespace(value: Mapping[str, Any]) -> str:
    metadata = value.get("metadata")
    return str(metadata.get("namespace") or "") if isinstance(metadata, dict) else ""
