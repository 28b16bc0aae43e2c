"""Runtimes chosen on a real API server among all of upstream's own: what the engine chooses without one."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass

import pytest

from tests.e2e.kubectl import Answer, Kubectl, Object
from tests.e2e.processes import wait_until
from tests.e2e.programs import modelgate
from tests.e2e.samples import by_name, outcomes, samples
from webhook import catalog
from webhook.admission import cut_end
from webhook.admission.status import SUMMARISED_LENGTH
from webhook.catalog import Catalog
from webhook.cluster import MemoryView
from webhook.library.review import ReviewedManifest
from webhook.manifests.documents import Document

pytestmark = pytest.mark.usefixtures("seeing")

NAMESPACE = "selection"
MODELS = ("BaseModel", "ClusterBaseModel")
RUNTIMES = ("ServingRuntime", "ClusterServingRuntime")
KINDS = "basemodels,clusterbasemodels,servingruntimes,clusterservingruntimes"

# Upstream's manifests that no cluster takes, with the reason: fragments of documentation, and fields of other releases.
REFUSED = {
    ("BaseModel", "custom-model"): ["spec.storage"],
    ("BaseModel", "private-model"): ["spec.storage.storageKey"],
    ("ClusterServingRuntime", "srt-deepseek-rdma-pd"): [
        "spec.supportedModelFormats[0].modelFormat.operator",
        "spec.supportedModelFormats[0].modelFramework.operator",
    ],
    ("ClusterServingRuntime", "srt-mistral-7b-instruct-2"): ["spec.engineConfig.runner.name"],
    **{
        ("ServingRuntime", f"sglang-{name}"): [
            "spec.supportedModelFormats[0].modelFormat",
            "spec.supportedModelFormats[0].modelFramework",
            *fields,
        ]
        for name, fields in {
            "cost-optimized": ["spec.acceleratorConfigurations", "spec.acceleratorRequirements"],
            "gpu-optimized": ["spec.acceleratorRequirements"],
            "performance-optimized": ["spec.acceleratorConfigurations"],
        }.items()
    },
}

# Read by hand from the manifests and from OME's rules: model → runtime, and what decides.
CHOSEN = {
    "qwen1-5-110b-chat": "srt-qwen1-5-110b-chat",  # two with this architecture and version: the size, 110B
    "qwen1-5-32b-chat": "srt-qwen1-5-32b-chat",  # the same two, 32B
    "qwen1-5-72b-chat": "srt-qwen1-5-72b-chat",  # another version of the framework, 4.37.0
    "falcon3-10b-instruct": "srt-falcon3-10b-instruct",  # 10B is the lower end of its range
    "llama-3-1-nemotron-nano-8b-v1": "vllm-llama-3-1-nemotron-nano-8b-v1",  # srt-… says autoSelect: false; 1 is 1.0.0
    "llama-3-3-70b-instruct-ft": "srt-deepseek-r1-distill-llama-70b",  # 65B to 75B is narrower than 60B to 75B
    "llama-4-maverick-17b-128e-instruct": "srt-llama-4-maverick-17b-128e-instruct-fp8",  # vllm-… wants fp8 of the model
    "qwen2-5-72b-instruct": "srt-qwen2-5-72b-instruct",  # a range that fits goes before none (upstream: the reverse)
    "qwen2-5-32b-instruct": "srt-deepseek-r1-distill-qwen-14b",  # of its version, the one without a range
    "qwen3-32b": "srt-qwen3-32b",  # 30B to 34B; those for 4B and 8B say autoSelect: false, too
}

# Likewise: no runtime is stored, because a field of the model decides that OME's agent has yet to write.
WAITING = {"gpt-oss-20b": "modelParameterSize"}

# Likewise: no runtime may be chosen, and what is said of one that comes close.
UNSERVED = {
    "llama-3-1-70b-instruct-ft": "srt-llama-3-1-70b-instruct (runtime does not have auto-select enabled)",
    "llama-4-scout-17b-16e-instruct": (
        "srt-llama-4-maverick-17b-128e-instruct (model size 109B is outside supported range [400B, 402B])"
    ),
    "qwen2-7b-instruct": "framework version mismatch (model=4.41.2, runtime=4.43.1)",
    "xgen-7b-8k-inst": "format name mismatch (model=pytorch, runtime=safetensors)",
    "deepseek-r1": "modelFormat.name: model format name is required",
}


@dataclass(frozen=True)
class Cluster:
    """Models and runtimes in a cluster, and the same objects as the engine has normalised them."""

    kubectl: Kubectl
    known: Catalog
    judged: dict[tuple[str, str], ReviewedManifest]
    view: MemoryView

    @property
    def models(self) -> list[str]:
        return sorted(name for (kind, name), each in self.judged.items() if kind in MODELS and each.validation.allowed)

    def outcome(self, service: Object) -> ReviewedManifest:
        """What the engine makes of a service, without the cluster."""
        (found,) = outcomes([Document("", 1, service)], self.known, self.view)
        return found


def create(kubectl: Kubectl, objects: Iterable[Object]) -> Answer:
    return kubectl.run("create", "-f", "-", stdin="\n---\n".join(map(json.dumps, objects)))


def service(name: str, model: str, namespace: str = NAMESPACE) -> Object:
    return ome("InferenceService", {"model": {"name": model}, "engine": {}}, name=name, namespace=namespace)


def ome(kind: str, spec: Object, **metadata: str) -> Object:
    return {"apiVersion": "ome.io/v1beta1", "kind": kind, "metadata": metadata, "spec": spec}


def stored(kubectl: Kubectl, resources: str) -> dict[tuple[str, str, str], Object]:
    """Kind, namespace and name → object."""
    items = kubectl.json("get", resources, "--all-namespaces")["items"]
    return {(each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"]): each for each in items}


@pytest.fixture(scope="module")
def cluster(plane, seeing):  # noqa: ARG001  (behind the gate that sees)
    kubectl = plane.kubectl.within(NAMESPACE)
    plane.kubectl("create", "namespace", NAMESPACE)
    found = by_name(samples([*MODELS, *RUNTIMES], NAMESPACE))
    known = catalog.load()
    judged = dict(zip(found, outcomes(found.values(), known, MemoryView()), strict=True))
    create(kubectl, [each.value for each in found.values()])
    accepted = [each.mutation.object for each in judged.values() if each.validation.allowed]
    runtimes = sum(each["kind"] in RUNTIMES for each in accepted)
    served_by_none = {"modelFormat": {"name": "probe"}, "storage": {"storageUri": "hf://org/model"}}
    kubectl.send("create", ome("BaseModel", served_by_none, name="probe"))
    probe = service("probe", "probe")
    wait_until(
        lambda: f" among {runtimes}: " in kubectl.refusal("create", probe, "--dry-run=server"),
        "the gate to know all runtimes",
    )
    kubectl("delete", "basemodel", "probe")
    yield Cluster(kubectl, known, judged, MemoryView(accepted))
    for each in ("clusterbasemodels", "clusterservingruntimes"):  # all at once, where kubectl deletes one by one
        plane.kubectl("delete", "--raw", f"/apis/ome.io/v1beta1/{each}")
    plane.kubectl("delete", "namespace", NAMESPACE, "--wait=false")


@pytest.fixture(scope="module")
def served(cluster):
    """A service for each model, created at once: what kubectl printed, and what is stored."""
    answer = create(cluster.kubectl, [service(model, model) for model in cluster.models])
    found = stored(cluster.kubectl, "inferenceservices.ome.io")
    return answer, {name: each for (_, namespace, name), each in found.items() if namespace == NAMESPACE}


def test_upstreams_models_and_runtimes_are_stored_as_the_engine_normalises_them(cluster):
    refused = {key: each.validation.causes for key, each in cluster.judged.items() if not each.validation.allowed}
    assert {key: [cause.field for cause in causes] for key, causes in refused.items()} == REFUSED
    there = {(kind, name): each["spec"] for (kind, _, name), each in stored(cluster.kubectl, KINDS).items()}
    assert there == {key: each.mutation.object["spec"] for key, each in cluster.judged.items() if key not in REFUSED}


def test_every_model_gets_the_runtime_that_the_engine_chooses_or_the_reasons_why_there_is_none(cluster, served):
    answer, services = served
    expected = {model: cluster.outcome(service(model, model)) for model in cluster.models}
    accepted = {model: each.mutation.object for model, each in expected.items() if each.validation.allowed}
    assert {name: each["spec"] for name, each in services.items()} == {
        name: each["spec"] for name, each in accepted.items()
    }
    for model, each in expected.items():
        for cause in each.validation.causes:
            text = cut_end(str(cause), SUMMARISED_LENGTH)
            assert f'InferenceService.ome.io "{model}" is invalid: {text}\n' in answer.err
    assert len(accepted) >= 20


@pytest.mark.parametrize(("model", "runtime"), CHOSEN.items())
def test_the_runtime_is_the_one_that_omes_rules_give(served, model, runtime):
    assert served[1][model]["spec"]["runtime"] == {
        "name": runtime,
        "kind": "ClusterServingRuntime",
        "apiGroup": "ome.io",
    }


@pytest.mark.parametrize(("model", "field"), WAITING.items())
def test_no_runtime_is_stored_while_the_model_lacks_what_decides(served, model, field):
    answer, services = served
    assert "runtime" not in services[model]["spec"]
    assert f"no runtime is stored yet: {field} of the model is not set" in answer.err


@pytest.mark.parametrize(("model", "reason"), UNSERVED.items())
def test_a_model_that_no_runtime_serves_is_refused_with_the_reasons(served, model, reason):
    answer, services = served
    assert model not in services
    (refusal,) = re.findall(rf'InferenceService.ome.io "{model}" is invalid: (.*)', answer.err)
    assert "(OM405)" in refusal
    assert reason in refusal or f"no runtime found to support model {model}" in refusal  # which names the nearest one


def test_a_runtime_of_the_namespace_goes_before_those_of_the_cluster(plane, kubectl, cluster):
    """Whatever its priority, and in its namespace only."""
    theirs = cluster.judged["ClusterServingRuntime", "srt-qwen3-32b"].mutation.object
    own = {**theirs, "kind": "ServingRuntime", "metadata": {"name": "own"}}
    kubectl.send("create", own)

    def chosen(kubectl):
        sent = service("any", "qwen3-32b", kubectl.flags[-1])
        return kubectl.send("create", sent, "--dry-run=server")["spec"]["runtime"]

    wait_until(lambda: chosen(kubectl)["name"] == "own", "the gate to know the runtime")
    assert chosen(kubectl)["kind"] == "ServingRuntime"
    assert chosen(plane.kubectl.within("default"))["name"] == "srt-qwen3-32b"


OWN = {"runner": {"name": "ome-container", "image": "example.com/server:1"}}
WAYS = {
    "apply": ("apply", "-f", "-"),
    "server-side": ("apply", "--server-side", "-f", "-"),
    "replace": ("replace", "-f", "-"),
    "patch": ("patch", "inferenceservice.ome.io", "--type=merge", "-p"),
}


def sent(kubectl: Kubectl, way: str, name: str, spec: Object, *, new: bool = False) -> Answer:
    """Create a service, or change it."""
    command = ("create", "-f", "-") if new and way in {"replace", "patch"} else WAYS[way]
    if command[0] == "patch":
        return kubectl.run(*command, json.dumps({"spec": {"model": None, **spec}}), name)
    return kubectl.run(*command, stdin=json.dumps(ome("InferenceService", spec, name=name)))


@pytest.mark.parametrize("way", WAYS)
def test_the_selected_runtime_follows_its_cause(cluster, way):
    kubectl, name, engine = cluster.kubectl, f"flow-{way}", {"minReplicas": 1}

    def runtime():
        return kubectl.json("get", "inferenceservice.ome.io", name)["spec"].get("runtime", {}).get("name")

    assert sent(kubectl, way, name, {"model": {"name": "qwen3-32b"}, "engine": engine}, new=True).code == 0
    assert runtime() == "srt-qwen3-32b"
    refused = sent(kubectl, way, name, {"model": {"name": "qwen2-7b-instruct"}, "engine": engine})
    assert refused.code
    assert "no runtime found to support model qwen2-7b-instruct" in refused.err
    assert not re.search(r"spec\.runtime(\.\w+)?: ", refused.err)
    assert sent(kubectl, way, name, {"model": {"name": "falcon3-10b-instruct"}, "engine": engine}).code == 0
    assert runtime() == "srt-falcon3-10b-instruct"
    assert sent(kubectl, way, name, {"model": {"name": "falcon3-10b-instruct"}, "engine": engine | OWN}).code == 0
    assert runtime() is None
    without = engine | ({"runner": None} if way == "patch" else {})
    assert sent(kubectl, way, name, {"model": {"name": "qwen3-32b"}, "engine": without}).code == 0
    assert runtime() == "srt-qwen3-32b"
    assert sent(kubectl, way, name, {"engine": engine | OWN}).code == 0
    assert runtime() is None


def test_a_label_that_moves_a_service_to_another_runtime_says_so(kubectl, cluster):  # noqa: ARG001  (behind the gate)
    model = {
        "modelFormat": {"name": "flow", "version": "1"},
        "modelFramework": {"name": "transformers", "version": "1"},
    }
    runner = {"name": "ome-container", "image": "example.com/server:1"}
    for name in ("a", "b"):
        kubectl.send(
            "create",
            ome(
                "ServingRuntime",
                {"supportedModelFormats": [{**model, "autoSelect": True}], "engineConfig": {"runner": runner}},
                name=name,
            ),
        )
    stored_at = {"storage": {"storageUri": "hf://org/model"}, "modelParameterSize": "1B"}
    kubectl.send("create", ome("BaseModel", model | stored_at, name="m"))
    service_of = ome("InferenceService", {"model": {"name": "m"}, "engine": {}}, name="s")
    wait_until(lambda: kubectl.run("create", "-f", "-", stdin=json.dumps(service_of)).code == 0, "the gate to know all")
    assert kubectl.json("get", "inferenceservice.ome.io", "s")["spec"]["runtime"]["name"] == "a"
    kubectl("delete", "servingruntime", "a")
    label = ("label", "inferenceservice.ome.io", "s", "--overwrite", "stage=test")
    wait_until(
        lambda: "runtime a is gone: b is used" in kubectl.run(*label, "--dry-run=server").err, "the gate to know"
    )
    assert "Warning: spec.model.name: runtime a is gone: b is used (OM431)" in kubectl.run(*label).err
    assert kubectl.json("get", "inferenceservice.ome.io", "s")["spec"]["runtime"]["name"] == "b"


def test_upstreams_services_get_the_verdict_that_modelgate_check_gives_them(kubectl, cluster, tmp_path):
    services = unique(samples(["InferenceService"], kubectl.flags[-1]))
    (tmp_path / "cluster.json").write_text(cluster.kubectl("get", KINDS, "--all-namespaces", "-o=json"))
    (tmp_path / "services.json").write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": services}))
    command = modelgate("check", str(tmp_path / "services.json"), f"--view={tmp_path / 'cluster.json'}")
    printed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    verdicts = dict(re.findall(r"InferenceService \S+/(\S+): (accepted|REFUSED)$", printed, re.MULTILINE))
    assert len(verdicts) == len(services)
    create(kubectl, services)
    there = {each["metadata"]["name"] for each in kubectl.json("get", "inferenceservices.ome.io")["items"]}
    assert there == {name for name, verdict in verdicts.items() if verdict == "accepted"}
    assert 30 <= len(there) < len(services)


def unique(found: Iterable[Document]) -> list[Object]:
    """Services of which no two have the same name; one sample has none at all, and kubectl sends none such."""
    services: dict[str, Object] = {}
    for document in found:
        metadata = document.value["metadata"]
        if name := metadata.get("name"):
            while name in services:
                name += "-again"
            services[name] = {**document.value, "metadata": {**metadata, "name": name}}
    return list(services.values())
