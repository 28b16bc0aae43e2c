"""Compact JSON that can be compared line by line: a value that fits is on one line."""

from __future__ import annotations

import json
from typing import Any, Final

WIDTH: Final = 120


def text_of(document: dict[str, Any]) -> str:
    """The document, each member on its own line: the chart inserts an annotation below ``metadata``."""
    members = ",\n".join(f'"{key}": {_text(value, 0)}' for key, value in document.items())
    return f"{{\n{members}\n}}\n"


def _text(value: Any, depth: int) -> str:
    flat = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if len(flat) <= WIDTH - depth or not isinstance(value, dict | list):
        return flat
    indent = " " * (depth + 1)
    if isinstance(value, list):
        return "[\n" + ",\n".join(indent + _text(item, depth + 1) for item in value) + "]"
    members = (f"{indent}{json.dumps(key)}:{_text(item, depth + 1)}" for key, item in value.items())
    return "{\n" + ",\n".join(members) + "}"
