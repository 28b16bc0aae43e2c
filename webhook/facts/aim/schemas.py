"""What the facts look like to the rules that read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["BOOLEAN", "STRING", "STRINGS", "fields", "shortened"]

Schema = Mapping[str, Any]

STRING: Final[Schema] = {"type": "string"}
BOOLEAN: Final[Schema] = {"type": "boolean"}
STRINGS: Final[Schema] = {"type": "array", "items": STRING}

WARNING: Final = 170
"""Characters of a warning's 256 that are left beside the field, the code and what a rule says itself."""


def fields(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties}


def shortened(text: str, longest: int = WARNING) -> str:
    """A text for a warning: the API server cuts those of more than 256 characters, and its end says what is wrong."""
    return text if len(text) <= longest else f"{text[: longest // 2]} … {text[3 - longest // 2 :]}"
