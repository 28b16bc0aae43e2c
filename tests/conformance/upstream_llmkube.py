"""What LLMKube's own API server and operator did with Models and InferenceServices, recorded under several releases.

One reader for every file of this format (corpora-upstream/llmkube, and ``recorded/``): those of releases, which name
theirs, and a list of cases, which is of the newest (head).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from webhook import catalog, engine
from webhook.admission import GroupVersionKind, Request
from webhook.catalog import Catalog, chosen
from webhook.cluster import MemoryView
from webhook.engine import Options
from webhook.library.apiserver import receive
from webhook.policy import Profile

__all__ = [
    "FAMILY",
    "OLDEST",
    "RELEASES",
    "Answer",
    "Recorded",
    "answer",
    "is_llmkube",
    "llmkube_cases",
    "recorded",
    "whole",
]

Case = dict[str, Any]

GROUP = "inference.llmkube.dev"
FAMILY = "llmkube/"
RELEASES = {"0.9.5": "release-v0.9.5", "0.9.7": "release-v0.9.7", "0.9.12": "release-v0.9.12", "head": "head"}
"""Release → the file of what was recorded, of the shared material."""

OLDEST = "0.8.18"
"""The release of ``recorded/llmkube-0.8.18.json.gz``, which tests.e2e.record_llmkube has written."""

LIMITED = "0.9.5"
"""Its controller was held up: an object without a phase, or Pending, says nothing of this operator."""

NOT_REACHED = (None, "Pending")


@dataclass(frozen=True)
class Recorded:
    """One object, and what the API server and the operator did.

    ``object`` is as it was sent, and ``others`` are the objects beside it. ``refused_by`` is what refused it (schema,
    webhook, decoding) or "". ``stored`` is the stored specification, None where it was not recorded. ``failed``: the
    operator could not make of it what was asked for; None where that was not seen. ``limits`` and ``tolerations`` are
    the resources and the keys of the pods of a Model with whole GPUs, None without a Deployment.
    """

    release: str
    object: dict[str, Any]
    refused_by: str = ""
    others: tuple[dict[str, Any], ...] = ()
    stored: dict[str, Any] | None = None
    phase: str | None = None
    failed: bool | None = None
    limits: frozenset[str] | None = None
    tolerations: frozenset[str] = frozenset()

    @property
    def kind(self) -> str:
        return str(self.object["kind"])


@dataclass(frozen=True)
class Answer:
    """What Modelgate says: codes, or fields of causes of the schema; and the specification that it stores."""

    refused: tuple[str, ...]
    warned: tuple[str, ...]
    messages: tuple[str, ...]
    spec: dict[str, Any]


def is_llmkube(document: Any) -> bool:
    """Whether a document is of this format."""
    if isinstance(document, Mapping):
        return "release" in document and "cases" in document
    return isinstance(document, list) and bool(document) and {"id", "kind", "verdict"} <= document[0].keys()


def llmkube_cases(document: Any) -> Iterator[Case]:
    """A case of the runner for each object that was recorded: the Model beside a service has one of its own."""
    release = "head" if isinstance(document, list) else str(document["release"]).removeprefix("v")
    for case in document if isinstance(document, list) else document["cases"]:
        if case["kind"] == "Model" or case.get("model"):
            model = _model(case, release) if case["kind"] == "Model" else _model_beside(case, release)
            yield {"id": case["id"], "op": f"{FAMILY}Model", "recorded": model}
        if case["kind"] == "InferenceService":
            yield {"id": case["id"], "op": f"{FAMILY}InferenceService", "recorded": _service(case, release)}


def recorded(cases: list[Case], kind: str) -> dict[str, Recorded]:
    """The objects of a kind among the cases of a file, by the name of the case."""
    return {case["id"]: case["recorded"] for case in cases if case["recorded"].kind == kind}


def whole(kind: str, spec: Any, metadata: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A specification as a whole object in the namespace t."""
    named = {"name": "s" if kind == "InferenceService" else "m", **(metadata or {}), "namespace": "t"}
    return {"apiVersion": f"{GROUP}/v1alpha1", "kind": kind, "metadata": named, "spec": spec}


def _model(case: Case, release: str) -> Recorded:
    phase = (case.get("operator") or case).get("phase")
    refused_by, reached = _refused_by(case["verdict"]), phase not in NOT_REACHED
    failed = phase == "Failed" if reached and not refused_by else None
    return Recorded(release, _sent(case), refused_by=refused_by, stored=case.get("stored"), phase=phase, failed=failed)


def _model_beside(case: Case, release: str) -> Recorded:
    """The Model of a service: what became of it was not recorded but in the pods of the service."""
    model = case["model"]
    spec = _sent(case)["spec"]
    obj = whole("Model", model.get("spec", model), model.get("metadata"))
    refused_by = _refused_by(case.get("modelVerdict") or {"allowed": True})
    deployment = (case.get("operator") or case).get("deployment")
    if deployment is None or "gpuSharing" in spec.get("resources", {}):
        return Recorded(release, obj, refused_by=refused_by, stored=case.get("modelStored"))
    limits = frozenset((deployment.get("resources") or {}).get("limits") or {})
    keys = frozenset(toleration.get("key", "") for toleration in deployment.get("tolerations") or ())
    return Recorded(
        release, obj, refused_by=refused_by, stored=case.get("modelStored"), limits=limits, tolerations=keys
    )


def _service(case: Case, release: str) -> Recorded:
    obj, refused_by = _sent(case), _refused_by(case["verdict"])
    operator = case.get("operator") or case
    phase = operator.get("phase")
    seen = not refused_by and not (release == LIMITED and phase in NOT_REACHED) and not _is_privileged(obj)
    failed = phase in (None, "Failed") or bool(operator.get("reconcileErrors")) if seen else None
    return Recorded(release, obj, refused_by, tuple(_others(case, obj)), phase=phase, failed=failed)


def _sent(case: Case) -> dict[str, Any]:
    obj = case.get("object") or {"metadata": {"name": case["name"]} if "name" in case else {}, "spec": case["spec"]}
    return whole(case["kind"], obj.get("spec"), obj.get("metadata"))


def _is_privileged(service: dict[str, Any]) -> bool:
    """Whether a flag of the API server that recorded decided, which says nothing about real clusters."""
    spec = service["spec"]
    return isinstance(spec, dict) and (spec.get("securityContext") or {}).get("privileged") is True


def _refused_by(verdict: Case) -> str:
    return "" if verdict["allowed"] else str(verdict.get("by", "schema"))


def _others(case: Case, service: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The Model beside a service, as it is stored, unless it was refused."""
    model = case.get("model")
    if model and not _refused_by(case.get("modelVerdict") or {"allowed": True}):
        spec = case.get("modelStored") or model.get("spec", model)
        name = (model.get("metadata") or {}).get("name") or service["spec"].get("modelRef", "m")
        phase = (case.get("modelStatus") or {}).get("phase")
        yield {**whole("Model", spec, {"name": name}), "status": {"phase": phase} if phase else {}}


@cache
def _under(release: str) -> Catalog:
    loaded = catalog.load()
    return loaded.under(chosen(loaded.packs, [("llmkube", release)]))


def answer(case: Recorded, profile: Profile = Profile.STANDARD) -> Answer:
    """What a gate of this profile says, as the API server asks it, with the other objects in its view."""
    loaded, view = _under(case.release), MemoryView(list(case.others))
    gvk = GroupVersionKind(GROUP, "v1alpha1", case.kind)
    known, options = loaded.kinds[gvk], Options(profile, strict_fields=True, complete=False)
    received = receive(case.object, known, None, assigned=True)
    request = Request(gvk, known.plural, "CREATE", received.object)
    obj = engine.mutate(request, loaded, view, options).object
    assert obj is not None
    decision = engine.validate(replace(request, object=obj), loaded, view, options)
    refused = tuple(cause.code or cause.field for cause in (*received.causes, *decision.causes))
    warned = tuple(warning.code or warning.field for warning in decision.warnings)
    return Answer(refused, warned, tuple(warning.message for warning in decision.warnings), obj["spec"])
