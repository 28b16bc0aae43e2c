"""The header of a GGUF file, versions 2 and 3: what it says of its model (ggml-org/ggml, docs/gguf.md)."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from typing import Any, Final

Read = Callable[[int, int], bytes]
"""Bytes of the file, by offset and length. It raises Unreadable beyond what is read of a file."""

ENTRIES: Final = 4096
"""Keys of a header: real ones have some dozens."""

ITEMS: Final = 2_000_000
"""Elements of all arrays: the largest vocabularies have some 260 000 tokens, in two or three arrays."""

TEXT: Final = 1024
"""Characters of a value that is kept."""

_SCALARS: Final = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_UNSIGNED: Final = {0, 2, 4, 10}

_TYPES: Final = {
    0: "F32",
    1: "F16",
    2: "Q4_0",
    3: "Q4_1",
    7: "Q8_0",
    8: "Q5_0",
    9: "Q5_1",
    10: "Q2_K",
    11: "Q3_K_S",
    12: "Q3_K_M",
    13: "Q3_K_L",
    14: "Q4_K_S",
    15: "Q4_K_M",
    16: "Q5_K_S",
    17: "Q5_K_M",
    18: "Q6_K",
    19: "IQ2_XXS",
    20: "IQ2_XS",
    21: "Q2_K_S",
    22: "IQ3_XS",
    23: "IQ3_XXS",
    24: "IQ1_S",
    25: "IQ4_NL",
    26: "IQ3_S",
    27: "IQ3_M",
    28: "IQ2_S",
    29: "IQ2_M",
    30: "IQ4_XS",
    31: "IQ1_M",
    32: "BF16",
}
"""llama.cpp's ``llama_ftype``. Upstream's table differs from 21 on."""

_COUNTS: Final = {
    "context_length": "contextLength",
    "embedding_length": "embeddingSize",
    "block_count": "layerCount",
    "attention.head_count": "headCount",
}
_LICENSES: Final = (
    (r"apache.*", "apache-2.0"),
    (r"llama[- ]?3\.1.*", "llama3.1"),
    (r"llama[- ]?3\.2.*", "llama3.2"),
    (r"llama[- ]?3\.3.*", "llama3.3"),
    (r"gemma.*", "gemma"),
    (r"mit", "mit"),
)


class Unreadable(Exception):
    """Not a GGUF header that can be read."""


class _Cursor:
    def __init__(self, read: Read) -> None:
        self._read = read
        self._at = 0
        self._items = 0

    def take(self, length: int) -> bytes:
        data = self._read(self._at, length)
        if len(data) != length:
            raise Unreadable("the file ends within its header")
        self._at += length
        return data

    def number(self, code: str) -> Any:
        return struct.unpack(f"<{code}", self.take(struct.calcsize(f"<{code}")))[0]

    def skip(self, length: int) -> None:
        self._at += length

    def string(self, *, keep: bool = True) -> str:
        length = self.number("Q")
        kept = min(length, 4 * TEXT) if keep else 0
        data = self.take(kept) if kept else b""
        self.skip(length - kept)
        return data.decode(errors="replace")[:TEXT]

    def value(self, kind: int) -> Any:
        """The value; None for an array, which is passed over."""
        if kind == _STRING:
            return self.string()
        if kind == _ARRAY:
            self._pass_array()
            return None
        return self.number(_code(kind))

    def _pass_array(self) -> None:
        kind, count = self.number("I"), self.number("Q")
        self._items += count
        if self._items > ITEMS or kind == _ARRAY:
            raise Unreadable("an array of the header is too long, or nested")
        if kind != _STRING:
            self.skip(count * struct.calcsize(f"<{_code(kind)}"))
            return
        for _ in range(count):
            self.string(keep=False)


def _code(kind: int) -> str:
    if kind not in _SCALARS:
        raise Unreadable(f"unknown type {kind} in the header")
    return _SCALARS[kind]


def parse(read: Read) -> dict[str, Any]:
    """The members of ``status.gguf``.

    Raises:
        Unreadable: not a header of a known version, or longer than what is read.
    """
    cursor = _Cursor(read)
    if cursor.take(4) != b"GGUF":
        raise Unreadable("not a GGUF file")
    version = cursor.number("I")
    if version not in {2, 3}:
        raise Unreadable(f"GGUF version {version} is not supported")
    tensors, entries = cursor.number("Q"), cursor.number("Q")
    if entries > ENTRIES:
        raise Unreadable(f"the header has {entries} keys")
    found: dict[str, tuple[int, Any]] = {}
    for _ in range(entries):
        key, kind = cursor.string(), cursor.number("I")
        found[key] = kind, cursor.value(kind)
    return _described(found) | {"fileVersion": version, "tensorCount": min(tensors, (1 << 63) - 1)}


def _described(found: dict[str, tuple[int, Any]]) -> dict[str, Any]:
    def text(key: str) -> str:
        kind, value = found.get(key, (0, ""))
        return value if kind == _STRING else ""

    def count(key: str) -> int:
        kind, value = found.get(key, (-1, 0))
        return min(value, (1 << 63) - 1) if kind in _UNSIGNED else 0

    architecture = text("general.architecture")
    file_type, number = found.get("general.file_type", (-1, 0))
    said: dict[str, Any] = {
        "architecture": architecture,
        "modelName": text("general.name"),
        "quantization": _TYPES.get(number, "Unknown") if file_type == 4 else "",
        "license": _license(text("general.license")),
        **{member: count(f"{architecture}.{key}") for key, member in _COUNTS.items()},
    }
    return {key: value for key, value in said.items() if value}


def _license(said: str) -> str:
    return next((known for pattern, known in _LICENSES if re.fullmatch(pattern, said.strip().lower())), said.strip())
