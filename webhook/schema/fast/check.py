"""The fast check for the common object: valid, complete, without unknown fields.

A schema is compiled to nested functions. They return True only if decoding would not change a value and validation
would find no error. False means that the exact walkers must run: only they know the error. Rare keywords use the
walkers here too (:func:`_thorough`), so this module implements no Kubernetes behaviour of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from operator import itemgetter
from typing import Any

from webhook.schema.correlate import validate_lists
from webhook.schema.default import compile_default
from webhook.schema.fast.scalars import Check, check_int_or_string, check_integer, check_number, check_string
from webhook.schema.node import MISSING, SchemaNode
from webhook.schema.objectmeta.embedded import coerce, validate_embedded
from webhook.schema.prune import drop_nulls, prune
from webhook.schema.validate import junctor_errors, validate

_META_FIELDS = ("apiVersion", "kind", "metadata")
_SCALARS = frozenset({"string", "integer", "number", "boolean"})


def compile_clean(root: SchemaNode) -> Check:
    """A function of a whole object: True if the API server would store it unchanged."""
    if root.types != ("object",) or root.embedded or root.additional_known or root.preserve:
        return _thorough(root, is_root=True)
    meta = root.properties.get("metadata")
    if meta is not None and not _is_any_object(meta):
        return _thorough(root, is_root=True)
    texts = {name: root.properties.get(name) for name in ("apiVersion", "kind")}
    if any(node is not None and _plain_type(node) is not str for node in texts.values()):
        return _thorough(root, is_root=True)
    known = {name: child for name, child in root.properties.items() if name not in _META_FIELDS}
    check = _object(root.replace(properties=known), {**dict.fromkeys(texts, str), "metadata": _is_dict})
    return _total(_with_junctors(root, check))


def compile_part(node: SchemaNode) -> Check:
    """The same for a value in an object."""
    return _total(_check(node))


def _total(check: Check) -> Check:
    def is_clean(value: Any) -> bool:
        try:
            return check(value)
        except (TypeError, KeyError):  # an object as a value of a string enum; an item of a map list without its key
            return False

    return is_clean


def _is_dict(value: Any) -> bool:
    return type(value) is dict


def _is_any_object(node: SchemaNode) -> bool:
    return node.raw.keys() <= {"type", "description"} and node.type == "object"


def _thorough(node: SchemaNode, *, is_root: bool = False) -> Check:
    """A check by the exact walkers."""
    fill = compile_default(node)

    def check(value: Any) -> bool:
        if value is None:
            return node.nullable and not validate(node, None)
        if fill is not None and fill(value) is not value:
            return False
        if prune(node, value, is_root=is_root)[0] is not value or drop_nulls(node, value) is not value:
            return False
        if validate(node, value) or _list_errors(node, value) or validate_embedded(node, value):
            return False
        coerced, unknown = coerce(node, value, drop_invalid=True)
        return coerced is value and not unknown

    return check


def _list_errors(node: SchemaNode, value: Any) -> bool:
    """validate_lists starts at an object, so wrap the value in one."""
    parent = SchemaNode({"raw": {}, "properties": {"value": node}})
    return bool(validate_lists(parent, {"value": value}))


def _check(node: SchemaNode) -> Check:
    plain = _plain_type(node)
    if plain is not None:
        return lambda value: type(value) is plain
    if node.embedded:
        return _thorough(node)
    check = _typed(node)
    if check is None:
        return _thorough(node)
    check = _with_junctors(node, check)
    if not node.nullable or node.enum:
        return check
    return lambda value: value is None or check(value)


def _plain_type(node: SchemaNode) -> type | None:
    """The Python type of the values, if the schema demands nothing but a type."""
    simple = node.raw.keys() <= {"type", "description", "default", "title", "example", "externalDocs"}
    kinds: dict[str, type] = {"string": str, "boolean": bool}
    return kinds.get(node.type) if simple else None


def _with_junctors(node: SchemaNode, check: Check) -> Check:
    if not (node.all_of or node.any_of or node.one_of or node.not_ is not None) or _is_standard(node):
        return check
    return lambda value: check(value) and not junctor_errors(node, value)


def _is_standard(node: SchemaNode) -> bool:
    """Whether the junctors only repeat int-or-string: ``anyOf: [{type: integer}, {type: string}]``."""
    kinds = [branch.raw for branch in node.any_of]
    repeats = kinds == [{"type": "integer"}, {"type": "string"}]
    return node.int_or_string and repeats and not (node.all_of or node.one_of or node.not_ is not None)


def _typed(node: SchemaNode) -> Check | None:
    match node.types:
        case ("string",):
            return check_string(node)
        case ("boolean",):
            return None if node.enum else lambda value: type(value) is bool
        case ("integer",):
            return check_integer(node)
        case ("number",):
            return check_number(node)
        case ("array",):
            return _array(node)
        case ("object",):
            return None if node.enum else _object(node)
        case ("integer", "string"):
            return check_int_or_string(node)
        case () if node.preserve and not _has_other_keywords(node):
            return lambda value: value is not None
    return None


def _has_other_keywords(node: SchemaNode) -> bool:
    handled = {"x-kubernetes-preserve-unknown-fields", "description", "nullable", "default", "x-kubernetes-validations"}
    return not node.raw.keys() <= handled


def _array(node: SchemaNode) -> Check | None:
    if node.items is None or node.unique_items or node.enum or node.preserve:
        return None
    keys_of = _keys(node)
    check = _items(node.items) if keys_of is None else _distinct(_items(node.items), keys_of)
    low, high = max(node.min_items or 0, 0), sys.maxsize if node.max_items is None else node.max_items
    if not low and high == sys.maxsize:
        return check
    return lambda value: check(value) and low <= len(value) <= high


def _items(node: SchemaNode) -> Check:
    """The check of a list with items of this schema."""
    plain = _plain_type(node)
    if plain is not None:
        only = {plain}
        return lambda value: type(value) is list and only.issuperset(map(type, value))
    if node.types == ("object",) and _check_is_bare(node):
        table, must, other = _fields(node)
        if (table or must) and other is None:
            return _closed_items(table, must)
    item_check = _check(node)
    return lambda value: type(value) is list and all(map(item_check, value))


def _check_is_bare(node: SchemaNode) -> bool:
    """Whether the schema of an object demands nothing but its fields."""
    sized = bool(node.min_properties) or node.max_properties is not None
    joined = node.all_of or node.any_of or node.one_of or node.not_ is not None
    return not (sized or joined or node.enum or node.embedded or node.nullable)


def _distinct(check: Check, keys_of: Callable[[list[Any]], Iterable[Any]]) -> Check:
    """Whether the keys of all items differ. 1 and 1.0 count as equal here, so False may be wrong; True is exact."""
    return lambda value: check(value) and (len(value) < 2 or len(set(keys_of(value))) == len(value))


def _keys(node: SchemaNode) -> Callable[[list[Any]], Iterable[Any]] | None:
    """The keys of the items of a set or map list, computed without Python calls.

    The function returns no keys if only the walkers can compare the items. It raises KeyError for an item without its
    key: the object is then not clean.
    """
    if node.list_type == "set":
        return iter
    if node.list_type != "map":
        return None
    items = node.items
    children = [] if items is None else [items.properties.get(key) for key in node.list_keys]
    if items is None or items.nullable or not all(child and child.type in _SCALARS for child in children):
        return lambda _: ()
    return partial(map, itemgetter(*node.list_keys))


def _object(node: SchemaNode, extra: dict[str, Check | type] | None = None) -> Check:
    """The check of an object. ``extra`` are checks of fields that are not among the node's properties."""
    table, must, other = _fields(node, extra)
    if not table and not must:
        check = _entries(node, other)
    else:
        check = _closed(table, must) if other is None else _open(table, must, other)
    low, high = max(node.min_properties or 0, 0), node.max_properties
    if not low and high is None:
        return check
    most = sys.maxsize if high is None else high
    return lambda value: type(value) is dict and low <= len(value) <= most and check(value)


def _fields(
    node: SchemaNode, extra: dict[str, Check | type] | None = None
) -> tuple[dict[str, Check | type], tuple[str, ...], Check | None]:
    """Checks by field, the required fields, and the check of other fields (None: they are not allowed)."""
    table: dict[str, Check | type] = {**(extra or {})}
    for name, child in node.properties.items():
        table[name] = _plain_type(child) or _Later(table, name, child)
    filled = (name for name, child in node.properties.items() if child.default is not MISSING)
    return table, tuple(dict.fromkeys((*node.required, *filled))), _entry_check(node)


class _Later:
    """The check of a field, compiled on first use: most fields of a pod are never used, and a closure takes thrice the
    memory.
    """

    __slots__ = ("_child", "_name", "_table")

    def __init__(self, table: dict[str, Check | type], name: str, child: SchemaNode) -> None:
        self._table, self._name, self._child = table, name, child

    def __call__(self, value: Any) -> bool:
        self._table[self._name] = compiled = _check(self._child)
        return compiled(value)


def _closed(table: Mapping[str, Check | type], must: tuple[str, ...]) -> Check:
    """An object with known fields only. A field's entry is a check, or only its type: comparing types needs no call.

    Most objects have at most one required field, so the first has no loop.
    """
    first, rest = (must[0], must[1:]) if must else (None, ())

    def check(value: Any) -> bool:
        if type(value) is not dict or (first is not None and first not in value):
            return False
        if rest:
            for name in rest:
                if name not in value:
                    return False
        try:
            for key, item in value.items():
                entry = table[key]
                if type(item) is not entry and (entry is bool or entry(item) is not True):
                    return False
        except KeyError:  # an unknown field
            return False
        return True

    return check


def _closed_items(table: Mapping[str, Check | type], must: tuple[str, ...]) -> Check:
    """A list of such objects: :func:`_closed` with one loop around it.

    The body is repeated for speed: calling the check of :func:`_closed` for each item takes 16 % longer for a pod, and
    a shared body that takes a list takes 5 % longer for a Model and 28 % longer for nested objects. A test checks that
    both give the same answers.
    """
    first, rest = (must[0], must[1:]) if must else (None, ())

    def check(values: Any) -> bool:
        if type(values) is not list:
            return False
        try:
            for value in values:
                if type(value) is not dict or (first is not None and first not in value):
                    return False
                if rest:
                    for name in rest:
                        if name not in value:
                            return False
                for key, item in value.items():
                    entry = table[key]
                    if type(item) is not entry and (entry is bool or entry(item) is not True):
                        return False
        except KeyError:  # an unknown field
            return False
        return True

    return check


def _open(table: Mapping[str, Check | type], must: tuple[str, ...], other: Check) -> Check:
    """An object that may also have fields outside of ``table``; ``other`` checks them."""
    entry_of = table.get

    def check(value: Any) -> bool:
        if type(value) is not dict:
            return False
        for name in must:
            if name not in value:
                return False
        for key, item in value.items():
            entry = entry_of(key, other)
            if type(item) is not entry and (entry is bool or entry(item) is not True):
                return False
        return True

    return check


def _entries(node: SchemaNode, other: Check | None) -> Check:
    """An object whose schema has no properties."""
    plain = None if node.additional is None else _plain_type(node.additional)
    if plain is not None:
        only = {plain}
        return lambda value: type(value) is dict and only.issuperset(map(type, value.values()))
    if other is None:
        return lambda value: type(value) is dict and not value
    return lambda value: type(value) is dict and all(map(other, value.values()))


def _entry_check(node: SchemaNode) -> Check | None:
    """The check of fields without a property; None if they are not allowed."""
    if node.additional is not None:
        return _check(node.additional)
    if node.additional_known:
        return _thorough(SchemaNode({"raw": {}})) if node.additional_allowed else None
    return (lambda _: True) if node.preserve else None
