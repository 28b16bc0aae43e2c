"""One look at a file behind a URL: its fingerprint by HEAD, and the header of a GGUF file by range reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from http.client import HTTPResponse
from typing import Any, Final

from reconciler.projections.remote.address import Unreached
from reconciler.projections.remote.client import Client
from reconciler.projections.remote.gguf import Unreadable, parse

BLOCK: Final = 1 << 20
"""Bytes of one range read."""

HEADER: Final = 32 << 20
"""Bytes of a file that are read at most: a vocabulary of 260 000 tokens makes a header of some 12 MB."""

LONGEST_TAG: Final = 1024


@dataclass(frozen=True, slots=True)
class Probe:
    """What a server says of a file. ``error``: why nothing is known; the other members are then empty."""

    etag: str = ""
    length: int = 0
    gguf: dict[str, Any] = field(default_factory=dict)
    error: str = ""


Remote = Callable[[str, bool], Probe]
"""Look at a URL, and read the GGUF header if asked for."""


def probe(url: str, header: bool, connect: Callable[[], Client] = Client) -> Probe:
    """Look at a file; never raises. A header that cannot be read is left out."""
    client = connect()
    try:
        with client.request("HEAD", url) as response:
            if response.status != 200:
                return Probe(error=f"the server answered {response.status}")
            tag = (response.getheader("etag") or "")[:LONGEST_TAG]
            length = response.getheader("content-length") or ""
    except Unreached as error:
        return Probe(error=str(error))
    size = int(length) if length.isascii() and length.isdigit() and len(length) < 19 else 0
    if not tag and not size:
        return Probe(error="the server says neither ETag nor Content-Length")
    return Probe(tag, size, read_header(client, url) if header else {})


def read_header(client: Client, url: str) -> dict[str, Any]:
    """The GGUF header; empty if it cannot be read."""
    blocks: dict[int, bytes] = {}

    def block(number: int) -> bytes:
        if number not in blocks:
            if (number + 1) * BLOCK > HEADER:
                raise Unreadable("the header is too long")
            blocks[number] = _range(client, url, number * BLOCK)
            blocks.pop(number - 2, None)
        return blocks[number]

    def read(offset: int, length: int) -> bytes:
        found = b""
        while len(found) < length:
            number, start = divmod(offset + len(found), BLOCK)
            part = block(number)[start : start + length - len(found)]
            if not part:
                break
            found += part
        return found

    try:
        return parse(read)
    except (Unreadable, Unreached):
        return {}


def _range(client: Client, url: str, start: int) -> bytes:
    headers = {"range": f"bytes={start}-{start + BLOCK - 1}"}
    with client.request("GET", url, headers) as response:
        if response.status == 416:
            return b""
        if response.status != 206 and (response.status != 200 or start):
            raise Unreadable(f"the server answered {response.status} to a range")
        return _body(response, client)


def _body(response: HTTPResponse, client: Client) -> bytes:
    """At most a block, also from a server that ignores the range or sends a byte a second."""
    data = b""
    while len(data) < BLOCK and (part := response.read(min(BLOCK - len(data), 65536))):
        data += part
        client.left()
    return data
