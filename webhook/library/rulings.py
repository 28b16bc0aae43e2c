"""By what each document is judged: the release and the settings of its operator that its repository pins."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from threading import Lock
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from webhook.admission.errors import Problem, SettingsError
from webhook.catalog import By, Deviation, InForce, Pack, chosen, with_operator
from webhook.engine import Ruling
from webhook.facts.settings import Settings
from webhook.library.apiserver import kind_of
from webhook.manifests.documents import Document

if TYPE_CHECKING:  # what reads pins is loaded where there is a repository
    from webhook.library.pins import Pinned

Deployed = Callable[[Document], Mapping[str, "Pinned"]]
"""What is deployed of each operator for the objects of a document, by API."""

_MOST: Final = 16
"""Rulings of one run: each compiles rules, and looks at all objects. A repository has one for each environment."""
_SHOWN: Final = 3
_BY: Final[Mapping[By, str]] = {
    "documented": "the documented release",
    "setting": "as it is set",
    "definitions": "by its definitions",
    "shape": "by its fields",
}


@dataclass(frozen=True, slots=True)
class JudgedAs:
    """The release of an operator by which an object is judged: ``LLMKube 0.9.19``.

    ``by`` is what says so: ``setting`` (a flag, the configuration, the settings of a gate), ``pin`` (the files in
    ``places``, each with its line), ``definitions`` (those that are installed), ``shape`` (fields of the object), or
    ``documented`` (nothing).
    """

    api: str
    release: str
    by: By
    places: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.release} ({_BY.get(self.by) or _some(self.places)})"


class Moved(NamedTuple):
    """The release by which some objects are judged ``before`` a change and ``after`` it."""

    before: JudgedAs
    after: JudgedAs


class Ruled(NamedTuple):
    """What judges the objects of a document.

    ``number`` is that of the ``ruling`` among those of the run. ``pinned`` is what is deployed for the objects, and
    ``faults`` say what of it could not be used, both by API.
    """

    number: int
    ruling: Ruling
    pinned: Mapping[str, Pinned]
    faults: Mapping[str, list[Problem]]


class Rulings:
    """The rulings of a run: one for each combination of releases and settings by which documents are judged.

    ``loaded`` are the rules by flags and configuration, which count more than pins; ``complete`` puts a ruling under
    the definitions of the run; ``deployed`` reads the pins. Unless these are ``trusted``, none counts under which no
    schema is judged. ``made`` are the rulings, in the order of their numbers.
    """

    def __init__(
        self,
        loaded: Ruling,
        complete: Callable[[Ruling], Ruling] = lambda ruling: ruling,
        deployed: Deployed | None = None,
        *,
        trusted: bool = True,
    ) -> None:
        self._loaded = loaded
        self._complete = complete
        self._deployed = deployed
        self._trusted = trusted
        self._numbers = dict[tuple[tuple[tuple[str, InForce], ...], Settings], int]()
        self._places = dict[object, Ruled]()
        self._latest: Ruled | None = None
        self._remarks = dict[Problem, None]()
        self._lock = Lock()
        self._origins = list[Mapping[str, str]]()
        self.made: list[Ruling] = []

    @property
    def remarks(self) -> list[Problem]:
        """What could not be used of the pins for the objects that were asked for, each with its file and line."""
        return [*self._remarks]

    @property
    def deviations(self) -> Mapping[Deviation, str]:
        """What is to be said of releases and definitions, each with what names it: a pin, or the flag that does."""
        sources = dict[Deviation, str]()
        for ruling, places in zip(self.made, self._origins, strict=True):
            for deviation in ruling.deviations:
                place = places.get(self._loaded.shipped.uncompiled(deviation.kind).api, "--release")
                if deviation.is_notable:
                    sources.setdefault(deviation, place if deviation.release else "--crds")
        return sources

    @property
    def unsure(self) -> bool:
        """Whether the release of an operator is not known well enough for all rules."""
        return any(deviation.is_unsure for ruling in self.made for deviation in ruling.deviations)

    @property
    def of_no_file(self) -> Ruled:
        """What judges objects that are in no file."""
        return self.of(Document("", 1, {}))

    def of(self, document: Document) -> Ruled:
        """What judges the objects of a document."""
        shape = self._shape(document)
        place = self._deployed and (document.source, document.built), shape
        ruled = self._places.get(place)
        if ruled is None:
            pinned = self._deployed(document) if self._deployed else {}
            with self._lock:  # the file before is mostly of the same folder
                if shape and not self._is_pinned(shape[0], pinned):
                    ruled = self._ruled(pinned, dict([shape]))
                else:
                    if self._latest is None or pinned != self._latest.pinned:
                        self._latest = self._ruled(pinned)
                    ruled = self._latest
                self._places[place] = ruled
        return ruled

    def _shape(self, document: Document) -> tuple[str, InForce] | None:
        """The API of an object, and the releases whose shape it has; None if it may be of the documented one."""
        gvk, shipped = kind_of(document.value) if document.value else None, self._loaded.shipped  # without an object
        if gvk is None or gvk not in shipped.kinds:
            return None
        kind = shipped.uncompiled(gvk)
        if not kind.pack.shapes or shipped.releases()[kind.api].by != "documented":
            return None
        in_force = kind.pack.by_shape(kind.plural, document.value)
        return (kind.api, in_force) if in_force else None

    def _is_pinned(self, api: str, pinned: Mapping[str, Pinned]) -> bool:
        return api in pinned and self._release(api, self._loaded.shipped.packs[api], pinned[api])[0] is not None

    def groups(self, documents: Iterable[Document]) -> Mapping[int, list[Document]]:
        """The documents by the numbers of their rulings."""
        groups = dict[int, list[Document]]()
        for document in documents:
            groups.setdefault(self.of(document).number, []).append(document)
        return groups

    def judged_as(self, document: Document) -> JudgedAs | None:
        """By which release an object is judged; None if its operator has none, or one that nothing names."""
        ruled, gvk = self.of(document), kind_of(document.value)
        catalog = ruled.ruling.catalog
        if gvk not in catalog.kinds:
            return None
        known = catalog.uncompiled(gvk)
        self._remarks.update(dict.fromkeys(ruled.faults.get(known.api, ())))
        in_force = catalog.in_force.get(known.api, known.pack.in_force)
        if in_force.by == "documented" and len(known.pack.releases) <= 1:
            return None
        places = ruled.pinned[known.api].places if in_force.by == "pin" else ()
        return JudgedAs(known.api, str(in_force), in_force.by, places)

    def _ruled(self, pinned: Mapping[str, Pinned], shapes: Mapping[str, InForce] = MappingProxyType({})) -> Ruled:
        in_force, settings = {**shapes}, self._loaded.options.settings
        faults = dict[str, list[Problem]]()
        for api, pin in sorted(pinned.items()):
            pack = self._loaded.shipped.packs[api]
            settings = with_operator(settings, pack, pin.settings)
            release, fault = self._release(api, pack, pin)
            in_force |= {api: release} if release else {}
            several = (f"the setting {api}.{name} is left out: {_some(pin.places)} differ" for name in pin.disputed)
            faults[api] = [Problem(pin.places[0], "", text) for text in (fault, *several) if text]
        key = (tuple(in_force.items()), settings)
        if key not in self._numbers and len(self._numbers) >= _MOST:
            fault = f"not used: the files before it pin {_MOST} combinations of releases and settings already"
            faults = {api: [Problem(pin.places[0], "", fault)] for api, pin in pinned.items()}
            key = ((), self._loaded.options.settings)
        if key not in self._numbers:
            self._numbers[key] = len(self.made)
            self._origins.append({api: pinned[api].places[0] for api, _ in key[0] if api in pinned})
            self.made.append(self._complete(self._loaded.as_of(*key)))
        return Ruled(self._numbers[key], self.made[self._numbers[key]], pinned, faults)

    def _release(self, api: str, pack: Pack, pin: Pinned) -> tuple[InForce | None, str]:
        """The release that is pinned, if it counts; or why it is not known."""
        before = self._loaded.shipped.releases()[api]
        if pack.documented is None or before.by == "setting":
            return None, ""
        why = pin.why
        try:
            if pin.release:
                in_force = chosen(self._loaded.shipped.packs, [(api, pin.release)], "pin")[api]
                if self._trusted or not in_force.is_older:
                    return in_force, ""
                why = f"{pin.release} is older than all that are known, and no schema would be judged"
        except SettingsError as error:
            why = error.problems[0].message
        return None, f"the release of {pack.operator} is not known, so that {before.name} counts: {why}" if why else ""


def _some(places: tuple[str, ...]) -> str:
    more = f" and {len(places) - _SHOWN} more" if len(places) > _SHOWN else ""
    return ", ".join(places[:_SHOWN]) + more
