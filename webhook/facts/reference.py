"""A fact by data: what another object says, which an object names."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final, NamedTuple

from webhook.cluster.view import ClusterView, Kind
from webhook.facts.fact import BOOLEAN, INTEGER, INTEGERS, NUMBER, STRING, STRINGS, Fact, fields
from webhook.facts.nodes import at, namespace_of, text, whole

__all__ = ["Member", "referenced"]

Keys = tuple[str, ...]

_TYPES: Final = {
    "boolean": (BOOLEAN, False),
    "integer": (INTEGER, 0),
    "integers": (INTEGERS, ()),
    "number": (NUMBER, 0.0),
    "string": (STRING, ""),
    "strings": (STRINGS, ()),
}
"""The schema of each type, and what stands for a value that is absent."""


class Member(NamedTuple):
    """A value of the other object: where it is, its type, and what stands for it where it is absent."""

    path: Keys
    type: str
    default: Any = None


def referenced(kind: Kind, named_by: Keys, members: Mapping[str, Member], *, namespaced: bool) -> Fact:
    """The fact of a reference: ``found``, ``name``, and ``members`` of the other object.

    An object without a name at ``named_by`` refers to nothing: the name is "". What is absent, or of another type, has
    the member's default: without one "", 0, false or an empty list.
    """
    types = {name: _TYPES[member.type][0] for name, member in members.items()}
    return Fact(partial(_said, kind, named_by, members, namespaced), fields(found=BOOLEAN, name=STRING, **types))


def _said(
    kind: Kind,
    named_by: Keys,
    members: Mapping[str, Member],
    namespaced: bool,
    obj: dict[str, Any],
    view: ClusterView,
) -> dict[str, Any]:
    name = text(obj, *named_by)
    found = view.get(kind, namespace_of(obj) if namespaced else "", name) if name else None
    return {"found": found is not None, "name": name, **{key: _value(found, each) for key, each in members.items()}}


def _value(found: Any, member: Member) -> Any:
    value = _read(at(found, *member.path), member.type)
    if value is None:
        value = _TYPES[member.type][1] if member.default is None else member.default
    return list(value) if isinstance(value, tuple) else value


def _read(value: Any, sort: str) -> Any:
    """A value of a type; None where it is of another one."""
    if sort == "string":
        return value if isinstance(value, str) else None
    if sort == "boolean":
        return value if isinstance(value, bool) else None
    if sort == "integer":
        return whole(value)
    if sort == "number":
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
    if not isinstance(value, list):
        return None
    return [each for each in value if (isinstance(each, str) if sort == "strings" else whole(each) is not None)]
