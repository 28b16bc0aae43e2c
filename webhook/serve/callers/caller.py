"""The check of a caller, the check that lets every caller through, and the API groups that a caller may ask about."""

from __future__ import annotations

from typing import Any, Final, Protocol

import orjson
from starlette.types import Scope

from webhook.admission.errors import Forbidden

__all__ = ["ALL_GROUPS", "Anyone", "Callers", "Groups", "covered"]

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


class Callers(Protocol):
    """Checks one request before its body is read."""

    def admitted(self, scope: Scope) -> Groups | None:
        """As :meth:`admit`, but without waiting: None if the caller is refused, or if only :meth:`admit` can tell."""
        ...

    async def admit(self, scope: Scope) -> Groups:
        """The API groups that the caller may ask about.

        Raises:
            Unauthenticated: the caller does not prove who it is.
            Forbidden: the caller is known, but is not on the list.
            Unavailable: the proof cannot be checked now.
        """
        ...


class Anyone:
    """Every client may ask; a NetworkPolicy is the only limit."""

    def admitted(self, _scope: Scope) -> Groups:
        return ALL_GROUPS

    async def admit(self, _scope: Scope) -> Groups:
        return ALL_GROUPS
