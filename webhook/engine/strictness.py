"""How strict the gate is about the findings of one object: by the profile, and by the policies at its place."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

from webhook import enforcement
from webhook.admission import Muted, Warn
from webhook.policy import Profile

if TYPE_CHECKING:
    from webhook.enforcement import ObjectPlace

EXEMPT: Final = "except"
"""What comes of a finding that a PolicyException is about."""


class Strictness(NamedTuple):
    """``profile`` is the one of the gate, or strict where the owner of the namespace has chosen that. ``place`` is None
    where only the profile decides.
    """

    profile: Profile
    place: ObjectPlace | None = None

    @classmethod
    def at(cls, profile: Profile, place: ObjectPlace) -> Strictness:
        return cls(Profile.STRICT if place.is_strict else profile, place)

    def denies(self, code: str, denied_by: Collection[Profile]) -> bool | None:
        """Whether a finding of a rule refuses the object, or None if the rule is not to be run. ``denied_by`` are the
        profiles under which it does.

        An Enforcement that denies by a group of codes denies what the profile strict does: advice stays advice, unless
        it is named. A namespace that has chosen that profile keeps it, unless the rule is off or excepted.
        """
        by_profile = self.profile in denied_by
        policy = None if self.place is None else self.place.policy(code)
        if self.place is None or policy is None:
            return by_profile
        match policy.action:
            case None:
                return False
            case enforcement.Degree.DENY:
                return code in policy.codes or Profile.STRICT in denied_by
            case enforcement.Degree.OFF:
                return None
        return by_profile and self.place.is_strict

    def is_enforced(self, code: str) -> bool:
        """Whether an Enforcement lets a rule refuse objects."""
        policy = None if self.place is None else self.place.policy(code)
        return policy is not None and policy.action is enforcement.Degree.DENY

    def heard(self, warnings: Iterable[Warn]) -> tuple[tuple[Warn, ...], tuple[Muted, ...]]:
        """The warnings that a user gets, and those that a policy keeps from him."""
        if self.place is None:
            return tuple(warnings), ()
        heard, muted = list[Warn](), list[Muted]()
        for warning in warnings:
            policy = self.place.policy(warning.code) if warning.code else None
            if policy is None or policy.action in {enforcement.Degree.DENY, enforcement.Degree.WARN}:
                heard.append(warning)
            elif policy.action is None:
                muted.append(Muted(warning, EXEMPT, policy.name))
            elif policy.action is enforcement.Degree.AUDIT and self.place.is_strict:
                heard.append(warning)
            else:
                muted.append(Muted(warning, policy.action.value, policy.name))
        return tuple(heard), tuple(muted)
