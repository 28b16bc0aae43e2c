"""JSON Patch (RFC 6902): the difference of two JSON values, and patches applied.

The patch is minimal for what admission does (a few leaves set, changed or removed in a large
tree): subtrees shared by identity are skipped without being read, so copying only what is
changed makes the difference cheap. Values compare strictly: ``1``, ``1.0`` and ``true`` are
three different JSON texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NotRequired, TypedDict

__all__ = ["Operation", "PatchError", "TestFailed", "apply", "diff", "keys", "pointer"]


class Operation(TypedDict):
    """One operation: ``add``, ``replace`` or ``remove`` (which has no value)."""

    op: str
    path: str
    value: NotRequired[Any]


class PatchError(ValueError):
    """An operation that does not fit the document; the text is that of the API server's library."""


class TestFailed(PatchError):
    """A ``test`` operation found another value than it wanted."""

    __test__ = False  # no test class, whatever its name says to pytest


def pointer(*keys: str | int) -> str:
    """The JSON Pointer (RFC 6901) of a sequence of keys: ``pointer("a/b", 0) == "/a~1b/0"``."""
    return "".join(f"/{str(key).replace('~', '~0').replace('/', '~1')}" for key in keys)


def diff(before: Any, after: Any) -> list[Operation]:
    """The operations that turn ``before`` into ``after``, in an order in which they can be applied."""
    operations: list[Operation] = []
    _diff(before, after, "", operations)
    return operations


def _diff(before: Any, after: Any, path: str, out: list[Operation]) -> None:
    if before is after:
        return
    if before.__class__ is not after.__class__:
        out.append({"op": "replace", "path": path, "value": after})
    elif isinstance(before, dict):
        _diff_objects(before, after, path, out)
    elif isinstance(before, list):
        _diff_arrays(before, after, path, out)
    elif before != after:
        out.append({"op": "replace", "path": path, "value": after})


def _diff_objects(before: dict[str, Any], after: dict[str, Any], path: str, out: list[Operation]) -> None:
    out.extend({"op": "remove", "path": path + pointer(key)} for key in before if key not in after)
    for key, value in after.items():
        if key in before:
            _diff(before[key], value, path + pointer(key), out)
        else:
            out.append({"op": "add", "path": path + pointer(key), "value": value})


def _diff_arrays(before: list[Any], after: list[Any], path: str, out: list[Operation]) -> None:
    for index, (old, new) in enumerate(zip(before, after, strict=False)):
        _diff(old, new, f"{path}/{index}", out)
    # From the end, so that no index moves under an operation still to come.
    out.extend({"op": "remove", "path": f"{path}/{index}"} for index in range(len(before) - 1, len(after) - 1, -1))
    out.extend({"op": "add", "path": f"{path}/-", "value": value} for value in after[len(before) :])


def keys(path: str) -> tuple[str, ...]:
    """The keys of a JSON Pointer, the inverse of :func:`pointer` (array indices stay text)."""
    return tuple(key.replace("~1", "/").replace("~0", "~") for key in path.split("/")[1:])


def apply(document: Any, operations: Iterable[Mapping[str, Any]]) -> Any:
    """The document with the operations applied; the parents on the way are copied.

    All of RFC 6902 with the latitude and the words of the API server's library (evanphx/json-patch):
    ``replace`` may set a key that an object does not have, an index may count from the end.

    Raises:
        TestFailed: a ``test`` found another value.
        PatchError: an operation that does not fit the document.
    """
    for operation in operations:
        kind = operation.get("op", "")
        run = _OPERATIONS.get(kind)
        if run is None:
            raise PatchError(f"Unexpected kind: {kind}")
        document = run(document, operation.get("path", ""), operation)
    return document


_NOTHING: Final = object()
_MISSING: Final = "missing value"


def _add(document: Any, path: str, operation: Mapping[str, Any]) -> Any:
    try:
        return _put(document, path, operation.get("value"))
    except _NoParentError:
        raise PatchError(f'add operation does not apply: doc is missing path: "{path}": {_MISSING}') from None
    except _NoPlaceError as error:
        raise PatchError(f"error in add for path: '{path}': {error}") from None


def _remove(document: Any, path: str, _operation: Mapping[str, Any]) -> Any:
    try:
        return _cut(document, path)
    except _NoParentError:
        raise PatchError(f'remove operation does not apply: doc is missing path: "{path}": {_MISSING}') from None
    except _NoPlaceError as error:
        raise PatchError(f"error in remove for path: '{path}': {error}") from None


def _replace(document: Any, path: str, operation: Mapping[str, Any]) -> Any:
    value = operation.get("value")
    if not path:
        return value
    try:
        _find(document, path)
        return _change(document, keys(path), lambda container, key: _with(container, key, value))
    except _NoParentError:
        raise PatchError(f"replace operation does not apply: doc is missing path: {path}: {_MISSING}") from None
    except _NoPlaceError:
        raise PatchError(f"replace operation does not apply: doc is missing key: {path}: {_MISSING}") from None


def _source(kind: str, operation: Mapping[str, Any]) -> str:
    if "from" not in operation:
        raise PatchError(f"{kind} operation failed to decode from: operation, missing from field: {_MISSING}")
    return str(operation["from"])


def _move(document: Any, path: str, operation: Mapping[str, Any]) -> Any:
    source = _source("move", operation)
    try:
        value = _find(document, source)
        rest = _cut(document, source)
    except _NoParentError:
        raise PatchError(f"move operation does not apply: doc is missing from path: {source}: {_MISSING}") from None
    except _NoPlaceError as error:
        raise PatchError(f"error in move for path: '{keys(source)[-1]}': {error}") from None
    try:
        return _put(rest, path, value)
    except _NoParentError:
        raise PatchError(
            f"move operation does not apply: doc is missing destination path: {path}: {_MISSING}"
        ) from None
    except _NoPlaceError as error:
        raise PatchError(f"error in move for path: '{path}': {error}") from None


def _copy(document: Any, path: str, operation: Mapping[str, Any]) -> Any:
    source = _source("copy", operation)
    try:
        value = _find(document, source)
    except _NoParentError:
        raise PatchError(f"copy operation does not apply: doc is missing from path: {source}: {_MISSING}") from None
    except _NoPlaceError as error:
        raise PatchError(f"error in copy for from: '{source}': {error}") from None
    try:
        return _put(document, path, None if value is _NOTHING else value)
    except _NoParentError:
        raise PatchError(
            f"copy operation does not apply: doc is missing destination path: {path}: {_MISSING}"
        ) from None
    except _NoPlaceError as error:
        raise PatchError(f"error while adding value during copy: {error}") from None


def _test(document: Any, path: str, operation: Mapping[str, Any]) -> Any:
    try:
        found = _find(document, path) if path else document
    except _NoParentError:
        raise PatchError(f"test operation does not apply: is missing path: {path}: {_MISSING}") from None
    except _NoPlaceError as error:
        raise PatchError(f"error in test for path: '{path}': {error}") from None
    wanted = operation.get("value")
    if diff(None if found is _NOTHING else found, wanted):
        raise TestFailed(f"testing value {path} failed: test failed")
    return document


_OPERATIONS: Final[Mapping[str, Callable[[Any, str, Mapping[str, Any]], Any]]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}


class _NoParentError(Exception):
    """The value that a path leads through is not there, or has no members."""


class _NoPlaceError(Exception):
    """The last key of a path leads nowhere; the text says why."""


def _find(document: Any, path: str) -> Any:
    """The value at a path; _NOTHING for a key that an object does not have."""
    parents = keys(path)
    if not parents:
        raise _NoParentError
    for key in parents[:-1]:
        document = _inner(document, key)
    if isinstance(document, dict):
        return document.get(parents[-1], _NOTHING)
    if isinstance(document, list):
        return document[_index(parents[-1], len(document))]
    raise _NoParentError


def _inner(node: Any, key: str) -> Any:
    try:
        found = node.get(key) if isinstance(node, dict) else node[_index(key, len(node))]
    except (_NoPlaceError, TypeError):
        raise _NoParentError from None
    if not isinstance(found, (dict, list)):
        raise _NoParentError
    return found


def _change(node: Any, path: tuple[str, ...], change: Callable[[Any, str], Any]) -> Any:
    """The value with the container at the end of a path changed, the containers on the way copied."""
    if not path or not isinstance(node, (dict, list)):
        raise _NoParentError
    key, rest = path[0], path[1:]
    return change(node, key) if not rest else _with(node, key, _change(_inner(node, key), rest, change))


def _with(container: Any, key: str, value: Any) -> Any:
    if isinstance(container, dict):
        return {**container, key: value}
    items = list(container)
    items[_index(key, len(items))] = value
    return items


def _put(document: Any, path: str, value: Any) -> Any:
    def put(container: Any, key: str) -> Any:
        if isinstance(container, dict):
            return {**container, key: value}
        index = len(container) if key == "-" else _index(key, len(container) + 1, "value was not a proper array index")
        return [*container[:index], value, *container[index:]]

    return _change(document, keys(path), put)


def _cut(document: Any, path: str) -> Any:
    def cut(container: Any, key: str) -> Any:
        if isinstance(container, list):
            index = _index(key, len(container))
            return [*container[:index], *container[index + 1 :]]
        if key not in container:
            raise _NoPlaceError(f"Unable to remove nonexistent key: {key}: {_MISSING}")
        return {name: item for name, item in container.items() if name != key}

    return _change(document, keys(path), cut)


def _index(key: str, size: int, complaint: str = "") -> int:
    """An index below ``size``; a negative one counts from the end."""
    if not key.removeprefix("-").isascii() or not key.removeprefix("-").isdigit():
        no_number = f'strconv.Atoi: parsing "{key}": invalid syntax'
        raise _NoPlaceError(f"{complaint}: '{key}': {no_number}" if complaint else no_number)
    index = int(key)
    if not -size <= index < size:
        raise _NoPlaceError(f"Unable to access invalid index: {index}: invalid index referenced")
    return index % size
