"""Apply configurations: merge what a mutation says into an object, by the schema of its kind.

The merge of ``structured-merge-diff`` (``typed/merge.go``), as mutating policies use it: what is
not mentioned stays; maps merge by key, sets and keyed lists by element, scalars are replaced;
what is atomic may not be mentioned at all.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Final

from webhook.vap.mutating.mergecheck import MergeError, check, element
from webhook.vap.mutating.mergetypes import ListType, MapType, MergeType

__all__ = ["MergeError", "merge"]


_ABSENT: Final = object()


def merge(live: dict[str, Any], configuration: dict[str, Any], kind: MergeType) -> dict[str, Any]:
    """The object with the configuration applied; both stay as they are, unchanged parts are shared.

    Raises:
        MergeError: an undeclared field, a value of another type, an atomic part, a key given twice.
    """
    _raise("failed to convert patch object to typed object", check(configuration, kind, "", stored=False))
    if atomic := _atomics(configuration, kind, ""):
        listed = ", ".join(atomic)
        raise MergeError(f"invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {listed}")
    _raise("failed to convert original object to typed object", check(live, kind, "", stored=True))
    merged: dict[str, Any] = _merge(live, configuration, kind)
    return merged


def _raise(prefix: str, errors: list[str]) -> None:
    if len(errors) == 1:
        raise MergeError(f"{prefix}: {errors[0]}")
    if errors:
        raise MergeError("\n  ".join((f"{prefix}: errors:", *errors)))


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
        return new
    if of.map is not None and _is(dict, live, new):
        return new if of.map.atomic else _merge_maps(live or {}, new or {}, of.map)
    if of.list is not None and _is(list, live, new):
        return new if of.list.relation == "atomic" else _merge_lists(live or [], new or [], of.list)
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
    ours = [element(item, of)[0] for item in live]
    theirs = [element(item, of)[0] for item in new]
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
