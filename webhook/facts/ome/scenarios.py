"""Traffic scenarios of a BenchmarkJob: the sizes of requests and answers, in a short notation."""

from __future__ import annotations

import re
from typing import Final

from webhook.facts.settings import Behaviour

__all__ = ["DEFAULTS", "scenario_fits"]

_PAIR: Final = r"\([0-9]+,[0-9]+\)"
# As upstream, the alternatives are not grouped: only the first is anchored at the start, and only the last at the end.
_UPSTREAM_TEXT: Final = re.compile(rf"^N{_PAIR}/{_PAIR}|U{_PAIR}|U{_PAIR}/{_PAIR}|D{_PAIR}\Z")
_TEXT: Final = re.compile(rf"^(?:N{_PAIR}/{_PAIR}|U{_PAIR}|U{_PAIR}/{_PAIR}|D{_PAIR})\Z")
_EMBEDDINGS: Final = re.compile(r"^E\([0-9]+(?:,[0-9]+)?\)\Z")
_UPSTREAM_EMBEDDINGS: Final = re.compile(rf"^E{_PAIR}\Z")
_IMAGE: Final = re.compile(r"^I\([0-9]+,[0-9]+(?:,[0-9]+)?\)\Z")

_OURS: Final = {
    "text-to-text": _TEXT,
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
