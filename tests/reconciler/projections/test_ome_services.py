"""OME's InferenceServices: a table of states and children, and what the children hold."""

from pathlib import Path

import pytest
import yaml

from reconciler.projection import Observed
from reconciler.projections import ome
from reconciler.projections.ome import services
from reconciler.projections.ome.workloads import KINDS
from reconciler.resource import Kind
from tests.reconciler.models import NOW
from tests.reconciler.world import Gate, World, rules
from webhook.cluster.view import MemoryView
from webhook.facts.ome import merged
from webhook.facts.settings import DEFAULT_SETTINGS

ROWS = yaml.safe_load((Path(__file__).parents[1] / "cases" / "ome.yaml").read_text())["services"]
OME = "ome.io/v1beta1"
AVAILABLE = {"type": "Available", "status": "True"}


def named(kind, name, api=OME, **more):
    metadata = {"name": name, "uid": f"u-{name}", "generation": 2}
    if not kind.startswith("Cluster"):
        metadata["namespace"] = "default"
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **more}


def model(**spec):
    storage = {"storageUri": "hf://a/b", "path": "/models/m"}
    return named("ClusterBaseModel", "m", spec={"modelFormat": {"name": "safetensors"}, "storage": storage, **spec})


def runtime(**spec):
    entry = {"modelFormat": {"name": "safetensors"}, "name": "safetensors", "autoSelect": True}
    limits = {"nvidia.com/gpu": 2}
    runner = {
        "name": "ome-container",
        "image": "r/engine:1",
        "args": ["--model", "$(MODEL_PATH)", "--name={{.Name}}.{{.Namespace}}-{{.Labels.team}}"],
        "env": [{"name": "A", "value": "runtime"}, {"name": "B", "value": "runtime"}],
        "resources": {"limits": limits},
        "ports": [{"containerPort": 9090, "name": "api", "protocol": "TCP"}],
    }
    given = {"supportedModelFormats": [entry], "engineConfig": {"runner": runner, "tolerations": [{"key": "a"}]}}
    return named("ClusterServingRuntime", "r", spec={**given, "decoderConfig": {"runner": runner}, **spec})


def service(annotations=None, **spec):
    given = {"model": {"name": "m", "kind": "ClusterBaseModel"}, "engine": {"minReplicas": 1, "maxReplicas": 3}, **spec}
    obj = named("InferenceService", "i", spec={key: value for key, value in given.items() if value is not None})
    obj["metadata"] |= {"labels": {"team": "blue"}, "annotations": annotations or {}}
    return obj


def deployment(owner, state):
    conditions = [AVAILABLE] if state in {"available", "stale"} else []
    seen = 1 if state == "stale" else 2
    obj = named("Deployment", "i-engine", "apps/v1")
    obj["metadata"]["ownerReferences"] = [{"kind": owner["kind"], "uid": owner["metadata"]["uid"], "controller": True}]
    return {**obj, "status": {"observedGeneration": seen, "conditions": conditions, "readyReplicas": 2}}


def pod(code):
    ended = {"exitCode": code, "message": "out of memory"}
    status = {"containerStatuses": [{"name": "ome-container", "ready": False, "lastState": {"terminated": ended}}]}
    obj = named("Pod", "p", "v1", status=status)
    obj["metadata"]["labels"] = {"app": "i-engine"}
    return obj


def project(obj, *around, **more):
    return services.project(obj, Observed(NOW, MemoryView(around), **more), DEFAULT_SETTINGS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_a_service(row):
    obj = service(row.get("annotations"), **row.get("spec", {}))
    around = [] if "without" in row else [model(**row.get("model", {})), runtime(**row.get("runtime", {}))]
    if "deployment" in row:
        around.append(deployment(obj, row["deployment"]))
    if "crash" in row:
        around.append(pod(row["crash"]))
    if "config" in row:
        config = named("ConfigMap", "inferenceservice-config", "v1", data={"ingress": row["config"]})
        config["metadata"]["namespace"] = "ome"
        around.append(config)
    absent = frozenset(Kind(each.group, each.kind) for each in KINDS if each.kind in row.get("absent", ()))
    more = {"absent": absent, "refused": row.get("refused", "")}
    projection = project(obj, *around, **more)
    status = projection.status
    conditions = {each["type"]: [each["status"], each["reason"]] for each in status["conditions"]}
    assert conditions.items() >= row.get("says", {}).items()
    assert status.get("modelStatus", {}).items() >= row.get("status", {}).items()
    if "info" in row:
        info = status["modelStatus"]["lastFailureInfo"]
        assert info["reason"] == row["info"][0]
        assert row["info"][1].lower() in info["message"].lower()
    if "children" in row:
        assert [f"{each['kind']} {each['metadata']['name']}" for each in projection.children] == row["children"]
        assert bool(projection.keep) == (not row["children"] and "annotations" not in row)
    if "url" in row:
        assert (status["url"], status["address"]) == (row["url"], {"url": row["url"]})
    assert projection.requeue == row.get("requeue")
    assert project({**obj, "status": status}, *around, **more).status == status


def children(obj, *around):
    found = project(obj, *(around or (model(), runtime()))).children
    return {f"{each['kind']} {each['metadata']['name']}": each for each in found}


def test_an_engine_is_the_runtimes_with_what_the_service_says_and_its_model():
    own = {
        "runner": {"name": "ome-container", "args": ["--more"], "env": [{"name": "B", "value": "service"}]},
        "tolerations": [{"key": "b"}],
        "labels": {"tier": "gold"},
        "annotations": {"note": "x"},
    }
    numbers = {"minReplicas": 2, "maxReplicas": 1, "minAvailable": 1}
    made = children(service(engine={**numbers, **own}))["Deployment i-engine"]["spec"]
    assert "replicas" not in made
    assert made["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}
    pod = made["template"]["spec"]
    (container,) = pod["containers"]
    assert container["image"] == "r/engine:1"
    assert container["args"] == ["--more"]
    plain = children(service())["Deployment i-engine"]["spec"]["template"]["spec"]["containers"][0]
    assert plain["args"] == ["--model", "$(MODEL_PATH)", "--name=i.default-blue"]
    assert {each["name"]: each["value"] for each in container["env"]} == {
        "A": "runtime",
        "B": "service",
        "MODEL_PATH": "/models/m",
        "PARALLELISM_SIZE": "2",
    }
    assert container["readinessProbe"] == {"tcpSocket": {"port": 9090}}
    assert container["imagePullPolicy"] == "IfNotPresent"
    assert container["volumeMounts"] == [{"name": "m", "mountPath": "/models/m", "readOnly": True}]
    assert pod["volumes"] == [{"name": "m", "hostPath": {"path": "/models/m"}}]
    assert pod["nodeSelector"] == {"models.ome.io/clusterbasemodel.m": "Ready"}
    assert pod["tolerations"] == [{"key": "b"}]
    assert pod.keys().isdisjoint(numbers)
    metadata = made["template"]["metadata"]
    assert metadata["annotations"] == {"note": "x"}
    assert metadata["labels"] == {
        "team": "blue",
        "tier": "gold",
        "app": "i-engine",
        "component": "engine",
        "ome.io/inferenceservice": "i",
        "fine-tuned-serving": "false",
        "serving-runtime": "r",
        "base-model-name": "m",
        "base-model-size": "SMALL",
        "base-model-type": "Serving",
        "app.kubernetes.io/managed-by": "modelgate",
    }


def test_services_and_autoscalers_follow_the_component():
    annotations = {"ome.io/service-type": "LoadBalancer", "ome.io/load-balancer-ip": "192.0.2.1"}
    engine = {"minReplicas": 2, "maxReplicas": 1, "scaleMetric": "memory", "scaleTarget": 60}
    made = children(service(annotations, engine=engine))
    own, outer = made["Service i-engine"]["spec"], made["Service i"]["spec"]
    assert own["ports"] == [{"name": "api", "port": 9090, "targetPort": 9090, "protocol": "TCP"}]
    assert (own["type"], own["loadBalancerIP"], own["selector"]) == ("LoadBalancer", "192.0.2.1", {"app": "i-engine"})
    assert outer["selector"] == {"ome.io/inferenceservice": "i", "component": "engine"}
    assert outer["ports"][0]["port"] == 9090
    scaler = made["HorizontalPodAutoscaler i-engine"]["spec"]
    assert (scaler["minReplicas"], scaler["maxReplicas"]) == (2, 2)
    assert scaler["metrics"][0]["resource"] == {
        "name": "memory",
        "target": {"type": "Utilization", "averageUtilization": 60},
    }


def test_keda_asks_the_prometheus_of_the_service_and_an_annotation_wins():
    annotations = {"ome.io/autoscalerClass": "keda", "ome.io/kedaScalingThreshold": "5"}
    config = {"customPromQuery": "rate(x{app='%s'}[1m])", "promServerAddress": "http://p:9090", "scalingThreshold": "7"}
    (trigger,) = children(service(annotations, kedaConfig=config))["ScaledObject scaledobject-i-engine"]["spec"][
        "triggers"
    ]
    assert trigger["metadata"] == {
        "serverAddress": "http://p:9090",
        "metricName": "tps",
        "query": "rate(x{app='i-engine'}[1m])",
        "threshold": "5",
        "operator": "LessThanOrEqual",
    }


def test_an_engine_over_several_nodes_is_a_leader_with_workers():
    gpus = {"resources": {"limits": {"nvidia.com/gpu": "8"}}}
    parts = {"leader": {"runner": {"name": "l", "image": "r/l:1", **gpus}}}
    parts["worker"] = {"size": 1, "runner": {"name": "w", "image": "r/w:1", **gpus}}
    made = children(service(engine={"minReplicas": 2, **parts}))
    spec = made["LeaderWorkerSet lws-i-engine"]["spec"]
    template = spec["leaderWorkerTemplate"]
    assert (spec["replicas"], template["size"]) == (2, 2)
    leader, worker = (template[f"{each}Template"]["spec"]["containers"][0] for each in ("leader", "worker"))
    assert (leader["image"], worker["image"]) == ("r/l:1", "r/w:1")
    assert {"name": "PARALLELISM_SIZE", "value": "16"} in leader["env"]
    assert made["Service i-engine"]["spec"]["selector"]["leaderworkerset.sigs.k8s.io/worker-index"] == "0"


def test_a_router_reads_pods_and_gets_its_config_as_variables():
    router = {"runner": {"name": "router", "image": "r/router:1"}, "config": {"POLICY": "cache_aware"}}
    made = children(service(router=router))
    pod = made["Deployment i-router"]["spec"]["template"]["spec"]
    assert pod["serviceAccountName"] == "i-router"
    assert pod["containers"][0]["env"] == [{"name": "POLICY", "value": "cache_aware"}]
    assert "volumes" not in pod
    assert made["Role i-router"]["rules"] == [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}
    ]
    assert made["RoleBinding i-router"]["roleRef"]["name"] == "i-router"
    assert made["Service i"]["spec"]["selector"]["component"] == "router"


def test_a_runtime_with_containers_at_its_top_is_an_engine():
    spec = {
        "engineConfig": None,
        "containers": [{"name": "side", "image": "s"}, {"name": "ome-container", "image": "m"}],
    }
    pod = children(service(), model(), runtime(**spec))["Deployment i-engine"]["spec"]["template"]["spec"]
    assert [each["name"] for each in pod["containers"]] == ["ome-container", "side"]


@pytest.mark.parametrize(
    ("below", "above", "result"),
    [
        ({"a": 1, "b": {"c": 1}}, {"b": {"d": 2}}, {"a": 1, "b": {"c": 1, "d": 2}}),
        ({"args": ["a"]}, {"args": ["b"]}, {"args": ["b"]}),
        ({"command": ["a"]}, {"command": ["b"]}, {"command": ["b"]}),
        ({"tolerations": [{"key": "a"}]}, {"tolerations": []}, {"tolerations": [{"key": "a"}]}),
        (
            {"minReplicas": 1, "hostNetwork": True},
            {"minReplicas": 0, "hostNetwork": False},
            {"minReplicas": 0, "hostNetwork": True},
        ),
        (
            {"env": [{"name": "A", "value": "1"}]},
            {"env": [{"name": "B"}, {"name": "A", "value": "2"}]},
            {"env": [{"name": "A", "value": "2"}, {"name": "B"}]},
        ),
        (
            {"volumes": [{"name": "v", "emptyDir": {}}]},
            {"volumes": [{"name": "v", "hostPath": {"path": "/x"}}]},
            {"volumes": [{"name": "v", "emptyDir": {}, "hostPath": {"path": "/x"}}]},
        ),
        (
            {"ports": [{"containerPort": 1, "name": "a"}]},
            {"ports": [{"containerPort": 2, "name": "b"}, {"containerPort": 2, "protocol": "UDP"}]},
            {"ports": [{"containerPort": 1, "name": "a"}, {"containerPort": 2, "name": "b", "protocol": "UDP"}]},
        ),
    ],
)
def test_a_component_is_merged_over_its_runtime(below, above, result):
    assert merged(below, above) == result


def test_a_volume_of_a_service_replaces_that_of_its_runtime():
    below = runtime(
        engineConfig={"runner": {"name": "ome-container", "image": "r"}, "volumes": [{"name": "v", "emptyDir": {}}]}
    )
    obj = service(engine={"volumes": [{"name": "v", "hostPath": {"path": "/x"}}]})
    pod = children(obj, model(), below)["Deployment i-engine"]["spec"]["template"]["spec"]
    assert [each for each in pod["volumes"] if each["name"] == "v"] == [{"name": "v", "hostPath": {"path": "/x"}}]


@pytest.mark.parametrize("length", [57, 63, 253])
def test_names_of_children_fit(length):
    obj = service()
    obj["metadata"]["name"] = "x" * length
    for child in project(obj, model(), runtime()).children:
        assert len(child["metadata"]["name"]) <= 63


def test_a_service_from_its_model_to_its_end_and_then_no_write(server, time):
    world = World(server, time, *ome.controllers(DEFAULT_SETTINGS, list), also=KINDS)
    server.admission = Gate(world.rules, world.view)
    server.put("clusterservingruntimes", runtime())
    server.put("inferenceservices", {**service(), "apiVersion": OME})
    for each in KINDS:
        world.view.resources.setdefault(Kind(each.group, each.kind), each)
    world.reconcile()
    assert server.all("deployments") == []
    server.put("clusterbasemodels", model())
    world.notice()
    world.wait_of(1)
    (made,) = server.all("deployments")
    seen = {"observedGeneration": made["metadata"]["generation"], "conditions": [AVAILABLE], "readyReplicas": 1}
    server.put("deployments", {**made, "status": seen})
    world.notice()
    for _ in range(3):
        world.wait_of(1)
    found = world.obj("inferenceservices", "i")["status"]
    assert {each["type"]: each["status"] for each in found["conditions"]}["Ready"] == "True"
    server.put("clusterbasemodels", model(disabled=True))
    world.notice()
    world.wait_of(1)
    assert len(server.all("deployments")) == 1
    for _ in range(3):
        world.wait_of(1)
    world.wait_of(60)
    assert [each for each in server.requests if each[0] != "GET"] == []


def test_rules_are_those_of_the_gate():
    assert (
        {each.resource.kind for each in ome.controllers(DEFAULT_SETTINGS, list)}
        == {*("BaseModel", "BenchmarkJob", "ClusterBaseModel", "InferenceService")}
        < {each.kind for each in rules().kinds()}
    )
