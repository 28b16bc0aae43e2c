"""Compare two schemas of one kind: the fields that one of them lacks, and where the other one accepts more."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

__all__ = ["Differences", "Keys", "compare", "is_same"]

Schema = Mapping[str, Any]
Keys = tuple[str, ...]
"""A path: field names, and ``*`` for every item of a list or every value of a map."""

_TEXTS: Final = frozenset({"description", "title", "example", "externalDocs", "x-kubernetes-map-type"})
"""Keywords without an effect on verdicts. ``x-kubernetes-map-type`` says how server-side apply merges."""

_LOWER: Final = ("minimum", "minLength", "minItems", "minProperties")
_UPPER: Final = ("maximum", "maxLength", "maxItems", "maxProperties")
_OTHER: Final = (
    "type",
    "pattern",
    "format",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "anyOf",
    "oneOf",
    "not",
)


@dataclass(frozen=True, slots=True)
class Differences:
    """What another definition changes. A path stands for everything below it, too.

    ``lost``: the fields that it lacks. ``new``: the fields that it adds. ``widened``: the values of which it accepts
    more, so that a rule made for the first definition may refuse what is valid in the other.
    """

    lost: frozenset[Keys]
    new: frozenset[Keys]
    widened: frozenset[Keys]


def is_same(ours: Schema, theirs: Schema) -> bool:
    """Whether two schemas give the same verdicts: they differ at most in texts."""
    same: bool = ours == theirs or _bare(ours) == _bare(theirs)
    return same


def compare(ours: Schema, theirs: Schema) -> Differences:
    """The differences of ``theirs`` from ``ours``, two OpenAPI schemas of one kind."""
    lost: set[Keys] = set()
    new: set[Keys] = set()
    widened: set[Keys] = set()
    pairs: list[tuple[Keys, Schema, Schema]] = [((), ours, theirs)]
    while pairs:
        at, one, other = pairs.pop()
        if _accepts_more(one, other):
            widened.add(at)
        mine, others = dict(_children(one)), dict(_children(other))
        lost |= {(*at, key) for key in mine.keys() - others.keys()}
        new |= {(*at, key) for key in others.keys() - mine.keys()}
        pairs += [((*at, key), mine[key], others[key]) for key in mine.keys() & others.keys()]
    return Differences(frozenset(lost), frozenset(new), frozenset(widened))


def _children(schema: Schema) -> Iterator[tuple[str, Schema]]:
    yield from (schema.get("properties") or {}).items()
    for keyword in ("items", "additionalProperties"):
        if isinstance(schema.get(keyword), Mapping):
            yield "*", schema[keyword]


def _accepts_more(ours: Schema, theirs: Schema) -> bool:
    """Whether a value that our schema refuses may be valid in theirs; children and rules are not compared."""
    mine, others = _allowed(ours), _allowed(theirs)
    return (
        (mine is not None and (others is None or not others <= mine))
        or any(ours.get(key) not in (None, theirs.get(key)) for key in _OTHER)
        or any(_looser(ours, theirs, key, float.__lt__) for key in _LOWER)
        or any(_looser(ours, theirs, key, float.__gt__) for key in _UPPER)
        or bool(theirs.get("x-kubernetes-int-or-string")) > bool(ours.get("x-kubernetes-int-or-string"))
    )


def _looser(ours: Schema, theirs: Schema, keyword: str, beyond: Callable[[float, float], bool]) -> bool:
    if ours.get(keyword) is None:
        return False
    return theirs.get(keyword) is None or beyond(float(theirs[keyword]), float(ours[keyword]))


def _allowed(schema: Schema) -> frozenset[str] | None:
    """The values that the enumerations allow, as text; None if there is no enumeration."""
    parts = [schema, *(each for each in schema.get("allOf") or () if isinstance(each, Mapping))]
    sets = [frozenset(map(repr, part["enum"])) for part in parts if part.get("enum")]
    return frozenset.intersection(*sets) if sets else None


def _bare(schema: Any) -> Any:
    """A schema without texts, with the required fields in order."""
    if isinstance(schema, Mapping):
        return {key: _statement(key, value) for key, value in schema.items() if key not in _TEXTS}
    return [_bare(item) for item in schema] if isinstance(schema, list | tuple) else schema


def _statement(keyword: str, value: Any) -> Any:
    if keyword == "required" and isinstance(value, list | tuple):
        return sorted(value)
    if keyword == "properties" and isinstance(value, Mapping):
        return {name: _bare(schema) for name, schema in value.items()}
    return _bare(value)
