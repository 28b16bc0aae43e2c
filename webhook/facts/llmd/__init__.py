"""Facts for the rules of llm-d: values that take Python to compute from an object and the cluster."""

from webhook.facts.llmd.facts import FACTS
from webhook.facts.llmd.knowledge import KNOWLEDGE
from webhook.facts.llmd.shape import shape_of

__all__ = ["FACTS", "KNOWLEDGE", "shape_of"]
