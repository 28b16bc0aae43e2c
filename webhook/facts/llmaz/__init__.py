"""Facts for the rules of llmaz: values that take Python to compute from an object."""

from webhook.facts.llmaz.facts import FACTS, moment_error

__all__ = ["FACTS", "moment_error"]
