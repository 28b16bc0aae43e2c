"""Facts: values that rules read in addition to the object. One package per API; all facts are pure functions."""

from collections.abc import Mapping
from typing import Final

from webhook.facts import aim, llmaz, llmd, llmkube, ome
from webhook.facts.fact import Fact

__all__ = ["FACTS", "Fact"]

FACTS: Final[Mapping[str, Mapping[str, Mapping[str, Fact]]]] = {
    "aim": aim.FACTS,
    "llmaz": llmaz.FACTS,
    "llmd": llmd.FACTS,
    "llmkube": llmkube.FACTS,
    "ome": ome.FACTS,
}
"""API (a folder under ``policies/``) → kind → name → fact."""
