"""What reports say of the tool itself: its version, and where its rules are documented."""

from __future__ import annotations

from webhook.catalog import built_in

__all__ = ["rule_page", "version"]


def version() -> str:
    """The version of the tool."""
    from importlib import metadata  # noqa: PLC0415 - takes 15 ms; reports as text do not name it

    try:
        return metadata.version("modelgate")
    except metadata.PackageNotFoundError:  # run from a checkout that is not installed
        return "unknown"


def rule_page(code: str, docs: str) -> str:
    """The page of a rule on the site, if its address is known; otherwise the API's page in the repository."""
    page = next((api for api, pack in built_in().items() if code[:2] in pack.codes), "")
    if not page:
        return ""
    return f"{docs.rstrip('/')}/codes/{code.lower()}.html" if docs else f"docs/rules/{page}.md"
