"""Manifests in, documents with lines out."""

from webhook.manifests.documents import Document
from webhook.manifests.folders import entries, read_all, scan
from webhook.manifests.places import Place
from webhook.manifests.reading import Manifests, Reading, read_paths

__all__ = ["Document", "Manifests", "Place", "Reading", "entries", "read_all", "read_paths", "scan"]
