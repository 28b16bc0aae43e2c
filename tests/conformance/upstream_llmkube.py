"""What LLMKube's own operator did with Models, recorded under several releases, and what the rules of these say."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.shared import shared
from webhook import catalog, engine
from webhook.admission import GroupVersionKind, Request
from webhook.catalog import Catalog, chosen
from webhook.cluster import MemoryView
from webhook.engine import Options
from webhook.library.apiserver import receive
from webhook.policy import Profile

__all__ = ["NAME", "RELEASES", "Recorded", "answer", "difference_for", "differences", "recorded", "under"]

MODEL = GroupVersionKind("inference.llmkube.dev", "v1alpha1", "Model")
RELEASES = {"0.9.5": "release-v0.9.5", "0.9.7": "release-v0.9.7", "0.9.12": "release-v0.9.12", "head": "head"}
"""Release → the file of what was recorded."""

NAME = re.compile(r"[a-z0-9.-]+")
"""The name of a whole object: documents also show parts, and scripts have variables in the place of names."""

NOT_REACHED = (None, "Pending")
"""Phases that say nothing: the operator had not come to the Model, or to the service, when it was recorded."""


@dataclass(frozen=True)
class Recorded:
    """One Model, alone or beside a service, and what the API server and the operator did.

    ``spec`` is as it was sent. ``stored`` is None where it was not recorded, as for the Models of services of older
    releases. ``resources`` and ``tolerations`` are those of the pods of its service.
    """

    name: str
    spec: dict[str, Any]
    admitted: bool
    stored: dict[str, Any] | None = None
    phase: str | None = None
    deployment: dict[str, Any] | None = None

    @property
    def is_reached(self) -> bool:
        return self.admitted and self.phase not in NOT_REACHED


@dataclass(frozen=True)
class Answer:
    """What Modelgate says of a Model under a release, and the specification that it stores."""

    refused: tuple[str, ...]
    warned: tuple[str, ...]
    spec: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Difference:
    """Models of which the operator and Modelgate say different things: its phase, and the codes of Modelgate."""

    ids: list[str]
    reason: str
    phase: str
    refused: tuple[str, ...] = ()
    warned: tuple[str, ...] = ()


def recorded(release: str) -> Iterator[Recorded]:
    """The Models that were recorded under a release; those beside services, too."""
    read = json.loads(shared("corpora-upstream", "llmkube", f"{RELEASES[release]}.json").read_text())
    for case in read if isinstance(read, list) else read["cases"]:
        operator = case.get("operator") or case
        if case["kind"] == "Model":
            spec = case["spec"] if "spec" in case else case["object"]["spec"]
            yield Recorded(case["id"], spec, case["verdict"]["allowed"], case.get("stored"), operator.get("phase"))
        elif model := case.get("model"):
            admitted = case.get("modelVerdict", {"allowed": True})["allowed"]
            deployment = operator.get("deployment") if is_whole(case) else None
            yield Recorded(case["id"], model.get("spec", model), admitted, case.get("modelStored"), None, deployment)


def is_whole(case: dict[str, Any]) -> bool:
    """Whether the pods of a service have whole GPUs: of parts, the operator derives other resources."""
    spec = case["spec"] if "spec" in case else case["object"]["spec"]
    return "gpuSharing" not in spec.get("resources", {})


@cache
def under(release: str) -> Catalog:
    loaded = catalog.load()
    return loaded.under(chosen(loaded.packs, [("llmkube", release)]))


def answer(spec: dict[str, Any], release: str, profile: Profile) -> Answer:
    """What a gate of this profile says, as the API server asks it."""
    loaded = under(release)
    known, options = loaded.kinds[MODEL], Options(profile, strict_fields=True)
    head = {"apiVersion": f"{MODEL.group}/{MODEL.version}", "kind": MODEL.kind}
    sent = {**head, "metadata": {"name": "m", "namespace": "default"}, "spec": spec}
    received = receive(sent, known, None, assigned=True)
    request = Request(MODEL, known.plural, "CREATE", received.object)
    obj = engine.mutate(request, loaded, MemoryView(), options).object
    assert obj is not None
    decision = engine.validate(replace(request, object=obj), loaded, MemoryView(), options)
    causes = (*received.causes, *decision.causes)
    warned = tuple(each.code for each in decision.warnings)
    return Answer(tuple(each.code or each.field for each in causes), warned, obj["spec"])


def difference_for(model: Recorded) -> Difference | None:
    """The entry of the list that is about a Model."""
    found = (each for each in differences() if each.phase == model.phase)
    return next((each for each in found if any(fnmatchcase(model.name, pattern) for pattern in each.ids)), None)


@cache
def differences() -> tuple[Difference, ...]:
    entries = yaml.safe_load(Path(__file__).with_name("differences_llmkube.yaml").read_text())
    lists = ("refused", "warned")
    return tuple(Difference(**{key: tuple(v) if key in lists else v for key, v in each.items()}) for each in entries)
