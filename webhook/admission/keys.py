r"""Duplicate keys in JSON, found exactly and at the price of one more serialisation.

orjson takes the last of two equal keys, and other readers take the first: what one reader checks, another does not see.
A text has duplicate keys if and only if it has more keys than its decoded value. Keys of the value are counted in its
serialisation, where each is followed by ``":``. In the text this count may be wrong for two reasons, a space after a
key and a quote that is written ``\u0022``; only then are strings skipped one by one. API servers write neither.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

import orjson

from webhook.admission.errors import Malformed

_STRING: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_DOUBTFUL: Final = (b"\\u0022", b'" ', b'"\n', b'"\t', b'"\r')


def check_keys(text: bytes, value: Any) -> None:
    """Refuse a text with duplicate keys; ``value`` is what orjson decoded from it.

    Raises:
        Malformed: an object has a key twice.
    """
    if not _surely_unique(text, value) and len(_STRING.sub(b"", text).split(b":")) - 1 != _keys(value):
        raise Malformed(f"the body is malformed: an object has the key {_duplicate(text)} twice")


def _surely_unique(text: bytes, value: Any) -> bool:
    """Whether no key occurs twice, by counting alone; False is a doubt."""
    try:
        written = orjson.dumps(value)
    except orjson.JSONEncodeError:  # nested more deeply than orjson writes
        return False
    if written == text.rstrip():  # the usual case: an API server writes JSON as orjson does
        return True
    return text.count(b'":') == written.count(b'":') and not any(mark in text for mark in _DOUBTFUL)


def _keys(value: Any) -> int:
    """The number of keys of all objects."""
    count, left = 0, [value]
    while left:
        node = left.pop()
        if type(node) is dict:
            count += len(node)
            left.extend(node.values())
        elif type(node) is list:
            left.extend(node)
    return count


def _duplicate(text: bytes) -> str:
    """The duplicate key, for the message; the text is known to have one."""
    duplicates: list[str] = []

    def look(pairs: list[tuple[str, Any]]) -> None:
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                duplicates.append(key)
            seen.add(key)

    try:
        json.loads(text, object_pairs_hook=look)
    except RecursionError:
        return "of a deeply nested object"
    return json.dumps(duplicates[0][:80])
