"""A user who names objects of another namespace learns whether they exist, where an API allows that, and nothing else.

The gate reads all namespaces, so its answers must not carry what a user may not read.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from tests.hostile import bodies
from webhook.catalog import Catalog, KnownKind
from webhook.cluster import MemoryView
from webhook.engine import Options
from webhook.policy import Profile
from webhook.serve.gate import Gate
from webhook.serve.gate.state import Call

CANARY = "zq0canary"
OTHER, TARGET = "other-team", "target"


def references(schema: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """The paths of the objects below a schema that have a name and a namespace, and so may refer elsewhere."""
    properties = schema.get("properties", {})
    if {"name", "namespace"} <= properties.keys() and properties["namespace"].get("type") == "string":
        yield ()
    for key, child in properties.items():
        yield from ((key, *path) for path in references(child))


def placed(obj: dict[str, Any], path: tuple[str, ...], value: dict[str, Any]) -> dict[str, Any]:
    """The object with a reference at a path, beside what is there."""
    key, *rest = path
    inner = obj.get(key) if isinstance(obj.get(key), dict) else {}
    return {**obj, key: placed(inner, tuple(rest), value) if rest else {**inner, **value}}


def secretive(value: Any) -> Any:
    """The value with the canary in place of each text."""
    if isinstance(value, dict):
        return {key: secretive(item) for key, item in value.items()}
    if isinstance(value, list):
        return [secretive(item) for item in value]
    return CANARY if isinstance(value, str) else value


def others(loaded: Catalog) -> list[dict[str, Any]]:
    """An object of each namespaced kind in the other namespace, with the same name."""
    found = []
    for known in loaded.kinds.values():
        if known.namespaced:
            good = bodies.good(known)
            metadata = {"name": TARGET, "namespace": OTHER, "labels": {CANARY: CANARY}, "annotations": {CANARY: CANARY}}
            found.append({**good, "metadata": metadata, "spec": secretive(good.get("spec", {}))})
    return found


CASES = [
    pytest.param(known, ("spec", *path), id=f"{kind} {'.'.join(path)}")
    for kind, known in bodies.kinds().items()
    for path in references(known.schema.raw["properties"].get("spec", {}))
    if path
]


def test_there_are_kinds_that_can_name_another_namespace() -> None:
    assert {param.values[0].gvk.kind for param in CASES} >= {"FineTunedWeight", "BenchmarkJob"}


@pytest.mark.parametrize(("known", "path"), CASES)
@pytest.mark.parametrize("profile", [Profile.STANDARD, Profile.STRICT])
def test_no_answer_shows_an_object_of_another_namespace(
    known: KnownKind, path: tuple[str, ...], profile: Profile, loaded: Catalog
) -> None:
    reference = {"name": TARGET, "namespace": OTHER}
    mine = placed(bodies.good(known), path, reference)
    for view in (MemoryView(others(loaded)), MemoryView([])):
        gate = Gate(catalog=loaded, view=view, options=Options(profile))
        for call in ("mutate", "validate"):
            assert CANARY not in said(gate, call, bodies.review(known, mine))


def said(gate: Gate, call: Call, body: bytes) -> str:
    """All of an answer, with its patch in plain text."""
    response = orjson.loads(asyncio.run(gate.reply(call, body, None)))["response"]
    return f"{response} {base64.b64decode(response.get('patch', ''))!r}"
