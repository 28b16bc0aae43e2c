"""As :mod:`webhook.facts.schemas`, and texts that fit into a warning."""

from __future__ import annotations

from typing import Final

from webhook.facts.schemas import BOOLEAN, STRING, STRINGS, fields

__all__ = ["BOOLEAN", "STRING", "STRINGS", "fields", "shortened"]

WARNING: Final = 170
"""Characters of a warning's 256 that are left beside the field, the code and what a rule says itself."""


def shortened(text: str, longest: int = WARNING) -> str:
    """A text for a warning: the API server cuts those of more than 256 characters, and its end says what is wrong."""
    return text if len(text) <= longest else f"{text[: longest // 2]} … {text[3 - longest // 2 :]}"
