"""The fields that each fact reads: of its own kind, and of others.

``inputs.json`` is recorded while the cases of all rules run (``make docs``); a test fails when a fact reads more. It is
needed only where the definitions of a cluster are not the catalog's, so it is read when it is first asked for.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import NamedTuple

import orjson

from webhook.cluster.view import Kind


class Input(NamedTuple):
    """A field of a kind; ``keys`` are field names, and ``*`` for every item of a list or every value of a map."""

    kind: Kind
    keys: tuple[str, ...]


@cache
def inputs_of(kind: Kind, fact: str) -> tuple[Input, ...]:
    """The fields that a fact of a kind reads; none for a fact that reads settings or metadata only."""
    recorded = _recorded().get(f"{kind.group}/{kind.kind}", {})
    return tuple(_input(kind, text) for text in recorded.get(fact, ()))


def _input(kind: Kind, text: str) -> Input:
    other, separator, path = text.rpartition(":")
    group, _, name = other.partition("/")
    most = 2 if path.startswith(("metadata.labels.", "metadata.annotations.")) else -1  # their keys may have dots
    return Input(Kind(group, name) if separator else kind, tuple(path.split(".", most)))


@cache
def _recorded() -> dict[str, dict[str, list[str]]]:
    recorded: dict[str, dict[str, list[str]]] = orjson.loads(
        files("webhook.facts").joinpath("inputs.json").read_bytes()
    )
    return recorded
