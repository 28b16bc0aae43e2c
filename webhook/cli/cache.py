"""The user's cache folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from webhook.manifests.private import PrivateFolder

__all__ = ["user_cache"]


def user_cache(environment: Mapping[str, str]) -> PrivateFolder | None:
    """``modelgate`` in the folder that the XDG Base Directory Specification names; None without a home."""
    named = Path(environment.get("XDG_CACHE_HOME", ""))
    if named.is_absolute():
        return PrivateFolder(named / "modelgate")
    home = Path(environment.get("HOME", ""))
    return PrivateFolder(home / ".cache" / "modelgate") if home.is_absolute() else None
