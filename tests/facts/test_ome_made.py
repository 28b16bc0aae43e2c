"""What OME makes of a service, of a runtime and of a benchmark: facts that descriptions of children copy."""

import json
from functools import cache
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.shared import shared
from webhook.cluster import MemoryView
from webhook.facts.nodes import Referent
from webhook.facts.ome.benchmark import job
from webhook.facts.ome.components import pods_of_runtime
from webhook.facts.ome.facts import FACTS
from webhook.facts.ome.wiring import expanded, ready_label, shortened
from webhook.facts.settings import DEFAULT_SETTINGS, Behaviour, Settings
from webhook.library.apiserver import completed, receive

Json = dict[str, Any]

MADE = FACTS["InferenceService"]["made"]
UPSTREAM = Settings(ome=Behaviour.UPSTREAM_HEAD)
RUNTIME = yaml.safe_load("""
apiVersion: ome.io/v1beta1
kind: ClusterServingRuntime
metadata: {name: r}
spec:
  engineConfig:
    annotations: {prometheus.io/scrape: "true"}
    volumes: [{name: cache, emptyDir: {}}]
    containers: [{name: ome-container, image: base, args: [a]}]
    runner: {name: ome-container, image: x, args: [b], resources: {limits: {nvidia.com/gpu: 2}}}
  routerConfig: {runner: {name: router, image: r}, config: {B: "2"}}
""")
MODEL = yaml.safe_load("""
apiVersion: ome.io/v1beta1
kind: ClusterBaseModel
metadata: {name: m}
spec: {vendor: meta, modelFormat: {name: safetensors}, storage: {storageUri: "hf://a/b", path: /m}}
""")


def service(spec: str, **metadata: Any) -> Json:
    given = {"model": {"name": "m"}, "runtime": {"name": "r"}, **yaml.safe_load(spec)}
    return {"metadata": {"name": "s", "namespace": "n", **metadata}, "spec": given}


def made(obj: Json, *others: Json, settings: Settings = DEFAULT_SETTINGS) -> Json:
    result: Json = MADE.value(obj, MemoryView(others), settings)
    return result


def component(obj: Json, *others: Json) -> Json:
    first: Json = made(obj, *(others or (MODEL, RUNTIME)))["components"][0]
    return first


@cache
def head() -> list[Json]:
    written = json.loads(shared("corpora-upstream", "ome.json").read_text())
    return [written["objects"][name] for name in written["groups"]["@head"]]


def around(row: Json) -> MemoryView:
    given = {(each["kind"], each["metadata"]["name"]) for each in row["objects"]}
    others = [each for each in head() if (each["kind"], each["metadata"]["name"]) not in given]
    return MemoryView([*row["objects"], *others])


def template(row: Json, name: str) -> Json | None:
    """The pod templates of a workload that OME made or that was refused, by the names of the fact."""
    tried = [*row["children"], *(each["object"] for each in row.get("refused") or ())]
    workload = next((each for each in tried if each["metadata"]["name"] == name and "spec" in each), None)
    if workload is None or workload["kind"] == "Deployment":
        return workload and {"pod": workload["spec"]["template"]["spec"]}
    parts = workload["spec"]["leaderWorkerTemplate"]
    return {"pod": parts["leaderTemplate"]["spec"], "worker": parts["workerTemplate"]["spec"]}


def stored(pod: Json) -> Json:
    """A pod of a Deployment, with what the API server fills in."""
    labels = {"a": "b"}
    spec = {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}}
    whole = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x", "namespace": "n"}, "spec": spec}
    result: Json = completed(receive(whole, None).object)["spec"]["template"]["spec"]
    return result


def test_pods_and_texts_are_those_that_ome_made():
    rows, compared = json.loads(shared("corpora-upstream", "children", "ome.json").read_text())["cases"], 0
    for row in rows:
        facts = MADE.value(row["objects"][-1], around(row), UPSTREAM)
        for config in (each for each in row["children"] if each["kind"] == "ConfigMap"):
            assert config["data"]["models.json"] == facts["config"], row["id"]
        for each in facts["components"]:
            recorded = template(row, each["lws"] if each["mode"] == "MultiNode" else each["name"])
            for part, pod in (recorded or {}).items():
                assert stored(each[part]) == stored(pod), (row["id"], each["name"], part)
                compared += 1
    assert compared > 90


def test_the_service_wins_and_the_runner_joins_the_container_of_its_name():
    found = component(service("engine: {runner: {args: [c], env: [{name: E, value: e}]}}"))
    (container,) = found["pod"]["containers"]
    assert (container["image"], container["args"]) == ("x", ["a", "c"])
    told = [("E", "e"), ("MODEL_PATH", "/m"), ("PARALLELISM_SIZE", "2")]
    assert [(each["name"], each["value"]) for each in container["env"]] == told
    assert found["pod"]["volumes"][-1] == {"name": "m", "hostPath": {"path": "/m"}}
    assert found["pod"]["nodeSelector"] == {"models.ome.io/clusterbasemodel.m": "Ready"}
    assert found["merged"]["pod"]["alone"]["containers"][0]["args"] == ["a", "b"]


def test_the_annotations_of_pods_are_not_those_of_services():
    last = "kubectl.kubernetes.io/last-applied-configuration"
    found = component(service("engine: {annotations: {a: b}}", annotations={"c": "d", last: "{}"}))
    assert found["annotations"] == {"a": "b", "c": "d", "prometheus.io/scrape": "true"}
    assert found["forService"] == {"a": "b", "c": "d"}


def test_numbers_of_the_autoscaler_and_of_a_set_of_several_nodes():
    found = component(service("engine: {minReplicas: 4, maxReplicas: 2, scaleTarget: 55}"))
    assert (found["least"], found["most"], found["spec"]["scaleTarget"]) == (4, 4, 55)
    annotated = {"ome.io/targetUtilizationPercentage": "half"}
    assert component(service("engine: {scaleTarget: 55}", annotations=annotated))["utilization"] == 0
    several = component(service("engine: {leader: {runner: {name: a}}, worker: {size: 3, runner: {name: b}}}"))
    assert (several["mode"], several["size"], several["replicas"]) == ("MultiNode", 4, 1)
    assert [each["containers"][0]["name"] for each in (several["pod"], several["worker"])] == ["a", "b"]


def test_what_has_no_container_ends_the_rest():
    facts = made(service("{engine: {}, decoder: {}, router: {}}"), MODEL, RUNTIME)
    assert [each["role"] for each in facts["components"]] == ["engine"]
    assert facts["entry"] == {}
    whole = made(service("{engine: {}, router: {}}"), MODEL, RUNTIME)
    assert whole["entry"] == {"role": "router", "port": 8080, "type": "ClusterIP", "annotations": {}}
    assert whole["components"][1]["pod"]["containers"][0]["env"] == [{"name": "B", "value": "2"}]


@pytest.mark.parametrize(
    "annotation", [{"ome.io/deploymentMode": "VirtualDeployment"}, {"ome.io/autoscalerClass": "x"}]
)
def test_a_class_that_does_not_exist_and_a_virtual_service_make_nothing(annotation: Json) -> None:
    assert made(service("engine: {}", annotations=annotation), MODEL, RUNTIME)["components"] == []


def test_without_a_runtime_the_pod_has_a_name_and_an_image():
    found = component(service("engine: {runner: {image: ' x'}}"), MODEL)
    assert found["pod"] == {"containers": [{"name": "ome-container", "image": " x"}]}
    assert not found["known"]


def test_a_volume_of_a_model_that_is_not_in_view_is_there():
    mounts = "engine: {runner: {volumeMounts: [{name: m, mountPath: /x}]}}"
    volumes = component(service(mounts), RUNTIME)["pod"]["volumes"]
    assert {"name": "m", "emptyDir": {}} in volumes


def configured(**written: Any) -> Json:
    said = {"ingressGateway": "a/b", "ingressService": "c", **written}
    metadata = {"name": "inferenceservice-config", "namespace": "ome"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"ingress": json.dumps(said)}}


WANTED = {"ome.io/ingress-disable-creation": "false"}
GATEWAY = {"enableGatewayAPI": True, "omeIngressGateway": "net/main"}


def ingress(config: Json | None, spec: str = "engine: {}", runtime: Json = RUNTIME, **metadata: Any) -> Json:
    facts = made(service(spec, **metadata), MODEL, runtime, *([] if config is None else [config]))
    assert not (facts["ingress"] and facts["entry"])
    found: Json = facts["ingress"]
    return found


def places(found: Json) -> list[tuple[str, str]]:
    return [(each["host"], each["service"]) for each in found.get("rules") or found.get("routes") or ()]


@pytest.mark.parametrize(
    ("config", "annotations", "host"),
    [
        (None, {}, ""),
        (None, WANTED, "s.n.svc.cluster.local"),
        (configured(disableIngressCreation=True), {}, ""),
        (configured(), {}, "s.n.example.com"),
        (configured(), {"ome.io/ingress-disable-creation": "true"}, ""),
        (configured(ingressDomain="a.b", ingressClassName=None), {}, "s.n.a.b"),
        (configured(ingressDomain="a.b"), {"ome.io/ingress-domain": "own.b"}, "s.n.own.b"),
        (configured(), {"ome.io/ingress-domain-template": "{{.Name}}.c."}, "s.c."),
        (configured(), {"ome.io/ingress-domain-template": "{{ .Name }}.{{ .Labels.x }}.c"}, ""),
        (configured(), {"ome.io/ingress-domain": "Upper.b"}, ""),
        (configured(ingressGateway=""), {}, ""),
        (configured(disableIngressCreation="false"), {}, ""),
        ({**configured(), "data": {"ingress": "{"}}, WANTED, ""),
        ({**configured(), "data": {}}, {}, "s.n.example.com"),
    ],
)
def test_an_ingress_is_made_where_ome_is_told_to(config: Json | None, annotations: Json, host: str) -> None:
    assert places(ingress(config, annotations=annotations)) == ([(host, "s-engine")] if host else [])


def test_each_component_has_a_host_and_the_first_leads_to_the_router_or_engine():
    runtime = {**RUNTIME, "spec": {**RUNTIME["spec"], "decoderConfig": {"runner": {"name": "d", "image": "d"}}}}
    disaggregated = places(ingress(configured(ingressDomain="a.b"), "{engine: {}, decoder: {}}", runtime))
    assert disaggregated == [
        (f"s{part}.n.a.b", f"s{to}") for part, to in (("", "-engine"), *_twice("engine", "decoder"))
    ]
    routed = places(ingress(configured(ingressDomain="a.b"), "{engine: {}, router: {}}"))
    assert routed == [(f"s{part}.n.a.b", f"s{to}") for part, to in (("", "-router"), *_twice("router", "engine"))]
    assert ingress(configured(), "engine: {minReplicas: 0}") == {}


def _twice(*roles: str) -> list[tuple[str, str]]:
    return [(f"-{role}", f"-{role}") for role in roles]


def test_with_the_gateway_api_engine_and_decoder_have_routes():
    runtime = {**RUNTIME, "spec": {**RUNTIME["spec"], "decoderConfig": {"runner": {"name": "d", "image": "d"}}}}
    labels = {"team": "t", "networking.knative.dev/visibility": "x"}
    found = ingress(configured(**GATEWAY), "{engine: {}, decoder: {timeoutSeconds: 5}}", runtime, labels=labels)
    assert places(found) == [("s.n.example.com", "s"), ("s-decoder.n.example.com", "s-decoder")]
    assert [route["timeout"] for route in found["routes"]] == ["60s", "5s"]
    assert [route["labels"] for route in found["routes"]] == [{"team": "t"}] * 2
    assert (found["gatewayNamespace"], found["gateway"]) == ("net", "main")
    assert ingress(configured(**{**GATEWAY, "omeIngressGateway": ""})) == {}


def test_fine_tuned_weights_have_a_volume_in_memory():
    weight = {"kind": "FineTunedWeight", "apiVersion": "ome.io/v1beta1", "metadata": {"name": "w"}, "spec": {}}
    obj = service("{model: {name: m, fineTunedWeights: [w]}, engine: {}}")
    facts = made(obj, MODEL, RUNTIME, weight)
    volumes = [each["name"] for each in facts["components"][0]["pod"]["volumes"]]
    assert volumes == ["cache", "m", "model-empty-dir"]
    assert (facts["tuned"], "fineTunedWeightSpec" in facts["config"]) == ("true", True)


def test_placeholders_are_those_of_the_metadata():
    obj = service("{}", labels={"team": "t"})
    text = "{{.Name}}/{{ .Namespace }}/{{.Labels.team}}/{{.Annotations.none}}/{{.Spec}}"
    assert expanded({"args": [text, 1]}, obj) == {"args": ["s/n/t//{{.Spec}}", 1]}


def test_long_names_are_a_hash_and_their_end():
    name = "a" * 63 + "-engine"
    assert shortened(name, 63, letter=True) == "a3890dd1-" + name[-54:]
    assert shortened("short", 63) == "short"
    long = Referent("BaseModel", {"metadata": {"name": "n" * 60, "namespace": "s" * 60}})
    assert len(ready_label(long).partition("/")[2]) == 49
    cluster = Referent("ClusterBaseModel", {"metadata": {"name": "n" * 60}})
    assert len(ready_label(cluster).partition("/")[2]) == 49


def test_a_runtime_alone_makes_the_pods_of_a_service_that_writes_nothing():
    runner = {"image": "i", "volumeMounts": [{"name": "unknown", "mountPath": "/x"}]}
    several = {"leader": {"runner": runner}, "worker": {"runner": {"name": "w"}}}
    pods = pods_of_runtime({"spec": {"engineConfig": {"runner": runner}, "decoderConfig": several}})
    assert [each["merged"]["pod"]["at"] for each in pods] == [
        "spec.engineConfig",
        "spec.decoderConfig.leader",
        "spec.decoderConfig.worker",
    ]
    assert pods[0]["pod"]["containers"] == [{"name": "ome-container", **runner}]
    assert pods[0]["pod"]["volumes"] == [{"name": "unknown", "emptyDir": {}}]
    (older,) = pods_of_runtime({"spec": {"containers": [{"name": "c"}]}})
    assert older["merged"]["pod"] == {"at": "spec", "alone": {}}


def test_a_benchmark_writes_over_the_pod_of_its_tool():
    override = {"image": "i", "env": [{"name": "ENABLE_UI", "value": "true"}], "tolerations": [{"key": "k"}]}
    spec = {"outputLocation": {"storageUri": "pvc://c/d"}, "podOverride": override, "trafficScenarios": ["D(1,2)"]}
    found = job({"spec": spec}, MemoryView())
    assert (found["container"]["image"], found["container"]["env"]) == ("i", override["env"])
    assert found["pod"]["tolerations"] == [{"key": "k"}]
    mount = {"name": "benchmark-output-storage", "mountPath": "/d", "subPath": "d"}
    assert found["container"]["volumeMounts"] == [mount]
    assert found["arguments"][-2:] == ["--traffic-scenario", "D(1,2)"]


KEYS = (
    *("model", "runtime", "engine", "decoder", "router", "runner", "leader", "worker", "containers", "volumes", "env"),
    *("name", "resources", "limits", "nvidia.com/gpu", "minReplicas", "maxReplicas", "size", "annotations", "config"),
    *("fineTunedWeights", "volumeMounts", "args", "ports", "containerPort", "podOverride", "endpoint", "storageUri"),
    *("inferenceService", "outputLocation", "engineConfig", "nodeSelector", "ome.io/targetUtilizationPercentage"),
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2**70) | st.sampled_from(["r", "m", "1e999999999", "pvc://a:b/c", "é"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=12,
)


@given(ANYTHING, ANYTHING, ANYTHING)
def test_no_value_is_a_fault_of_a_fact(spec: Any, runtime: Any, annotations: Any) -> None:
    given = spec if isinstance(spec, dict) else {}
    below = {**RUNTIME, "spec": runtime}
    metadata = {"name": "s", "namespace": "n", "annotations": annotations}
    for written in (spec, {**given, "runtime": {"name": "r"}, "model": {"name": "m"}, "engine": given}):
        made({"metadata": metadata, "spec": written}, below, {**MODEL, "spec": runtime})
        made({"metadata": metadata, "spec": written}, below, {**configured(), "data": {"ingress": json.dumps(runtime)}})
        made({"metadata": metadata, "spec": written}, below, configured(**dict.fromkeys(GATEWAY, runtime)))
        pods_of_runtime({"spec": written})
        job({"metadata": metadata, "spec": written}, MemoryView([below]))
