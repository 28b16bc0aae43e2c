"""What the readers of the ways of deploying share: the files, the names of operators, and what they have read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from webhook.admission.errors import Problem
from webhook.facts.nodes import name_of
from webhook.ground.fieldpath import field_path
from webhook.library.pins.objects import Values, last_value, value_at
from webhook.library.pins.operators import Operators
from webhook.library.pins.pin import Named, Pin, release_of
from webhook.library.pins.settings import Given, value_settings
from webhook.library.pins.tree import Tree
from webhook.manifests import documents
from webhook.manifests.documents import Document


class PlacedRelease(NamedTuple):
    """What is written of a release, and where."""

    written: Named
    document: Document
    path: tuple[str | int, ...]


_PINS: Final = 200
"""Deployments of operators in a repository."""


class Collector:
    """Collects pins and remarks."""

    def __init__(self, operators: Operators, tree: Tree, remarks: list[Problem]) -> None:
        self.operators = operators
        self.tree = tree
        self.pins = list[Pin]()
        self.remarks = remarks

    def file_of(self, document: Document) -> Path:
        return self.tree.file_of(document.source)

    @property
    def is_full(self) -> bool:
        """Whether nothing more is collected."""
        return len(self.pins) >= _PINS

    def remark(self, document: Document, at: Sequence[str | int], message: str) -> None:
        self.remarks.append(Problem(self.tree.place(document, *at), field_path(at), message))

    def values(self, document: Document, *at: str | int) -> list[Values]:
        """The values at a place of a document: one map or none; a text is read as YAML. What is neither is a remark."""
        value = value_at(document.value, *at)
        if isinstance(value, str):
            return self.values_in(document, at, value)
        if isinstance(value, dict):
            return [Values(document, at, value)]
        if value is not None:
            self.remark(document, at, f"values of a chart are a map, not {type(value).__name__}")
        return []

    def values_in(self, document: Document, at: tuple[str | int, ...], text: str) -> list[Values]:
        """The values in a text of YAML that is at a place of a document."""
        scan = documents.scan_text(text, "")
        if scan.problems or scan.others:
            problem = [*scan.problems, *scan.others][0]
            why = f"values that cannot be read: line {problem.source.lstrip(':')}: {problem.message}"
            self.remark(document, at, why)
        maps = [*scan.documents, *scan.repeating][:1]
        return [Values(document, at, inner.value, is_inside=False) for inner in maps]

    def inner_values(self, values: Values, key: str) -> list[Values]:
        """The values that others have under a key."""
        if values.is_inside:
            return self.values(values.document, *values.at, key)
        inner = values.value.get(key)
        return [replace(values, value=inner)] if isinstance(inner, dict) else []

    def root_values(self, path: str) -> list[Values]:
        """The values in a file by its path from a root."""
        return [part for root in self.tree.roots for part in self.file_values(root / path)][:1]

    def file_values(self, file: Path) -> list[Values]:
        """The values in a file of the tree."""
        return [Values(document, (), document.value) for document in self.tree.read(file)[:1]]

    def deploy(
        self,
        api: str,
        release: PlacedRelease,
        where: Document,
        layers: Sequence[Values] = (),
        *,
        given: Iterable[Given] = (),
        patches: bool = False,
        deployment: str | None = None,
    ) -> None:
        """An operator is deployed by a document. The tag of its image in values counts more than its chart's version.

        ``patches``: the document only changes a ``deployment`` that another one has; that of manifests is "".
        """
        if self.is_full:
            return
        written, document, path = self._tag(api, layers) or release
        place = self.tree.place(document, *path)
        name = name_of(where.value) if deployment is None else deployment
        settings = self._settings(api, layers, given)
        if len(self.pins) == _PINS - 1:
            self.remark(where, (), f"the last of {_PINS} deployments that are read for the release of an operator")
        self.pins.append(Pin(api, place, self.file_of(where), *written, settings, name, patches))

    def _settings(self, api: str, layers: Sequence[Values], given: Iterable[Given]) -> Mapping[str, object]:
        """The settings that values and others give; one of a wrong type is left out, and a remark."""
        pack, settings = self.operators.packs[api], dict[str, object]()
        for setting in (*value_settings(pack, layers), *given):
            try:
                if setting.is_known:
                    settings[setting.name] = setting.checked(pack)
            except ValueError as error:
                why = f"{error}: the setting {setting.name} of {pack.operator} is left out"
                self.remark(setting.document, setting.path, why)
        return settings

    def _tag(self, api: str, layers: Sequence[Values]) -> PlacedRelease | None:
        """The release that the tag of the operator's image in values names."""
        for text in self.operators.packs[api].tags:
            path = text.split(".")
            value, layer = last_value(layers, *path)
            if layer is not None and value != "":
                return PlacedRelease(release_of(value), layer.document, layer.path_of(*path))
        return None
