"""Compare two schemas of one kind: the fields that one of them lacks, and where the other one accepts more."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

__all__ = ["Differences", "Keys", "compare", "expected", "is_same", "joined", "lacks", "without_texts"]

Schema = Mapping[str, Any]
Keys = tuple[str, ...]
"""A path: field names, and ``*`` for every item of a list or every value of a map."""

_TEXTS: Final = frozenset({"description", "title", "example", "externalDocs", "x-kubernetes-map-type"})
"""Keywords without an effect on verdicts. ``x-kubernetes-map-type`` says how server-side apply merges."""

_OPEN: Final = "x-kubernetes-preserve-unknown-fields"
_ELSEWHERE: Final = frozenset({*_TEXTS, _OPEN, "properties", "items", "x-kubernetes-validations", "enum", "allOf"})
"""Keywords that do not limit a value, or that are compared as what they have in common."""

_LOWER: Final = frozenset({"minimum", "minLength", "minItems", "minProperties"})
_UPPER: Final = frozenset({"maximum", "maxLength", "maxItems", "maxProperties"})
_LIMITS: Final = frozenset(
    {*_LOWER, *_UPPER, "pattern", "format", "multipleOf", "anyOf", "oneOf", "not", "uniqueItems"}
)
"""Keywords that only ever refuse values."""


@dataclass(frozen=True, slots=True)
class Differences:
    """What another definition changes. A path stands for everything below it, too.

    ``lost``: the fields that it lacks. ``new``: the fields that it adds. ``widened``: the values of which it accepts
    more. ``narrowed``: the values of which it accepts less. ``unstated``: where it says less about the fields and keeps
    all, so that none of them is lost.
    """

    lost: frozenset[Keys] = frozenset()
    new: frozenset[Keys] = frozenset()
    widened: frozenset[Keys] = frozenset()
    narrowed: frozenset[Keys] = frozenset()
    unstated: frozenset[Keys] = frozenset()

    @property
    def accepts_more(self) -> bool:
        """Whether a value that our definition refuses may be valid in the other."""
        return bool(self.widened or self.unstated)


def is_same(ours: Schema, theirs: Schema) -> bool:
    """Whether two schemas give the same verdicts: they differ at most in texts."""
    same: bool = ours == theirs or without_texts(ours) == without_texts(theirs)
    return same


def compare(ours: Schema, theirs: Schema) -> Differences:
    """The differences of ``theirs`` from ``ours``, two OpenAPI schemas of one kind."""
    lost, new, unstated = set[Keys](), set[Keys](), set[Keys]()
    widened, narrowed = set[Keys](), set[Keys]()
    pairs: list[tuple[Keys, Schema, Schema]] = [((), ours, theirs)]
    while pairs:
        at, one, other = pairs.pop()
        if one == other:  # most parts of two versions or releases are: a definition may have 20,000
            continue
        mine, others = dict(_children(one)), dict(_children(other))
        absent = mine.keys() - others.keys()
        if absent and _is_open(other):
            unstated.add(at)
        else:
            lost |= {(*at, key) for key in absent}
        if _accepts_more(_without(one, absent), other):
            widened.add(at)
        if _accepts_more({**other, "default": one.get("default")}, one) or not _rules(other) <= _rules(one):
            narrowed.add(at)
        new |= {(*at, key) for key in others.keys() - mine.keys()}
        pairs += [((*at, key), mine[key], others[key]) for key in mine.keys() & others.keys()]
    return Differences(*map(frozenset, (lost, new, widened, narrowed, unstated)))


def lacks(theirs: Schema, ours: Schema) -> bool:
    """Whether a definition lacks a field of another one: less than :func:`compare` asks, in a tenth of the time."""
    if ours == theirs or _is_open(theirs):
        return False
    mine, others = dict(_children(ours)), dict(_children(theirs))
    return not mine.keys() <= others.keys() or any(lacks(others[key], field) for key, field in mine.items())


def expected(ours: Schema, theirs: Schema) -> Schema:
    """Our schema for objects of the other: without the fields that it lacks, and with any value for those it adds."""
    mine, others = dict(_children(ours)), dict(_children(theirs))
    if not mine:
        return ours
    kept = mine if _is_open(theirs) else {key: mine[key] for key in mine.keys() & others.keys()}
    found = dict(_without(ours, mine.keys() - kept.keys()))
    if _is_open(theirs) or "*" in others.keys() - mine.keys():
        found[_OPEN] = True
    below = {key: expected(each, others[key]) if key in others else each for key, each in kept.items()}
    if "properties" in ours:
        added = {key: {_OPEN: True} for key in others.keys() - mine.keys() - {"*"}}
        found["properties"] = {**{key: each for key, each in below.items() if key != "*"}, **added}
    for keyword in ("items", "additionalProperties"):
        if isinstance(ours.get(keyword), Mapping):
            found[keyword] = below.get("*", {_OPEN: True})
    return found


def joined(ours: Schema, theirs: Schema) -> Schema:
    """Our schema with the fields of both."""
    if ours == theirs:
        return ours
    found = dict(ours)
    mine, others = ours.get("properties") or {}, theirs.get("properties") or {}
    if others:
        both = {key: joined(each, others[key]) for key, each in mine.items() if key in others}
        found["properties"] = {**others, **mine, **both}
    for keyword in ("items", "additionalProperties"):
        if isinstance(ours.get(keyword), Mapping) and isinstance(theirs.get(keyword), Mapping):
            found[keyword] = joined(ours[keyword], theirs[keyword])
    return found


def _without(schema: Schema, fields: Collection[str]) -> Schema:
    """A schema that does not require these fields."""
    required = schema.get("required")
    return (
        schema
        if not required or not fields
        else {**schema, "required": [each for each in required if each not in fields]}
    )


def _children(schema: Schema) -> Iterator[tuple[str, Schema]]:
    yield from (schema.get("properties") or {}).items()
    for keyword in ("items", "additionalProperties"):
        if isinstance(schema.get(keyword), Mapping):
            yield "*", schema[keyword]


def _rules(schema: Schema) -> set[str]:
    return {str(each.get("rule")) for each in schema.get("x-kubernetes-validations") or ()}


def _is_open(schema: Schema) -> bool:
    return bool(schema.get(_OPEN)) or schema.get("additionalProperties") is True


def _accepts_more(ours: Schema, theirs: Schema) -> bool:
    """Whether a value that our schema refuses may be valid in theirs, without its children and rules.

    An unknown keyword counts as one that may.
    """
    mine, others = _allowed(ours), _allowed(theirs)
    return (
        (mine is not None and (others is None or not others <= mine))
        or any(each not in _parts(theirs) for each in _parts(ours) if each.keys() - {"enum"})
        or any(
            _is_looser(keyword, ours.get(keyword), theirs.get(keyword))
            for keyword in ours.keys() | theirs.keys()
            if keyword not in _ELSEWHERE
        )
    )


def _is_looser(keyword: str, ours: Any, theirs: Any) -> bool:
    """Whether a keyword of another schema may accept a value that ours refuses."""
    if ours == theirs or (ours is None and keyword in _LIMITS):
        return False
    if keyword in _LOWER | _UPPER:
        beyond: Callable[[float, float], bool] = float.__lt__ if keyword in _LOWER else float.__gt__
        return theirs is None or beyond(float(theirs), float(ours))
    if keyword == "required":
        return not _names(ours) <= _names(theirs)
    if keyword == "nullable":
        return bool(theirs)
    if keyword == "additionalProperties":
        return isinstance(ours, Mapping) != isinstance(theirs, Mapping) and bool(theirs)
    if keyword.startswith("exclusive"):
        return bool(ours)
    return not (keyword == "x-kubernetes-list-type" and ours in (None, "atomic"))


def _names(required: Collection[str] | None) -> set[str]:
    return set(required or ())


def _allowed(schema: Schema) -> frozenset[str] | None:
    """The values that the enumerations allow, as text; None if there is no enumeration."""
    sets = [frozenset(map(repr, part["enum"])) for part in (schema, *_parts(schema)) if part.get("enum")]
    return frozenset.intersection(*sets) if sets else None


def _parts(schema: Schema) -> list[Schema]:
    return [each for each in schema.get("allOf") or () if isinstance(each, Mapping)]


def without_texts(schema: Any) -> Any:
    """A schema without texts, with the required fields in order."""
    if isinstance(schema, Mapping):
        return {key: _statement(key, value) for key, value in schema.items() if key not in _TEXTS}
    return [without_texts(item) for item in schema] if isinstance(schema, list | tuple) else schema


def _statement(keyword: str, value: Any) -> Any:
    if keyword == "required" and isinstance(value, list | tuple):
        return sorted(value, key=str)
    if keyword == "properties" and isinstance(value, Mapping):
        return {name: without_texts(schema) for name, schema in value.items()}
    return without_texts(value)
