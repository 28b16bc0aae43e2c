"""What follows when a rule does not hold."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Action", "Profile"]


class Action(StrEnum):
    DENY = "Deny"
    WARN = "Warn"


class Profile(StrEnum):
    """How strict to be.

    ``standard`` denies what upstream denies and what cannot work, and warns otherwise. ``strict`` also denies by rules
    marked ``strict: Deny``. ``audit`` never denies: it only warns.
    """

    STANDARD = "standard"
    STRICT = "strict"
    AUDIT = "audit"

    @property
    def denies(self) -> bool:
        return self is not Profile.AUDIT
