"""Which template a service runs: explicit, default, or derived by overrides; and what it comes down to."""

import pytest

from tests.facts.aim import obj, service, template
from webhook.cluster import MemoryView
from webhook.facts.aim import resolve_service, resolve_template
from webhook.facts.aim.resources import effective_resources
from webhook.facts.aim.template import derived_name, suffix


def resolved(it, *others, **options):
    return resolve_template(it, MemoryView(others), **options)


@pytest.mark.parametrize(
    ("overrides", "digits"),
    [
        ({}, "44136fa3"),
        ({"metric": "throughput"}, "99ad0cdb"),
        ({"metric": "latency"}, "20c78c7a"),
        ({"precision": "bf16"}, "c427dbf8"),
        ({"precision": "fp8", "metric": "throughput"}, "5ab7d1be"),
        ({"gpuSelector": {"model": "MI300X", "count": 2}}, "c7cc6dbc"),
        ({"metric": "throughput", "precision": "fp16", "gpuSelector": {"count": 1, "model": "MI300X"}}, "2ece18e2"),
    ],
)
def test_the_suffix_is_a_hash_of_the_overrides(overrides, digits):
    assert suffix(overrides) == digits


@pytest.mark.parametrize(
    ("base", "name"),
    [
        ("default-testing-llama-3-8b", "default-testing-llama-3-8b-ovr-5ab7d1be"),
        ("x" * 60, "x" * 50 + "-ovr-5ab7d1be"),
        ("x" * 48 + "--y", "x" * 48 + "-ovr-5ab7d1be"),
        ("-" * 60, "-" * 50 + "-ovr-5ab7d1be"),
    ],
)
def test_a_derived_name_is_a_label(base, name):
    assert derived_name(base, "5ab7d1be") == name
    assert len(name) <= 63


def test_an_explicit_template_of_the_namespace_goes_before_that_of_the_cluster():
    both = (template("t"), template("t", cluster=True))
    found = resolved(service(templateRef=" t "), *both)
    assert (found.origin, found.template.kind, found.error) == ("explicit", "AIMServiceTemplate", "")
    assert resolved(service(templateRef="t"), both[1]).template.kind == "AIMClusterServiceTemplate"


def test_a_missing_template_is_named():
    message = 'Template "gone" not found. Create the template or verify the template name.'
    assert resolved(service(templateRef="gone")).error == message


def test_a_blank_default_of_the_namespace_s_image_leaves_it_to_the_cluster_s():
    own = obj("AIMImage", "img", image="i", defaultServiceTemplate=" ")
    shared = obj("AIMClusterImage", "img", image="i", defaultServiceTemplate="t")
    found = resolved(service(), own, shared, template("t"))
    assert (found.origin, found.name) == ("default", "t")
    own["spec"]["defaultServiceTemplate"] = "u"
    assert resolved(service(), own, shared, template("t")).name == "u"


def test_without_any_template_the_operator_s_words_are_said():
    assert resolved(service()).error.startswith("No template reference specified and no default template found")
    assert resolved(service(overrides={})).error == "Observation failed: base template name is empty"
    assert resolved(service(overrides={}, templateRef="b")).error == 'Observation failed: base template "b" not found'


def test_overrides_derive_a_template():
    found = resolved(service(templateRef="t", overrides={"metric": "throughput"}), template("t", metric="latency"))
    assert (found.name, found.template, found.derived) == ("t-ovr-99ad0cdb", None, True)
    assert found.spec == {"aimImageName": "img", "metric": "throughput", "runtimeConfigName": "default"}


def test_a_template_that_says_the_same_is_used_again():
    gpus = {"count": 1, "model": "MI300X"}
    wish = {"metric": "throughput", "precision": "fp16", "gpuSelector": gpus}
    base = template("t", cluster=True, gpuSelector=gpus)
    for cluster in (False, True):
        found = resolved(service(templateRef="t", overrides=wish), base, template("same", cluster=cluster, **wish))
        assert (found.name, found.template.cluster_scoped) == ("same", cluster)


def test_a_cluster_template_cannot_say_what_only_those_of_a_namespace_can():
    wish = {"metric": "throughput"}
    it = service(templateRef="t", overrides=wish, env=[{"name": "A", "value": "b"}])
    assert resolved(it, template("t"), template("same", cluster=True, **wish)).template is None


def test_a_derived_template_that_is_there_is_used_whatever_it_says():
    found = resolved(service(templateRef="t", overrides={}), template("t-ovr-44136fa3", metric="latency"))
    assert (found.name, found.error) == ("t-ovr-44136fa3", "")


def test_empty_overrides_lead_back_to_the_base():
    assert resolved(service(templateRef="t", overrides={}), template("t")).name == "t"


def test_caching_of_the_service_is_part_of_what_it_derives():
    found = resolved(service(templateRef="t", overrides={}, cacheModel=True), template("t"))
    assert found.spec["caching"] == {"enabled": True}


def test_the_first_block_of_resources_is_taken_as_a_whole():
    image = {"resources": {"requests": {"cpu": 2, "amd.com/gpu": 1}}}
    mine = {"requests": {"cpu": "6", "memory": "48Gi"}, "limits": {"cpu": "8", "memory": "64Gi"}}
    assert effective_resources({}, {"resources": mine}, image) == mine
    with_gpu = effective_resources({}, {"resources": mine}, image, gpus=1)
    assert with_gpu["requests"] == {"cpu": "6", "memory": "48Gi", "amd.com/gpu": 1}
    assert with_gpu["limits"] == {"cpu": "8", "memory": "64Gi", "amd.com/gpu": 1}
    assert effective_resources({}, {}, image, gpus=4)["requests"]["amd.com/gpu"] == 1


def test_the_image_is_the_template_s_and_a_cluster_template_sees_the_cluster_s_only():
    image = obj("AIMImage", "img", image="i")
    view = MemoryView([image, template("t", cluster=True)])
    assert resolve_service(service(templateRef="t"), view).image is None
    view = MemoryView([image, template("t")])
    assert resolve_service(service(templateRef="t"), view).image.kind == "AIMImage"


def test_a_runtime_config_of_the_namespace_takes_the_whole_place_of_the_cluster_s():
    shared = obj("AIMClusterRuntimeConfig", "c", routing={"enabled": True, "gatewayRef": {"name": "g"}})
    own = obj("AIMRuntimeConfig", "c", routing={"routeTemplate": "/namespace"})
    routing = resolve_service(service(runtimeConfigName="c"), MemoryView([shared, own])).routing
    assert (routing.enabled, routing.gateway, routing.template) == (False, None, "/namespace")
    assert resolve_service(service(runtimeConfigName="c"), MemoryView([shared])).routing.enabled


def test_routing_of_the_service_switches_off_that_of_its_runtime_config():
    shared = obj("AIMClusterRuntimeConfig", "default", routing={"enabled": True, "gatewayRef": {"name": "g"}})
    routing = resolve_service(service(routing={"enabled": False}), MemoryView([shared])).routing
    assert (routing.enabled, routing.gateway) == (False, {"name": "g"})
