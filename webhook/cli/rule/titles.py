"""What a rule finds, in general words: its message without values, and without what to write instead."""

from __future__ import annotations

import re
from itertools import takewhile
from typing import Final

from webhook.catalog import KnownKind
from webhook.cel.syntax import Call, Comprehension, Const, Expr, ListExpr, parse
from webhook.policy import Validation

__all__ = ["in_general", "name_of", "title_of"]

_GAP: Final = "…"
"""Stands for a value."""
_GAPS: Final = re.compile(rf"(?:['\"]?{_GAP}['\"]?[\s,]*){{2,}}")
_REMEDY: Final = re.compile(
    r"(?:[;:,]|\s-)\s+(?:or\s|and\s)?(?:use|write|remove|set|add|give|name|choose|raise|lower|put|ask|make|take|install)\b.*"
)
_WORD: Final = re.compile("[a-z]{3}")


def title_of(code: str, known: KnownKind) -> str:
    """What the rules of a kind with a code find, in general words; else why the first one exists."""
    rules = [rule for source in known.sources for rule in source.document.spec.rules if rule.code == code]
    titles = (_title(rule) for rule in rules if isinstance(rule, Validation))
    return next(filter(None, titles), "") or next((_sentence(rule.docs) for rule in rules), "")


def _sentence(docs: str) -> str:
    """The first sentence; "" if it only refers to another code."""
    sentence = " ".join(docs.split()).partition(". ")[0].rstrip(".")
    return "" if sentence.startswith("As ") else sentence


def _title(rule: Validation) -> str:
    """The place of a rule and what it finds there, on one line; "" if it has no words that are the same each time."""
    general = in_general(rule.message or "", rule.messageExpression).partition("; ")[0]
    general = _REMEDY.sub("", general).strip(" ,:;")
    if not _WORD.search(general):
        return ""
    same = takewhile(lambda keys: len({*keys}) == 1, zip(*(place.split(".") for place in rule.places), strict=False))
    at = ".".join(key for key, *_ in same)
    return f"{at}: {general}" if at else f"{general[:1].upper()}{general[1:]}"


def in_general(message: str, expression: str | None) -> str:
    """What a message, or its expression, says of all values, on one line; "" if it has no words of its own."""
    text = message if expression is None else _text(parse(expression))
    general = _GAPS.sub(f"{_GAP} ", " ".join(text.split())).strip()
    return general if _WORD.search(general) else ""


def name_of(title: str) -> str:
    """The words of a title as one name, such as ``SpecModelModelIsDisabled``."""
    return "".join(f"{word[:1].upper()}{word[1:]}" for word in re.findall(r"[A-Za-z0-9]+", title))


def _text(node: Expr) -> str:
    """The words of a message expression; of two texts that a condition chooses from, the longer one."""
    if isinstance(node, Const) and isinstance(node.value, str):
        return node.value
    if isinstance(node, Call) and node.function == "_+_":
        return "".join(map(_text, node.args))
    if isinstance(node, Call) and node.function == "_?_:_":
        return max(map(_text, node.args[1:]), key=lambda text: (len(text.replace(_GAP, "")), text))
    if isinstance(node, Call) and node.function == "join" and isinstance(node.target, Comprehension):
        return _text(node.target.loop_step)  # one text for each item
    if isinstance(node, ListExpr):
        return "".join(map(_text, node.elements))
    return _GAP
