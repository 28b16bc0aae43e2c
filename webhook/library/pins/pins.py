"""The pins of a repository, and those that count for a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from webhook.admission.errors import Problem
from webhook.catalog import Pack
from webhook.library.pins import charts, flux
from webhook.library.pins.collector import Collector
from webhook.library.pins.near import nearest
from webhook.library.pins.operators import Operators
from webhook.library.pins.pin import Pin, Pinned
from webhook.library.pins.tree import Tree
from webhook.manifests.documents import Document

__all__ = ["Pins"]

_KINDS: Final = flux.KINDS
_WORDS: Final = (b"HelmRelease", b"OCIRepository", b"GitRepository", b"HelmChart")
"""A file of an object that may deploy an operator has one of these words, beside a name of the operator."""


class Pins:
    """What a repository deploys of operators. ``remarks`` are pins that name no release, values that are not those of
    a chart, and files that are not read.
    """

    def __init__(self, pins: Sequence[Pin], remarks: Sequence[Problem] = ()) -> None:
        self.pins = tuple(pins)
        self.remarks = tuple(remarks)

    @classmethod
    def read(cls, packs: Mapping[str, Pack], documents: Sequence[Document], roots: Sequence[Path]) -> Pins:
        """The pins in ``documents``, whose files are not read again, and in the other files below ``roots``."""
        remarks = list[Problem]()
        operators, tree = Operators(packs), Tree(documents, roots, remarks)
        collector = Collector(operators, tree, remarks)
        read = [each for each in documents if each.value.get("kind") in _KINDS]
        read += tree.search(lambda _, text: any(map(text.__contains__, _WORDS)) and operators.named_in(text))
        flux.read_flux([each for each in read if each.value.get("kind") in _KINDS], collector)
        for file in tree.named(charts.FILE):
            for document in tree.read(file)[:1]:
                charts.read_chart(document, collector)
        return cls(collector.pins, remarks)

    def of(self, file: Path) -> Mapping[str, Pinned]:
        """What is deployed for the objects of a file, by API."""
        by_api = dict[str, list[Pin]]()
        for pin in self.pins:
            by_api.setdefault(pin.api, []).append(pin)
        return {api: _pinned(nearest(file, pins, lambda each: each.file)) for api, pins in by_api.items()}


def _pinned(pins: Sequence[Pin]) -> Pinned:
    """What several pins say that are equally near."""
    named = [each for each in pins if each.release] or list(pins)
    places = tuple(dict.fromkeys(each.place for each in named))
    settings = {name: value for each in named for name, value in each.settings.items()}
    releases = sorted({each.release for each in named})
    if len(releases) == 1 and releases[0]:
        return Pinned(releases[0], settings, places)
    if len(releases) == 1:
        return Pinned("", settings, places, "; ".join(dict.fromkeys(f"{each.why} ({each.place})" for each in named)))
    several = ", ".join(dict.fromkeys(f"{each.release} ({each.place})" for each in named))
    return Pinned("", settings, places, f"several releases are deployed: {several}")
