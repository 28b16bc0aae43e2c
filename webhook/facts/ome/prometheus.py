"""Addresses of Prometheus servers as OME reads them, and the brackets of a query."""

from __future__ import annotations

import re
from typing import Final

from webhook.golang.errors import GoError
from webhook.golang.url import parse

__all__ = ["prometheus_error", "query_error"]

_CLOSING: Final = {")": "(", "]": "[", "}": "{"}
_TOKENS: Final = re.compile(r"""#[^\n]*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`[^`]*`|["'`()\[\]{}]""")
"""Comments, strings, a quote that does not end, and brackets."""


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
    """The bracket or quote that a PromQL query does not open or close, "" where all are paired."""
    opened: list[str] = []
    for token in _TOKENS.findall(query):
        if token in _CLOSING.values():
            opened.append(token)
        elif token in _CLOSING:
            if not opened or opened.pop() != _CLOSING[token]:
                return f"remove the {token} that nothing opens, or add what opens it"
        elif token in {'"', "'", "`"}:
            return f"close the {token}"
    return f"close the {opened[-1]}" if opened else ""
