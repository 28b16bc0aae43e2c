"""The pins of a repository, and those that count for a file."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from webhook.admission.errors import Problem
from webhook.catalog import Pack
from webhook.library.pins.near import nearest
from webhook.library.pins.operators import Operators
from webhook.library.pins.pin import Pin, Pinned
from webhook.library.pins.search import candidates
from webhook.library.pins.tree import Tree
from webhook.manifests.documents import Document

__all__ = ["Pins"]

Around = Callable[[Path], frozenset[Path]]
"""The units of which a file is a part: see :class:`webhook.library.pins.included.Units`."""


class Pins:
    """What a repository deploys of operators. ``remarks`` are pins that name no release, values that are not those of
    a chart, and files that are not read.
    """

    def __init__(
        self, pins: Sequence[Pin], remarks: Sequence[Problem] = (), around: Around = lambda _: frozenset()
    ) -> None:
        self.pins = tuple(pins)
        self.remarks = tuple(remarks)
        self._by_api = defaultdict[str, list[Pin]](list)
        for pin in pins:
            self._by_api[pin.api].append(pin)
        self._units_of = around
        self._around = {pin.file: around(pin.file) for pin in pins}

    @classmethod
    def read(cls, packs: Mapping[str, Pack], documents: Sequence[Document], roots: Sequence[Path]) -> Pins:
        """The pins in ``documents``, whose files are not read again, and in the other files below ``roots``."""
        remarks = list[Problem]()
        operators, tree = Operators(packs), Tree(documents, roots, remarks)
        objects, programs = candidates(documents, operators, tree)
        if not objects and not programs:
            return cls((), remarks)
        from webhook.library.pins.readers import collect  # noqa: PLC0415 - takes 15 ms; most trees deploy nothing

        pins, units = collect(objects, programs, operators, tree, remarks)
        return cls(pins, remarks, units.around) if units else cls(pins, remarks)

    def of(self, file: Path) -> Mapping[str, Pinned]:
        """What is deployed for the objects of a file, by API."""
        whole = Path(os.path.realpath(file.parent), file.name)
        around = self._units_of(whole)
        return {api: _pinned(self._near(whole, around, pins)) for api, pins in self._by_api.items()}

    def _near(self, file: Path, around: frozenset[Path], pins: Sequence[Pin]) -> Sequence[Pin]:
        """The pins of an API that count for a file: of the smallest units with both, else the nearest by folder."""
        units = [_unpatched([pin for pin in pins if unit in self._around[pin.file]]) for unit in around]
        files = [frozenset(pin.place for pin in unit) for unit in units if unit]
        smallest = [unit for unit in units if unit and not any(each < {pin.place for pin in unit} for each in files)]
        return [pin for unit in smallest or [_unpatched(pins)] for pin in nearest(file, unit, lambda each: each.file)]


def _unpatched(pins: Sequence[Pin]) -> list[Pin]:
    """The pins without those of deployments that others patch."""
    patched = {pin.deployment for pin in pins if pin.patches}
    return [pin for pin in pins if pin.patches or pin.deployment not in patched]


def _pinned(pins: Sequence[Pin]) -> Pinned:
    """What several pins say that are equally near. Those that name no release count only where no other one does."""
    named = [each for each in pins if each.release] or list(pins)
    places = tuple(dict.fromkeys(each.place for each in named))
    if len({each.release for each in named}) > 1:
        several = ", ".join(dict.fromkeys(f"{each.release} ({each.place})" for each in named))
        return Pinned("", _agreed(named), places, f"several releases are deployed: {several}")
    why = "; ".join(dict.fromkeys(f"{each.why} ({each.place})" for each in named if each.why))
    return Pinned(named[0].release, _agreed(named), places, why)


def _agreed(pins: Sequence[Pin]) -> Mapping[str, object]:
    """The settings of pins, without those of which they have different values."""
    given = [(name, value) for pin in pins for name, value in pin.settings.items()]
    return {name: value for name, value in given if all(value == other for key, other in given if key == name)}
