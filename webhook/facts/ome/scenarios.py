"""Traffic scenarios of a BenchmarkJob: what sizes requests and answers have, in one short text each."""

from __future__ import annotations

import re
from typing import Final

from webhook.facts.settings import Behaviour

__all__ = ["DEFAULTS", "scenario_fits"]

_PAIR: Final = r"\([0-9]+,[0-9]+\)"
# The alternatives are not grouped, as upstream: only the first is anchored at the start, only the last at the end.
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
"""What genai-bench sends where a job lists no scenarios; upstream holds them against its own patterns."""


def scenario_fits(task: str, scenario: str, behaviour: Behaviour) -> bool:
    """Whether a scenario is one of the task's; of an unknown task every one is."""
    pattern = (_OURS if behaviour is Behaviour.RECOMMENDED else _UPSTREAMS).get(task)
    return pattern is None or pattern.search(scenario) is not None
