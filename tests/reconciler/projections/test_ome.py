"""OME's benchmark jobs and base models: states, and what the Job runs."""

import json
from pathlib import Path

import pytest
import yaml

from reconciler.projection import Observed
from reconciler.projections import kinds
from reconciler.projections.ome import benchmarks, models
from reconciler.projections.ome.results import storage_flags
from reconciler.resource import Kind
from tests.reconciler.models import NOW
from tests.reconciler.world import Gate, World
from webhook.cluster.view import MemoryView
from webhook.facts.settings import DEFAULT_SETTINGS

CASES = yaml.safe_load((Path(__file__).parents[1] / "cases" / "ome.yaml").read_text())
OME = "ome.io/v1beta1"
BEGAN, ENDED = "2026-11-21T11:00:00Z", "2026-11-21T11:30:00Z"
FAILED = {"type": "Failed", "status": "True", "message": "Job has reached the specified backoff limit"}
JOBS = {
    "active": {"startTime": BEGAN},
    "succeeded": {
        "startTime": BEGAN,
        "completionTime": ENDED,
        "conditions": [{"type": "Complete", "status": "True"}],
    },
    "failed": {"startTime": BEGAN, "conditions": [FAILED]},
}


def named(kind, name, api=OME, **more):
    metadata = {"name": name, "namespace": "default", "uid": f"u-{name}", "generation": 1}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **more}


def benchmark(name="b", **spec):
    given = {
        "endpoint": {"endpoint": {"url": "http://e", "apiFormat": "openai"}},
        "task": "text-to-text",
        "maxTimePerIteration": 10,
        "maxRequestsPerIteration": 100,
        "outputLocation": {"storageUri": "pvc://c/r"},
    }
    return named("BenchmarkJob", name, spec={**given, **spec})


def service(said, **spec):
    status = {
        "conditions": [{"type": "Ready", "status": said["ready"]}],
        **({"url": said["url"]} if "url" in said else {}),
    }
    return named("InferenceService", "i", spec=spec, status=status)


def job_of(owner, state):
    job = named("Job", "b", "batch/v1", status=JOBS[state])
    job["metadata"]["ownerReferences"] = [{"kind": "BenchmarkJob", "uid": owner["metadata"]["uid"], "controller": True}]
    return job


def project(obj, *around, **more):
    return benchmarks.project(obj, Observed(NOW, MemoryView(around), **more), DEFAULT_SETTINGS)


@pytest.mark.parametrize("row", CASES["benchmarks"], ids=lambda row: row["name"])
def test_a_benchmark(row):
    spec, around = {}, []
    if "service" in row:
        spec["endpoint"] = {"inferenceService": {"name": "i", "namespace": "default"}}
        around += [service(row["service"])] if row["service"] else []
    if "output" in row:
        spec["outputLocation"] = {"storageUri": row["output"]}
    obj = {**benchmark(**spec), "status": row.get("before", {})}
    if "job" in row:
        around.append(job_of(obj, row["job"]))
    projection = project(obj, *around, refused=row.get("refused", ""))
    assert projection.status.items() >= row["want"].items()
    assert len(projection.children) == row.get("children", 0)
    assert [each.reason for each in projection.events] == row.get("events", [])
    again = project({**obj, "status": projection.status}, *around, refused=row.get("refused", ""))
    assert (again.status, again.events) == (projection.status, ())


def container(obj, *around):
    (job,) = project(obj, *around).children
    return job["spec"]["template"]["spec"]["containers"][0]


def flags(obj, *around):
    words = container(obj, *around)["args"]
    return [f"{flag} {value}" for flag, value in zip(words[::2], words[1::2], strict=True)]


def test_the_job_runs_the_tool_with_what_the_benchmark_asks_for():
    obj = benchmark(
        trafficScenarios=["D(100,100)", "D(100,1000)"],
        numConcurrency=[1, 8],
        additionalRequestParams={"temperature": "0.0"},
        serviceMetadata={"engine": "vLLM", "version": "1", "gpuType": "H100", "gpuCount": 8},
        resultFolderName="mine",
        huggingFaceSecretReference={"name": "hf"},
    )
    assert flags(obj) == [
        "--api-backend openai",
        "--api-base http://e",
        "--api-model-name ",
        "--task text-to-text",
        "--max-time-per-run 10",
        "--max-requests-per-run 100",
        "--traffic-scenario D(100,100)",
        "--traffic-scenario D(100,1000)",
        "--num-concurrency 1",
        "--num-concurrency 8",
        '--additional-request-params {"temperature": "0.0"}',
        "--server-engine vLLM",
        "--server-version 1",
        "--server-gpu-type H100",
        "--server-gpu-count 8",
        "--experiment-folder-name mine",
        "--experiment-base-dir /r",
    ]
    made = container(obj)
    assert made["image"] == benchmarks.DEFAULTS["image"]
    assert made["env"][0]["valueFrom"] == {"secretKeyRef": {"name": "hf", "key": "token"}}
    assert made["volumeMounts"] == [{"name": "results", "mountPath": "/r", "subPath": "r"}]


def test_the_config_map_and_the_users_override_say_where_the_job_runs():
    said = {"podConfig": {"image": "r/tool:1", "cpuLimit": "4"}}
    data = {"x": "no JSON", "benchmarkjob": json.dumps(said)}
    config = named("ConfigMap", "benchmarkjob-config", "v1", data=data)
    config["metadata"]["namespace"] = "ome"
    made = container(benchmark(), config)
    assert (made["image"], made["resources"]["limits"]) == ("r/tool:1", {"cpu": "4", "memory": "2Gi"})
    tolerations = [{"key": "a"}]
    override = {
        "image": "r/mine:1",
        "env": [{"name": "A", "value": "b"}],
        "tolerations": tolerations,
        "nodeSelector": {"a": "b"},
        "resources": {"limits": {"cpu": "1"}},
        "volumes": [{"name": "v", "emptyDir": {}}],
        "volumeMounts": [{"name": "v", "mountPath": "/v"}],
    }
    (job,) = project(benchmark(podOverride=override), config).children
    pod = job["spec"]["template"]["spec"]
    assert (pod["tolerations"], pod["nodeSelector"]) == (tolerations, {"a": "b"})
    assert [each["name"] for each in pod["volumes"]] == ["results", "v"]
    assert pod["containers"][0]["image"] == "r/mine:1"
    assert pod["containers"][0]["resources"] == {"limits": {"cpu": "1"}}
    assert job["spec"]["backoffLimit"] == 0


@pytest.mark.parametrize("kind", ["BaseModel", "ClusterBaseModel"])
def test_a_services_model_gives_the_tokenizer_and_its_nodes(kind):
    model = named(kind, "m", spec={"storage": {"path": "/models/m"}})
    if kind == "ClusterBaseModel":
        del model["metadata"]["namespace"]
    ready = service({"ready": "True", "url": "http://i"}, model={"name": "m", "kind": kind})
    obj = benchmark(endpoint={"inferenceService": {"name": "i", "namespace": "default"}})
    (job,) = project(obj, ready, model).children
    pod = job["spec"]["template"]["spec"]
    (term,) = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    label = "models.ome.io/clusterbasemodel.m" if kind == "ClusterBaseModel" else "models.ome.io/default.basemodel.m"
    assert term["matchExpressions"] == [{"key": label, "operator": "In", "values": ["Ready"]}]
    assert pod["containers"][0]["volumeMounts"][1] == {"name": "model", "mountPath": "/models/m", "readOnly": True}
    assert flags(obj, ready, model)[:4] == [
        "--api-backend openai",
        "--api-base http://i",
        "--api-model-name vllm-model",
        "--model-tokenizer /models/m",
    ]


@pytest.mark.parametrize(
    ("arguments", "served"),
    [
        ([], "vllm-model"),
        (["--served-model-name", "mine"], "mine"),
        (["--served-model-name=mine", "--port=1"], "mine"),
        (["vllm serve --served-model-name 'mine' --port 1"], "mine"),
        (["--served-model-name", "{{.Name}}"], "i"),
        (["--served-model-name"], "vllm-model"),
    ],
)
@pytest.mark.parametrize("where", ["service", "runtime"])
def test_the_model_is_asked_for_by_the_name_that_the_engine_serves(arguments, served, where):
    runner = {"runner": {"name": "ome-container", "args": arguments}}
    ready = service({"ready": "True", "url": "http://i"}, runtime={"name": "r", "kind": "ServingRuntime"})
    ready["spec"]["engine"] = runner if where == "service" else {}
    runtime = named("ServingRuntime", "r", spec={"engineConfig": runner if where == "runtime" else {}})
    obj = benchmark(endpoint={"inferenceService": {"name": "i", "namespace": "default"}})
    assert flags(obj, ready, runtime)[2] == f"--api-model-name {served}"


@pytest.mark.parametrize("row", CASES["storage"], ids=lambda row: row["uri"])
def test_where_results_go(row):
    storage = {"storageUri": row["uri"], "parameters": row.get("parameters")}
    assert " ".join(storage_flags(storage, "default").flags) == row["flags"]


def test_a_long_name_gets_a_short_job():
    (job,) = project(benchmark("b" * 253)).children
    assert len(job["metadata"]["name"]) <= 63


def report(node, text, key):
    return named("ConfigMap", node, "v1", data={key: text, "other": "{}"})


@pytest.mark.parametrize("row", CASES["models"], ids=lambda row: row["name"])
@pytest.mark.parametrize("kind", ["BaseModel", "ClusterBaseModel"])
def test_a_model(row, kind):
    obj = named(kind, "m", spec={}, status=row.get("before", {}))
    key = "default.basemodel.m"
    if kind == "ClusterBaseModel":
        del obj["metadata"]["namespace"]
        key = "clusterbasemodel.m"
    measured = [report(node, text, key) for node, text in row["reports"].items()]
    projection = models.project(obj, Observed(NOW, MemoryView(), measured))
    assert (projection.status, projection.requeue) == (row["want"], models.INTERVAL)


def test_a_status_stays_while_the_reports_cannot_be_read(server, time):
    server.put(
        "configmaps",
        {
            **report("n", '{"status": "Ready"}', "clusterbasemodel.m"),
            "metadata": {"name": "n", "namespace": "ome", "labels": {"models.ome/basemodel-status": "true"}},
        },
    )
    read = models.reports_of(server.api(), "ome", time)
    assert [each["metadata"]["name"] for each in read()] == ["n"]
    server.requests.clear()
    assert read()
    assert server.requests == []
    server.fail("GET", "configmaps", 503)
    time.seconds += models.INTERVAL
    assert read() is None
    assert models.project(named("BaseModel", "m"), Observed(NOW, MemoryView(), None)).status is None


def test_a_benchmark_from_a_service_to_its_end_and_then_no_write(server, time):
    world = World(server, time, benchmarks.controller(DEFAULT_SETTINGS), also=[kinds.JOBS])
    server.admission = Gate(world.rules, world.view)
    runner = {"name": "ome-container", "image": "r/engine:1"}
    server.put(
        "inferenceservices", {**service({"ready": "False"}, engine={"runner": runner}), "kind": "InferenceService"}
    )
    server.put("benchmarkjobs", benchmark(endpoint={"inferenceService": {"name": "i", "namespace": "default"}}))
    world.reconcile()
    assert world.obj("benchmarkjobs", "b")["status"]["state"] == "Pending"
    assert server.all("jobs") == []
    found = world.obj("inferenceservices", "i")
    server.put("inferenceservices", {**found, "status": service({"ready": "True", "url": "http://i"})["status"]})
    world.reconcile()
    world.wait_of(1)
    (job,) = server.all("jobs")
    server.put("jobs", {**job, "status": JOBS["succeeded"]})
    world.notice()
    world.wait_of(1)
    assert world.obj("benchmarkjobs", "b")["status"]["state"] == "Completed"
    for _ in range(3):
        world.wait_of(models.INTERVAL)
        assert [each for each in server.requests if each[0] != "GET"] == []
    assert "conditions" not in world.obj("benchmarkjobs", "b")["status"]
    assert Kind("ome.io", "InferenceService") in world.view.resources
