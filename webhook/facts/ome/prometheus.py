"""Numbers and addresses as Go reads them, which is how OME reads its settings."""

from __future__ import annotations

import math

from webhook.golang.errors import GoError
from webhook.golang.quote import quoted
from webhook.golang.strconv import parse_float
from webhook.golang.url import parse

__all__ = ["float_error", "is_float", "parse_float", "prometheus_error"]


def is_float(text: str) -> bool:
    """Whether ParseFloat reads it: ``1e10``, ``-5`` and ``inf``, but not ``10,5`` or nothing at all."""
    return parse_float(text) is not None


def float_error(text: str) -> str:
    """What ParseFloat says of a text, "" of a number."""
    if is_float(text):
        return ""
    try:
        large = math.isinf(float(text))
    except ValueError:
        large = False
    return f"strconv.ParseFloat: parsing {quoted(text)}: {'value out of range' if large else 'invalid syntax'}"


def prometheus_error(address: str) -> str:
    """What is wrong with the address of a Prometheus server, "" where nothing is."""
    try:
        url = parse(address)
    except GoError as error:
        return error.message
    if url.scheme not in {b"http", b"https"}:
        return "scheme must be http or https"
    return "" if url.host else "host is required"
