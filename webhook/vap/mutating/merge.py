"""Merges an apply configuration into an object by the schema of its kind, and checks it before.

The merge of ``structured-merge-diff`` (``typed/merge.go``, ``typed/validate.go``) as mutating policies use it. Fields
that the configuration omits stay. Maps merge by key, sets and keyed lists by element. Scalars are replaced. A
configuration must not contain atomic parts.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, TypeVar

from webhook.golang.fmt import type_text
from webhook.vap.mutating.applied import Foreign
from webhook.vap.mutating.mergetypes import ListType, MapType, MergeType


class MergeError(Exception):
    """The configuration cannot be applied; the text is the API server's."""


_SCALARS: Final = frozenset({str, bool, int, float})


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
    return value.name if isinstance(value, Foreign) else type_text(value)


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


K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_ABSENT: Final = object()


def merge(live: dict[str, Any], configuration: dict[str, Any], kind: MergeType) -> dict[str, Any]:
    """The object with the configuration applied. The arguments are not changed; the result shares unchanged parts.

    Raises:
        MergeError: an undeclared field, a value of another type, an atomic part, a key given twice.
    """
    _raise_any("failed to convert patch object to typed object", check(configuration, kind, "", stored=False))
    if atomic := _atomics(configuration, kind, ""):
        listed = ", ".join(atomic)
        raise MergeError(f"invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {listed}")
    _raise_any("failed to convert original object to typed object", check(live, kind, "", stored=True))
    merged: dict[str, Any] = _merge(live, configuration, kind)
    return merged


def _raise_any(prefix: str, errors: list[str]) -> None:
    if len(errors) == 1:
        raise MergeError(f"{prefix}: {errors[0]}")
    if errors:
        raise MergeError("\n  ".join((f"{prefix}: errors:", *errors)))


def _atomics(value: Any, of: MergeType, path: str) -> list[str]:
    """The paths of the atomic parts in a configuration."""
    found: list[str] = []
    if isinstance(value, dict) and of.map is not None:
        found += [path] if of.map.atomic else []
        for key, item in value.items():
            # Go too treats an undeclared field as one of its parent's type
            found += _atomics(item, of.map.declared(key) or of, f"{path}.{key}")
    elif isinstance(value, list) and of.list is not None:
        found += [path] if of.list.relation == "atomic" else []
        for index, item in enumerate(value):
            found += _atomics(item, of.list.items, f"{path}[{index}]")
    return found


def _merge(live: Any, new: Any, of: MergeType | None) -> Any:
    """The merged value; either argument may be absent."""
    if new is _ABSENT:
        return live
    if live is _ABSENT or of is None:
        return new
    if of.map is not None and _both(dict, live, new):
        return new if of.map.atomic else _merge_maps(live or {}, new or {}, of.map)
    if of.list is not None and _both(list, live, new):
        return new if of.list.relation == "atomic" else _merge_lists(live or [], new or [], of.list)
    return new


def _both(container: type, live: Any, new: Any) -> bool:
    """Whether both are containers of a type or null, and at least one is not empty."""
    return all(value is None or isinstance(value, container) for value in (live, new)) and bool(live or new)


def _merge_maps(live: dict[str, Any], new: dict[str, Any], of: MapType) -> dict[str, Any]:
    merged = dict(live)
    for key, item in new.items():
        merged[key] = _merge(live.get(key, _ABSENT), item, of.of(key))
    return merged


def _merge_lists(live: list[Any], new: list[Any], of: ListType) -> list[Any]:
    """Merge the elements of both by key, in the order of :func:`in_order`.

    ``live`` may have several elements of one key. A new element replaces them all; without one they stay.
    """
    keyed = [(element(item, of)[0], item) for item in live]
    stored: dict[Hashable, Any] = {}
    for key, item in keyed:
        stored[key] = None if key in stored else item  # Go merges a repeated element with null
    given = {element(item, of)[0]: item for item in new}
    merged = {key: _merge(stored.get(key, _ABSENT), item, of.items) for key, item in given.items()}
    return list(in_order(keyed, merged))


def in_order(live: Sequence[tuple[K, V]], merged: Mapping[K, V]) -> Iterator[V]:
    """Yield the elements of a merged list in the order that Go's ``visitListItems`` gives them.

    The elements that only ``live`` has keep their order. The elements of ``merged`` (the new ones, already merged)
    keep theirs. Where both have a key, the order of ``merged`` wins.

    Invariant: ``pending`` has the elements of ``merged`` that are not yet yielded, and ``shared`` is the first key of
    them that ``live`` has too. So an element of ``live`` whose key is in ``merged`` but is not ``shared`` is either
    already yielded or follows later. Each element of both lists is visited once: the time is linear.
    """
    of_live = {key for key, _ in live}
    coming = (key for key in merged if key in of_live)
    pending = iter(merged.items())
    shared = next(coming, None)
    for key, item in live:
        if key not in merged:
            yield item
        elif key == shared:
            yield from _through(key, pending)
            shared = next(coming, None)
        elif shared is None:  # a repeated element of live: Go yields one pending element in its place
            yield from (early for _, early in islice(pending, 1))
    yield from (item for _, item in pending)


def _through(last: K, pending: Iterator[tuple[K, V]]) -> Iterator[V]:
    """Yield the pending elements up to and including the one of a key."""
    for key, item in pending:
        yield item
        if key == last:
            return
