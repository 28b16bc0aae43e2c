"""What is odd about policies that are well formed: words that mean nothing, and policies that contradict."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from difflib import get_close_matches
from typing import Final, NamedTuple

from webhook.enforcement.policy import ALL, Policy

_DEFAULT: Final = "1"
"""The digit of codes of defaults, which refuse nothing."""


class Vocabulary(NamedTuple):
    """The words that policies can use: the codes of all rules, the names of APIs, and those of kinds."""

    codes: Collection[str]
    apis: Collection[str]
    kinds: Collection[str]


class Remark(NamedTuple):
    """What is odd about one policy, at a field of it."""

    policy: Policy
    field: str
    text: str

    def __str__(self) -> str:
        return f"{self.policy}: {self.field}: {self.text}"


def remarks_on(policy: Policy, words: Vocabulary, now: float) -> Iterator[Remark]:
    """What is odd about a policy by itself."""
    for code in policy.codes:
        if text := _about_code(code, words.codes):
            yield Remark(policy, "spec.codes", text)
    for field, written, known in (("apis", policy.apis, words.apis), ("kinds", policy.kinds, words.kinds)):
        for word in sorted(written - set(known)):
            noun = "an API with rules" if field == "apis" else "a kind with rules"
            yield Remark(policy, f"spec.{field}", f'"{word}" is not {noun}{_meant(word, known)}')
    if policy.until <= now:
        yield Remark(policy, "spec.until", "is in the past: this exception has ended, and nothing is excepted")


def contradictions(policies: Iterable[Policy]) -> Iterator[Remark]:
    """The Enforcements that are about the same findings with different actions; the strictest counts."""
    first = dict[object, Policy]()
    for policy in sorted((each for each in policies if each.action is not None), key=lambda each: each.name):
        for code in policy.codes:
            about = (code, policy.apis, policy.kinds, policy.namespaces, policy.names, policy.selector)
            other = first.setdefault(about, policy)
            if other.action is not policy.action:
                text = f"{other} says {other.action} of {code} for the same objects: the stricter of both counts"
                yield Remark(policy, "spec.action", text)


def _about_code(code: str, known: Collection[str]) -> str:
    """Why a code or group of codes says nothing; empty if it says something."""
    if code[2:3] == _DEFAULT:
        return f'"{code}" is about defaults, which refuse nothing: name rules, whose codes begin with 2, 3 or 4'
    if code == ALL or code in known or (code.endswith(ALL) and any(each.startswith(code[:-1]) for each in known)):
        return ""
    return f'"{code}" is not a code of a rule{_meant(code, known)}'


def _meant(word: str, known: Collection[str]) -> str:
    near = get_close_matches(word, sorted(known), 2, cutoff=0.6)
    return f"; did you mean {' or '.join(near)}?" if near else ""
