"""Bytes of the cache of keys and values of one sequence, a lower bound: only layers with full attention count."""

from __future__ import annotations

from typing import Final

from webhook.facts.memory.names import Model

_BYTES: Final = {
    "f32": 4.0,
    **dict.fromkeys(("f16", "bf16", ""), 2.0),
    "q8_0": 1.0625,
    "q5_1": 0.75,
    "q5_0": 0.6875,
    "q4_1": 0.625,
    **dict.fromkeys(("q4_0", "iq4_nl"), 0.5625),
}
"""Bytes of an element of llama.cpp's cache, with its scales."""


def element_bytes(kind: str) -> float:
    """Bytes of an element of a type of llama.cpp's cache; 0 for an unknown type: nothing is counted then."""
    return _BYTES.get(kind.lower(), 0.0)


def cache_bytes(model: Model | None, tokens: int, share: float = 1.0, ranks: int = 1) -> int:
    """The cache of so many tokens; ``share`` of the size in 16 bits. With MLA each of the ``ranks`` has all of it."""
    if model is None or tokens <= 0:
        return 0
    return int(tokens * model.cache * share * (ranks if model.mla else 1))
