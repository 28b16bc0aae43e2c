"""Addresses of Prometheus servers as OME reads them."""

from __future__ import annotations

from webhook.golang.errors import GoError
from webhook.golang.url import parse

__all__ = ["prometheus_error"]


def prometheus_error(address: str) -> str:
    """What is wrong with the address of a Prometheus server, "" where nothing is."""
    try:
        url = parse(address)
    except GoError as error:
        return error.message
    if url.scheme not in {b"http", b"https"}:
        return "scheme must be http or https"
    return "" if url.host else "host is required"
