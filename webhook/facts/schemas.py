"""What the facts look like to the rules that read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["BOOLEAN", "INTEGER", "STRING", "STRINGS", "fields"]

Schema = Mapping[str, Any]

STRING: Final[Schema] = {"type": "string"}
BOOLEAN: Final[Schema] = {"type": "boolean"}
INTEGER: Final[Schema] = {"type": "integer"}
STRINGS: Final[Schema] = {"type": "array", "items": STRING}


def fields(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties}
