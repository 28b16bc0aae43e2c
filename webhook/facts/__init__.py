"""Facts: values that rules read in addition to the object. One package per API; all facts are pure functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from modelgate.later import later
from webhook.cluster.view import ClusterView
from webhook.facts import aim, llmaz, llmd, llmkube, ome
from webhook.facts.explained import EXPLANATIONS, Table
from webhook.facts.fact import Fact
from webhook.facts.memo import Memo
from webhook.facts.nearest import is_typo
from webhook.facts.settings import Settings

if TYPE_CHECKING:
    from webhook.facts.inputs import inputs_of

__all__ = ["COMPARISONS", "EXPLANATIONS", "FACTS", "Fact", "Memo", "Table", "inputs_of", "is_typo"]

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

_LATER: Final = {"inputs_of": "inputs"}
"""Names that are loaded when they are first used, and their modules."""

if not TYPE_CHECKING:
    __getattr__ = later(__name__, _LATER)
