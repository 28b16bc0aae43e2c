"""Parts 8 and 9: what grows must grow with the size only, and what is real must be let in."""

from __future__ import annotations

from typing import Any

import orjson

from tests.hostile import bodies, timing
from tests.hostile.attacks import attack
from tests.hostile.bars import Report
from tests.hostile.timing import CALLS

PART = "costs"
BAR_MS = 100.0
REAL_SECONDS = 1.0
REAL_VALUES = 25_000
FAILING = 1000
STAMP = 250 * 1024
FLAVORS = 1000


def run(report: Report) -> None:
    """The known costs that were not linear, and an object ten times as large as the largest real one."""
    timing.settle()
    slowness = timing.slowness()
    for name, body in {
        f"{FAILING} failing places and a stamp of {STAMP // 1024} KiB": failing_with_stamp(),
        f"OpenModel with {FLAVORS} flavors": flavors(),
    }.items():
        for call in CALLS:
            report.add(PART, f"{name}, {call}", timing.cpu_ms(call, body) / slowness, "ms", BAR_MS)
    body = real()
    for call in CALLS:
        seconds = timing.cpu_ms(call, body) / slowness / 1e3
        report.add(PART, f"{REAL_VALUES} values of real shape, {call}", seconds, "s", REAL_SECONDS)
        refused = int(not orjson.loads(timing.answered(call, body))["response"]["allowed"])
        report.add(PART, f"{REAL_VALUES} values of real shape, {call}: refused", refused, "", 0)


def failing_with_stamp() -> bytes:
    """An update of a Model with wrong files, stored as it is, and a stamp that a user has written."""
    one = attack("Model", "spec.files", "different items")
    obj = bodies.stamped(one.object(FAILING), bodies.made_up_stamp(STAMP))
    obj["spec"]["files"] = [f"../{name}" for name in obj["spec"]["files"]]
    return bodies.review(one.known, obj, obj)


def flavors() -> bytes:
    known = bodies.kinds()["OpenModel"]
    obj = bodies.good(known)
    obj["spec"]["inferenceConfig"] = {"flavors": [{"name": f"f{number}"} for number in range(FLAVORS)]}
    return bodies.review(known, obj)


def real() -> bytes:
    """A ClusterBaseModel whose configuration is a tokenizer's: nested objects of texts and numbers."""
    known = bodies.kinds()["ClusterBaseModel"]
    obj = bodies.good(known)
    tokens: list[Any] = []
    obj["spec"]["modelConfiguration"] = {"added_tokens_decoder": tokens}
    while bodies.values(obj) < REAL_VALUES:
        tokens += [_token(len(tokens) + number) for number in range(100)]
    return bodies.review(known, obj)


def _token(number: int) -> dict[str, Any]:
    flags = {"lstrip": False, "normalized": False, "rstrip": False, "single_word": False, "special": True}
    return {"id": 128_000 + number, "content": f"<|reserved_special_token_{number}|>", **flags}
