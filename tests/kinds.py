"""Kinds of the catalog by their names."""

from __future__ import annotations

from webhook.catalog import Catalog, KnownKind

__all__ = ["known_kind"]


def known_kind(name: str, loaded: Catalog) -> KnownKind:
    """The kind with a name, ``api/Kind`` or ``Kind``. Of two with the same, OME's: only InferenceService has two."""
    api, _, kind = name.rpartition("/")
    found = [known for known in loaded.kinds.values() if known.gvk.kind == kind and api in {"", known.api}]
    return found[0] if len(found) == 1 else next(each for each in found if each.api == "ome")
