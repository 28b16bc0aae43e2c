"""What LLMKube's own operator did with InferenceServices, recorded under several releases, and what their rules say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.conformance.upstream_llmkube import MODEL, RELEASES, under
from tests.shared import shared
from webhook import engine
from webhook.admission import GroupVersionKind, Request
from webhook.cluster import MemoryView
from webhook.engine import Options
from webhook.library.apiserver import receive
from webhook.policy import Profile

__all__ = ["SERVICE", "Service", "Verdict", "exceptions", "of_sample", "recorded", "verdict"]

SERVICE = GroupVersionKind("inference.llmkube.dev", "v1alpha1", "InferenceService")

LIMITED = "release-v0.9.5"
"""The operator came to few objects when this was recorded: only the verdicts of the API server are complete."""


@dataclass(frozen=True)
class Service:
    """One InferenceService, with the objects beside it.

    ``refused_by`` is what refused it: schema, webhook, or "". ``failed``: the operator could not make of it what was
    asked for; None where it did not come to it.
    """

    id: str
    object: dict[str, Any]
    refused_by: str
    failed: bool | None
    others: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Verdict:
    """What Modelgate says under a release: the codes, or the fields of causes of the schema."""

    refused: tuple[str, ...]
    warned: tuple[str, ...]


def recorded(release: str, file: Path | None = None) -> Iterator[Service]:
    """The services of a file of this format; by default, of that of the release."""
    path = file or shared("corpora-upstream", "llmkube", f"{RELEASES[release]}.json")
    read = json.loads(path.read_text())
    for case in read if isinstance(read, list) else read["cases"]:
        if case["kind"] == "InferenceService":
            yield _service(case, reached=path.stem != LIMITED)


def of_sample(sample: dict[str, Any]) -> Service:
    """One of upstream's manifests, alone."""
    obj = {**sample["object"], "metadata": {"namespace": "t", **sample["object"]["metadata"]}}
    return Service(f"{sample['file']}:{sample['line']}", obj, "" if sample["server"]["allowed"] else "schema", None)


def _service(case: dict[str, Any], *, reached: bool) -> Service:
    head = {"apiVersion": f"{SERVICE.group}/{SERVICE.version}", "namespace": "t"}
    name = case.get("name", "s")
    obj = case.get("object") or {"metadata": {"name": name}, "spec": case["spec"]}
    obj = {**obj, "apiVersion": head["apiVersion"], "kind": SERVICE.kind}
    obj["metadata"] = {"name": name, **obj.get("metadata", {}), "namespace": "t"}
    others = list(_models(case, obj))
    given = case["verdict"]
    failed = _failed(case.get("operator") or case) if given["allowed"] and reached else None
    refused_by = "" if given["allowed"] else given.get("by", "schema")
    return Service(case["id"], obj, refused_by, failed, others)


def _models(case: dict[str, Any], obj: dict[str, Any]) -> Iterator[dict[str, Any]]:
    model = case.get("model")
    if model:
        spec = case.get("modelStored") or model.get("spec", model)
        name = model.get("metadata", {}).get("name") or obj["spec"].get("modelRef", "m")
        metadata = {"name": name, "namespace": "t"}
        status = {"phase": (case.get("modelStatus") or {}).get("phase")}
        yield {
            "apiVersion": f"{MODEL.group}/{MODEL.version}",
            "kind": MODEL.kind,
            "metadata": metadata,
            "spec": spec,
            "status": {key: value for key, value in status.items() if value},
        }


def _failed(operator: dict[str, Any]) -> bool:
    """Whether the operator failed at once: in the status, or without ever writing one."""
    return operator.get("phase") in (None, "Failed") or bool(operator.get("reconcileErrors"))


def verdict(service: Service, release: str, profile: Profile = Profile.STANDARD) -> Verdict:
    """What a gate of this profile says, as the API server asks it, with the other objects in its view."""
    loaded, view = under(release), MemoryView(service.others)
    known, options = loaded.kinds[SERVICE], Options(profile, strict_fields=True, complete=False)
    received = receive(service.object, known, None, assigned=True)
    request = Request(SERVICE, known.plural, "CREATE", received.object)
    obj = engine.mutate(request, loaded, view, options).object
    assert obj is not None
    decision = engine.validate(replace(request, object=obj), loaded, view, options)
    causes = (*received.causes, *decision.causes)
    warned = tuple(each.code or each.field for each in decision.warnings)
    return Verdict(tuple(each.code or each.field for each in causes), warned)


@cache
def exceptions() -> dict[str, str]:
    """The cases of which Modelgate says something else, with the reason."""
    found: dict[str, str] = yaml.safe_load(Path(__file__).with_name("differences_llmkube_services.yaml").read_text())
    return found
