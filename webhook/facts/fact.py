"""A fact of a kind: its schema, the fields that it reads, and all that Modelgate knows of an API in Python.

Which fields each fact reads, of its own kind and of others, is recorded in ``inputs.json`` while the cases of all rules
run (``make docs``); a test fails when a fact reads more. The file is needed only where the definitions of a cluster are
not the catalog's, so it is read when it is first asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

from webhook.cluster.view import ClusterView, Kind
from webhook.facts.fit import FitOf
from webhook.facts.settings import Settings
from webhook.golang.credentials import masked


@dataclass(frozen=True, slots=True)
class Fact:
    """Something a rule reads as ``facts.<name>``.

    ``compute`` takes the object and the view. It changes neither and never raises, not even for
    an object that the CRD refuses: rules run together with the schema, so that one response
    reports all errors. It returns JSON that fits ``schema``, a structural OpenAPI schema against
    which the rules that read the fact are type-checked.

    A ``configurable`` fact depends on the settings: its ``compute`` takes them as a third
    argument. A ``raw`` fact receives the object as it was sent, with unknown fields: it is about
    other releases, so it does not apply where another one is installed. A ``stored``
    fact receives the stored object of an update; for other requests, an empty object. A ``constant`` fact depends on
    nothing but the settings. A ``sparse`` fact holds under each definition: a field that one lacks counts as absent. A
    fact that ``refers`` is of a reference: its value may have ``unseen``, why it cannot be relied on.
    """

    compute: Callable[..., Any]
    schema: Mapping[str, Any]
    configurable: bool = False
    raw: bool = False
    stored: bool = False
    constant: bool = False
    sparse: bool = False
    refers: bool = False

    def value(self, obj: dict[str, Any], view: ClusterView, settings: Settings) -> Any:
        return self.compute(obj, view, settings) if self.configurable else self.compute(obj, view)


Schema = Mapping[str, Any]

STRING: Final[Schema] = {"type": "string"}
BOOLEAN: Final[Schema] = {"type": "boolean"}
INTEGER: Final[Schema] = {"type": "integer"}
NUMBER: Final[Schema] = {"type": "number"}
OPEN: Final[Schema] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
"""An object with any fields."""
TEXTS: Final[Schema] = {"type": "object", "additionalProperties": STRING}
"""Texts by name."""
NAMES: Final[Schema] = {"type": "object", "additionalProperties": BOOLEAN}
"""Texts that a rule asks for at each item of a list: to find one in a list takes as many steps as there are."""


def fields(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties}


def listed(of: Schema) -> Schema:
    return {"type": "array", "items": of}


INTEGERS: Final = listed(INTEGER)
STRINGS: Final = listed(STRING)


WARNING: Final = 170
"""Characters of a warning that are left beside the field, the code and the rule's own text. The limit is 256."""


def cut_middle(text: str, longest: int = WARNING) -> str:
    """Shorten text in the middle: the API server cuts long warnings, and the end of the text states the error.

    Credentials are hidden before, because half of one could not be recognised.
    """
    if len(text) <= longest:
        return text
    text = masked(text)
    return f"{text[: longest // 2]} … {text[3 - longest // 2 :]}"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of texts below a title and a header.

    ``shares`` has for each row a part of a whole, or None: what is needed of a memory, more than 1 if it is too small,
    or the score of a candidate beside the best one. ``of`` names the object for which the rows are candidates, the
    chosen one first; "" in a table that is not about a choice. Candidates have rank, name, kind, score and reason.
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    shares: tuple[float | None, ...] = ()
    of: str = ""


Comparison = Callable[[dict[str, Any], ClusterView, Settings], Iterator[str]]
Explanation = Callable[[dict[str, Any], ClusterView, Settings], Iterator[Table]]


class Fetched(NamedTuple):
    """A kind of which facts read one object at a time, on demand; ``name``: only this one.

    A watch would tell the gate of each object of the cluster, and of each one that it has just judged.
    """

    kind: Kind
    name: str = ""


@dataclass(frozen=True)
class Knowledge:
    """``facts``: kind → name → fact. ``watched`` and ``fetched`` are the kinds that they read: all objects, or one by
    name. ``comparisons``: the lines that compare all objects among which one is chosen for an object. ``explanations``:
    what is chosen for an object, as tables. ``choices``: kind and fact → the members that say what was chosen.
    ``fits``: kind → what an object asks of nodes, GPUs and storage.
    """

    facts: Mapping[str, Mapping[str, Fact]]
    watched: frozenset[Kind] = frozenset()
    fetched: frozenset[Fetched] = frozenset()
    comparisons: Mapping[Kind, Comparison] = field(default_factory=dict)
    explanations: Mapping[Kind, Explanation] = field(default_factory=dict)
    choices: Mapping[tuple[Kind, str], tuple[str, ...]] = field(default_factory=dict)
    fits: Mapping[str, FitOf] = field(default_factory=dict)


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
    recorded: dict[str, dict[str, list[str]]] = orjson.loads(Path(__file__).with_name("inputs.json").read_bytes())
    return recorded


Keys = tuple[str, ...]
