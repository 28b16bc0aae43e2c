"""What the gate says of pods is what the API server says of the Deployment or Job that an operator makes of them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
import yaml

from tests.e2e.kubectl import Kubectl, Object
from tests.e2e.samples import by_name, samples
from tests.engine.test_whole_pods import RUNTIME, TRAPS
from webhook import catalog, engine
from webhook.admission import Decision, GroupVersionKind, Request
from webhook.children import child_errors
from webhook.cluster import MemoryView
from webhook.engine import Options
from webhook.ground.budget import Budget
from webhook.policy import Profile

OTHERS = ("BaseModel", "ClusterBaseModel", "ServingRuntime", "ClusterServingRuntime")
AUDIT = Options(profile=Profile.AUDIT)

PARTS = {
    "engine: {hostname: My_Host, tolerations: [{key: a, operator: Is}]}": 'Unsupported value: "Is"',
    "engine: {runner: {name: c, image: x, imagePullPolicy: Sometimes, ports: [{containerPort: 70000}]}}": (
        "Invalid value: 70000"
    ),
    "engine: {runner: {name: c, image: x, resources: {limits: {nvidia.com/gpu: 0.5}}}}": "must be an integer",
}


def refusals(kubectl: Kubectl, objects: Iterable[Object]) -> str:
    """What the API server says of objects; it stores none."""
    flags = ("--dry-run=server", "--validate=false", "-f", "-")
    return kubectl.run("create", *flags, stdin="\n---\n".join(map(json.dumps, objects))).err


def service(spec: dict[str, Any]) -> Object:
    named = {"name": "r", "kind": "ClusterServingRuntime", "apiGroup": "ome.io"}
    whole = {"model": {"name": "m", "kind": "ClusterBaseModel", "apiGroup": "ome.io"}, "runtime": named, **spec}
    metadata = {"name": "s", "namespace": "default"}
    return {"apiVersion": "ome.io/v1beta1", "kind": "InferenceService", "metadata": metadata, "spec": whole}


def judged(obj: Object, view: MemoryView) -> Decision:
    group, _, version = obj["apiVersion"].rpartition("/")
    request = Request(GroupVersionKind(group, version, obj["kind"]), "", "CREATE", obj)
    return engine.validate(request, catalog.load(), view, AUDIT)


def workloads(obj: Object, view: MemoryView) -> list[Object]:
    """The Deployments and Jobs that OME makes; of a set of several nodes, a Deployment of each of its pods."""
    group, _, version = obj["apiVersion"].rpartition("/")
    request = Request(GroupVersionKind(group, version, obj["kind"]), "", "CREATE", obj)
    made = [child.object for child in engine.described(request, catalog.load(), view, AUDIT)]
    found = [each for each in made if each["kind"] in {"Deployment", "Job"}]
    for each in made:
        if each["kind"] == "LeaderWorkerSet":
            parts = each["spec"]["leaderWorkerTemplate"]
            found += [_deployment(parts[f"{part}Template"]["spec"]) for part in ("leader", "worker")]
    return found


def _deployment(pod: Object) -> Object:
    template = {"metadata": {"labels": {"app": "d"}}, "spec": pod}
    spec = {"selector": {"matchLabels": {"app": "d"}}, "template": template}
    metadata = {"name": "d", "namespace": "default"}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


@pytest.mark.parametrize("name", TRAPS)
def test_a_merged_pod_is_accepted_under_audit_and_then_fails_with_the_words_of_the_gate(name, plane):
    component, _, text, _ = TRAPS[name]
    obj, view = service({"engine": yaml.safe_load(component)}), MemoryView([RUNTIME])
    decision = judged(obj, view)
    assert decision.allowed
    assert any(each.message.startswith(text) for each in decision.warnings)
    assert text in refusals(plane.kubectl, workloads(obj, view))


@pytest.mark.parametrize("spec", PARTS)
def test_a_part_is_accepted_under_audit_and_then_fails_with_the_words_of_the_gate(spec, plane):
    obj, view = service(yaml.safe_load(spec)), MemoryView([RUNTIME])
    decision = judged(obj, view)
    assert decision.allowed
    assert any(PARTS[spec] in f"{each.field}: {each.message}" for each in decision.warnings)
    said = refusals(plane.kubectl, workloads(obj, view))
    assert PARTS[spec] in said
    bodies = [error.body() for each in workloads(obj, view) for error in child_errors(each, Budget())]
    assert bodies
    assert all(body in said for body in bodies)


def test_of_upstreams_manifests_the_gate_says_what_the_api_server_says_and_no_more(plane):
    others = [each.value for each in by_name(samples(OTHERS, "default")).values()]
    view, made, expected = MemoryView(others), [], {}
    for document in samples(["InferenceService", "BenchmarkJob"], "default"):
        obj = document.value
        for workload in workloads(obj, view) if obj["metadata"].get("name") else ():
            name = f"d{len(made)}"
            made.append({**workload, "metadata": {"name": name, "namespace": "default"}})
            expected[name] = [error.body() for error in child_errors(made[-1], Budget())]
    assert len(made) >= 30
    found = refusals(plane.kubectl, made)
    for name, texts in expected.items():
        refused = [each for each in found.split("The ") if f'"{name}" is invalid' in each]
        assert bool(refused) == bool(texts), (name, refused, texts)
        assert all(text in refused[0] for text in texts)
