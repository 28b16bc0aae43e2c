"""Facts: what a rule may know beyond the object's own text, one module per API, pure."""

from collections.abc import Mapping
from typing import Final

from webhook.facts import llmkube
from webhook.facts.fact import Fact

__all__ = ["FACTS", "Fact"]

FACTS: Final[Mapping[str, Mapping[str, Mapping[str, Fact]]]] = {"llmkube": llmkube.FACTS}
"""API (a folder under ``policies/``) → kind → name → fact."""
