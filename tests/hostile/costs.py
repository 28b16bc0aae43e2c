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
    """The known costs that were not linear, and objects ten times as large as the largest real ones."""
    timing.settle()
    slowness = timing.slowness()
    for name, body in not_linear().items():
        for call in CALLS:
            report.add(PART, f"{name}, {call}", timing.cpu_ms(call, body) / slowness, "ms", BAR_MS)
    for name, body in {"model": real_model(), "runtime": real_runtime()}.items():
        for call in CALLS:
            what = f"{REAL_VALUES} values of a real {name}'s shape, {call}"
            report.add(PART, what, timing.cpu_ms(call, body) / slowness / 1e3, "s", REAL_SECONDS)
            refused = int(not orjson.loads(timing.answered(call, body))["response"]["allowed"])
            report.add(PART, f"{what}: refused", refused, "", 0)


def not_linear() -> dict[str, bytes]:
    """Updates and creations whose cost has grown with the square of their size."""
    return {
        f"{FAILING} failing places, stamp of {STAMP // 1024} KiB": failing_with_stamp(),
        f"{FAILING} places of a wrong type": attack("Model", "spec.files", "empty lists").review(
            "UPDATE same", FAILING
        ),
        f"OpenModel with {FLAVORS} flavors": flavors(),
    }


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


def real_model() -> bytes:
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


def real_runtime() -> bytes:
    """A ServingRuntime with very many formats, as upstream's have a few dozen."""
    known = bodies.kinds()["ServingRuntime"]
    obj = bodies.good(known)
    formats: list[dict[str, Any]] = []
    obj["spec"]["supportedModelFormats"] = formats
    obj["spec"]["engineConfig"] = {"runner": {"name": "ome-container", "image": "example.com/sglang:0.5"}}
    while bodies.values(obj) < REAL_VALUES:
        formats += [_format(len(formats) + number) for number in range(100)]
    return bodies.review(known, obj)


def _format(number: int) -> dict[str, Any]:
    return {
        "modelFormat": {"name": "safetensors", "version": "1.0.0"},
        "modelFramework": {"name": "transformers", "version": f"4.{number}.0"},
        "modelArchitecture": f"Architecture{number}ForCausalLM",
        "autoSelect": True,
        "priority": 1,
    }
