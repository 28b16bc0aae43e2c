"""The API groups that a caller may ask about. An aggregated API server may ask about its own group only (KEP-6060)."""

from __future__ import annotations

from typing import Any, Final

import orjson

from webhook.admission.errors import Forbidden

__all__ = ["ALL_GROUPS", "Groups", "covered"]

Groups = frozenset[str]

ALL_GROUPS: Final[Groups] = frozenset({"*"})
"""What kube-apiserver's token states, and what a certificate gives."""


def covered(groups: Groups, body: bytes) -> None:
    """Check that a review is about one of these groups.

    A body that is not a review passes: the decoder refuses it, in better words. The body is parsed a second time, but
    only for callers that are limited to some groups; kube-apiserver is not.

    Raises:
        Forbidden: the review is about another group.
    """
    if "*" in groups:
        return
    group = _group(body)
    if group is not None and group not in groups:
        raise Forbidden(
            f'the token is for API group {", ".join(sorted(groups))}, but the review is about "{group[:80]}"'
        )


def _group(body: bytes) -> str | None:
    """The API group of the review's resource; None if the body is not a review."""
    try:
        found: Any = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    for key in ("request", "resource"):
        found = found.get(key) if isinstance(found, dict) else None
    group = found.get("group", "") if isinstance(found, dict) else None
    return group if isinstance(group, str) else None
