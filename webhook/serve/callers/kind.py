"""The check of a caller, and the check that lets every caller through."""

from __future__ import annotations

from typing import Protocol

from starlette.types import Scope

from webhook.serve.callers.groups import ALL_GROUPS, Groups

__all__ = ["Anyone", "Callers"]


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
