"""What reports say of the tool itself: its version, and where its rules are documented."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, metadata, version
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


@cache
def _documentation() -> str:
    """The address of the documentation that the package names; "" if it names none."""
    try:
        urls = metadata("modelgate").get_all("Project-URL") or []
    except PackageNotFoundError:
        return ""
    named = dict(url.split(", ", 1) for url in urls)
    return str(named.get("Documentation", "")).rstrip("/")


def rule_page(code: str) -> str:
    """The page of a rule on the site, if the package names its address; otherwise the API's page in the repository."""
    page = _PAGES.get(code[:2], "")
    if not page:
        return ""
    base = _documentation()
    return f"{base}/codes/{code.lower()}/" if base else f"docs/rules/{page}.md"
