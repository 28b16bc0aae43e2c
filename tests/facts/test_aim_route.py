"""The paths that a routeTemplate gives, as upstream's own tests have them, and what it cannot give."""

import pytest

from webhook.cluster.view import MemoryView
from webhook.facts.aim.routing import as_segment, render, route_of, same_routes, template_error

API = {"apiVersion": "aim.silogen.ai/v1alpha1", "kind": "AIMService"}

SERVICE = {
    "metadata": {
        "name": "chat",
        "namespace": "Testing",
        "uid": "12345678-90ab",
        "labels": {"aim.silogen.ai/workload-id": "Workload-42", "long": "x" * 104, "team": "Data-Team"},
        "annotations": {"route.suffix": "Team-A/B"},
    },
    "spec": {
        "aimImageName": "Meta/Llama-3-8B",
        "replicas": 2,
        "routing": {"enabled": True, "routeTemplate": "/x"},
        "env": [{"name": "A", "value": "v"}, {"name": "B"}],
        "overrides": {"gpuSelector": {"count": 2, "model": "MI300X"}},
    },
}


@pytest.mark.parametrize(
    ("template", "path"),
    [
        ("/{.metadata.namespace}/{.metadata.labels['aim.silogen.ai/workload-id']}/", "/testing/workload-42"),
        ("/{.metadata.annotations['route.suffix']}", "/team-a/b"),
        ('/{.metadata.labels["team"]}/chat', "/data-team/chat"),
        ("/{.spec.aimImageName}", "/meta-llama-3-8b"),
        ("/{ .metadata.name }/{.spec.replicas}", "/chat/2"),
        ("/{$.metadata.name}", "/chat"),
        ("/{.metadata.labels.team}", "/data-team"),
        (r"/{.metadata.labels.aim\.silogen\.ai/workload-id}", "/workload-42"),
        ("/{.metadata.annotations.route\\.suffix}", "/team-a-b"),
        ("/{.spec.env[0].value}/{.spec.env[-1].name}", "/v/b"),
        ("/{.spec.cacheModel}/{.spec.routing.enabled}", "/false/true"),
        ("/{.spec.overrides.gpuSelector.model}-x{.spec.overrides.gpuSelector.count}", "/mi300x-x2"),
        ("/custom/a//b/", "/custom/a/b"),
        ("no/slash", "/no/slash"),
        ("/{}", "/"),
        ("/{.spec.templateRef}", "/"),
        ("/{.spec.routing.routeTemplate}", "/x"),
        ("/{.metadata.uid}", "/12345678-90ab"),
    ],
)
def test_a_template_gives_a_path(template, path):
    assert (render(template, SERVICE).path, render(template, SERVICE).error) == (path, "")


@pytest.mark.parametrize(
    ("template", "error"),
    [
        ("/{ }", "jsonpath expression is empty"),
        ("/{.metadata[}", "invalid jsonpath expression: unterminated array"),
        ("/{['metadata']['name']}", 'invalid jsonpath expression: invalid array index "metadata"'),
        ("/{.metadata.labels[team]}", "invalid jsonpath expression: invalid array index team"),
        ("/{metadata.name}", "jsonpath evaluation error: unrecognized identifier metadata"),
        ("/{.metadata.labels.none}", "jsonpath evaluation error: none is not found"),
        ("/{.metadata.labels.aim.silogen.ai/workload-id}", "jsonpath evaluation error: aim is not found"),
        ("/{.metadata.name.first}", "jsonpath evaluation error: first is not found"),
        ("/{.spec.env[2].value}", "jsonpath evaluation error: array index out of bounds: index 2, length 2"),
        ("/{.spec.imagePullSecrets[-1].name}", "array index out of bounds: index -1, length 0"),
        ("/{.metadata.labels['none']}", 'jsonpath evaluation error: label "none" not found'),
        ("/{.metadata.annotations['none']}", 'jsonpath evaluation error: annotation "none" not found'),
        ("/{.spec.model}", "jsonpath evaluation error: model is not found"),
        ("/{.spec.resources}", "jsonpath returned nil value"),
        ("/{.spec.overrides.metric}", "jsonpath returned nil value"),
        ("/{.spec.resources.limits}", "jsonpath evaluation error: limits is not found"),
        ("/{.labels}", "labels is not found"),
        ("/{.metadata.labels['long']}" * 4, "exceeds 200 characters"),
        ("/" + "{.metadata.annotations['route.suffix']}" * 40, "exceeds 200 characters"),
        ("   ", "route template produced an empty path"),
    ],
)
def test_a_template_that_gives_none_says_why(template, error):
    assert error in render(template, SERVICE).error


@pytest.mark.parametrize(
    "template",
    [
        "/{.status.status}",
        "/{.spec.env[?(@.name=='A')].value}",
        "/{.metadata.labels}",
        "/{.spec.env[*].name}",
        "/{.Name}",
        "/{..name}",
    ],
)
def test_what_only_the_operator_can_know_is_left_to_it(template):
    assert (render(template, SERVICE).path, render(template, SERVICE).error) == ("", "")


def test_without_a_template_the_path_is_namespace_and_uid():
    assert route_of(SERVICE, "").path == "/testing/12345678-90ab"
    assert route_of({"metadata": {"name": "a", "namespace": "b"}}, "").path == ""


@pytest.mark.parametrize(
    ("text", "segment"),
    [
        ("Data-Team", "data-team"),
        ("Meta/Llama-3-8B", "meta-llama-3-8b"),
        ("___", ""),
        ("a..b", "a-b"),
        ("x" * 70, "x" * 63),
        ("x" * 62 + "-y", "x" * 62),
    ],
)
def test_a_segment_is_a_label(text, segment):
    assert as_segment(text) == segment


@pytest.mark.parametrize(
    ("template", "wrong"),
    [
        ("/{.spec.model}", True),
        ("/{.metadata.labels[", False),
        ("/{.metadata[}", True),
        ("/{.spec.overrides.colour}", True),
        ("/{.spec.overrides.metric}", False),
        ("/{.spec.env[0].value}", False),
        ("/{.spec.env[0].values}", False),
        ("/{metadata.name}", True),
        ("/{['metadata']['name']}", True),
        ("/{.metadata.labels['team']}", False),
        ("", False),
    ],
)
def test_a_template_of_a_runtime_config_is_wrong_if_no_service_could_have_a_path_by_it(template, wrong):
    assert bool(template_error(template)) == wrong


def routed(namespace, created=None):
    routing = {"enabled": True, "gatewayRef": {"name": "g", "namespace": "gateways"}, "routeTemplate": "/chat"}
    metadata = {"name": "s", "namespace": namespace, **({"creationTimestamp": created} if created else {})}
    return {**API, "metadata": metadata, "spec": {"aimImageName": "i", "routing": routing}}


@pytest.mark.parametrize(
    ("mine", "theirs", "same"),
    [
        ("2026-11-01T00:00:00Z", "2026-11-02T00:00:00Z", False),
        ("2026-11-02T00:00:00Z", "2026-11-01T00:00:00Z", True),
        ("2026-11-01T00:00:00Z", "2026-11-01T00:00:00Z", True),
        (None, "2026-11-01T00:00:00Z", True),
        ("2026-11-01T00:00:00Z", None, True),
    ],
)
def test_a_younger_service_does_not_make_the_path_of_another_tenants_wrong(mine, theirs, same):
    service, other = routed("team", mine), routed("stranger", theirs)
    assert same_routes(service, MemoryView([service, other])) == ([other] if same else [])
