"""Texts that name a flag of the command, in the words of the library."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from webhook.admission.errors import LoadError, Problem
from webhook.library.findings import Finding
from webhook.library.verdict import Verdict

_FLAGS: Final = re.compile(
    r"\"(?:[^\"\\]|\\.)*\""  # what a manifest says
    r"|^(?P<flag>--release|--set) (?P<name>[\w.-]+)=(?P<value>.*)"
    r"|(?:\bset releases\.(?P<api>[\w-]+)\b)"
    r"|(?<=\b(?:give|with) )--crds\b|(?<=\buse )--(?:crds|view)\b|(?<=\bof )--admission-policies\b",
    re.DOTALL,
)
"""The words in which texts of rules and errors name flags, and texts in quotes, which stay."""
_NAMES: Final = {"--release": "releases", "--set": "operators"}


def text_in_words(text: str) -> str:
    """A text with parameters of the library instead of flags."""
    return _FLAGS.sub(_parameter, text) if "--" in text or "releases." in text else text


def _parameter(flag: re.Match[str]) -> str:
    if flag["flag"]:
        return f"Settings({_NAMES[flag['flag']]}=(({flag['name']!r}, {flag['value']!r}),))"
    if flag["api"]:
        return f"set Settings(releases=(({flag['api']!r}, RELEASE),))"
    if flag[0].startswith('"'):
        return flag[0]
    return f"Gate({flag[0].removeprefix('--').replace('-', '_')}=…)"


def in_words(verdict: Verdict) -> Verdict:
    """The verdict, whose texts name parameters of the library."""
    findings = tuple(map(_finding, verdict.findings))
    note = text_in_words(verdict.note)
    return (
        verdict
        if findings == verdict.findings and note == verdict.note
        else replace(verdict, findings=findings, note=note)
    )


def _finding(finding: Finding) -> Finding:
    message, helps = text_in_words(finding.message), tuple(map(text_in_words, finding.helps))
    return (
        finding
        if (message, helps) == (finding.message, finding.helps)
        else replace(finding, message=message, helps=helps)
    )


@contextmanager
def words_of_errors() -> Iterator[None]:
    """Raise what is raised inside with parameters of the library in its problems."""
    try:
        yield
    except LoadError as error:
        raise type(error)([_problem(problem) for problem in error.problems]) from None


def _problem(problem: Problem) -> Problem:
    return Problem(text_in_words(problem.source), problem.path, text_in_words(problem.message))
