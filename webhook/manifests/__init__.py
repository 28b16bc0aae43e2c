"""Manifests in, documents with lines out."""

from webhook.manifests.documents import Document
from webhook.manifests.folders import entries, read_all, scan

__all__ = ["Document", "entries", "read_all", "scan"]
