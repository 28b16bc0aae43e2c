"""Checks that a value has the type of the merge (structured-merge-diff, ``typed/validate.go``)."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable
from typing import Any, Final

from webhook.vap.mutating.applied import Foreign
from webhook.vap.mutating.mergetypes import ListType, MapType, MergeType

__all__ = ["MergeError", "check", "element"]


class MergeError(Exception):
    """The configuration cannot be applied; the text is the API server's."""


_SCALARS: Final = frozenset({str, bool, int, float})
_NAMES: Final = {str: "string", bool: "bool", int: "int64", float: "float64", list: "[]interface {}"}


def check(value: Any, of: MergeType, path: str, *, stored: bool) -> list[str]:
    """The errors of a value.

    A ``stored`` object may have several elements with one key, and undeclared fields: the cluster may serve a newer
    version of its kind.
    """
    if value is None:
        return []
    if isinstance(value, list) and of.list is not None:
        return _check_list(value, of.list, path, stored=stored)
    if of.scalar and (of.map is None or value.__class__ in _SCALARS):
        return [f"{_at(path)}{problem}" for problem in _check_scalar(value, of.scalar)]
    if of.map is not None:
        return _check_map(value, of.map, path, stored=stored)
    return [f"{_at(path)}expected list, got &{{{_shown(value)}}}"]


def _at(path: str) -> str:
    return f"{path}: " if path else ""


def _check_map(value: Any, of: MapType, path: str, *, stored: bool) -> list[str]:
    if not isinstance(value, dict):
        return [f"{_at(path)}expected map, got &{{{_shown(value)}}}"]
    errors: list[str] = []
    for key, item in value.items():
        child = of.of(key)
        if child is not None:
            errors += check(item, child, f"{path}.{key}", stored=stored)
        elif not stored:
            return [*errors, f"{path}.{key}: field not declared in schema"]
    return errors


def _check_list(value: list[Any], of: ListType, path: str, *, stored: bool) -> list[str]:
    errors: list[str] = []
    seen: set[Hashable] = set()
    for index, item in enumerate(value):
        place = f"[{index}]"
        if of.relation != "atomic":
            try:
                key, place = element(item, of)
            except MergeError as error:
                return [*errors, f"{_at(path)}element {index}: {error}"]
            if key in seen and not stored:
                errors.append(f"{_at(path)}duplicate entries for key {place}")
            seen.add(key)
        errors += check(item, of.items, path + place, stored=stored)
    return errors


def _check_scalar(value: Any, scalar: str) -> Iterable[str]:
    if scalar == "numeric" and value.__class__ not in (int, float):
        yield f"expected numeric (int or float), got {_go_type(value)}"
    elif scalar == "string" and not isinstance(value, str):
        yield f"expected string, got &value.valueUnstructured{{Value:{_go_source(value)}}}"
    elif scalar == "boolean" and not isinstance(value, bool):
        yield f"expected boolean, got &{{{_shown(value)}}}"
    elif value.__class__ not in _SCALARS:
        yield f"expected any scalar, got &{{{_shown(value)}}}"


def _go_type(value: Any) -> str:
    return value.name if isinstance(value, Foreign) else _NAMES.get(value.__class__, "map[string]interface {}")


def _shown(value: Any) -> str:
    """Go's ``%v``."""
    if isinstance(value, Foreign):
        return value.shown
    if isinstance(value, list):
        return f"[{' '.join(map(_shown, value))}]"
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{_shown(value[key])}' for key in sorted(value))}]"
    return value if isinstance(value, str) else json.dumps(value)


def _go_source(value: Any) -> str:
    """Go's ``%#v``."""
    if isinstance(value, Foreign):
        return value.source
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(_go_source, value))}}}"
    if isinstance(value, dict):
        pairs = ", ".join(f"{json.dumps(key)}:{_go_source(value[key])}" for key in sorted(value))
        return f"map[string]interface {{}}{{{pairs}}}"
    return json.dumps(value)


def _key(value: Any) -> str:
    return "{{undefined}}" if isinstance(value, Foreign) else json.dumps(value)


def element(item: Any, of: ListType) -> tuple[Hashable, str]:
    """The key of an element of a set or keyed list, and its form in a path.

    Raises:
        MergeError: the element has no key.
    """
    if of.relation == "set":
        if isinstance(item, dict):
            raise MergeError("associative list without keys has an element that's a map type")
        if isinstance(item, list):
            raise MergeError("not supported: associative list with lists as elements")
        if item is None:
            raise MergeError("associative list without keys has an element that's an explicit null")
        return (item.__class__, item), f"[={_key(item)}]"
    if item is None:
        raise MergeError("associative list with keys may not have a null element")
    if not isinstance(item, dict):
        raise MergeError("associative list with keys may not have non-map elements")
    keys = {key: item.get(key, of.defaults.get(key)) for key in of.keys if key in item or key in of.defaults}
    if of.keys and not keys:
        listed = " ".join(f'"{key}"' for key in of.keys)
        missing = "(and doesn't have default values for any key fields)"
        raise MergeError(f"associative list with keys has an element that omits all key fields [{listed}] {missing}")
    text = ",".join(f"{key}={_key(keys[key])}" for key in sorted(keys))
    return text, f"[{text}]"
