"""Compile the built-in policies into files beside them, as ``compileall`` does for modules, when an image is built."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from webhook.catalog.catalog import load
from webhook.catalog.kept.files import POLICIES, SHIPPED, Kept
from webhook.catalog.kinds import NO_POLICY

__all__ = ["ship"]

_SEARCHABLE: Final = 0o755


def ship(folder: Path = POLICIES / SHIPPED) -> None:
    """Write the files, complete. They are for every user, as the modules are."""
    loaded = load(shipped=folder)
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(_SEARCHABLE)
    kept = Kept(loaded.files, folder)
    for gvk, known in loaded.kinds.items():
        if known.policy is not NO_POLICY:
            prepared = loaded.prepared(known)
            prepared.complete()
            kept.write(gvk, prepared)
