"""Manifests in, documents with lines out."""
