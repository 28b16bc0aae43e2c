"""Compile the built-in policies into files beside them, as ``compileall`` does for modules, when an image is built."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from webhook.engine import catalog
from webhook.engine.kept.files import POLICIES, SHIPPED
from webhook.manifests.private import PrivateFolder

__all__ = ["ship"]

_READABLE: Final = 0o644


def ship(folder: Path = POLICIES / SHIPPED) -> None:
    """Write the files. They are for every user, as the modules are."""
    loaded = catalog.load(cache=PrivateFolder(folder))
    loaded.compiled()
    loaded.keep(complete=True)
    folder.chmod(_READABLE | 0o111)
    for file in folder.iterdir():
        file.chmod(_READABLE)
