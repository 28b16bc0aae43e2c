"""What reports say of the tool itself: its version, and where its rules are documented."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Final

__all__ = ["VERSION", "rule_page"]

_PAGES: Final = {"LK": "llmkube", "LZ": "llmaz", "LD": "llmd", "OM": "ome", "AI": "aim"}
"""The first letters of a code, and the page of its API."""


def _version() -> str:
    try:
        return version("modelgate")
    except PackageNotFoundError:  # run from a checkout that is not installed
        return "unknown"


VERSION: Final = _version()


def rule_page(code: str, docs: str) -> str:
    """The page of a rule on the site, if its address is known; otherwise the API's page in the repository."""
    page = _PAGES.get(code[:2], "")
    if not page:
        return ""
    return f"{docs.rstrip('/')}/codes/{code.lower()}/" if docs else f"docs/rules/{page}.md"
