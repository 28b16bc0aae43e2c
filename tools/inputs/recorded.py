"""The fields that each fact reads, recorded while the cases of all rules run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from webhook.catalog import Catalog, KnownKind
from webhook.cli.cases import Case, catalogs, parse_cases, run
from webhook.cluster import ClusterView, Kind, MemoryView
from webhook.facts import Fact
from webhook.facts.settings import Settings
from webhook.manifests import documents

POLICIES: Final = Path(__file__).parents[2] / "policies"

Keys = tuple[str, ...]
Inputs = dict[str, dict[str, list[str]]]
"""``group/Kind`` → fact → the fields that it reads, as ``spec.a.b``; of other kinds as ``group/Kind:spec.a.b``."""


def made_text(catalog: Catalog, apis: Sequence[str], before: str) -> str:
    """The file as text: anew for the kinds of these APIs, and else as ``before``."""
    found = recorded(catalog, apis)
    groups = {known.gvk.group for known in catalog.kinds.values() if known.api in apis}
    kept = {kind: facts for kind, facts in json.loads(before).items() if kind.partition("/")[0] not in groups}
    return json.dumps(kept | found, indent=1, sort_keys=True) + "\n"


def recorded(catalog: Catalog, apis: Sequence[str]) -> Inputs:
    """Run every case of the policies of these APIs, and record what the facts read."""
    notes: set[tuple[str, str, str, Keys]] = set()
    kinds = {gvk: replace(known, own_facts=_recording(known, notes)) for gvk, known in catalog.kinds.items()}
    recording = replace(catalog, kinds=catalog.kinds.replaced(kinds))
    for file in sorted(file for api in apis for file in POLICIES.glob(f"{api}/cases/*.yaml")):
        for document in map(parse_cases, documents.read(file)):
            target = document.target
            for known in (each for gvk, each in kinds.items() if (gvk.group, gvk.kind) == (target.group, target.kind)):
                for case in document.cases:
                    result = run(case, known, recording)
                    _read_of_children(case, known, recording, result.mutation.object)
    found: Inputs = {}
    for kind, fact, read, keys in sorted(notes):
        if _is_field(catalog, read, keys):
            path = ".".join(keys)
            found.setdefault(kind, {}).setdefault(fact, []).append(path if read == kind else f"{read}:{path}")
    return {kind: {fact: list(_leaves(paths)) for fact, paths in facts.items()} for kind, facts in found.items()}


def _read_of_children(case: Case, known: KnownKind, recording: Catalog, obj: dict[str, Any] | None) -> None:
    """Compute what the descriptions of children read, also where a judgement need not look whether there are any."""
    for catalog in [*catalogs(case, known.api, recording)] or [recording]:
        kind = catalog.kinds[known.gvk]
        for name in sorted({fact for rule in kind.policy.children for fact in rule.facts}):
            kind.facts[name].value(obj or {}, MemoryView(case.others), kind.completed(case.settings))


def _recording(known: KnownKind, notes: set[tuple[str, str, str, Keys]]) -> dict[str, Fact]:
    kind = f"{known.gvk.group}/{known.gvk.kind}"
    return {
        name: replace(fact, compute=partial(_computed, kind, name, fact, notes), configurable=True)
        for name, fact in known.facts.items()
    }


def _computed(
    kind: str,
    name: str,
    fact: Fact,
    notes: set[tuple[str, str, str, Keys]],
    obj: dict[str, Any],
    view: ClusterView,
    settings: Settings,
) -> Any:
    """The fact's value, with a note of every field that it reads."""
    reads = _Reads(kind, name, notes)
    return _plain(fact.value(_noting(obj, partial(reads.note, kind)), _View(view, reads), settings))


@dataclass(frozen=True)
class _Reads:
    kind: str
    fact: str
    notes: set[tuple[str, str, str, Keys]]

    def note(self, kind: str, keys: Keys) -> None:
        self.notes.add((self.kind, self.fact, kind, _noted(keys)))


@dataclass(frozen=True)
class _View:
    view: ClusterView
    reads: _Reads

    def get(self, kind: Kind, namespace: str, name: str) -> dict[str, Any] | None:
        found = self.view.get(kind, namespace, name)
        return None if found is None else _noting(found, partial(self.reads.note, f"{kind.group}/{kind.kind}"))

    def list(self, kind: Kind, namespace: str | None = None) -> Sequence[dict[str, Any]]:
        name = f"{kind.group}/{kind.kind}"
        return [_noting(each, partial(self.reads.note, name)) for each in self.view.list(kind, namespace)]


class _Noting(dict[str, Any]):
    """A dictionary that notes which of its members are read."""

    def __init__(self, value: dict[str, Any], note: Any, at: Keys) -> None:
        super().__init__(value)
        self._note, self._at = note, at

    def _member(self, key: str, value: Any) -> Any:
        self._note((*self._at, key))
        return _noting(value, self._note, (*self._at, key))

    def __getitem__(self, key: str) -> Any:
        return self._member(key, super().__getitem__(key))

    def __iter__(self) -> Iterator[str]:
        self._note((*self._at, "*"))
        return super().__iter__()

    def keys(self) -> Any:
        self._note((*self._at, "*"))
        return super().keys()

    def __contains__(self, key: object) -> bool:
        self._note((*self._at, str(key)))
        return super().__contains__(key)

    def get(self, key: str, default: Any = None) -> Any:
        return self._member(key, super().get(key, default))

    def __eq__(self, other: object) -> bool:
        self._note((*self._at, "*"))
        return super().__eq__(other)

    __hash__ = None

    def items(self) -> Any:
        return [(key, self._member(key, value)) for key, value in super().items()]

    def values(self) -> Any:
        return [self._member(key, value) for key, value in super().items()]


def _noting(value: Any, note: Any, at: Keys = ()) -> Any:
    if isinstance(value, dict):
        return _Noting(value, note, at)
    return [_noting(item, note, (*at, "*")) for item in value] if isinstance(value, list) else value


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in dict.items(value)}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _noted(keys: Keys) -> Keys:
    """The keys as a path can write them. A label or annotation without a dot is a user's, so it stands for any."""
    if keys[:2] in {("metadata", "labels"), ("metadata", "annotations")}:
        return (*keys[:2], *(key if "." in key else "*" for key in keys[2:]))
    return tuple("*" if "." in key else key for key in keys)


def _is_field(catalog: Catalog, kind: str, keys: Keys) -> bool:
    """Whether the keys are a field of a kind that is not in the catalog, of the metadata, or of the definition.

    ``*`` at the end is all that is below, also of a structure.
    """
    known = next((each for gvk, each in catalog.kinds.items() if f"{gvk.group}/{gvk.kind}" == kind), None)
    if known is None or keys[0] == "metadata":
        return keys[0] not in {"apiVersion", "kind"}
    node: Any = known.schema.root.raw
    for depth, key in enumerate(keys, 1):
        if key == "*" and depth == len(keys) and "properties" in node:
            break
        every = node.get("items") or node.get("additionalProperties")
        node = every if key == "*" else node.get("properties", {}).get(key)
        if not isinstance(node, Mapping):
            return False
    return keys[0] in {"spec", "status"}


def _leaves(paths: list[str]) -> Iterator[str]:
    """The paths without those that lead to another one."""
    return (path for path in paths if not any(other.startswith(f"{path}.") for other in paths))
