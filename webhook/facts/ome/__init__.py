"""OME: what the rules of its kinds may know beyond an object's text."""

from webhook.facts.ome.choice import comparison, preferred, selection_of
from webhook.facts.ome.facts import FACTS
from webhook.facts.ome.lookup import Found, find_model, find_runtime
from webhook.facts.ome.selection import Candidate, Selection, incompatible, select
from webhook.facts.ome.service import CONFIG, has_full_runner
from webhook.facts.ome.storage import storage_error, storage_scheme

__all__ = [
    "CONFIG",
    "FACTS",
    "Candidate",
    "Found",
    "Selection",
    "comparison",
    "find_model",
    "find_runtime",
    "has_full_runner",
    "incompatible",
    "preferred",
    "select",
    "selection_of",
    "storage_error",
    "storage_scheme",
]
