"""Kubernetes' own policies, once within the gate and once installed natively: the same verdicts, words and objects."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.client import Client, Reply, connected
from tests.e2e.gate import STAMP
from tests.e2e.kubectl import Kubectl, Object
from tests.e2e.processes import wait_until
from tests.e2e.test_export import installed

HERE = Path(__file__).with_name("policies.yaml")
NAME = "admission-policies"
TEAM = "policies-team"
OTHER = "policies-other"
RULE = {
    "apiGroups": ["", "apps"],
    "apiVersions": ["v1"],
    "operations": ["CREATE", "UPDATE", "DELETE"],
    "resources": ["configmaps", "deployments", "deployments/scale"],
}
PREFIX = re.compile(r'^admission webhook "[^"]*" denied the request: ')
OF_THE_MOMENT = ("uid", "creationTimestamp", "resourceVersion", "managedFields", "generation")


def in_cluster() -> list[Object]:
    """Namespaces, a definition, and params of three sorts."""
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "ceilings.limits.example"},
        "spec": {
            "group": "limits.example",
            "scope": "Cluster",
            "names": {"kind": "Ceiling", "plural": "ceilings", "singular": "ceiling"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": OPEN}}],
        },
    }
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": TEAM, "labels": {"tier": "gold"}}},
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": OTHER}},
        config_map("registry", OTHER, data={"prefix": "registry.example/"}),
        config_map("first", OTHER, labels={"limits": "replicas"}, data={"most": "9"}),
        config_map("second", OTHER, labels={"limits": "replicas"}, data={"most": "5"}),
        config_map("stored", OTHER, labels={"keep": "yes"}),
        deployment("stored", 1),
        crd,
    ]


OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
CEILING = {"apiVersion": "limits.example/v1", "kind": "Ceiling", "metadata": {"name": "names"}, "longest": 12}


def config_map(name: str, namespace: str = TEAM, labels: Any = None, **content: Any) -> Object:
    metadata = {"name": name, "namespace": namespace, "labels": labels or {}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **content}


def deployment(name: str, replicas: int = 1, image: str = "registry.example/a:1", namespace: str = TEAM) -> Object:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": image}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }


def model(name: str, **spec: Any) -> Object:
    return {
        "apiVersion": "inference.llmkube.dev/v1alpha1",
        "kind": "Model",
        "metadata": {"name": name, "namespace": TEAM},
        "spec": {"source": "pvc://claim/m.gguf", **spec},
    }


SCALE = {
    "apiVersion": "autoscaling/v1",
    "kind": "Scale",
    "metadata": {"name": "stored", "namespace": TEAM},
    "spec": {"replicas": 8},
}
CORE, APPS = f"/api/v1/namespaces/{TEAM}", f"/apis/apps/v1/namespaces/{TEAM}"
MODELS = f"/apis/inference.llmkube.dev/v1alpha1/namespaces/{TEAM}/models"
ELSEWHERE = f"/api/v1/namespaces/{OTHER}"
REQUESTS: dict[str, tuple[str, str, Object | None]] = {
    "an image from the registry": ("POST", f"{APPS}/deployments", deployment("web")),
    "an image from elsewhere": ("POST", f"{APPS}/deployments", deployment("web", image="elsewhere.example/a:1")),
    "a container beside those there are, and a variable in each": ("POST", f"{APPS}/deployments", deployment("meshed")),
    "a list that no configuration may touch": ("POST", f"{APPS}/deployments", deployment("tolerant")),
    "too many replicas by one of two params": ("POST", f"{APPS}/deployments", deployment("web", 7)),
    "too many replicas by a subresource": ("PUT", f"{APPS}/deployments/stored/scale", SCALE),
    "a name that is too long": ("POST", f"{CORE}/configmaps", config_map("a-name-that-is-too-long")),
    "a plain object, mutated": ("POST", f"{CORE}/configmaps", config_map("plain", data={"a": "b"})),
    "what only another user may": ("POST", f"{CORE}/configmaps", config_map("secretive", labels={"reads": "secrets"})),
    "what one may": ("POST", f"{CORE}/configmaps", config_map("allowed", labels={"reads": "pods"})),
    "an error that fails": ("POST", f"{CORE}/configmaps", config_map("wrong", labels={"probe": "fail"})),
    "an error that is ignored": ("POST", f"{CORE}/configmaps", config_map("ignored", labels={"probe": "ignore"})),
    "a mutation that cannot be made": ("POST", f"{CORE}/configmaps", config_map("broken", labels={"probe": "mutate"})),
    "copies that double an object": (
        "POST",
        f"{CORE}/configmaps",
        config_map("doubled", labels={"probe": "double"}, data={"seed": "0123456789"}),
    ),
    "a warning": ("POST", f"{CORE}/configmaps", config_map("dubious", labels={"probe": "warn"})),
    "a namespace that does not count": (
        "POST",
        f"{ELSEWHERE}/configmaps",
        config_map("a-name-that-is-too-long", OTHER),
    ),
    "a deletion that is refused": ("DELETE", f"{ELSEWHERE}/configmaps/stored", None),
    "a deletion that is not": ("DELETE", f"{ELSEWHERE}/configmaps/first", None),
    "a model, mutated before and after our defaults": ("POST", MODELS, model("m", hardware={"gpu": {"count": 1}})),
    "a model that a policy refuses": ("POST", MODELS, model("m", source="hf://org/m", files=["a.gguf", "b.gguf"])),
}
REFUSED = {
    "an image from elsewhere": (403, "take images from registry.example/, not elsewhere.example/a:1"),
    "too many replicas by one of two params": (422, "second allows 5 replicas"),
    "too many replicas by a subresource": (422, "second allows 5 replicas"),
    "a name that is too long": (422, "at most 12 characters"),
    "what only another user may": (403, "failed expression"),
    "an error that fails": (422, "no such key"),
    "a mutation that cannot be made": (403, "policy 'breaks' with binding 'breaks' denied request: "),
    "copies that double an object": (403, "the accumulated size increase of copy is"),
    "a list that no configuration may touch": (
        403,
        "may not mutate atomic arrays, maps or structs: .spec.template.spec.",
    ),
    "a deletion that is refused": (403, "this one stays"),
    "a model that a policy refuses": (422, "one file is enough"),
}


@pytest.fixture(scope="module")
def policies(plane) -> Iterator[list[Object]]:
    """The documents, and in the cluster what they look at."""
    objects = in_cluster()
    plane.kubectl.send_all("create", objects)
    wait_until(lambda: plane.kubectl.run("get", "ceilings").code == 0, "the definition to be served")
    plane.kubectl.send("create", CEILING)
    yield list(yaml.safe_load_all(HERE.read_text()))
    plane.kubectl("delete", "namespace", TEAM, OTHER, "--wait=false")
    plane.kubectl("delete", "crd", "ceilings.limits.example", "--wait=false")


@contextmanager
def within_the_gate(plane: Any, gate: Any, tmp_path: Path) -> Iterator[None]:
    """The gate with the policies and a view, called for built-in kinds, too."""
    (tmp_path / "policies.yaml").write_text(HERE.read_text())
    gate.stop()
    gate.start("--view=live", f"--view-kubeconfig={plane.kubeconfig}", f"--admission-policies={tmp_path}")
    ca = b64encode((plane.folder / "tls" / "ca.crt").read_bytes()).decode()
    configurations = [for_others(each, ca) for each in gate.by_url()]
    plane.kubectl.send_all("create", configurations)
    try:
        yield
    finally:
        for each in configurations:
            plane.kubectl("delete", each["kind"], NAME)
        gate.stop()
        gate.start()


def for_others(configuration: Object, ca: str) -> Object:
    """A configuration that calls the gate for what the chart does not name, in the namespaces of this test."""
    webhook = configuration["webhooks"][0]
    names = {"key": "kubernetes.io/metadata.name", "operator": "In", "values": [TEAM, OTHER]}
    changed = {
        "name": f"others.{webhook['name']}",
        "clientConfig": {**webhook["clientConfig"], "caBundle": ca},
        "rules": [RULE],
        "namespaceSelector": {"matchExpressions": [names]},
        "failurePolicy": "Fail",
        **{key: webhook[key] for key in ("admissionReviewVersions", "sideEffects", "timeoutSeconds")},
    }
    if "reinvocationPolicy" in webhook:
        changed["reinvocationPolicy"] = webhook["reinvocationPolicy"]
    return {**configuration, "metadata": {"name": NAME}, "webhooks": [changed]}


def in_effect(kubectl: Kubectl) -> bool:
    """Whether the mutating and the validating policies have their say on a ConfigMap."""
    team = kubectl.within(TEAM)
    created = team.run("create", "configmap", "plain", "--dry-run=server", "-o=yaml")
    refused = team.run("create", "configmap", "a-name-that-is-too-long", "--dry-run=server")
    return "team: policies-team" in created.out and "at most 12 characters" in refused.err


def answers(client: Client) -> dict[str, Reply]:
    return {name: client.ask(verb, f"{path}?dryRun=All", obj) for name, (verb, path, obj) in REQUESTS.items()}


def outcome(reply: Reply) -> Any:
    """What must be the same: the object as it would be stored, or the Status; and the warnings."""
    body = dict(reply.body)
    if reply.accepted and body.get("kind") != "Status":
        metadata = {key: value for key, value in body["metadata"].items() if key not in OF_THE_MOMENT}
        return reply.code, {**body, "metadata": metadata}, reply.warnings
    return reply.code, body | {"message": PREFIX.sub("", body.get("message", ""))}, reply.warnings


def test_the_gate_answers_with_policies_as_the_api_server_does(plane, gate, policies, tmp_path):
    with connected(plane.kubeconfig) as client:
        with within_the_gate(plane, gate, tmp_path):
            wait_until(lambda: in_effect(plane.kubectl), "the gate to be called for ConfigMaps")
            ours = answers(client)
        with installed(plane.kubectl, policies):
            wait_until(lambda: in_effect(plane.kubectl), "the policies to be in effect")
            native = answers(client)
    different = {name: (outcome(ours[name]), outcome(native[name])) for name in REQUESTS}
    assert {name: both for name, both in different.items() if both[0] != both[1]} == {}
    for name, reply in native.items():
        code, words = REFUSED.get(name, (reply.code, ""))
        assert reply.accepted is (name not in REFUSED), (name, reply)
        assert reply.code == code
        assert words in reply.body.get("message", ""), name
    assert_mutated(ours["a model, mutated before and after our defaults"].body)
    meshed = ours["a container beside those there are, and a variable in each"].body["spec"]["template"]["spec"]
    (container,), (beside,) = meshed["containers"], meshed["initContainers"]
    assert (container["image"], container["env"]) == ("registry.example/a:1", [{"name": "MESH", "value": "on"}])
    assert beside["name"] == "mesh"
    assert ours["a warning"].warnings == (
        "Validation failed for ValidatingAdmissionPolicy 'warns' with binding 'warns': mind that",
    )
    assert "Traceback" not in gate.log()


def assert_mutated(stored: Object) -> None:
    """By a policy before our defaults, which followed it, and by another one after them."""
    assert stored["spec"]["hardware"]["gpu"]["vendor"] == "amd"
    assert stored["spec"]["hardware"]["gpu"]["resourceName"] == "amd.com/gpu"
    assert stored["metadata"]["labels"] == {"team": TEAM, "gpu": "amd.com_gpu"}
    assert STAMP in stored["metadata"]["annotations"]
