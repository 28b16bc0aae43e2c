"""A fact by data: what another object says, which an object names."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from webhook.cluster.view import ClusterView, Kind
from webhook.facts.fact import Fact
from webhook.facts.nodes import at, namespace_of, text, whole
from webhook.facts.schemas import BOOLEAN, INTEGER, INTEGERS, NUMBER, STRING, STRINGS, fields

__all__ = ["referenced"]

Keys = tuple[str, ...]

_SCHEMAS: Final = {
    "boolean": BOOLEAN,
    "integer": INTEGER,
    "integers": INTEGERS,
    "number": NUMBER,
    "string": STRING,
    "strings": STRINGS,
}


def referenced(kind: Kind, named_by: Keys, members: Mapping[str, tuple[Keys, str]], *, namespaced: bool) -> Fact:
    """The fact of a reference: ``found``, ``name``, and ``members`` of the other object, by path and type.

    An object without a name at ``named_by`` refers to nothing: the name is "". What is absent, or of another type, is
    "", 0, false or an empty list.
    """
    schema = fields(found=BOOLEAN, name=STRING, **{name: _SCHEMAS[sort] for name, (_, sort) in members.items()})
    return Fact(partial(_said, kind, named_by, members, namespaced), schema)


def _said(
    kind: Kind,
    named_by: Keys,
    members: Mapping[str, tuple[Keys, str]],
    namespaced: bool,
    obj: dict[str, Any],
    view: ClusterView,
) -> dict[str, Any]:
    name = text(obj, *named_by)
    found = view.get(kind, namespace_of(obj) if namespaced else "", name) if name else None
    said = {member: _value(found, keys, sort) for member, (keys, sort) in members.items()}
    return {"found": found is not None, "name": name, **said}


def _value(found: Any, keys: Keys, sort: str) -> Any:
    if sort == "string":
        return text(found, *keys)
    if sort == "integer":
        return whole(found, *keys) or 0
    value = at(found, *keys)
    if sort == "boolean":
        return value is True
    if sort == "number":
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0
    listed = value if isinstance(value, list) else []
    if sort == "strings":
        return [each for each in listed if isinstance(each, str)]
    return [each for each in listed if isinstance(each, int) and not isinstance(each, bool)]
