"""Facts: values that rules read in addition to the object. One package per API; all facts are pure functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from webhook.facts import aim, llmaz, llmd, llmkube, ome
from webhook.facts.fact import Fact
from webhook.facts.knowledge import Knowledge, Table, WholesOf
from webhook.facts.memo import Memo
from webhook.facts.nearest import is_typo
from webhook.facts.whole import Whole, Wholes
from webhook.ground.later import later

if TYPE_CHECKING:
    from webhook.facts.inputs import inputs_of

__all__ = [
    "CHOICES",
    "COMPARISONS",
    "EXPLANATIONS",
    "FACTS",
    "KNOWN",
    "Fact",
    "Knowledge",
    "Memo",
    "Table",
    "Whole",
    "Wholes",
    "WholesOf",
    "inputs_of",
    "is_typo",
]

KNOWN: Final[Mapping[str, Knowledge]] = {
    module.__name__.rpartition(".")[2]: module.KNOWLEDGE for module in (aim, llmaz, llmd, llmkube, ome)
}
"""What Modelgate knows of each API in Python, by the name of its package here."""

FACTS: Final[Mapping[str, Mapping[str, Mapping[str, Fact]]]] = {api: each.facts for api, each in KNOWN.items()}
"""API → kind → name → fact."""

COMPARISONS: Final = {kind: lines for each in KNOWN.values() for kind, lines in each.comparisons.items()}
EXPLANATIONS: Final = {kind: tables for each in KNOWN.values() for kind, tables in each.explanations.items()}
CHOICES: Final = {chosen: members for each in KNOWN.values() for chosen, members in each.choices.items()}
"""These of all APIs, see there."""

_LATER: Final = {"inputs_of": "inputs"}
"""Names that are loaded when they are first used, and their modules."""

if not TYPE_CHECKING:
    __getattr__ = later(__name__, _LATER)
