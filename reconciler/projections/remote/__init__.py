"""Files that a Model refers to by URL: whether they have changed, and what their GGUF header says."""

from reconciler.projections.remote.file import Probe, Remote, probe, read_header
from reconciler.projections.remote.gguf import Unreadable, parse

__all__ = ["Probe", "Remote", "Unreadable", "parse", "probe", "read_header"]
