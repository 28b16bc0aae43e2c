"""What a caller gives: objects to be judged, as documents that no other code can change, and settings."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

import orjson

from webhook.admission.errors import DocumentError, Problem, SettingsError
from webhook.facts.settings import DEFAULT_SETTINGS, Settings
from webhook.ground.fieldpath import field_path
from webhook.manifests import documents, folders
from webhook.manifests.documents import Document, Scan
from webhook.manifests.reading import as_manifests
from webhook.policy import Profile

Given = Mapping[str, Any] | str | bytes | Path
"""An object, the text of one or more (YAML or JSON), or the path of a file or folder of manifests."""

_TEXT: Final = "text"
_OBJECT: Final = "object"
_DEPTH: Final = 200
"""Levels of an object; orjson writes 254."""


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
            return folders.read_all([given])
        case str():
            if _is_path(given):
                said = f"{given[:80]!r} is a text; for a file or a folder, give pathlib.Path({given[:80]!r})"
                raise DocumentError([Problem(_TEXT, "", said)])
            return _objects(documents.scan_text(given, _TEXT))
        case bytes():
            return _objects(documents.decode(given, _TEXT))
        case Mapping():
            text = orjson.dumps(_copied(given, ())).decode()
            found = _objects(documents.scan_text(text, _OBJECT))
            return [Document(_OBJECT, each.line, each.value) for each in found]
    said = f"expected an object (dict), a text (str or bytes) or a pathlib.Path, got {type(given).__name__}"
    raise DocumentError([Problem(_OBJECT, "", said)])


def _is_path(text: str) -> bool:
    """Whether a text looks like the path of a manifest, and like no object."""
    return not set(text) & set("\n{:") and text.endswith((".yaml", ".yml", ".json", "/"))


def _objects(scan: Scan) -> list[Document]:
    """The objects of a text, each with an apiVersion and a kind."""
    found = as_manifests(scan)
    if found.problems:
        raise DocumentError(found.problems)
    return found.documents


def _copied(value: Any, at: tuple[str | int, ...]) -> Any:
    """A copy of a JSON value, in Python's own types."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int | float):
        return _number(value, at)
    if len(at) > _DEPTH:
        raise _fault(at[:3], f"more than {_DEPTH} levels, or an object that contains itself")
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise _fault(at, f"the key {key!r} must be a text")
        return {str(key): _copied(item, (*at, key)) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [_copied(item, (*at, index)) for index, item in enumerate(value)]
    raise _fault(at, f"{type(value).__name__} is not a type of JSON")


def _number(value: float, at: tuple[str | int, ...]) -> float:
    if isinstance(value, float) and not math.isfinite(value):
        raise _fault(at, f"{value} is not a number of JSON")
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise _fault(at, f"{value} does not fit into 64 bits")
    return value


def _fault(at: Sequence[str | int], said: str) -> DocumentError:
    return DocumentError([Problem(_OBJECT, field_path(at), said)])


def settings_of(given: Mapping[str, Any], named: Callable[[str], str] = str) -> Settings:
    """The settings with these values; ``named`` gives what errors call one.

    Raises:
        SettingsError: with every invalid value.
    """
    if not given:
        return DEFAULT_SETTINGS
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415 - takes 60 ms

    try:
        return TypeAdapter(Settings).validate_python(given)
    except ValidationError as error:
        found = [(named(str(item["loc"][0])), item["msg"].removeprefix("Value error, ")) for item in error.errors()]
        raise SettingsError([Problem(name, "", message) for name, message in found]) from None


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
