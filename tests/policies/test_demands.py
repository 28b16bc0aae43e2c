"""Objects that break a sentence of an API document, and are answered: the shared cases of sentences."""

from __future__ import annotations

import re
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
import yaml

from tests.e2e.kinds import merged
from tests.kinds import known_kind
from tests.shared import SHARED, shared
from webhook import engine
from webhook.admission import GroupVersionKind, Request
from webhook.catalog import Catalog
from webhook.cluster import MemoryView
from webhook.engine import Options

FOLDER = ("cases", "sentences")
KINDS = {"llmkube": "Model", "llmaz": "OpenModel"}
"""The kind of a probe that names its API only."""

Probe = dict[str, Any]
Object = dict[str, Any]


def probes() -> list[Any]:
    """Each probe with the bases of its file."""
    files = sorted(SHARED.joinpath(*FOLDER).glob("*.yaml"))
    if not files:
        return [pytest.param({}, {}, id="absent")]
    documents = [yaml.safe_load(file.read_text()) for file in files]
    return [
        pytest.param(each, document["bases"], id=each["name"]) for document in documents for each in document["probes"]
    ]


def gvk_of(probe: Probe, loaded: Catalog) -> GroupVersionKind:
    api, _, kind = probe["api"].partition("/")
    return known_kind(f"{api}/{kind or KINDS[api]}", loaded).gvk


def placed(obj: Any, path: str, value: Any) -> None:
    *around, last = re.findall(r"[^.\[\]']+", path)
    for key in around:
        obj = obj[int(key)] if isinstance(obj, list) else obj.setdefault(key, {})
    obj[int(last) if isinstance(obj, list) else last] = value


def whole(gvk: GroupVersionKind, body: Object, changes: Object | None = None) -> Object:
    head = {
        "apiVersion": f"{gvk.group}/{gvk.version}",
        "kind": gvk.kind,
        "metadata": {"name": "a", "namespace": "default"},
    }
    obj = {**head, **deepcopy(body)}
    for path, value in (changes or {}).items():
        placed(obj, path, deepcopy(value))
    return obj


class Gate:
    """A gate with the other objects of a probe in view."""

    def __init__(self, probe: Probe, loaded: Catalog) -> None:
        self.gvk, self.loaded = gvk_of(probe, loaded), loaded
        self.view = MemoryView(probe.get("others", []))

    def judged(self, obj: Object, old: Object | None = None) -> tuple[bool, set[tuple[str, str]], Object]:
        """Whether it is allowed, (code, field) of each finding, and the object as stored."""
        options = Options(strict_fields=True)
        request = Request(self.gvk, self.loaded.kinds[self.gvk].plural, "UPDATE" if old else "CREATE", obj, old)
        stored = engine.mutate(request, self.loaded, self.view, options).object
        found = engine.validate(replace(request, object=stored), self.loaded, self.view, options)
        return not found.causes, {(each.code, each.field) for each in (*found.causes, *found.warnings)}, stored


@pytest.mark.parametrize(("probe", "bases"), probes())
def test_what_breaks_a_sentence_is_answered_and_the_right_value_is_not(
    probe: Probe, bases: dict[str, Object], loaded: Catalog
) -> None:
    shared(*FOLDER)
    gate = Gate(probe, loaded)
    if "flow" in probe:
        return follow(gate, probe["flow"])
    _, said, _ = gate.judged(whole(gate.gvk, bases[probe["from"]], probe["with"]))
    _, always, _ = gate.judged(whole(gate.gvk, bases[probe["from"]]))
    assert said - always
    return None


def follow(gate: Gate, steps: list[Object]) -> None:
    stored: Object | None = None
    for step in steps:
        obj = whole(gate.gvk, step["create"]) if "create" in step else merged(stored, step["patch"])
        allowed, said, found = gate.judged(obj, stored)
        assert allowed is step["expect"]["allowed"], said
        for path, value in step["expect"].get("normalised_has", {}).items():
            at: Any = found
            for key in path.split("."):
                at = (at or {}).get(key)
            assert at == value, path
        stored = found
