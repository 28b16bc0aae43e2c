"""The source of generated functions, for tracebacks, profilers and debuggers.

The text is not kept. ``linecache`` gets a loader for each function, which writes the text again
when a line of it is asked for. The loader refers weakly to what can write it, so that an entry
lives no longer than its function.
"""

from __future__ import annotations

import linecache
import weakref
from functools import partial
from typing import Any, Final, Protocol

_LENGTH: Final = 100
"""Characters of a name: more only makes a traceback hard to read."""


class Written(Protocol):
    """Can write the source of its function again."""

    def text(self) -> str | None: ...


def file_name(name: str) -> str:
    """The file name of the function called ``name``, in tracebacks: ``<cel> LK205 spec.source rule``.

    It does not end with ``>``: ``linecache`` takes ``<…>`` for a function without a source.
    """
    line = " ".join(name.split())
    shown = line if len(line) <= _LENGTH else f"{line[: _LENGTH - 1]}…"
    if not shown.isprintable():
        shown = "".join(char if char.isprintable() else "?" for char in shown)
    return f"<cel> {shown.rstrip(' >')}"


def register(file: str, written: Written) -> None:
    """Let ``linecache`` find the source of a function by its file name while ``written`` lives."""
    linecache.cache[file] = (_Loader(file, written),)


class _Loader:
    """What ``linecache`` calls when a line of the source is asked for."""

    __slots__ = ("_written",)

    def __init__(self, file: str, written: Written) -> None:
        self._written = weakref.ref(written, partial(_forget, linecache.cache, file))

    def __call__(self) -> str | None:
        written = self._written()
        return None if written is None else written.text()

    def loads(self, reference: object) -> bool:
        return self._written is reference


def _forget(cache: dict[str, Any], file: str, reference: object) -> None:
    """Remove the entry of a function that is gone, unless another function of the same name has replaced it.

    An entry that was loaded stays, as those of modules do.
    """
    entry = cache.get(file)
    if entry is not None and len(entry) == 1 and entry[0].loads(reference):
        del cache[file]
