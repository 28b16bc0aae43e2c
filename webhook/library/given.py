"""What a caller gives: objects to be judged, as documents that no other code can change, and settings."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

import orjson

from webhook.admission.errors import DocumentError, Problem, SettingsError
from webhook.facts.settings import DEFAULT_SETTINGS, Settings, by_nodes, folded
from webhook.ground.fieldpath import field_path
from webhook.manifests import documents, folders
from webhook.manifests.documents import Document, Scan
from webhook.manifests.reading import as_manifests
from webhook.policy import Profile

Given = Mapping[str, Any] | str | bytes | Path
"""An object, the text of one or more (YAML or JSON), or the path of a file or folder of manifests."""

TEXT: Final = "text"
OBJECT: Final = "object"
"""The sources of documents that are in no file."""
_DEPTH: Final = 200
"""Levels of an object; orjson writes 254."""
_ROOM: Final = 16 << 20
"""Characters of an object, as of text from aliases in YAML: one text or list may stand at many places of it."""
_VALUE: Final = 8
"""Characters that a value counts beside its text."""
_SHOWN_BITS: Final = 256
_SURROGATE: Final = "half of a surrogate pair is not text: JSON and YAML are UTF-8"


def every_document(given: Given | Iterable[Given]) -> list[Document]:
    """As :func:`documents_of`, of one source or of many."""
    if isinstance(given, Mapping | str | bytes | Path) or not isinstance(given, Iterable):
        return documents_of(given)
    return [document for each in given for document in documents_of(each)]


def documents_of(given: object) -> list[Document]:
    """The documents of one source.

    Raises:
        DocumentError: it is not YAML or JSON of objects, cannot be read, or is of another type.
    """
    match given:
        case Path():
            return _of_path(given)
        case str():
            if _is_path(given):
                said = f"{given[:80]!r} is a text; for a file or a folder, give pathlib.Path({given[:80]!r})"
                raise DocumentError([Problem(TEXT, "", said)])
            if (start := _first_surrogate(given)) is not None:
                raise DocumentError([Problem(f"{TEXT}:{given.count(chr(10), 0, start) + 1}", "", _SURROGATE)])
            return _objects(documents.scan_text(given, TEXT))
        case bytes():
            return _objects(documents.decode(given, TEXT))
        case Mapping():
            text = orjson.dumps(_Copier().copied(given, ())).decode()
            found = _objects(documents.scan_text(text, OBJECT))
            return [Document(OBJECT, each.line, each.value) for each in found]
    said = f"expected an object (dict), a text (str or bytes) or a pathlib.Path, got {type(given).__name__}"
    raise DocumentError([Problem(OBJECT, "", said)])


def _of_path(path: Path) -> list[Document]:
    try:
        if b"\0" not in os.fsencode(path):
            return folders.read_all([path])
        why = "a name has no NUL"
    except UnicodeEncodeError:
        why = "its name is not text"
    except OSError as error:
        why = error.strerror or str(error)
    raise DocumentError([Problem(str(path), "", f"cannot be read: {why}")])


def _is_path(text: str) -> bool:
    """Whether a text looks like the path of a manifest, and like no object."""
    return not set(text) & set("\n{:") and text.endswith((".yaml", ".yml", ".json", "/"))


def _objects(scan: Scan) -> list[Document]:
    """The objects of a text, each with an apiVersion and a kind."""
    found = as_manifests(scan)
    if found.problems:
        raise DocumentError(found.problems)
    return found.documents


class _Copier:
    """Copies JSON values, in Python's own types, while there is room."""

    def __init__(self) -> None:
        self._room = _ROOM

    def copied(self, value: Any, at: tuple[str | int, ...]) -> Any:
        self._room -= _VALUE
        if isinstance(value, str):
            return self._text(value, at)
        if self._room < 0:
            raise _fault(at[:3], f"more than {_ROOM >> 20} MiB: the API server takes 3 MiB")
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int | float):
            return _number(value, at)
        if len(at) > _DEPTH:
            raise _fault(at[:3], f"more than {_DEPTH} levels, or an object that contains itself")
        if isinstance(value, Mapping):
            for key in value:
                if not isinstance(key, str):
                    shown = _integer(key) if isinstance(key, int) else f"of the type {type(key).__name__}"
                    raise _fault(at, f"the key {shown} must be a text")
            return {self._text(key, at): self.copied(item, (*at, key)) for key, item in value.items()}
        if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
            return [self.copied(item, (*at, index)) for index, item in enumerate(value)]
        raise _fault(at, f"{type(value).__name__} is not a type of JSON")

    def _text(self, text: str, at: tuple[str | int, ...]) -> str:
        self._room -= len(text)
        if self._room < 0:
            raise _fault(at[:3], f"more than {_ROOM >> 20} MiB: the API server takes 3 MiB")
        if _first_surrogate(text) is not None:
            raise _fault(at, _SURROGATE)
        return str.__str__(text)


def _number(value: float, at: tuple[str | int, ...]) -> float:
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise _fault(at, f"{_integer(value)} does not fit into 64 bits")
        return int.__pos__(value)
    if not math.isfinite(value):
        raise _fault(at, f"{value} is not a number of JSON")
    return float.__pos__(value)


def _integer(value: int) -> str:
    """Python does not print one of more than 4,300 digits."""
    return str(value) if value.bit_length() <= _SHOWN_BITS else f"an integer of {value.bit_length()} bits"


def _first_surrogate(text: str) -> int | None:
    """The position of the first half of a surrogate pair, which no UTF-8 has."""
    try:
        text.isascii() or text.encode()
    except UnicodeEncodeError as error:
        return error.start
    return None


def _fault(at: Sequence[str | int], said: str) -> DocumentError:
    return DocumentError([Problem(OBJECT, field_path(at), said)])


def settings_of(given: Mapping[str, Any], named: Callable[[str], str] = str) -> Settings:
    """The settings with these values; ``named`` gives what errors call one.

    Raises:
        SettingsError: with every invalid value.
    """
    if (settings := by_nodes(given)) is not None:
        return settings
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415 - takes 60 ms

    try:
        return TypeAdapter(Settings).validate_python(folded(given))
    except ValidationError as error:
        found = [(named(str(item["loc"][0])), item["msg"].removeprefix("Value error, ")) for item in error.errors()]
        raise SettingsError([Problem(name, "", message) for name, message in found]) from None
    except ValueError as error:
        raise SettingsError([Problem(named("operators"), "", str(error))]) from None


def checked_settings(settings: object) -> Settings:
    """Settings that a program has made, which may have any values.

    Raises:
        SettingsError: with every invalid value.
    """
    if not isinstance(settings, Settings):
        raise SettingsError([Problem("settings", "", f"is of type {type(settings).__name__}: give modelgate.Settings")])
    if settings is DEFAULT_SETTINGS:
        return settings
    return settings_of({each.name: getattr(settings, each.name) for each in fields(Settings)})


def profile_of(name: object) -> Profile:
    """The profile of this name.

    Raises:
        SettingsError: there is none.
    """
    if name in {each.value for each in Profile if isinstance(name, str)}:
        return Profile(name)
    raise SettingsError(
        [Problem("profile", "", f"{str(name)[:60]!r}: use {', '.join(each.value for each in Profile)}")]
    )
