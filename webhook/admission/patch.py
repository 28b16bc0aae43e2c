"""JSON Patch (RFC 6902): compute the difference of two JSON values, and apply patches.

The patch is minimal for what admission does: set, change or remove a few leaves of a large tree. Subtrees shared by
identity are skipped without being read, so the difference is cheap if only the changed parts were copied. Values
compare strictly: ``1``, ``1.0`` and ``true`` are three different JSON texts.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, NotRequired, TypedDict

import orjson

Keys = tuple[str, ...]

MOST_OPERATIONS: Final = 1_000
"""Operations below one array or object. The operations for 340,000 items take 43 MiB, the array itself 4 MiB."""

_NOTHING: Final = object()


class Operation(TypedDict):
    """One operation: ``add``, ``replace`` or ``remove`` (which has no value)."""

    op: str
    path: str
    value: NotRequired[Any]


class PatchError(ValueError):
    """An operation does not fit the document; the text is that of the API server's library."""


class TestFailed(PatchError):
    """A ``test`` operation found another value than expected."""

    __test__ = False  # pytest would take it for a test class


class Step(NamedTuple):
    """One change: ``op`` as in an operation, the keys of the place (indexes of lists are text), and the new value."""

    op: str
    keys: Keys
    value: Any


def pointer(*keys: str | int) -> str:
    """The JSON Pointer (RFC 6901) of a sequence of keys: ``pointer("a/b", 0) == "/a~1b/0"``."""
    return "".join([f"/{str(key).replace('~', '~0').replace('/', '~1')}" for key in keys])


def diff(before: Any, after: Any, most: int = sys.maxsize) -> list[Operation]:
    """The operations that turn ``before`` into ``after``, in the order to apply them.

    More than ``most`` operations below one array or object become one that replaces it. The whole document is never
    replaced: not every library accepts the path "".
    """
    return operations(steps(before, after, most))


def steps(before: Any, after: Any, most: int = sys.maxsize, at: Keys = ()) -> list[Step]:
    """As :func:`diff`, with keys in place of pointers; ``at`` are those of the values. A removal has None."""
    changes: list[Step] = []
    _diff(before, after, at, changes, most)
    return changes


def operations(changes: Iterable[Step]) -> list[Operation]:
    """The operations of a patch."""
    made = list[Operation]()
    for op, keys, value in changes:
        text = "/".join(keys)
        plain = "~" not in text and text.count("/") == len(keys) - 1
        path = f"/{text}" if plain else pointer(*keys)
        made.append({"op": op, "path": path} if op == "remove" else {"op": op, "path": path, "value": value})
    return made


def encoded(changes: Sequence[Step]) -> bytes | None:
    """The JSON of a patch; None if it has so many operations that some have to become one."""
    return orjson.dumps(operations(changes)) if len(changes) <= MOST_OPERATIONS else None


def _diff(before: Any, after: Any, keys: Keys, out: list[Step], most: int) -> None:
    if before is after:
        return
    if before.__class__ is not after.__class__:
        out.append(Step("replace", keys, after))
    elif isinstance(before, dict):
        _diff_objects(before, after, keys, out, most)
    elif isinstance(before, list):
        _diff_arrays(before, after, keys, out, most)
    elif before != after:
        out.append(Step("replace", keys, after))


def _diff_objects(before: dict[str, Any], after: dict[str, Any], keys: Keys, out: list[Step], most: int) -> None:
    start, get = len(out), before.get
    end = start + most if keys else sys.maxsize  # more steps than this become one
    if not before.keys() <= after.keys():
        out.extend([Step("remove", (*keys, key), None) for key in before if key not in after])
    for key, value in after.items():
        old = get(key, _NOTHING)
        if old is value:
            continue
        if old is _NOTHING:
            out.append(Step("add", (*keys, key), value))
        elif old.__class__ is dict and value.__class__ is dict:
            _diff_objects(old, value, (*keys, key), out, most)
        else:
            _diff(old, value, (*keys, key), out, most)
        if len(out) > end:
            break
    if len(out) > end:
        out[start:] = [Step("replace", keys, after)]


def _diff_arrays(before: list[Any], after: list[Any], keys: Keys, out: list[Step], most: int) -> None:
    start = len(out)
    end = start + most if keys else sys.maxsize
    for index, (old, new) in enumerate(zip(before, after, strict=False)):
        if old is not new:
            _diff(old, new, (*keys, str(index)), out, most)
        if len(out) > end:
            break
    if len(out) + abs(len(after) - len(before)) > end:
        out[start:] = [Step("replace", keys, after)]
        return
    # From the end, so that removing an item does not shift the index of a later operation.
    out.extend(Step("remove", (*keys, str(index)), None) for index in range(len(before) - 1, len(after) - 1, -1))
    out.extend(Step("add", (*keys, "-"), value) for value in after[len(before) :])


def keys(path: str) -> tuple[str, ...]:
    """The keys of a JSON Pointer, the inverse of :func:`pointer` (array indices stay text)."""
    return tuple(key.replace("~1", "/").replace("~0", "~") for key in path.split("/")[1:])


def apply(document: Any, operations: Iterable[Mapping[str, Any]]) -> Any:
    """The document with the operations applied; changed containers are copied.

    All of RFC 6902, as lenient as the API server's library (evanphx/json-patch) and with its texts: ``replace`` may set
    a missing key, and a negative index counts from the end.

    Raises:
        TestFailed: a ``test`` found another value.
        PatchError: an operation does not fit the document.
    """
    for operation in operations:
        kind = operation.get("op", "")
        run = _OPERATIONS.get(kind)
        if run is None:
            raise PatchError(f"Unexpected kind: {kind}")
        document = run(document, operation.get("path", ""), operation)
    return document


class _NoContainerError(Exception):
    """A path leads through a value that is missing or has no members."""


class _NoMemberError(Exception):
    """The last key of a path names no member of its container; the text says why."""


class _Texts(NamedTuple):
    """The library's texts for the two ways in which a path does not fit."""

    no_container: str
    no_member: str


_TEXTS: Final[Mapping[str, _Texts]] = {
    "add": _Texts(
        'add operation does not apply: doc is missing path: "{path}": missing value',
        "error in add for path: '{path}': {why}",
    ),
    "remove": _Texts(
        'remove operation does not apply: doc is missing path: "{path}": missing value',
        "error in remove for path: '{path}': {why}",
    ),
    "replace": _Texts(
        "replace operation does not apply: doc is missing path: {path}: missing value",
        "replace operation does not apply: doc is missing key: {path}: missing value",
    ),
    "move from": _Texts(
        "move operation does not apply: doc is missing from path: {path}: missing value",
        "error in move for path: '{key}': {why}",
    ),
    "move to": _Texts(
        "move operation does not apply: doc is missing destination path: {path}: missing value",
        "error in move for path: '{path}': {why}",
    ),
    "copy from": _Texts(
        "copy operation does not apply: doc is missing from path: {path}: missing value",
        "error in copy for from: '{path}': {why}",
    ),
    "copy to": _Texts(
        "copy operation does not apply: doc is missing destination path: {path}: missing value",
        "error while adding value during copy: {why}",
    ),
    "test": _Texts(
        "test operation does not apply: is missing path: {path}: missing value",
        "error in test for path: '{path}': {why}",
    ),
}


@contextlib.contextmanager
def _reported(step: str, path: str) -> Iterator[None]:
    """Turn a path that does not fit into the library's error for the step."""
    try:
        yield
    except _NoContainerError:
        raise PatchError(_TEXTS[step].no_container.format(path=path)) from None
    except _NoMemberError as error:
        raise PatchError(_TEXTS[step].no_member.format(path=path, key=keys(path)[-1], why=error)) from None


def _add(document: Any, path: str, operation: Mapping[str, Any]) -> Any:
    with _reported("add", path):
        return _put(document, path, operation.get("value"))


def _remove(document: Any, path: str, _operation: Mapping[str, Any]) -> Any:
    with _reported("remove", path):
        return _cut(document, path)


def _replace(document: Any, path: str, operation: Mapping[str, Any]) -> Any:
    value = operation.get("value")
    if not path:
        return value
    with _reported("replace", path):
        _find(document, path)
        return _change(document, keys(path), lambda container, key: _with(container, key, value))


def _move(document: Any, path: str, operation: Mapping[str, Any]) -> Any:
    source = _source("move", operation)
    with _reported("move from", source):
        value = _find(document, source)
        rest = _cut(document, source)
    with _reported("move to", path):
        return _put(rest, path, value)


def _copy(document: Any, path: str, operation: Mapping[str, Any]) -> Any:
    source = _source("copy", operation)
    with _reported("copy from", source):
        value = _find(document, source)
    with _reported("copy to", path):
        return _put(document, path, None if value is _NOTHING else value)


def _test(document: Any, path: str, operation: Mapping[str, Any]) -> Any:
    with _reported("test", path):
        value = _find(document, path) if path else document
    if diff(None if value is _NOTHING else value, operation.get("value")):
        raise TestFailed(f"testing value {path} failed: test failed")
    return document


def _source(kind: str, operation: Mapping[str, Any]) -> str:
    if "from" not in operation:
        raise PatchError(f"{kind} operation failed to decode from: operation, missing from field: missing value")
    return str(operation["from"])


_OPERATIONS: Final[Mapping[str, Callable[[Any, str, Mapping[str, Any]], Any]]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}


def _find(document: Any, path: str) -> Any:
    """The value at a path; _NOTHING for a missing key of an object."""
    parents = keys(path)
    if not parents:
        raise _NoContainerError
    for key in parents[:-1]:
        document = _inner(document, key)
    if isinstance(document, dict):
        return document.get(parents[-1], _NOTHING)
    if isinstance(document, list):
        return document[_index(parents[-1], len(document))]
    raise _NoContainerError


def _inner(node: Any, key: str) -> Any:
    try:
        inner = node.get(key) if isinstance(node, dict) else node[_index(key, len(node))]
    except (_NoMemberError, TypeError):
        raise _NoContainerError from None
    if not isinstance(inner, (dict, list)):
        raise _NoContainerError
    return inner


def _change(node: Any, path: tuple[str, ...], change: Callable[[Any, str], Any]) -> Any:
    """The value with the container at the end of a path changed; the containers on the path are copied."""
    if not path or not isinstance(node, (dict, list)):
        raise _NoContainerError
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
            raise _NoMemberError(f"Unable to remove nonexistent key: {key}: missing value")
        return {name: item for name, item in container.items() if name != key}

    return _change(document, keys(path), cut)


def _index(key: str, size: int, prefix: str = "") -> int:
    """An index below ``size``; a negative one counts from the end."""
    if not key.removeprefix("-").isascii() or not key.removeprefix("-").isdigit():
        syntax = f'strconv.Atoi: parsing "{key}": invalid syntax'
        raise _NoMemberError(f"{prefix}: '{key}': {syntax}" if prefix else syntax)
    index = int(key)
    if not -size <= index < size:
        raise _NoMemberError(f"Unable to access invalid index: {index}: invalid index referenced")
    return index % size
