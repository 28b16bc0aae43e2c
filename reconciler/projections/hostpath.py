"""Allowed paths for local model sources: none, unless an administrator sets their roots."""

from __future__ import annotations

from collections.abc import Sequence

from webhook.facts.llmkube import cleaned


def refusal(source: str, path: str, roots: Sequence[str]) -> str:
    """Why a local source is not allowed; "" if it is.

    Paths are compared as text, with ``.`` and ``..`` resolved but not symbolic links (LLMKube 0.9.0,
    GHSA-jw3m-8q7m-f35r). Blank and relative roots are ignored.
    """
    if not path.startswith("/"):
        return f'local model source must be an absolute path: "{source}"'
    allowed = [cleaned(root.strip()) for root in roots if root.strip().startswith("/")]
    if not allowed:
        return (
            f'local model sources are disabled: no allowed host path roots are configured; refusing source "{source}"'
        )
    if any(_inside(cleaned(path), root) for root in allowed):
        return ""
    return f'local model source "{source}" is not within any allowed root [{" ".join(allowed)}]'


def _inside(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")
