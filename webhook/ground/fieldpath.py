"""Paths of fields: as values, as keys, and as the texts in errors: ``spec.files[0]``, ``metadata.labels[a.b/c]``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

_NAME: Final = re.compile(r"[A-Za-z_$][\w$-]*")
_NAMES: Final = re.compile(rf"{_NAME.pattern}(?:\.{_NAME.pattern})*")
_KEY: Final = re.compile(r"\[([^\]]*)\]|([^.\[\]]+)")
_SHORT: Final = 256
"""Characters of a path that is remembered, so that callers cannot fill the memory with long ones."""


class FieldPath:
    """The path of a field, as ``field.Path`` of apimachinery: a step below its ``parent``. It does not change.

    A step is the ``name`` of a field, or the ``subscript`` of an item of a list or of an entry of a map. A path is
    cheap to make, because its text is made by ``str`` only.
    """

    __slots__ = ("name", "parent", "subscript")

    def __init__(self, parent: FieldPath | None = None, name: str = "", subscript: str | int | None = None) -> None:
        self.parent, self.name, self.subscript = parent, name, subscript

    def child(self, name: str, *more: str) -> FieldPath:
        """The field of this name, and the fields within it that the further names say."""
        path = FieldPath(self, name)
        return path.child(*more) if more else path

    def index(self, index: int) -> FieldPath:
        return FieldPath(self, "", index)

    def key(self, key: str) -> FieldPath:
        return FieldPath(self, "", key)

    def __str__(self) -> str:
        text, path = "", self
        while path.parent is not None:
            text = f".{path.name}{text}" if path.subscript is None else f"[{path.subscript}]{text}"
            path = path.parent
        return text.removeprefix(".")

    def __repr__(self) -> str:
        return f"<FieldPath {self}>"


ROOT: Final = FieldPath()
"""The path of an object in itself, whose text is ""."""


def field_path(keys: Sequence[str | int]) -> str:
    """The text of a path in the API server's spelling: ``("spec", "files", 0)`` → ``spec.files[0]``."""
    try:
        text = ".".join(keys)  # type: ignore[arg-type]
    except TypeError:
        text = ""
    if text.count(".") == len(keys) - 1 and (_are_names if len(text) <= _SHORT else _are_names.__wrapped__)(text):
        return text
    text = ""
    for key in keys:
        if isinstance(key, int):
            text += f"[{key}]"
        elif _NAME.fullmatch(key):
            text += f".{key}" if text else key
        else:
            text += f"[{key}]"
    return text


@lru_cache(2048)
def _are_names(text: str) -> bool:
    return _NAMES.fullmatch(text) is not None


def field_keys(field: str) -> list[str | int]:
    """The keys of a path in an error: ``spec.files[0]``, ``metadata.labels[a.b/c]``."""
    keys = (bracketed or name for bracketed, name in _KEY.findall(field))
    return [int(key) if key.isdecimal() else key for key in keys]
