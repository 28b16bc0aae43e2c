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

    def is_off(self, code: str) -> bool:
        """Whether the rule is not to be run."""
        policy = None if self.place is None else self.place.policy(code)
        return policy is not None and policy.action is enforcement.Degree.OFF

    def denies(self, code: str, denied_by: Collection[Profile]) -> bool:
        """Whether a finding of a rule refuses the object; ``denied_by`` are the profiles under which it does.

        A namespace that has chosen the profile strict keeps what that refuses, unless the rule is off or excepted.
        """
        by_profile = self.profile in denied_by
        policy = None if self.place is None else self.place.policy(code)
        if self.place is None or policy is None:
            return by_profile
        if policy.action in {enforcement.Degree.WARN, enforcement.Degree.AUDIT}:
            return by_profile and self.place.is_strict
        return policy.action is enforcement.Degree.DENY

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
