"""Idioms that are hard to understand at the first reading: CONTRIBUTING.md bans them under "Plain English"."""

import re
from pathlib import Path

import pytest

from webhook.cli import COMMANDS, main

ROOT = Path(__file__).parents[1]
GAP = r"""(?:[\s#]|["']\s*\n\s*f?["'])+"""
"""Between two words: also a line break in a comment, and between two parts of a string."""

IDIOMS = re.compile(
    r"""
    \b(?:
        nobody | whoever | somebody | mend(?:s|ed)?
      | (?:of|from) GAP (?:ours|theirs)
      | (?:that|what) GAP (?:is|are) GAP none
      | where GAP there GAP (?:is|are) GAP none
      | slip GAP of GAP the GAP pen
      | (?:there GAP)? (?:is|are) GAP no GAP \w+
    )\b
    """.replace("GAP", GAP.replace("#", r"\#")),
    re.IGNORECASE | re.VERBOSE,
)
ORDINARY = re.compile(
    rf"there{GAP}(?:is|are){GAP}no\b|(?:is|are){GAP}no{GAP}(?:longer|more|less|fewer)\b", re.IGNORECASE
)
"""Ordinary English: "there is no StorageClass", "is no longer stored", "is no more than 63 characters"."""

ALLOWED = {
    "CONTRIBUTING.md": {
        *("is no X", "what is none", "of ours", "nobody", "whoever", "somebody"),
        *("slip of the pen", "is no model"),
    },
}
"""File → idioms that it quotes; texts of Kubernetes, cel-go and upstream projects belong here, too."""

TEXTS = (
    *(
        "*.md",
        "docs/**/*.md",
        "changes/*.md",
        "docs/**/*.yaml",
        "chart*/**/*.*",
        "policies/**/*.yaml",
        "tests/**/*.yaml",
        "tests/**/*.md",
    ),
    *("Makefile", "Dockerfile", "pyproject.toml", ".ci/*"),
)
CODE = ("webhook/**/*.py", "certs/**/*.py", "reconciler/**/*.py", "tools/**/*.py", "tests/**/*.py")


def idioms(text):
    """Line and words of each idiom."""
    for match in IDIOMS.finditer(text):
        if not ORDINARY.match(match[0]):
            yield text.count("\n", 0, match.start()) + 1, " ".join(re.sub(GAP, " ", match[0]).split())


def found(patterns, read=Path.read_text):
    for path in sorted({path for pattern in patterns for path in ROOT.glob(pattern) if path.is_file()}):
        name = path.relative_to(ROOT).as_posix()
        if path != Path(__file__):
            yield from (
                f"{name}:{line}: {words}" for line, words in idioms(read(path)) if words not in ALLOWED.get(name, ())
            )


def words_of(path):
    """Code with its names as words: docstrings, comments, strings and names of tests all count."""
    return re.sub(r"(?<=[a-z0-9])_(?=[a-z0-9])", " ", path.read_text())


def test_documents_charts_and_policies_are_in_plain_english():
    hits = list(found(TEXTS))
    assert not hits, "\n".join(hits)


def test_code_is_in_plain_english():
    hits = list(found(CODE, words_of))
    assert not hits, "\n".join(hits)


@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS), ["certs", "issue"]])
def test_help_is_in_plain_english(command, capsys):
    with pytest.raises(SystemExit):
        main([*command, "--help"])
    assert list(idioms(capsys.readouterr().out)) == []


def test_what_a_file_may_quote_it_does_quote():
    for name, allowed in ALLOWED.items():
        assert {words for _, words in idioms((ROOT / name).read_text())} == allowed


@pytest.mark.parametrize(
    "text",
    [
        "a text that is no number",
        "Nobody reads it",
        "rules of\n# ours",
        'said("the value is "\n    f"no number")',
        "None where there\n    is none.",
        "they are no times",
    ],
)
def test_an_idiom_is_found(text):
    assert len([*idioms(text)]) == 1


@pytest.mark.parametrize(
    "text", ["there is no such file", "it is no longer\nstored", "is 'no such key'", "theirs", "is no more than 63"]
)
def test_ordinary_english_is_not_an_idiom(text):
    assert not [*idioms(text)]
