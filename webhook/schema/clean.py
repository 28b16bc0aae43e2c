"""The fast answer for the common object: valid, complete and without anything to drop.

A schema is compiled to nested functions that answer one question about a value: would
decoding leave it as it is, and validation find nothing? Yes is exact. No only means that the
walkers have to look: they alone know what is wrong. Whatever is rare in schemas is left to
them here too (:func:`_thorough`), so this module knows no Kubernetes behaviour of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from webhook.schema.default import compile_default
from webhook.schema.formats import FORMATS
from webhook.schema.listtype import validate_lists
from webhook.schema.node import MISSING, Node
from webhook.schema.numbers import INT64
from webhook.schema.objectmeta import coerce, validate_embedded
from webhook.schema.prune import drop_nulls, prune
from webhook.schema.regex import RegexError, matcher
from webhook.schema.validate import junctor_errors, validate

__all__ = ["Check", "compile_clean"]

Check = Callable[[Any], bool]

_META_FIELDS = ("apiVersion", "kind", "metadata")
_INT32 = range(-(2**31), 2**31)
_UNHASHABLE = (dict, list)
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
    check = _object(root.replace(properties=known), plain=dict.fromkeys(texts, str), known={"metadata": _is_dict})
    return _with_junctors(root, check)


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
            return lambda value: type(value) is str and value in allowed
        tests.append(lambda value: value in allowed)
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
            tests.append(matcher(node.pattern))
        except RegexError:
            return None
    if node.format:
        accepts = FORMATS.get(node.format.replace("-", ""))
        if accepts is not None:
            tests.append(lambda value: bool(accepts(value)))
    return tests


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
        if type(value) is not float and (type(value) is not int or value not in INT64):
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
    test = tests[0] if tests else lambda _: True
    return lambda value: test(value) if type(value) is str else type(value) is int and value in INT64


def _array(node: Node) -> Check | None:
    if node.items is None or node.unique_items or node.enum or node.preserve:
        return None
    low, high = node.min_items or 0, node.max_items
    distinct = _distinct(node)
    plain = _plain_type(node.items)
    item_check = _check(node.items)

    def check(value: Any) -> bool:
        if type(value) is not list or len(value) < low or (high is not None and len(value) > high):
            return False
        if plain is not None:
            for item in value:
                if type(item) is not plain:
                    return False
        else:
            for item in value:
                if not item_check(item):
                    return False
        return distinct is None or len(value) < 2 or distinct(value)

    return check


def _distinct(node: Node) -> Check | None:
    """Whether items of a set or map list differ; may say no where the API server tells 1 from 1.0."""
    if node.list_type == "set":
        return lambda value: not isinstance(value[0], _UNHASHABLE) and len(set(value)) == len(value)
    if node.list_type != "map":
        return None
    keys = node.list_keys
    items = node.items
    children = [] if items is None else [items.properties.get(key) for key in keys]
    if items is None or items.nullable or not all(child and child.type in _SCALARS for child in children):
        return lambda _: False
    if len(keys) == 1:
        key = keys[0]
        return lambda value: len({item.get(key) for item in value}) == len(value)
    return lambda value: len({tuple([item.get(key) for key in keys]) for item in value}) == len(value)


def _object(node: Node, *, plain: dict[str, type] | None = None, known: dict[str, Check] | None = None) -> Check:
    plain = dict(plain or {})
    known = dict(known or {})
    for name, child in node.properties.items():
        kind = _plain_type(child)
        if kind is None:
            known[name] = _check(child)
        else:
            plain[name] = kind
    must = frozenset(node.required) | {name for name, child in node.properties.items() if child.default is not MISSING}
    other = _entry_check(node)
    plain_type, check_of = plain.get, known.get

    def check_properties(value: Any) -> bool:
        if type(value) is not dict or not must <= value.keys():
            return False
        for key, item in value.items():
            if type(item) is plain_type(key):
                continue
            check = check_of(key)
            if check is None:
                if key in plain or other is None or not other(item):
                    return False
            elif not check(item):
                return False
        return True

    low, high = node.min_properties or 0, node.max_properties
    if not low and high is None:
        return check_properties
    return lambda value: (
        type(value) is dict and low <= len(value) and (high is None or len(value) <= high) and check_properties(value)
    )


def _entry_check(node: Node) -> Check | None:
    """The check of fields without a property; None if there may be none."""
    if node.additional is not None:
        return _check(node.additional)
    if node.additional_known:
        return _thorough(Node({"raw": {}})) if node.additional_allowed else None
    return (lambda _: True) if node.preserve else None
