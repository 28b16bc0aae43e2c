"""OME: what the rules of its kinds may know beyond an object's text."""

from webhook.facts.nodes import Referent
from webhook.facts.ome.choice import comparison, preferred, selection_of
from webhook.facts.ome.facts import FACTS
from webhook.facts.ome.knowledge import KNOWLEDGE
from webhook.facts.ome.lookup import find_model, find_runtime
from webhook.facts.ome.pods import merged, pods_of_benchmark, pods_of_service
from webhook.facts.ome.selection import Candidate, Selection, incompatible, select
from webhook.facts.ome.service import CONFIG, MAIN, MODE, MULTI_NODE, RAW, ROLES, base_of, has_full_runner, mode_of
from webhook.facts.ome.storage import storage_error, storage_scheme

__all__ = [
    "CONFIG",
    "FACTS",
    "KNOWLEDGE",
    "MAIN",
    "MODE",
    "MULTI_NODE",
    "RAW",
    "ROLES",
    "Candidate",
    "Referent",
    "Selection",
    "base_of",
    "comparison",
    "find_model",
    "find_runtime",
    "has_full_runner",
    "incompatible",
    "merged",
    "mode_of",
    "pods_of_benchmark",
    "pods_of_service",
    "preferred",
    "select",
    "selection_of",
    "storage_error",
    "storage_scheme",
]
