"""llm-d: its facts, and what they read."""

from __future__ import annotations

from typing import Final

from webhook.cluster.view import Kind
from webhook.facts.knowledge import Knowledge
from webhook.facts.llmd.facts import FACTS

__all__ = ["KNOWLEDGE"]

KNOWLEDGE: Final = Knowledge(FACTS, watched=frozenset([Kind("llmd.ai", "VariantAutoscaling")]))
