"""What users and clusters may do to AIM's and OME's objects: names, logs, what goes, and what is not installed."""

from __future__ import annotations

import itertools

import pytest

from reconciler.projections import aim, kinds, ome
from reconciler.projections.aim import discovery, images, templates
from reconciler.projections.ome import benchmarks
from reconciler.projections.ome.workloads import KINDS
from reconciler.resource import Kind, kind_of
from reconciler.say.conditions import find
from tests.reconciler.projections import test_aim, test_ome_services
from tests.reconciler.world import Gate, World, observed
from webhook.cluster.view import MemoryView
from webhook.facts.settings import DEFAULT_SETTINGS

LONG = "n" * 253
LABEL_OF_NAME = {"Service", "Deployment", "Job", "LeaderWorkerSet", "InferenceService"}
"""Kinds whose name becomes a label's value or a DNS label."""
RESULT = '[{"models": [{"source": "hf://a/b"}]}]'
OTHERS = {Kind(each.group, each.kind): each for each in (*test_aim.OTHERS, *KINDS)}


@pytest.fixture
def world(server, time):
    """The services of both APIs, with every API of children installed."""
    controllers = [*aim.controllers(DEFAULT_SETTINGS, lambda _, __: RESULT), ome.services.controller(DEFAULT_SETTINGS)]
    world = World(server, time, *controllers, also=[*OTHERS.values()])
    server.admission = Gate(world.rules, world.view)
    return world


def settle(world):
    world.notice()
    for _ in range(6):
        world.wait_of(1)


def with_aim(server, **spec):
    server.put("aimclusterimages", test_aim.of_user(test_aim.image()))
    server.put("aimclusterservicetemplates", test_aim.template())
    server.put("aimservices", test_aim.of_user(test_aim.service(**spec)))


def with_ome(server, name="i", **more):
    server.put("clusterservingruntimes", test_ome_services.runtime())
    server.put("clusterbasemodels", test_ome_services.model())
    service = test_ome_services.service(**more)
    service["metadata"] |= {"name": name, "uid": f"u-{name}"}
    server.put("inferenceservices", service)


def conditions(world, plural, name):
    return {each["type"]: each for each in world.obj(plural, name)["status"]["conditions"]}


def of_name(kind, name):
    """An object of the kind with the name, and its children."""
    view = MemoryView([test_aim.image(), test_aim.template(), test_ome_services.model(), test_ome_services.runtime()])
    known = observed(view)
    match kind:
        case "AIMService":
            route = {"enabled": True, "gatewayRef": {"name": "g"}}
            obj = test_aim.service(routing=route)
            made = aim.services.project
        case "AIMServiceTemplate":
            obj, made = test_aim.template("", name=name, kind=kind), templates.project
        case "AIMClusterImage":
            recommended = [{"gpuModel": "MI300X", "gpuCount": 1, "metric": "latency", "precision": "fp8"}]
            model = {"canonicalName": "a/b", "recommendedDeployments": recommended}
            status = {"imageMetadata": {"model": model}}
            obj = {**test_aim.image(discovery={"enabled": True}), "status": status}
            return obj, images.project({**obj, "metadata": {**obj["metadata"], "name": name}}, known).children
        case "BenchmarkJob":
            endpoint = {"endpoint": {"url": "http://x", "apiFormat": "openai", "modelName": "m"}}
            limits = {"task": "text-to-text", "maxTimePerIteration": 1, "maxRequestsPerIteration": 1}
            spec = {"endpoint": endpoint, **limits, "outputLocation": {"storageUri": "s3://b/p"}}
            obj, made = test_ome_services.named(kind, name, spec=spec), benchmarks.project
        case _:
            router = {"runner": {"name": "router", "image": "r/router:1"}}
            obj, made = test_ome_services.service(router=router, decoder={}), ome.services.project
    obj["metadata"]["name"] = name
    return obj, made(obj, known, DEFAULT_SETTINGS).children


def labels_in(value):
    """Every map of labels, at any depth."""
    if isinstance(value, list):
        yield from itertools.chain.from_iterable(map(labels_in, value))
    elif isinstance(value, dict):
        yield from (value[key] for key in ("labels", "matchLabels", "selector") if isinstance(value.get(key), dict))
        yield from itertools.chain.from_iterable(map(labels_in, value.values()))


@pytest.mark.parametrize(
    "kind", ["AIMService", "AIMServiceTemplate", "AIMClusterImage", "BenchmarkJob", "InferenceService"]
)
def test_names_and_labels_of_children_of_a_name_of_253_characters_are_valid_and_differ(kind):
    _, children = of_name(kind, LONG)
    _, others = of_name(kind, f"{LONG[:-1]}m")
    assert children
    for child, other in zip(children, others, strict=True):
        name = child["metadata"]["name"]
        assert len(name) <= (63 if child["kind"] in LABEL_OF_NAME else 253)
        assert name != other["metadata"]["name"]
        values = [value for labels in labels_in(child) for value in labels.values() if isinstance(value, str)]
        assert [value for value in values if len(value) > 63] == []


def discovered(server, log):
    server.logs["p"] = log
    pod = test_aim.named("Pod", "p", status={"phase": "Succeeded"})
    return discovery.read(discovery.logs_of(server.api()), [pod])


@pytest.mark.parametrize(
    "pods", [[], [test_aim.named("Pod", "p", status={"phase": "Failed"})], [test_aim.named("Pod", "p")]]
)
def test_a_job_that_has_lost_its_pods_is_an_error_that_says_so(server, pods):
    found = discovery.read(discovery.logs_of(server.api()), pods)
    assert found.error == "the pod of the discovery Job is gone, and its log with it"
    assert not found.sources


@pytest.mark.parametrize("line", [100, 2000, 100_000], ids=lambda length: f"lines of {length}")
def test_the_result_at_the_end_of_a_log_of_10_megabytes_is_found(server, line):
    log = f"{'x' * (line - 1)}\n" * (10_000_000 // line) + f"{RESULT}\n"
    assert [each["sourceUri"] for each in discovered(server, log).sources] == ["hf://a/b"]


def test_one_line_of_10_megabytes_is_an_error(server):
    assert "no JSON array" in discovered(server, f"[{'1, ' * 3_400_000}1]").error


def test_a_log_without_json_is_an_error_that_says_so(server):
    assert "no JSON array" in discovered(server, "Traceback: no GPU\n").error


def test_of_two_documents_in_a_log_the_last_counts(server):
    log = f"{RESULT}\nagain\n{RESULT.replace('a/b', 'c/d')}\n"
    assert [each["sourceUri"] for each in discovered(server, log).sources] == ["hf://c/d"]


def test_a_runtime_deleted_while_its_service_runs_leaves_the_service_running_and_is_reported(server, world):
    with_ome(server, runtime={"name": "r", "kind": "ClusterServingRuntime"})
    settle(world)
    before = server.all("deployments")
    assert len(before) == 1
    server.delete("clusterservingruntimes", "r", "")
    settle(world)
    assert server.all("deployments") == before
    assert ("Warning", "Refused") in world.events()
    server.put("clusterservingruntimes", test_ome_services.runtime())
    settle(world)
    assert conditions(world, "inferenceservices", "i")["Ready"]["reason"] == "Initializing"


def test_a_runtime_of_kserve_deleted_by_hand_comes_back(server, world):
    with_aim(server)
    settle(world)
    (runtime,) = server.all("clusterservingruntimes")
    server.delete("clusterservingruntimes", runtime["metadata"]["name"], "")
    settle(world)
    assert len(server.all("clusterservingruntimes")) == 1


def test_of_two_services_that_want_one_childs_name_the_second_says_so_and_gets_it_when_the_first_goes(server, world):
    with_ome(server, "i")
    settle(world)
    with_ome(server, "i-engine")
    settle(world)
    taken = world.obj("services", "i-engine")
    assert [each["name"] for each in taken["metadata"]["ownerReferences"]] == ["i"]
    ready = conditions(world, "inferenceservices", "i-engine")["Ready"]
    assert "Service default/i-engine belongs to another owner" in ready["message"]
    assert ("Warning", "ChildConflict") in world.events()
    server.delete("inferenceservices", "i")
    server.delete("services", "i-engine")  # as the garbage collector does
    settle(world)
    taken = world.obj("services", "i-engine")
    assert [each["name"] for each in taken["metadata"]["ownerReferences"]] == ["i-engine"]
    assert conditions(world, "inferenceservices", "i-engine")["Ready"]["reason"] == "Initializing"


SEVERAL = {"leader": {"runner": {"name": "ome-container", "image": "r/l:1"}}, "worker": {"size": 1}}
ABSENT = {
    "KServe": (
        (kinds.INFERENCE_SERVICES, kinds.CLUSTER_RUNTIMES),
        {"routing": {"enabled": True, "gatewayRef": {"name": "g"}}},
        ("aimservices", "s", "RuntimeReady"),
        "httproutes",
    ),
    "Gateway API": (
        (kinds.ROUTES,),
        {"routing": {"enabled": True, "gatewayRef": {"name": "g"}}},
        ("aimservices", "s", "RoutingReady"),
        "inferenceservices",
    ),
    "KEDA": (
        (kinds.SCALED,),
        {"annotations": {"ome.io/autoscalerClass": "keda"}},
        ("inferenceservices", "i", "EngineReady"),
        "deployments",
    ),
    "LeaderWorkerSet": ((kinds.LWS,), {"engine": SEVERAL}, ("inferenceservices", "i", "EngineReady"), "services"),
}


@pytest.mark.parametrize("api", ABSENT)
def test_an_api_that_is_not_installed_is_reported_and_its_children_are_made_when_it_appears(server, world, api):
    resources, spec, (plural, name, type_), others = ABSENT[api]
    for each in resources:
        del world.view.resources[kind_of(each)]
    (with_aim if plural == "aimservices" else with_ome)(server, **spec)
    settle(world)
    assert conditions(world, plural, name)[type_]["reason"] == "DependencyMissing"
    assert server.all(others)
    assert [each.plural for each in resources if server.all(each.plural) and each.plural != plural] == []
    assert world.wait_of(120) == 0, "nothing is polled"
    for each in resources:
        world.view.resources[kind_of(each)] = each
    settle(world)
    made = [obj for each in resources for obj in server.all(each.plural) if obj["apiVersion"] == each.api_version]
    assert len(made) == len(resources)
    assert find(world.obj(plural, name)["status"]["conditions"], type_)["reason"] != "DependencyMissing"
