"""llmaz: its facts, and what they read."""

from __future__ import annotations

from typing import Final

from webhook.facts.knowledge import Knowledge
from webhook.facts.llmaz.facts import FACTS

__all__ = ["KNOWLEDGE"]

KNOWLEDGE: Final = Knowledge(FACTS)
