"""Files that a Model refers to by URL: whether they have changed, and what their GGUF header says."""

from reconciler.projections.remote.address import Forbidden, Unreached
from reconciler.projections.remote.client import Client
from reconciler.projections.remote.file import Probe, Remote, probe, read_header
from reconciler.projections.remote.gguf import Unreadable, parse
from reconciler.projections.remote.turns import Turns

__all__ = [
    "Client",
    "Forbidden",
    "Probe",
    "Remote",
    "Turns",
    "Unreached",
    "Unreadable",
    "parse",
    "probe",
    "read_header",
]
