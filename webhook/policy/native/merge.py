"""Apply configurations: merge what a mutation says into an object, by the schema of its kind.

The merge of ``structured-merge-diff`` (``typed/merge.go``), as mutating policies use it: what is
not mentioned stays; maps merge by key, sets and keyed lists by element, scalars are replaced;
what is atomic may not be mentioned at all.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable
from typing import Any, Final

from webhook.policy.native.mergetypes import ListType, MapType, MergeType
from webhook.policy.native.objects import Foreign, NilList

__all__ = ["MergeError", "merge"]


class MergeError(Exception):
    """A configuration that cannot be applied; the text is the API server's."""


_ABSENT: Final = object()
_SCALARS: Final = frozenset({str, bool, int, float})
_NAMES: Final = {str: "string", bool: "bool", int: "int64", float: "float64", list: "[]interface {}"}
_NAMES[NilList] = _NAMES[list]


def merge(live: dict[str, Any], configuration: dict[str, Any], kind: MergeType) -> dict[str, Any]:
    """The object with the configuration applied; both stay as they are, unchanged parts are shared.

    Raises:
        MergeError: an undeclared field, a value of another type, an atomic part, a key given twice.
    """
    _raise("failed to convert patch object to typed object", _check(configuration, kind, "", twice=False))
    if atomic := _atomics(configuration, kind, ""):
        listed = ", ".join(atomic)
        raise MergeError(f"invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {listed}")
    _raise("failed to convert original object to typed object", _check(live, kind, "", twice=True))
    merged: dict[str, Any] = _merge(live, configuration, kind)
    return merged


def _raise(prefix: str, errors: list[str]) -> None:
    if len(errors) == 1:
        raise MergeError(f"{prefix}: {errors[0]}")
    if errors:
        raise MergeError("\n  ".join((f"{prefix}: errors:", *errors)))


# Validation


def _check(value: Any, of: MergeType, path: str, *, twice: bool) -> list[str]:
    """What does not fit the type; ``twice`` allows several elements of one key, which stored lists may have."""
    if value is None:
        return []
    if isinstance(value, list) and of.list is not None:
        return _check_list(value, of.list, path, twice=twice)
    if of.scalar and (of.map is None or value.__class__ in _SCALARS):
        return [f"{_at(path)}{problem}" for problem in _check_scalar(value, of.scalar)]
    if of.map is not None:
        return _check_map(value, of.map, path, twice=twice)
    return [f"{_at(path)}expected list, got &{{{_shown(value)}}}"]


def _at(path: str) -> str:
    return f"{path}: " if path else ""


def _check_map(value: Any, of: MapType, path: str, *, twice: bool) -> list[str]:
    if not isinstance(value, dict):
        return [f"{_at(path)}expected map, got &{{{_shown(value)}}}"]
    errors: list[str] = []
    for key, item in value.items():
        child = of.of(key)
        if child is None:
            return [*errors, f"{path}.{key}: field not declared in schema"]
        errors += _check(item, child, f"{path}.{key}", twice=twice)
    return errors


def _check_list(value: list[Any], of: ListType, path: str, *, twice: bool) -> list[str]:
    errors: list[str] = []
    seen: set[Hashable] = set()
    for index, item in enumerate(value):
        place = f"[{index}]"
        if of.relation != "atomic":
            try:
                key, place = _element(item, of)
            except MergeError as error:
                return [*errors, f"{_at(path)}element {index}: {error}"]
            if key in seen and not twice:
                errors.append(f"{_at(path)}duplicate entries for key {place}")
            seen.add(key)
        errors += _check(item, of.items, path + place, twice=twice)
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


def _atomics(value: Any, of: MergeType, path: str) -> list[str]:
    """The atomic parts that a configuration mentions."""
    found: list[str] = []
    if isinstance(value, dict) and of.map is not None:
        found += [path] if of.map.atomic else []
        for key, item in value.items():
            # what is not declared is taken for its parent's type there, too
            found += _atomics(item, of.map.declared(key) or of, f"{path}.{key}")
    elif isinstance(value, list) and of.list is not None:
        found += [path] if of.list.relation == "atomic" else []
        for index, item in enumerate(value):
            found += _atomics(item, of.list.items, f"{path}[{index}]")
    return found


# Merge


def _merge(live: Any, new: Any, of: MergeType | None) -> Any:
    """Both values as one; either may be absent."""
    if new is _ABSENT:
        return live
    if live is _ABSENT or of is None:
        return _made(new)
    if of.map is not None and _is(dict, live, new):
        return _made(new) if of.map.atomic else _merge_maps(live or {}, new or {}, of.map)
    if of.list is not None and _is(list, live, new):
        return _made(new) if of.list.relation == "atomic" else _merge_lists(live or [], new or [], of.list)
    return _made(new)


def _made(new: Any) -> Any:
    """What a configuration adds, as JSON."""
    if isinstance(new, dict):
        return {key: _made(item) for key, item in new.items()}
    if isinstance(new, list):
        return None if isinstance(new, NilList) else [_made(item) for item in new]
    return new


def _is(container: type, live: Any, new: Any) -> bool:
    """Whether both are of a container's type, or null, and there is something in them."""
    return all(value is None or isinstance(value, container) for value in (live, new)) and bool(live or new)


def _merge_maps(live: dict[str, Any], new: dict[str, Any], of: MapType) -> dict[str, Any]:
    merged = dict(live)
    for key, item in new.items():
        merged[key] = _merge(live.get(key, _ABSENT), item, of.of(key))
    return merged


def _merge_lists(live: list[Any], new: list[Any], of: ListType) -> list[Any]:
    """The elements of both, by key: in the order of ``live``, but those of both in the order of ``new``.

    An element that ``live`` has several times is kept so, unless ``new`` has it: then the new one takes
    the place of all.
    """
    ours = [_element(item, of)[0] for item in live]
    theirs = [_element(item, of)[0] for item in new]
    stored: dict[Hashable, Any] = {}
    for key, item in zip(ours, live, strict=True):
        stored[key] = None if key in stored else item
    given = dict(zip(theirs, new, strict=True))
    shared = [key for key in theirs if key in stored]
    merged: list[Any] = []
    done: set[Hashable] = set()
    left = right = 0
    while left < len(ours) or right < len(theirs):
        expected = shared[0] if shared else None
        if left < len(ours) and right < len(theirs):
            key = ours[left]
            if key == theirs[right]:
                merged.append(_merge(stored[key], given[key], of.items))
                done.add(key)
                left, right, shared = left + 1, right + 1, shared[1:]
                continue
            if key in given and expected is not None and key != expected:
                left += 1  # comes later, where the new list has it
                continue
        if left < len(ours):
            key = ours[left]
            if key not in given:
                merged.append(live[left])
                left += 1
                continue
            if key in done:
                left += 1
        if right < len(theirs):
            key = theirs[right]
            merged.append(_merge(stored.get(key, _ABSENT), given[key], of.items))
            done.add(key)
            right += 1
            if expected is not None and expected == key:
                shared = shared[1:]
    return merged


def _key(value: Any) -> str:
    return "{{undefined}}" if isinstance(value, Foreign) else json.dumps(value)


def _element(item: Any, of: ListType) -> tuple[Hashable, str]:
    """What identifies an element of a set or keyed list, and how a path names it.

    Raises:
        MergeError: an element that has no identity.
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
