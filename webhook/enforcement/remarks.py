"""What is odd about policies that are well formed: words that mean nothing, and policies that contradict."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from difflib import get_close_matches
from typing import Final, NamedTuple

from webhook.enforcement.codes import similar
from webhook.enforcement.policy import ALL, PolicyObject

_DEFAULT: Final = "1"
"""The digit of codes of defaults, which refuse nothing."""


class Vocabulary(NamedTuple):
    """The words that policies can use: the codes of all rules, the names of APIs, and those of kinds."""

    codes: Collection[str]
    apis: Collection[str]
    kinds: Collection[str]


class Oddity(NamedTuple):
    """What is odd about one policy, at a field of it."""

    policy: PolicyObject
    field: str
    text: str

    def __str__(self) -> str:
        return f"{self.policy}: {self.field}: {self.text}"


def remarks_on(policy: PolicyObject, words: Vocabulary, now: float) -> Iterator[Oddity]:
    """What is odd about a policy by itself."""
    for code in policy.codes:
        if text := _about_code(code, words.codes):
            yield Oddity(policy, "spec.codes", text)
    for field, written, words_of in (("apis", policy.apis, words.apis), ("kinds", policy.kinds, words.kinds)):
        for word in sorted(written - set(words_of)):
            noun = "an API with rules" if field == "apis" else "a kind with rules"
            near = get_close_matches(word, sorted(words_of), 2)
            yield Oddity(policy, f"spec.{field}", f'"{word}" is not {noun}{_meant(near)}')
    if policy.until <= now:
        yield Oddity(policy, "spec.until", "is in the past: this exception has ended, and nothing is excepted")


def contradictions(policies: Iterable[PolicyObject]) -> Iterator[Oddity]:
    """The Enforcements that are about the same findings with different actions; the strictest counts."""
    first = dict[object, PolicyObject]()
    for policy in sorted((policy for policy in policies if policy.action is not None), key=lambda policy: policy.name):
        for code in policy.codes:
            about = (code, policy.apis, policy.kinds, policy.namespaces, policy.names, policy.selector)
            other = first.setdefault(about, policy)
            if other.action is not policy.action:
                text = f"{other} says {other.action} of {code} for the same objects: the stricter of both counts"
                yield Oddity(policy, "spec.action", text)


def _about_code(code: str, codes: Collection[str]) -> str:
    """Why a code or group of codes says nothing; empty if it says something."""
    if code[2:3] == _DEFAULT:
        return f'"{code}" is about defaults, which refuse nothing: name rules, whose codes begin with 2, 3 or 4'
    if code == ALL or code in codes or (code.endswith(ALL) and any(one.startswith(code[:-1]) for one in codes)):
        return ""
    near = similar(code, codes) if not code.endswith(ALL) else []
    return f'"{code}" is not a code of a rule{_meant(near)}'


def _meant(near: Collection[str]) -> str:
    return f"; did you mean {' or '.join(near)}?" if near else ""
