"""Addresses of Prometheus servers as OME reads them, and what a query of one is by its tokens."""

from __future__ import annotations

import re
from typing import Final

from webhook.golang.errors import GoError
from webhook.golang.url import parse

__all__ = ["prometheus_error", "query_error"]

_CLOSING: Final = {")": "(", "]": "[", "}": "{"}
_TOKENS: Final = re.compile(r"""#[^\n]*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`[^`]*`|["'`()\[\]{}]""")
"""Comments, strings, a quote that does not end, and brackets."""
_RANGE: Final = re.compile(r"\](?:\s+offset\s+-?\w+|\s*@\s*[\w.()]+)*\s*\Z")
_TEXT: Final = re.compile(r"""\s*(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`[^`]*`)\s*""")


def prometheus_error(address: str) -> str:
    """What is wrong with the address of a Prometheus server, "" where nothing is."""
    try:
        url = parse(address)
    except GoError as error:
        return error.message
    if url.scheme not in {b"http", b"https"}:
        return "scheme must be http or https"
    return "" if url.host else "host is required"


def query_error(query: str) -> str:
    """Why a PromQL query returns no number, as far as its tokens show it; "" where they do not.

    A bracket or quote has no other, or the query is a range of times or a text.
    """
    opened: list[str] = []
    for token in _TOKENS.findall(query):
        if token in _CLOSING.values():
            opened.append(token)
        elif token in _CLOSING:
            if not opened or opened.pop() != _CLOSING[token]:
                return f"remove the {token} that nothing opens, or add what opens it"
        elif token in {'"', "'", "`"}:
            return f"close the {token}"
    if opened:
        return f"close the {opened[-1]}"
    code = _TOKENS.sub(lambda found: "" if found[0].startswith("#") else found[0], query)
    if _RANGE.search(code):
        return "put the range into a function, such as rate(…)"
    return "write an expression instead of a text" if _TEXT.fullmatch(code) else ""
