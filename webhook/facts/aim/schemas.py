"""As :mod:`webhook.facts.schemas`, with text shortened to fit into a warning."""

from __future__ import annotations

from typing import Final

from webhook.facts.schemas import BOOLEAN, STRING, STRINGS, fields

__all__ = ["BOOLEAN", "STRING", "STRINGS", "fields", "shortened"]

WARNING: Final = 170
"""Characters of a warning that are left beside the field, the code and the rule's own text. The limit is 256."""


def shortened(text: str, longest: int = WARNING) -> str:
    """Shorten text in the middle: the API server cuts long warnings, and the end of the text states the error."""
    return text if len(text) <= longest else f"{text[: longest // 2]} … {text[3 - longest // 2 :]}"
