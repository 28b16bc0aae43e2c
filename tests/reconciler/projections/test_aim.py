"""AIM's services, templates and images: a table of each, what their children hold, and a run of all of them."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from reconciler.projections import aim, kinds
from reconciler.projections.aim import discovery, images, services, templates
from reconciler.resource import Kind, kind_of
from reconciler.say.conditions import find
from reconciler.writer import ApiError
from tests.reconciler.world import Gate, World, observed, rules
from webhook.cluster.view import MemoryView
from webhook.facts.nodes import Referent
from webhook.facts.settings import DEFAULT_SETTINGS

CASES = yaml.safe_load((Path(__file__).parents[1] / "cases" / "aim.yaml").read_text())
AIM = "aim.silogen.ai/v1alpha1"
KSERVE = (kinds.INFERENCE_SERVICES, kinds.RUNTIMES, kinds.CLUSTER_RUNTIMES)
OTHERS = (*KSERVE, kinds.ROUTES, kinds.JOBS, kinds.PODS)
APIS = {each.kind: each.api_version for each in OTHERS}
DONE = {"succeeded": [{"type": "Complete", "status": "True"}], "failed": [{"type": "Failed", "status": "True"}]}
SOURCES = [{"name": "a/b", "sourceUri": "hf://a/b", "size": "9094593249"}]
RESULT = json.dumps([{"profile": {"metadata": {"gpu_count": 1}}, "models": [{"name": "a/b", "source": "hf://a/b"}]}])


def named(kind, name, owner=None, **more):
    metadata = {"name": name, "uid": f"u-{name}", "generation": 1}
    if not kind.startswith(("AIMCluster", "Cluster")):
        metadata["namespace"] = "default"
    if owner is not None:
        metadata["ownerReferences"] = [{"kind": owner["kind"], "uid": owner["metadata"]["uid"], "controller": True}]
    return {"apiVersion": APIS.get(kind, AIM), "kind": kind, "metadata": metadata, **more}


def image(kind="AIMClusterImage", **spec):
    resources = {"requests": {"cpu": "1", "memory": "8Gi"}, "limits": {"memory": "8Gi"}}
    return named(kind, "m", spec={"image": "r/m:1", "defaultServiceTemplate": "t", "resources": resources, **spec})


def template(status="Available", because=(), sources=SOURCES, name="t", kind="AIMClusterServiceTemplate", **spec):
    profile = {"metadata": {"gpu": "MI300X", "gpu_count": 1}}
    written = {"status": status, "modelSources": sources, "profile": profile} if status else {}
    if because:
        written["conditions"] = [{"type": "Failure", "status": "True", "reason": because[0], "message": because[1]}]
    return named(kind, name, spec={"aimImageName": "m", "runtimeConfigName": "default", **spec}, status=written)


def service(**spec):
    made = named("AIMService", "s", spec={"aimImageName": "m", "runtimeConfigName": "default", "replicas": 1, **spec})
    made["metadata"]["uid"] = "u-service"
    return made


def world_of(row):
    """The objects around a service."""
    known = [
        image(),
        template(row.get("template_status", "Available"), row.get("because", ()), row.get("sources", SOURCES)),
    ]
    for each in row.get("objects", ()):
        status = {"status": each["status"], "modelSources": SOURCES} if "status" in each else {}
        known.append(named(each["kind"], each["name"], spec=each["spec"], status=status))
    return [each for each in known if f"{each['kind']}/{each['metadata']['name']}" not in row.get("without", ())]


def inference_service(state, owner):
    status = {
        "starting": {"conditions": [{"type": "Ready", "status": "False", "message": "pods are pending"}]},
        "failed": {"modelStatus": {"lastFailureInfo": {"reason": "ModelLoadFailed", "message": "out of memory"}}},
        "stale": {"conditions": [{"type": "Ready", "status": "True"}], "observedGeneration": 0},
    }.get(state, {"conditions": [{"type": "Ready", "status": "True"}], "observedGeneration": 1})
    return named("InferenceService", "s", None if state == "foreign" else owner, status=status)


def route(state, owner):
    said = {"accepted": ("True", "Accepted"), "refused": ("False", "NotAllowedByListeners")}.get(state)
    conditions = [{"type": "Accepted", "status": said[0], "reason": said[1], "message": "m"}] if said else []
    return named("HTTPRoute", "s", owner, status={"parents": [{"conditions": conditions}] if said else []})


def absent(row):
    return frozenset(kind_of(each) for each in OTHERS if each.kind in row.get("absent", ()))


def observed_of(row, objects, measured=None):
    return observed(MemoryView(objects), measured=measured, absent=absent(row), refused=str(row.get("refused", "")))


def conditions(projection):
    return {each["type"]: [each["status"], each["reason"]] for each in projection.status["conditions"]}


def said(projection):
    return " ".join(each["message"] for each in projection.status["conditions"])


def compared(projection, row):
    assert projection.status["status"] == row["status"]
    assert conditions(projection).items() >= row.get("says", {}).items()
    assert row.get("message", "") in said(projection)
    assert projection.requeue == row.get("requeue")
    assert sorted(each.kind for each in projection.keep) == row.get(
        "keeps", sorted(each.kind for each in projection.keep)
    )


@pytest.mark.parametrize("row", CASES["services"], ids=lambda row: row["name"])
def test_a_service(row):
    obj = service(**row.get("service", {}))
    objects = world_of(row)
    if "isvc" in row:
        objects.append(inference_service(row["isvc"], obj))
    if "route" in row:
        objects.append(route(row["route"], obj))
    projection = services.project(obj, observed_of(row, objects), DEFAULT_SETTINGS)
    compared(projection, row)
    assert [each["kind"] for each in projection.children] == row["children"]
    assert [each["metadata"]["name"] for each in projection.shared] == ([row["shared"]] if "shared" in row else [])
    assert projection.status.get("resolvedTemplate", {}).items() >= row.get("template", {}).items()
    if "path" in row:
        assert projection.status["routing"] == {"path": row["path"]}
    for child in projection.children:
        assert child["metadata"]["labels"].items() >= row.get("labels", {}).items()


def children_of(obj, *objects):
    projection = services.project(obj, observed(MemoryView([image(), template(), *objects])), DEFAULT_SETTINGS)
    return {each["kind"]: each for each in projection.children}


def test_an_inference_service_runs_the_template_with_what_the_service_and_its_config_say():
    config = {"serviceAccountName": "sa", "imagePullSecrets": [{"name": "both"}, {"name": "config"}]}
    obj = service(
        runtimeConfigName="c", replicas=3, env=[{"name": "A", "value": "b"}], imagePullSecrets=[{"name": "both"}]
    )
    obj["metadata"]["labels"] = {"team": "blue", "argocd.argoproj.io/instance": "app"}
    obj["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": "{}", "note": "x"}
    child = children_of(obj, named("AIMRuntimeConfig", "c", spec=config))["InferenceService"]
    predictor = child["spec"]["predictor"]
    assert (predictor["minReplicas"], predictor["maxReplicas"]) == (3, 3)
    assert predictor["serviceAccountName"] == "sa"
    assert predictor["imagePullSecrets"] == [{"name": "both"}, {"name": "config"}]
    (term,) = predictor["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
        "nodeSelectorTerms"
    ]
    assert term["matchExpressions"][0]["values"] == ["74a1", "74a9", "74b5", "74bd"]
    assert predictor["model"] == {
        "modelFormat": {"name": "aim", "version": "1"},
        "runtime": "t",
        "env": [{"name": "A", "value": "b"}],
        "resources": {
            "requests": {"amd.com/gpu": "1", "cpu": "1", "memory": "8Gi"},
            "limits": {"amd.com/gpu": "1", "memory": "8Gi"},
        },
    }
    assert child["metadata"]["annotations"] == {"note": "x"}
    assert child["metadata"]["labels"] == {
        "team": "blue",
        "app.kubernetes.io/name": "aim-service",
        "app.kubernetes.io/component": "inference-service",
        "aim.silogen.ai/template": "t",
        "aim.silogen.ai/model-id": "a_b",
        "aim.silogen.ai/aim-image": "m",
    }


def test_a_route_leads_to_the_predictor_and_cuts_its_path_off():
    routing = {"enabled": True, "gatewayRef": {"name": "g", "port": 80}, "routeTemplate": "/x/{.metadata.name}"}
    child = children_of(service(routing={**routing, "annotations": {"a": "b"}}))["HTTPRoute"]
    assert child["metadata"]["annotations"] == {"a": "b"}
    (parent,) = child["spec"]["parentRefs"]
    group = "gateway.networking.k8s.io"
    assert parent == {"group": group, "kind": "Gateway", "namespace": "default", "name": "g", "port": 80}
    (rule,) = child["spec"]["rules"]
    assert rule["matches"] == [{"path": {"type": "PathPrefix", "value": "/x/s"}}]
    assert rule["filters"][0]["urlRewrite"] == {"path": {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/"}}
    assert rule["backendRefs"] == [{"name": "s-predictor", "port": 80}]


@pytest.mark.parametrize("length", [40, 45, 46, 63, 253])
def test_names_of_children_fit_whatever_the_name_of_the_service(length):
    obj = service()
    obj["metadata"]["name"] = "s" * length
    name = children_of(obj)["InferenceService"]["metadata"]["name"]
    assert len(f"{name}-predictor-default") <= 63
    other = service()
    other["metadata"]["name"] = "s" * (length - 1) + "t"
    assert children_of(other)["InferenceService"]["metadata"]["name"] != name


def test_a_derived_template_is_shared_changed_by_one_and_left_alone_by_two_that_differ():
    wishes = {"metric": "latency"}
    obj = service(overrides=wishes, env=[{"name": "A"}])
    (made,) = services.project(obj, observed(MemoryView([image(), template()])), DEFAULT_SETTINGS).shared
    assert made["metadata"]["labels"] == {"aim.silogen.ai/derived-template": "true"}
    assert (made["spec"]["metric"], made["spec"]["env"]) == ("latency", [{"name": "A"}])
    older = {**made, "metadata": {**made["metadata"], "uid": "u"}, "spec": {**made["spec"], "env": [{"name": "B"}]}}
    around = [image(), template(), older, obj]
    (changed,) = services.project(obj, observed(MemoryView(around)), DEFAULT_SETTINGS).shared
    assert changed["spec"] == made["spec"]
    rival = service(overrides=wishes, env=[{"name": "C"}])
    rival["metadata"]["name"] = "rival"
    assert services.project(obj, observed(MemoryView([*around, rival])), DEFAULT_SETTINGS).shared == ()


@pytest.mark.parametrize(
    ("templates_", "status", "reason"),
    [
        ([], "Failed", "TemplateNotFound"),
        (["Pending"], "Pending", "TemplateNotAvailable"),
        (["Available"], "Starting", "CreatingRuntime"),
        (["Available", "Available"], "Failed", "TemplateSelectionAmbiguous"),
    ],
)
def test_a_template_is_selected_where_the_settings_say_so(templates_, status, reason):
    ready = {**image(), "status": {"status": "Ready"}}
    ready["spec"] = {key: value for key, value in ready["spec"].items() if key != "defaultServiceTemplate"}
    around = [ready, *(template(each, name=f"t{number}") for number, each in enumerate(templates_))]
    choosing = replace(DEFAULT_SETTINGS, aim_auto_selection=True)
    projection = services.project(service(), observed(MemoryView(around)), choosing)
    assert (projection.status["status"], conditions(projection)["Progressing"][1]) == (status, reason)


def job_of(obj, around, state):
    """The discovery Job that a template wants, in a state."""
    first = templates.project(obj, observed(MemoryView(around)), DEFAULT_SETTINGS)
    wanted = next(each for each in first.children if each["kind"] == "Job")
    reference = {"kind": obj["kind"], "uid": obj["metadata"]["uid"], "controller": True}
    metadata = {**wanted["metadata"], "uid": "u-job", "ownerReferences": [reference]}
    return {**wanted, "metadata": metadata, "status": {"conditions": DONE.get(state, [])}}


def pod_of(job, reason=""):
    waiting = {"waiting": {"reason": reason, "message": "no such tag"}} if reason else {}
    status = {"phase": "Pending" if reason else "Succeeded", "containerStatuses": [{"state": waiting}]}
    pod = named("Pod", "p", job, status=status)
    pod["metadata"]["namespace"] = job["metadata"]["namespace"]
    return pod


@pytest.mark.parametrize("row", CASES["templates"], ids=lambda row: row["name"])
def test_a_template(row):
    kind = row.get("kind", "AIMServiceTemplate")
    obj = template(row.get("before", ""), kind=kind, **row.get("spec", {}))
    around = [] if "without" in row else [image()]
    if "job" in row:
        job = job_of(obj, around, row["job"])
        around += [job, pod_of(job, row.get("pod", ""))]

    def log(namespace, name):
        assert (namespace, name) == (around[-1]["metadata"]["namespace"], "p")
        if row["log"] is None:
            raise ApiError(503, "ServiceUnavailable", "later")
        return row["log"]

    (controller,) = [each for each in templates.controllers(DEFAULT_SETTINGS, log) if each.resource.kind == kind]
    measured = controller.observe(obj, MemoryView(around))
    projection = controller.project(obj, observed_of(row, around, measured))
    compared(projection, row)
    assert [each["kind"] for each in projection.children] == row["children"]
    if "events" in row:
        assert [each.reason for each in projection.events] == row["events"]
    again = controller.project({**obj, "status": projection.status}, observed_of(row, around, measured))
    assert all(each.type == "Normal" for each in again.events)  # a failure is reported once


def test_the_discovery_runs_the_image_of_the_namespace_with_what_the_template_wants():
    obj = template(
        "",
        kind="AIMServiceTemplate",
        metric="latency",
        gpuSelector={"count": 2, "model": "MI300X"},
        env=[{"name": "AIM_METRIC", "value": "mine"}, {"name": "T", "value": "t"}],
        imagePullSecrets=[{"name": "own"}],
    )
    config = named(
        "AIMRuntimeConfig", "default", spec={"serviceAccountName": "sa", "imagePullSecrets": [{"name": "c"}]}
    )
    around = [image(), image("AIMImage", image="r/mine:2"), config]
    job = job_of(obj, around, "active")
    assert job["metadata"]["labels"]["aim.silogen.ai/template"] == "t"
    pod = job["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert (container["image"], container["args"]) == ("r/mine:2", ["dry-run", "--format=json"])
    values = {each["name"]: each["value"] for each in container["env"]}
    assert values == {"AIM_METRIC": "mine", "T": "t", "AIM_GPU_MODEL": "MI300X", "AIM_GPU_COUNT": "2"}
    assert (pod["serviceAccountName"], pod["imagePullSecrets"]) == ("sa", [{"name": "own"}, {"name": "c"}])
    other = job_of(obj, [image(), image("AIMImage", image="r/mine:3"), config], "active")
    assert other["metadata"]["name"] != job["metadata"]["name"]
    cluster = template("", kind="AIMClusterServiceTemplate")
    assert job_of(cluster, around, "active")["metadata"]["namespace"] == "kaiwo-system"
    assert job_of(cluster, around, "active")["spec"]["template"]["spec"]["containers"][0]["image"] == "r/m:1"


@pytest.mark.parametrize("name", ["x" * 253, "a.b.c", f"{'y' * 44}-z"])
def test_the_name_of_a_discovery_job_is_short(name):
    job = discovery.discovery_job(template(name=name), Referent("AIMClusterImage", image()), None, "n")
    assert len(job["metadata"]["name"]) <= 63
    assert "." not in job["metadata"]["name"]


def test_a_result_becomes_sources_and_a_profile_that_the_definition_accepts():
    metadata = {"engine": "vllm", "gpu": "MI300X", "precision": "fp4", "metric": "latency", "gpu_count": 1, "more": 1}
    profile = {"metadata": metadata, "engine_args": {"a": 0.95, "b": float("nan"), "c": 1 << 80}, "env_vars": {"V": 1}}
    models = [{"name": "a", "source": "hf://a", "size_gb": 8.47}, {"name": "no source"}, "x", {"source": "hf://b"}]
    log = f"[INFO] starting\n[1, 2]\n{json.dumps([{'profile': profile, 'models': models}], indent=1)}\ndone [ok]\n"
    found = discovery.parsed(log)
    assert found.sources == [
        {"name": "a", "sourceUri": "hf://a", "size": "9094593249"},
        {"sourceUri": "hf://b", "size": "0"},
    ]
    assert found.profile == {
        "metadata": {"engine": "vllm", "gpu": "MI300X", "metric": "latency", "gpu_count": 1},
        "engine_args": {"a": 0.95, "b": None, "c": float(1 << 80)},
        "env_vars": {"V": "1"},
    }


@pytest.mark.parametrize(
    ("log", "source"),
    [
        ('[{"models": [{"source": "first"}]}]\n[{"models": [{"source": "second"}]}]', "second"),
        ('[{"models": [{"source": "first"}]}]\n[{"models": [{"source": "sec', "first"),
        ('[{"models": [{"source": "first"}]}]\n[]\n["x"]\n[{"other": 1}]', "first"),
        ("x" * 1000 + '\n[{"models": [{"source": "first"}]}] trailing', "first"),
    ],
)
def test_the_last_result_of_a_log_counts(log, source):
    assert [each["sourceUri"] for each in discovery.parsed(log).sources] == [source]


@pytest.mark.parametrize("log", ["", "[" * (1 << 20), "[\n" * (1 << 19), "{}", "[1, 2", "\0\ufffd[", '[{"models": 1'])
def test_a_log_without_a_result_is_an_error(log):
    assert "no JSON array" in discovery.parsed(log).error


def test_a_result_that_fits_into_no_object_is_an_error():
    log = json.dumps([{"profile": {"engine_args": {"a": "x" * (1 << 20)}}}])
    assert "more than 256 KiB" in discovery.parsed(log).error


@pytest.mark.parametrize("row", CASES["images"], ids=lambda row: row["name"])
@pytest.mark.parametrize("kind", ["AIMImage", "AIMClusterImage"])
def test_an_image(row, kind):
    obj = {**image(kind), "status": {"imageMetadata": row["metadata"]} if "metadata" in row else {}}
    if "discovery" in row:
        obj["spec"]["discovery"] = row["discovery"]
    labels = {"aim.silogen.ai/auto-generated": "true", "aim.silogen.ai/aim-image": "m"}
    made = []
    for number, status in enumerate(row.get("templates", ())):
        each = template(status, name=f"t{number}", kind=kind.replace("Image", "ServiceTemplate"))
        made.append({**each, "metadata": {**each["metadata"], "labels": labels}})
    made.append(template("Failed", name="of-a-user", kind=kind.replace("Image", "ServiceTemplate")))
    projection = images.project(obj, observed_of(row, made))
    compared(projection, row)
    assert [each["metadata"]["name"] for each in projection.children] == row.get("children", [])
    assert projection.status.get("imageMetadata") == row.get("metadata")
    for child in projection.children:
        assert child["spec"]["gpuSelector"]["count"] == 1


def pods_end(server):
    """Every discovery Job ends well, with a pod."""
    for job in server.all("jobs"):
        server.put("jobs", {**job, "status": {"conditions": DONE["succeeded"]}})
        pod = named("Pod", "p", job, status={"phase": "Succeeded"})
        pod["metadata"] |= {"namespace": job["metadata"]["namespace"]}
        server.put("pods", pod)


def settle(world):
    for each in OTHERS:
        world.view.resources.setdefault(kind_of(each), each)
    world.reconcile()
    for _ in range(6):
        world.wait_of(1)


@pytest.fixture
def world(server, time):
    controllers = aim.controllers(DEFAULT_SETTINGS, lambda _namespace, _pod: RESULT)
    world = World(server, time, *controllers, by=rules("standard"), also=(kinds.JOBS, kinds.PODS))
    server.admission = Gate(world.rules, world.view)
    return world


def of_user(obj):
    return {**obj, "metadata": {key: value for key, value in obj["metadata"].items() if key != "uid"}}


def test_from_an_image_to_a_running_service_and_to_nothing(server, world):
    server.put("aimclusterimages", of_user(image()))
    server.put("aimclusterservicetemplates", of_user(template("")))
    server.put("aimservices", of_user(service(overrides={"metric": "latency"})))
    settle(world)
    assert {each["metadata"]["namespace"] for each in server.all("jobs")} == {"kaiwo-system", "default"}
    assert world.obj("aimservices", "s")["status"]["status"] == "Pending"
    pods_end(server)
    settle(world)
    (derived,) = server.all("aimservicetemplates")
    assert derived["status"]["status"] == "Available"
    assert "ownerReferences" not in derived["metadata"]
    assert [each["metadata"]["name"] for each in server.all("servingruntimes")] == [derived["metadata"]["name"]]
    (runs,) = server.all("inferenceservices")
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    server.put("inferenceservices", {**runs, "status": ready})
    settle(world)
    found = world.obj("aimservices", "s")["status"]
    assert (found["status"], found["resolvedTemplate"]["scope"]) == ("Running", "Namespace")
    server.requests.clear()
    settle(world)
    assert [each for each in server.requests if each[0] != "GET"] == []
    server.delete("aimclusterimages", "m", "")
    settle(world)
    assert world.obj("aimservices", "s")["status"]["status"] == "Failed"  # nothing names a template
    assert len(server.all("inferenceservices")) == len(server.all("servingruntimes")) == 1


def test_children_of_an_absent_api_are_made_when_it_appears(server, world):
    server.put("aimclusterimages", of_user(image()))
    server.put("aimclusterservicetemplates", template())
    server.put("aimservices", of_user(service(routing={"enabled": True, "gatewayRef": {"name": "g"}})))
    world.view.resources[kind_of(kinds.ROUTES)] = kinds.ROUTES
    world.reconcile()
    assert server.all("inferenceservices") == []
    assert len(server.all("httproutes")) == 1
    reasons = {each["type"]: each["reason"] for each in world.obj("aimservices", "s")["status"]["conditions"]}
    assert reasons["RuntimeReady"] == "DependencyMissing"
    for each in KSERVE:
        world.view.resources[kind_of(each)] = each
    world.notice()
    world.wait_of(1)
    assert len(server.all("inferenceservices")) == len(server.all("clusterservingruntimes")) == 1
    assert find(world.obj("aimservices", "s")["status"]["conditions"], "RuntimeReady")["reason"] == "CreatingRuntime"


def test_a_child_of_another_owner_is_left_alone_and_the_service_says_so(server, world):
    server.put("aimclusterimages", of_user(image()))
    server.put("aimclusterservicetemplates", template())
    server.put("aimservices", of_user(service()))
    server.put("inferenceservices", named("InferenceService", "s", spec={"mine": True}))
    settle(world)
    found = world.obj("aimservices", "s")["status"]
    assert found["status"] == "Failed"
    assert "belongs to another owner" in find(found["conditions"], "Failure")["message"]
    assert server.all("inferenceservices")[0]["spec"] == {"mine": True}


def test_every_kind_with_a_status_has_a_controller():
    found = {each.resource.kind for each in aim.controllers(DEFAULT_SETTINGS, lambda _namespace, _pod: "")}
    wanted = {Kind(each.group, each.kind).kind for each in rules().kinds() if each.group == "aim.silogen.ai"}
    assert found == wanted - {"AIMRuntimeConfig", "AIMClusterRuntimeConfig"}
