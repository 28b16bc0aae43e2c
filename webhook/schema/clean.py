"""The fast answer for the common object: valid, complete and without anything to drop.

A schema is compiled to nested functions that answer one question about a value: would
decoding leave it as it is, and validation find nothing? Yes is exact. No only means that the
walkers have to look: they alone know what is wrong. Whatever is rare in schemas is left to
them here too (:func:`_thorough`), so this module knows no Kubernetes behaviour of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import lru_cache
from math import isfinite
from operator import itemgetter
from typing import Any

from webhook.schema.default import compile_default
from webhook.schema.formats import FORMATS
from webhook.schema.gotext import INT64
from webhook.schema.listtype import validate_lists
from webhook.schema.node import MISSING, Node
from webhook.schema.objectmeta import coerce, validate_embedded
from webhook.schema.prune import drop_nulls, prune
from webhook.schema.regex import RegexError, matcher
from webhook.schema.validate import junctor_errors, validate

__all__ = ["Check", "compile_clean"]

Check = Callable[[Any], bool]

# Names, reasons and times come again and again, and a look-up takes a tenth of a match.
_REMEMBERED = 1024  # values per pattern or format
_MEMORABLE = 256  # characters: with the above some MiB in all, whatever is sent

_META_FIELDS = ("apiVersion", "kind", "metadata")
_INT32 = range(-(2**31), 2**31)
_SCALARS = frozenset({"string", "integer", "number", "boolean"})


def compile_clean(root: Node) -> Check:
    """Whether an object is stored as it is: a function of the whole object."""
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
    check = _with_junctors(root, check)

    def is_clean(value: Any) -> bool:
        try:
            return check(value)
        except (TypeError, KeyError):  # an object where an enum has strings; an item without its key
            return False

    return is_clean


def _is_dict(value: Any) -> bool:
    return type(value) is dict


def _is_any_object(node: Node) -> bool:
    return node.raw.keys() <= {"type", "description"} and node.type == "object"


def _thorough(node: Node, *, is_root: bool = False) -> Check:
    """Ask the walkers about this value and all below it."""
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


def _list_errors(node: Node, value: Any) -> bool:
    """List types are checked below objects only, so the value is put into one."""
    parent = Node({"raw": {}, "properties": {"value": node}})
    return bool(validate_lists(parent, {"value": value}))


def _check(node: Node) -> Check:
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


def _plain_type(node: Node) -> type | None:
    """The one Python type of a value about which the schema says nothing else."""
    simple = node.raw.keys() <= {"type", "description", "default", "title", "example", "externalDocs"}
    kinds: dict[str, type] = {"string": str, "boolean": bool}
    return kinds.get(node.type) if simple else None


def _with_junctors(node: Node, check: Check) -> Check:
    if not (node.all_of or node.any_of or node.one_of or node.not_ is not None) or _is_standard(node):
        return check
    return lambda value: check(value) and not junctor_errors(node, value)


def _is_standard(node: Node) -> bool:
    """int-or-string repeats itself as ``anyOf: [{type: integer}, {type: string}]``."""
    kinds = [branch.raw for branch in node.any_of]
    only = kinds == [{"type": "integer"}, {"type": "string"}]
    return node.int_or_string and only and not (node.all_of or node.one_of or node.not_ is not None)


def _typed(node: Node) -> Check | None:
    match node.types:
        case ("string",):
            return _string(node)
        case ("boolean",):
            return None if node.enum else lambda value: type(value) is bool
        case ("integer",):
            return _integer(node)
        case ("number",):
            return _number(node)
        case ("array",):
            return _array(node)
        case ("object",):
            return None if node.enum else _object(node)
        case ("integer", "string"):
            return _int_or_string(node)
        case () if node.preserve and not _says_more(node):
            return lambda value: value is not None
    return None


def _says_more(node: Node) -> bool:
    said = {"x-kubernetes-preserve-unknown-fields", "description", "nullable", "default", "x-kubernetes-validations"}
    return not node.raw.keys() <= said


def _string(node: Node) -> Check | None:
    tests = _string_tests(node)
    if tests is None:
        return None
    if node.enum:
        allowed = frozenset(value for value in node.enum if isinstance(value, str))
        if not tests:
            return allowed.__contains__  # raises TypeError for a list or dict, which compile_clean catches
        tests.append(allowed.__contains__)
    if not tests:
        return lambda value: type(value) is str
    if len(tests) == 1:
        test = tests[0]
        return lambda value: type(value) is str and test(value)
    first, second, *more = tests
    if not more:
        return lambda value: type(value) is str and first(value) and second(value)
    return lambda value: type(value) is str and all(test(value) for test in tests)


def _string_tests(node: Node) -> list[Check] | None:
    tests: list[Check] = []
    if node.min_length is not None or node.max_length is not None:
        low = node.min_length or 0
        if node.max_length is None:
            tests.append(lambda value: len(value) >= low)
        else:
            high = node.max_length
            tests.append(lambda value: low <= len(value) <= high)
    if node.pattern:
        try:
            tests.append(_remembering(matcher(node.pattern)))
        except RegexError:
            return None
    if node.format:
        accepts = FORMATS.get(node.format.replace("-", ""))
        if accepts is not None:
            tests.append(_remembering(accepts))
    return tests


def _remembering(test: Callable[[str], Any]) -> Check:
    known = lru_cache(_REMEMBERED)(test)
    return lambda value: bool(known(value) if len(value) <= _MEMORABLE else test(value))


def _integer(node: Node) -> Check | None:
    low, high = _bounds(node)
    bounds = _INT32 if node.format == "int32" else INT64
    factor = node.multiple_of
    if not low.is_integer() or not high.is_integer() or factor is not None:
        return None
    if any(not isinstance(value, int) or isinstance(value, bool) for value in node.enum):
        return None
    least = max(bounds.start, int(low) + node.exclusive_minimum if node.minimum is not None else bounds.start)
    most = min(bounds.stop - 1, int(high) - node.exclusive_maximum if node.maximum is not None else bounds.stop - 1)
    if node.enum:
        allowed = frozenset(node.enum)
        return lambda value: type(value) is int and least <= value <= most and value in allowed
    if (least, most) == (INT64.start, INT64.stop - 1):
        return lambda value: type(value) is int and value.bit_length() < 64
    return lambda value: type(value) is int and least <= value <= most


def _bounds(node: Node) -> tuple[float, float]:
    return (0.0 if node.minimum is None else node.minimum, 0.0 if node.maximum is None else node.maximum)


def _number(node: Node) -> Check | None:
    if node.multiple_of is not None or node.enum or node.format == "float":
        return None
    if not all(bound.is_integer() for bound in _bounds(node)):
        return None  # the API server compares integers with the bound's whole part
    low, high = node.minimum, node.maximum
    over, under = node.exclusive_minimum, node.exclusive_maximum

    def check(value: Any) -> bool:
        if type(value) is float:
            if not isfinite(value):
                return False
        elif type(value) is not int or value not in INT64:
            return False
        if low is not None and not (value > low if over else value >= low):
            return False
        return high is None or (value < high if under else value <= high)

    return check


def _int_or_string(node: Node) -> Check | None:
    said = {"x-kubernetes-int-or-string", "anyOf", "description", "pattern", "default", "x-kubernetes-validations"}
    if not node.raw.keys() <= said:
        return None
    tests = _string_tests(node)
    if tests is None:
        return None
    if not tests:
        return lambda value: type(value) is str or (type(value) is int and value.bit_length() < 64)
    test = tests[0]
    return lambda value: test(value) if type(value) is str else type(value) is int and value.bit_length() < 64


def _array(node: Node) -> Check | None:
    if node.items is None or node.unique_items or node.enum or node.preserve:
        return None
    check = _items(node.items)
    distinct = _distinct(node)
    low, high = max(node.min_items or 0, 0), sys.maxsize if node.max_items is None else node.max_items
    if not low and high == sys.maxsize:
        if distinct is None:
            return check
        return lambda value: check(value) and (len(value) < 2 or distinct(value))
    return lambda value: (
        check(value) and low <= len(value) <= high and (distinct is None or len(value) < 2 or distinct(value))
    )


def _items(node: Node) -> Check:
    """A list of such items."""
    plain = _plain_type(node)
    if plain is not None:
        only = {plain}
        return lambda value: type(value) is list and only.issuperset(map(type, value))
    item_check = _check(node)
    return lambda value: type(value) is list and all(map(item_check, value))


def _distinct(node: Node) -> Check | None:
    """Whether items of a set or map list differ; may say no where the API server tells 1 from 1.0.

    Raises KeyError for an item of a map without its key: that is not clean either.
    """
    if node.list_type == "set":
        return lambda value: len(set(value)) == len(value)
    if node.list_type != "map":
        return None
    items = node.items
    children = [] if items is None else [items.properties.get(key) for key in node.list_keys]
    if items is None or items.nullable or not all(child and child.type in _SCALARS for child in children):
        return lambda _: False
    key_of = itemgetter(*node.list_keys)
    return lambda value: len(set(map(key_of, value))) == len(value)


def _object(node: Node, known: dict[str, Check | type] | None = None) -> Check:
    """``known`` are checks of fields that are not among the node's properties."""
    table: dict[str, Check | type] = {**(known or {})}
    for name, child in node.properties.items():
        table[name] = _plain_type(child) or _check(child)
    filled = (name for name, child in node.properties.items() if child.default is not MISSING)
    must = tuple(dict.fromkeys((*node.required, *filled)))
    other = _entry_check(node)
    if not table and not must:
        check = _entries(node, other)
    else:
        check = _closed(table, must) if other is None else _open(table, must, other)
    low, high = max(node.min_properties or 0, 0), node.max_properties
    if not low and high is None:
        return check
    most = sys.maxsize if high is None else high
    return lambda value: type(value) is dict and low <= len(value) <= most and check(value)


def _closed(table: Mapping[str, Check | type], must: tuple[str, ...]) -> Check:
    """An object of known fields: each has its own check, or only its type, which needs no call."""

    def check(value: Any) -> bool:
        if type(value) is not dict:
            return False
        for name in must:
            if name not in value:
                return False
        try:
            for key, item in value.items():
                entry = table[key]
                if type(item) is not entry and (entry is bool or entry(item) is not True):
                    return False
        except KeyError:  # a field that is not known
            return False
        return True

    return check


def _open(table: Mapping[str, Check | type], must: tuple[str, ...], other: Check) -> Check:
    """The same with other fields beside the known ones."""
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


def _entries(node: Node, other: Check | None) -> Check:
    """The entries of an object without properties."""
    plain = None if node.additional is None else _plain_type(node.additional)
    if plain is not None:
        only = {plain}
        return lambda value: type(value) is dict and only.issuperset(map(type, value.values()))
    if other is None:
        return lambda value: type(value) is dict and not value
    return lambda value: type(value) is dict and all(map(other, value.values()))


def _entry_check(node: Node) -> Check | None:
    """The check of fields without a property; None if there may be none."""
    if node.additional is not None:
        return _check(node.additional)
    if node.additional_known:
        return _thorough(Node({"raw": {}})) if node.additional_allowed else None
    return (lambda _: True) if node.preserve else None
