"""What OME parses of texts: versions and sizes of models, traffic scenarios, addresses and queries of Prometheus.

Versions of formats and frameworks (pkg/modelver) are similar to semantic versions, but not equal: a version has one to
three numbers, precision and a leading v are ignored for equality, and a pre-release is *greater* than its release. A
size is a number of parameters with a suffix. The scenarios of a BenchmarkJob are sizes of requests and answers, in a
short notation.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from webhook.facts.nodes import mapping
from webhook.facts.settings import Behaviour
from webhook.golang.errors import GoError
from webhook.golang.url import parse

_NUMBER: Final = re.compile(r"(?:0|[1-9][0-9]*)\Z")
_UINT64: Final = 2**64


@dataclass(frozen=True, slots=True)
class ModelVersion:
    """``numbers`` are major, minor and patch, 0 if absent. ``precision`` is how many of them were written."""

    numbers: tuple[int, int, int]
    pre: tuple[str, ...]
    build: tuple[str, ...]
    dev: tuple[str, ...]
    precision: int
    prefix: str

    @property
    def key(self) -> tuple[object, ...]:
        """The key that equal versions share."""
        return self.numbers, self.pre, self.build, self.dev

    @property
    def official(self) -> bool:
        return not (self.pre or self.build or self.dev)


@lru_cache(maxsize=4096)  # a cluster has some hundred versions, all parsed for every service
def parse_version(text: str) -> ModelVersion | None:
    """Parse a version. Return None if OME cannot parse it: ``1.0-rc1``, ``2024.08``, ``V1``, ``latest``, ``1.``."""
    parts = text.split(".", 2)
    prefix = "v" if parts[0].startswith("v") else ""
    parts[0] = parts[0].removeprefix("v")
    identifiers: dict[str, tuple[str, ...]] = {}
    if len(parts) == 3:
        for mark in "+-.":
            parts[2], found, rest = parts[2].partition(mark)
            identifiers[mark] = tuple(rest.split(".")) if found else ()
    if not all(_NUMBER.match(part) and int(part) < _UINT64 for part in parts if len(part) <= 20):
        return None
    if any(len(part) > 20 for part in parts) or any("" in found for found in identifiers.values()):
        return None
    numbers = [*map(int, parts), 0, 0]
    pre, build, dev = (identifiers.get(mark, ()) for mark in "-+.")
    return ModelVersion((numbers[0], numbers[1], numbers[2]), pre, build, dev, len(parts), prefix)


def version_fits(model: str, runtime: str, operator: str = "Equal") -> bool:
    """Whether a runtime with this version and ``operator`` supports the version of a model."""
    ours, theirs = parse_version(model), parse_version(runtime)
    if ours is None or theirs is None:
        return False
    if operator == "Equal" or not (ours.official and theirs.official):
        return ours.key == theirs.key
    if (ours.precision, ours.prefix) != (theirs.precision, theirs.prefix):
        return False
    match operator:
        case "GreaterThan":
            return theirs.numbers > ours.numbers
        case "GreaterThanOrEqual":
            return theirs.numbers >= ours.numbers
    return ours.key == theirs.key


_UNITS: Final = {"T": 1e12, "B": 1e9, "M": 1e6}
# The syntax of Go's ParseFloat, without hexadecimal numbers and underscores, which are not used for sizes.
_FLOAT: Final = re.compile(r"[+-]?(?:[0-9]++\.?[0-9]*+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?\Z")


def parse_size(size: str) -> float | None:
    """Parse ``70B`` into a number. Return None for text that OME reads as 0: ``7b``, ``7K``, ``8x7B``, ``7 B``."""
    unit = _UNITS.get(size[-1:], 0)
    number = size[:-1] if unit else size
    if not _FLOAT.match(number):
        return None
    value = float(number) * (unit or 1)
    return value if math.isfinite(value) else None


@dataclass(frozen=True, slots=True)
class SizeRange:
    """The sizes that a runtime supports, both ends included. None is an open end (upstream panics there)."""

    low: str | None
    high: str | None

    @property
    def bounds(self) -> tuple[float, float]:
        low = -math.inf if self.low is None else parse_size(self.low) or 0.0
        return low, math.inf if self.high is None else parse_size(self.high) or 0.0

    @property
    def width(self) -> float:
        low, high = self.bounds
        return high - low

    def holds(self, size: str) -> bool:
        low, high = self.bounds
        return low <= (parse_size(size) or 0.0) <= high

    def __str__(self) -> str:
        return f"[{self.low or ''}, {self.high or ''}]"


def range_of(runtime_spec: Any) -> SizeRange | None:
    """The size range of a runtime, or None if it is absent or has no ends."""
    given = mapping(runtime_spec, "modelSizeRange")
    if not given:
        return None
    ends = [end if isinstance(end := given.get(key), str) else None for key in ("min", "max")]
    return SizeRange(ends[0], ends[1]) if ends != [None, None] else None


_PAIR: Final = r"\([0-9]+,[0-9]+\)"
# As upstream, the alternatives are not grouped: only the first is anchored at the start, and only the last at the end.
_UPSTREAM_TEXT: Final = re.compile(rf"^N{_PAIR}/{_PAIR}|U{_PAIR}|U{_PAIR}/{_PAIR}|D{_PAIR}\Z")
_TEXT_TO_TEXT: Final = re.compile(rf"^(?:N{_PAIR}/{_PAIR}|U{_PAIR}|U{_PAIR}/{_PAIR}|D{_PAIR})\Z")
_EMBEDDINGS: Final = re.compile(r"^E\([0-9]+(?:,[0-9]+)?\)\Z")
_UPSTREAM_EMBEDDINGS: Final = re.compile(rf"^E{_PAIR}\Z")
_IMAGE: Final = re.compile(r"^I\([0-9]+,[0-9]+(?:,[0-9]+)?\)\Z")

_OURS: Final = {
    "text-to-text": _TEXT_TO_TEXT,
    "image-to-text": _IMAGE,
    "text-to-embeddings": _EMBEDDINGS,
    "image-to-embeddings": _IMAGE,
}
_UPSTREAMS: Final = {**_OURS, "text-to-text": _UPSTREAM_TEXT, "text-to-embeddings": _UPSTREAM_EMBEDDINGS}

DEFAULTS: Final = {
    "text-to-text": ("N(480,240)/(300,150)", "D(100,100)", "D(100,1000)", "D(2000,200)", "D(7800,200)"),
    "image-to-text": ("I(512,512)", "I(1024,512)", "I(2048,2048)"),
    "text-to-embeddings": ("E(64)", "E(128)", "E(256)", "E(512)", "E(1024)"),
    "image-to-embeddings": ("I(512,512)",),
}
"""The scenarios that genai-bench uses if a job lists none. Upstream validates them with its own patterns."""


def scenario_fits(task: str, scenario: str, behaviour: Behaviour) -> bool:
    """Whether a scenario is valid for the task. Every scenario is valid for an unknown task."""
    pattern = (_OURS if behaviour is Behaviour.RECOMMENDED else _UPSTREAMS).get(task)
    return pattern is None or pattern.search(scenario) is not None


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
