"""Facts of upstream's behaviour that no verdict shows: names, paths, blocks and choices. The others are cases."""

import re
from pathlib import Path

import pytest

from tests.facts.aim import available, image, obj, service, template
from tests.shared import ROOT
from webhook.cluster import MemoryView
from webhook.facts.aim import gpu_model, render, resolve_service, resolve_template
from webhook.manifests import documents

ELSEWHERE = {27: "the names of templates that discovery makes: no template is made at admission"}

WORKLOAD = {
    "metadata": {
        "namespace": "Testing",
        "uid": "12345678-90ab",
        "labels": {"aim.silogen.ai/workload-id": "Workload-42", "long": "x" * 104},
        "annotations": {"route.suffix": "Team-A/B"},
    }
}


def in_view(it, *others, **options):
    return resolve_service(it, MemoryView(others), **options)


def test_aim19_a_route_by_namespace_and_label():
    path = "/{.metadata.namespace}/{.metadata.labels['aim.silogen.ai/workload-id']}/"
    assert render(path, WORKLOAD).path == "/testing/workload-42"


def test_aim20_an_annotation_keeps_its_slashes_and_errors_are_named():
    assert render("/{.metadata.annotations['route.suffix']}", WORKLOAD).path == "/team-a/b"
    assert "exceeds 200 characters" in render("/{.metadata.labels['long']}" * 4, WORKLOAD).error
    assert "invalid jsonpath expression" in render("/{.metadata[}", WORKLOAD).error


def test_aim22_overrides_of_the_default_template_derive_one_by_their_hash():
    name = "default-testing-llama-3-8b"
    view = [image(name, cluster=True, defaultServiceTemplate=name), template(name, cluster=True, aimImageName=name)]
    it = service(aimImageName=name, overrides={"metric": "throughput", "precision": "fp8"})
    found = in_view(it, *view).template
    assert (found.name, found.template) == (f"{name}-ovr-5ab7d1be", None)
    assert (found.spec["metric"], found.spec["precision"]) == ("throughput", "fp8")


@pytest.mark.parametrize("cluster", [False, True])
def test_aim23_a_template_that_says_the_same_is_used_again(cluster):
    wish = {"metric": "throughput", "precision": "fp16", "gpuSelector": {"count": 1, "model": "MI300X"}}
    base = template("base", cluster=True, gpuSelector=wish["gpuSelector"])
    same = template("same", cluster=cluster, runtimeConfigName="default", **wish)
    found = in_view(service(templateRef="base", overrides=wish), base, same).template
    assert (found.name, found.template.cluster_scoped) == ("same", cluster)


def test_aim24_the_first_block_of_resources_counts_and_the_profile_adds_its_gpus():
    mine = {"requests": {"cpu": 6, "memory": "48Gi"}, "limits": {"cpu": 8, "memory": "64Gi"}}
    shared = image(cluster=True, resources={"requests": {"cpu": 2, "amd.com/gpu": 1}})
    found = in_view(service(templateRef="t"), shared, available("t", cluster=True, count=1, resources=mine))
    assert found.resources == {part: {**block, "amd.com/gpu": 1} for part, block in mine.items()}


def test_aim25_the_runtime_config_routes_a_service_that_says_nothing_of_routing():
    routing = {
        "enabled": True,
        "gatewayRef": {"name": "kserve-ingress-gateway", "namespace": "kgateway-system"},
        "routeTemplate": "/ns/{.metadata.namespace}/{.metadata.name}",
    }
    it = service()
    found = in_view(it, obj("AIMRuntimeConfig", "default", routing=routing)).routing
    assert (found.enabled, found.gateway["name"]) == (True, "kserve-ingress-gateway")
    assert render(found.template, it).path == "/ns/ns/svc"


def test_aim26_the_namespace_goes_before_the_cluster_for_templates_of_the_namespace_only():
    objects = [image(cluster=True), image()]
    assert in_view(service(templateRef="t"), *objects, template("t"), template("t", cluster=True)).image.namespace
    assert not in_view(service(templateRef="t"), *objects, template("t", cluster=True)).image.namespace


def test_aim29_runtime_configs_are_not_merged():
    shared = obj(
        "AIMClusterRuntimeConfig", "c", routing={"enabled": True, "gatewayRef": {"name": "c"}, "routeTemplate": "/c"}
    )
    own = obj("AIMRuntimeConfig", "c", routing={"routeTemplate": "/namespace"})
    found = in_view(service(runtimeConfigName="c"), shared, own).routing
    assert (found.enabled, found.gateway, found.template) == (False, None, "/namespace")


def test_aim30_the_gpu_goes_before_the_metric():
    found = [available("a", "MI300X", "latency"), available("b", "MI325X", "throughput")]
    assert resolve_template(service(), MemoryView([image(), *found]), choose=True).name == "b"


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("mi300x", "MI300X"),
        ("MI300X (rev 2)", "MI300X"),
        ("Instinct MI300X", "MI300X"),
        ("A100-SXM4-40GB", "A100"),
        ("amd_mi210", "MI210"),
        ("RTX-4090", "4090"),
        ("RTX4090", "RTX4090"),
    ],
)
def test_aim31_models_of_gpus_by_the_names_that_nodes_tell(name, model):
    assert gpu_model(name) == model


def test_every_fact_is_a_case_or_stands_here():
    tables = sorted((ROOT / "policies" / "aim" / "cases").glob("*.yaml"))
    names = [case["name"] for file in tables for document in documents.read(file) for case in document.value["cases"]]
    cases = {int(match[1]) for name in names if (match := re.match(r"AIM(\d\d): ", name))}
    here = {int(number) for number in re.findall(r"^def test_aim(\d\d)_", Path(__file__).read_text(), re.MULTILINE)}
    assert cases | here == set(range(1, 33)) - ELSEWHERE.keys()
