"""LLMKube: its facts, and what they read."""

from __future__ import annotations

from typing import Final

from webhook.cluster.view import Kind
from webhook.facts.knowledge import Fetched, Knowledge
from webhook.facts.llmkube.facts import FACTS

__all__ = ["KNOWLEDGE"]

_GROUP: Final = "inference.llmkube.dev"

KNOWLEDGE: Final = Knowledge(
    FACTS,
    watched=frozenset([Kind(_GROUP, "InferenceService")]),
    fetched=frozenset([Fetched(Kind("", "PersistentVolumeClaim")), Fetched(Kind(_GROUP, "Model"))]),
)
