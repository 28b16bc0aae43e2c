"""A pattern that Python's re matches gives RE2's answer."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.golang.errors import GoError
from webhook.golang.plainregexp import plain
from webhook.golang.regexp import compiled

ATOMS = [
    "a",
    "b",
    "c",
    "-",
    ".",
    "[ab]",
    "[^a]",
    "[a-c]",
    "[]a]",
    "[^]-]",
    "[-a]",
    "[a-]",
    r"\s",
    r"\S",
    r"\d",
    r"[\w.]",
]
ATOMS += [r"[\w.]", r"\.", r"\x61", r"[\x00-\x1f\x7f]", "(?s:.)", r"\n", "/", "]", "}", r"\-"]
SIGNS = ["", "", "", "*", "+", "?", "{2}", "{1,2}", "{0,}", "*?"]
PIECE = st.builds("{}{}".format, st.sampled_from(ATOMS), st.sampled_from(SIGNS))
ENTIRE = st.recursive(
    st.lists(PIECE, min_size=1, max_size=3).map("".join),
    lambda inner: (
        st.builds("({}{}|{}){}".format, st.sampled_from(["", "?:"]), inner, inner, st.sampled_from(SIGNS))
        | st.builds("{}{}".format, inner, inner)
    ),
    max_leaves=4,
)
ANCHORED = st.builds("{}{}{}".format, st.sampled_from(["", "^"]), ENTIRE, st.sampled_from(["", "$"]))
PATTERNS = ANCHORED | st.builds("{}|{}".format, ANCHORED, ANCHORED) | st.text("ab[]()^$|*+?{}\\-1,:sx.", max_size=10)
TEXTS = st.text("abc-.]/ 1_A\n\t\v\x1c\x7f", max_size=8)


@given(PATTERNS, st.lists(TEXTS, min_size=1, max_size=8))
def test_a_translated_pattern_matches_where_re2_does(pattern: str, texts: list[str]):
    try:
        exact = compiled(pattern)
    except GoError:
        return
    simple = plain(pattern)
    if simple is not None:
        for text in texts:
            assert (simple(text) is not None) == (exact(text.encode(), 0) is not None), (pattern, text)


TRANSLATED = [
    "^(pvc://|file://|https?://|/)",
    r"[\x00-\x1f\x7f]|\s$",
    "^pvc://[^/]+/(?s:.)",
    "[*?\\[]",
    r"^\d+(\.\d+)?$",
]
REFUSED = [
    "(a*)*b",
    "(a|a)*$",
    "^a*a*$",
    "^[a-z]*[a-z0-9]$",
    r"\bx",
    "(?i)x",
    r"\pL",
    "é",
    "(a|b)*a",
    "(a?)*",
    "[[:alpha:]]",
]


@pytest.mark.parametrize("pattern", TRANSLATED)
def test_a_pattern_whose_next_character_tells_its_next_part_is_translated(pattern: str):
    assert plain(pattern) is not None


@pytest.mark.parametrize("pattern", REFUSED)
def test_a_pattern_that_might_be_slow_or_mean_something_else_is_not(pattern: str):
    compiled(pattern)
    assert plain(pattern) is None


def test_patterns_of_the_policies_are_translated():
    """At least half of them: the others have parts that may overlap."""
    found = set()
    for file in Path("policies").rglob("*.yaml"):
        found |= set(re.findall(r"\.matches\('([^']*)'\)", file.read_text()))
    given_patterns = {text.encode().decode("unicode_escape") for text in found}
    assert len(given_patterns) > 20
    assert sum(plain(each) is not None for each in given_patterns) * 2 >= len(given_patterns)
