"""A rule as pages tell it: what it does, of what, and what it says."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Final

from webhook.cli.rule import RuleForm, Shown
from webhook.policy import Action, DefaultRule

_BADGES: Final = {"denies": "denies", "warns": "warns", "sets": "sets a default"}


@dataclass(frozen=True, slots=True)
class Told:
    """A rule with its example."""

    found: RuleForm
    shown: Shown | None

    @property
    def code(self) -> str:
        return self.found.rule.code

    @property
    def api(self) -> str:
        """The folder of its API, after which its page is named."""
        return self.found.known.api

    @property
    def operator(self) -> str:
        return self.found.known.pack.operator

    @property
    def field(self) -> str:
        """The field that it is about, in Markdown; of several, the first."""
        first, _, more = self.found.where.partition(", ")
        return (f"`{first}`" if first else "the object") + (" and others" if more else "")

    @property
    def is_default(self) -> bool:
        return isinstance(self.found.rule, DefaultRule)

    @property
    def effect(self) -> str:
        """A key of the badges."""
        rule = self.found.rule
        if isinstance(rule, DefaultRule):
            return "sets"
        return "denies" if rule.action is Action.DENY else "warns"

    @property
    def strict(self) -> bool:
        """Whether the strict profile denies what others warn of."""
        rule = self.found.rule
        return not isinstance(rule, DefaultRule) and bool(rule.strict) and self.effect == "warns"

    @property
    def messages(self) -> list[str]:
        """What is said of the example, without the code."""
        return [each.removesuffix(f" ({self.code})") for each in (self.shown.said if self.shown else [])]

    @property
    def summary(self) -> str:
        """The first message without its field, or why the default is set."""
        rule = self.found.rule
        if isinstance(rule, DefaultRule):
            return rule.because
        return self.messages[0].partition(": ")[2] if self.messages else rule.docs


def badge(effect: str) -> str:
    """What a rule does, as a word in a box."""
    return f'<strong class="mg-badge mg-{effect}">{_BADGES[effect]}</strong>'


def plain(text: str) -> str:
    """Text in which Markdown has no meaning but for names between backquotes."""
    parts = (escape(part, quote=False).translate(_MARKS) for part in text.split("`"))
    return "".join(f"<code>{part}</code>" if number % 2 else part for number, part in enumerate(parts))


_MARKS: Final = str.maketrans({mark: f"&#{ord(mark)};" for mark in "|*_[]\\~^$"})
