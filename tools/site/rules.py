"""A page for each code: what `modelgate rule` prints, with both objects side by side and the difference marked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from html import escape
from typing import Any, Final

from tools.site.told import Told, badge, plain
from webhook.cli.rule import Shown, without_rule, yaml_of
from webhook.engine import FIT_CODES
from webhook.policy import DefaultRule

_WIDE: Final = "---\nhide: [navigation, toc]\n---\n\n"
"""No page of a code is in the navigation."""
_NEIGHBOURS: Final = 8
"""Links to other rules of one field."""


def rule_pages(pages: Mapping[str, Sequence[Told]]) -> Iterator[tuple[str, str]]:
    """The name and the text of each page, of the forms that each code has."""
    for code, (head, _, *lines) in without_rule().items():
        more = _FIT if code in FIT_CODES else _PODS
        yield f"codes/{code.lower()}.md", f"# {plain(head)}\n\n{plain(' '.join(lines))}\n\n{more}\n"
    about = {code: _about(forms[0]) for code, forms in pages.items()}
    for code, forms in pages.items():
        head = f"{_WIDE}# {code}: {forms[0].field}\n"
        body = (part for form in forms for part in _form(form, several=len(forms) > 1))
        yield f"codes/{code.lower()}.md", "\n".join([head, *body, *_related(forms[0], about)]) + "\n"


_PODS: Final = "[Pods](../pods.md) has every field that Kubernetes' own rules are about. [All codes](index.md)."
_FIT: Final = "[Does it fit?](../fit.md) tells what is compared with what. [All codes](index.md)."


def _form(told: Told, *, several: bool) -> Iterator[str]:
    """One form of a rule."""
    found = told.found
    if several:
        yield f"## {plain(found.releases)}\n"
    strict = f", and {badge('denies')} with `--profile=strict`" if told.strict else ""
    gvk = found.known.gvk
    valid = f", valid for {plain(found.releases)}" if found.releases and not several else ""
    yield f"{badge(told.effect)}{strict}. {plain(found.names)} of `{gvk.group}/{gvk.version}`{valid}.\n"
    if found.of_files:
        yield f"{found.of_files}\n"
    yield from (_message(each, told) for each in told.messages)
    yield f"{plain(found.rule.docs)}\n"
    if isinstance(found.rule, DefaultRule):
        yield f"Set where it is absent: {plain(found.rule.because)}.\n"
    if told.shown:
        yield from _example(told.shown, default=told.is_default)
    yield from _expressions(told)


def _message(text: str, told: Told) -> str:
    """What the gate says, with the field and the code marked."""
    field, colon, message = text.partition(": ")
    said = f"<code>{escape(field)}</code>{colon}{escape(message)}"
    return f'<blockquote class="mg-message mg-{told.effect}">{said} <span>({told.code})</span></blockquote>\n'


def _example(shown: Shown, *, default: bool) -> Iterator[str]:
    """Both objects, and what else must be in the cluster."""
    bad, good = (yaml_of(each).split("\n") for each in (shown.bad, shown.good))
    titles = ("Applies", "Does not apply") if default else ("Bad", "Good")
    yield f"**Example**: {plain(shown.title)}\n"
    yield '<div class="mg-sides" markdown>\n<div class="mg-bad" markdown>\n'
    yield _yaml(titles[0], bad, _changed(bad, good))
    if shown.stored is not None:
        yield _yaml("Stored before", yaml_of(shown.stored).split("\n"))
    if shown.cluster:
        yield _yaml("In the cluster", yaml_of(*shown.cluster).split("\n"))
    yield '</div>\n<div class="mg-good" markdown>\n'
    yield _yaml(titles[1], good, _changed(good, bad))
    if shown.added:
        added = yaml_of(*shown.added).split("\n")
        yield _yaml("Added or changed in the cluster", added, range(1, len(added) + 1))
    yield "</div>\n</div>\n"


def _changed(lines: Sequence[str], others: Sequence[str]) -> list[int]:
    """The numbers of the lines that the others do not have."""
    blocks = SequenceMatcher(None, others, lines, autojunk=False).get_opcodes()
    return [number + 1 for word, _, _, first, end in blocks if word != "equal" for number in range(first, end)]


def _yaml(title: str, lines: Sequence[str], marked: Sequence[int] = ()) -> str:
    numbers = f' hl_lines="{" ".join(map(str, marked))}"' if marked else ""
    return "\n".join([f'```yaml title="{title}"{numbers}', *lines, "```", ""])


def _expressions(told: Told) -> Iterator[str]:
    rule = told.found.rule
    last: Any = rule.value if isinstance(rule, DefaultRule) else rule.rule
    name = "value" if isinstance(rule, DefaultRule) else "rule"
    parts = ([("when", rule.when.source)] if rule.when else []) + [(name, last.source)]
    yield '``` {.text .mg-wrap title="CEL"}'
    yield from (f"{word:6} {' '.join(source.split())}" for word, source in parts)
    yield "```\n"


def _related(told: Told, about: Mapping[str, _About]) -> Iterator[str]:
    """Links to the page of the API, and to rules about the same field and beside it."""
    same = [code for code, each in about.items() if each == about[told.code] and code != told.code]
    codes = [code for code, (api, *_) in about.items() if api == told.api]
    place = codes.index(told.code)
    near = [*codes[max(place - 1, 0) : place], *codes[place + 1 : place + 2]]
    yield "## See also\n"
    rules, how = (
        f"[All rules of {told.operator}](../rules/{told.api}.md)",
        f"[how to write it](../how-to/{told.api}.md)",
    )
    yield f"- {rules}, and {how}"
    if same:
        yield f"- Rules about the same field: {', '.join(map(_link, same[:_NEIGHBOURS]))}"
    yield f"- Previous and next: {', '.join(map(_link, near))}"
    yield "- [All codes](index.md)"


_About = tuple[str, str, str]
"""The API, the kinds and the field of a rule."""


def _about(told: Told) -> _About:
    return told.api, told.found.names, told.found.where


def _link(code: str) -> str:
    return f"[{code}]({code.lower()}.md)"
