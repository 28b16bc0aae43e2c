"""Facts: values that rules read in addition to the object. One package per API; all facts are pure functions."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from webhook.cluster.view import ClusterView
from webhook.facts import aim, llmaz, llmd, llmkube, ome
from webhook.facts.explained import EXPLANATIONS, Table
from webhook.facts.fact import Fact
from webhook.facts.settings import Settings

__all__ = ["COMPARISONS", "EXPLANATIONS", "FACTS", "Fact", "Table"]

FACTS: Final[Mapping[str, Mapping[str, Mapping[str, Fact]]]] = {
    "aim": aim.FACTS,
    "llmaz": llmaz.FACTS,
    "llmd": llmd.FACTS,
    "llmkube": llmkube.FACTS,
    "ome": ome.FACTS,
}
"""API (a folder under ``policies/``) → kind → name → fact."""

COMPARISONS: Final[Mapping[tuple[str, str], Callable[[dict[str, Any], ClusterView, Settings], Iterator[str]]]] = {
    ("ome.io", "InferenceService"): ome.comparison,
}
"""Group and kind → the lines that compare all objects among which one is chosen for an object."""
