"""Facts for the rules of llmaz: values that take Python to compute from an object."""

from webhook.facts.llmaz.facts import FACTS, moment_error
from webhook.facts.llmaz.knowledge import KNOWLEDGE

__all__ = ["FACTS", "KNOWLEDGE", "moment_error"]
