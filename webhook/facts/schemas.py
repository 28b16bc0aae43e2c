"""The schemas of facts, for the rules that read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from webhook.golang.credentials import masked

__all__ = ["BOOLEAN", "INTEGER", "INTEGERS", "NUMBER", "STRING", "STRINGS", "cut_middle", "fields"]

Schema = Mapping[str, Any]

STRING: Final[Schema] = {"type": "string"}
BOOLEAN: Final[Schema] = {"type": "boolean"}
INTEGER: Final[Schema] = {"type": "integer"}
NUMBER: Final[Schema] = {"type": "number"}
INTEGERS: Final[Schema] = {"type": "array", "items": INTEGER}
STRINGS: Final[Schema] = {"type": "array", "items": STRING}


def fields(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties}


WARNING: Final = 170
"""Characters of a warning that are left beside the field, the code and the rule's own text. The limit is 256."""


def cut_middle(text: str, longest: int = WARNING) -> str:
    """Shorten text in the middle: the API server cuts long warnings, and the end of the text states the error.

    Credentials are hidden before, because half of one could not be recognised.
    """
    if len(text) <= longest:
        return text
    text = masked(text)
    return f"{text[: longest // 2]} … {text[3 - longest // 2 :]}"
