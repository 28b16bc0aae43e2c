"""What the facts look like to the rules that read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["BOOLEAN", "INTEGER", "STRING", "STRINGS", "fields", "shortened"]

Schema = Mapping[str, Any]

STRING: Final[Schema] = {"type": "string"}
BOOLEAN: Final[Schema] = {"type": "boolean"}
INTEGER: Final[Schema] = {"type": "integer"}
STRINGS: Final[Schema] = {"type": "array", "items": STRING}


def fields(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties}


WARNING: Final = 170
"""Characters of a warning that are left beside the field, the code and the rule's own text. The limit is 256."""


def shortened(text: str, longest: int = WARNING) -> str:
    """Shorten text in the middle: the API server cuts long warnings, and the end of the text states the error."""
    return text if len(text) <= longest else f"{text[: longest // 2]} … {text[3 - longest // 2 :]}"
