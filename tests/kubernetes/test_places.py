"""Where a definition has types of pods: in the built-in kinds, as a list; and each type by its names."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.crds import crd, spec_schema
from webhook import catalog
from webhook.kubernetes import Place, parts, pod_places, spots
from webhook.kubernetes.judge import DATA
from webhook.schema import load_crd

LISTED = Path(__file__).with_name("places.txt")
"""The places of each built-in kind: the path, the type, ``whole``, and the names of further containers."""


def lines(place: Place, path: str = "") -> Iterator[str]:
    if place.kind:
        whole = " whole" if place.whole else ""
        yield " ".join((f"{path} {place.kind}{whole}", *place.runners))
    for key, child in sorted(place.children.items()):
        yield from lines(child, f"{path}.{key}" if path else key)
    if place.items is not None:
        yield from lines(place.items, f"{path}[*]")


def test_the_places_of_the_built_in_kinds_are_those_that_are_listed() -> None:
    loaded = catalog.load()
    found = [
        f"{kind.api}/{kind.gvk.kind} {line}"
        for kind in loaded.kinds.values()
        if (place := loaded.prepared(kind).pods) is not None
        for line in lines(place)
    ]
    assert sorted(found) == LISTED.read_text().splitlines()


AMOUNTS = {"type": "object", "additionalProperties": {"x-kubernetes-int-or-string": True}}
TEXT = {"type": "string"}
TERMS = {"nodeSelectorTerms": {"type": "array", "items": TEXT}}
TOLD: dict[str, dict[str, Any]] = {
    "ResourceRequirements": {"limits": AMOUNTS, "requests": AMOUNTS},
    "NodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"type": "object", "properties": TERMS}},
    "EnvVar": {"name": TEXT, "value": TEXT, "valueFrom": {"type": "object", "properties": {"secretKeyRef": TEXT}}},
    "Lifecycle": {"postStart": TEXT, "preStop": {"type": "object", "properties": {"httpGet": TEXT}}},
    "Toleration": dict.fromkeys(("effect", "tolerationSeconds"), TEXT),
    "TopologySpreadConstraint": {"whenUnsatisfiable": TEXT},
    "VolumeMount": dict.fromkeys(("mountPath", "subPath"), TEXT),
    "ContainerPort": {"containerPort": TEXT},
    "EnvFromSource": dict.fromkeys(("configMapRef", "secretRef", "prefix"), TEXT),
    "VolumeDevice": dict.fromkeys(("devicePath", "name"), TEXT),
    "PodResourceClaim": dict.fromkeys(("name", "resourceClaimName", "resourceClaimTemplateName"), TEXT),
    "HostAlias": dict.fromkeys(("hostnames", "ip"), TEXT),
    "PodDNSConfig": dict.fromkeys(("nameservers", "options", "searches"), TEXT),
}
"""What a node of a type must have, beside most of the names."""
LISTS = {"VolumeMount": "VolumeMounts", "VolumeDevice": "VolumeDevices", "ContainerPort": "Ports"}


def place_of(node: dict[str, Any], declared: Any = None) -> Place | None:
    """The index of a definition that has the node as ``spec.part``."""
    definition = load_crd(crd("example.com", "Small", spec_schema(part=node)))
    return pod_places(definition.versions["v1"].schema.root, declared or {})


def type_of(properties: dict[str, Any]) -> str:
    found = place_of({"type": "object", "properties": properties})
    return "" if found is None else found.children["spec"].children["part"].kind


def with_names(kind: str, count: int) -> dict[str, Any]:
    """What tells the type, and further ones of its names."""
    told = TOLD.get(kind, {})
    rest = (name for name in sorted(DATA["shapes"][kind]) if name not in told)
    return {**told, **{name: TEXT for name, _ in zip(rest, range(count - len(told)), strict=False)}}


@pytest.mark.parametrize("kind", sorted(DATA["shapes"]))
def test_a_node_has_a_type_if_it_has_most_of_its_names_and_what_tells_it(kind: str) -> None:
    most = math.ceil(0.6 * len(DATA["shapes"][kind]))
    least = max(most, len(TOLD.get(kind, ())))
    named, every = with_names(kind, least), with_names(kind, len(DATA["shapes"][kind]))
    for name in TOLD.get(kind, {}):
        assert type_of({key: value for key, value in every.items() if key != name}) == "", name
    assert type_of(named) == type_of(every) == kind
    for name in named:
        if name in TOLD.get(kind, {}) or least == most:
            assert type_of({key: value for key, value in named.items() if key != name}) == "", name


@pytest.mark.parametrize("kind", sorted(DATA["shapes"]))
def test_only_a_pod_and_a_container_may_have_other_names_too(kind: str) -> None:
    wide = kind in {"PodSpec", "Container"}
    most = math.ceil(0.7 * len(DATA["shapes"][kind]))
    assert type_of({**with_names(kind, most), "other": TEXT}) == (kind if wide else "")
    assert type_of({**with_names(kind, most - 1), "other": TEXT}) == ""


@pytest.mark.parametrize("kind", ["EnvVar", "Lifecycle", "NodeAffinity", "ResourceRequirements"])
def test_a_node_with_the_names_of_a_type_and_other_values_is_of_none(kind: str) -> None:
    plain = {"type": "object", "properties": {"other": TEXT}}
    assert type_of(dict.fromkeys(DATA["shapes"][kind], plain)) == ""


@pytest.mark.parametrize(("kind", "of_list"), LISTS.items())
def test_a_list_of_some_types_is_judged_as_one(kind: str, of_list: str) -> None:
    item = {"type": "object", "properties": with_names(kind, 9)}
    found = place_of({"type": "array", "items": item})
    assert found is not None
    assert [*lines(found)] == [f"spec.part {of_list}"]


def test_a_template_has_metadata_and_a_pod() -> None:
    pod = {"type": "object", "properties": with_names("PodSpec", 43)}
    template = {"type": "object", "properties": {"metadata": {"type": "object"}, "spec": pod}}
    found = place_of(template)
    assert found is not None
    assert [*lines(found)] == ["spec.part PodTemplateSpec"]
    wider = {"type": "object", "properties": {**template["properties"], "more": TEXT}}
    found = place_of(wider)
    assert found is not None
    assert [*lines(found)] == ["spec.part.spec PodSpec"]


def test_a_map_of_texts_selects_nodes_only_beside_other_parts() -> None:
    selector = {"nodeSelector": {"type": "object", "additionalProperties": TEXT}}
    affinity = {"affinity": {"type": "object", "properties": with_names("Affinity", 3)}}
    found = place_of({"type": "object", "properties": {**selector, **affinity}})
    assert found is not None
    assert [*lines(found)] == ["spec.part.affinity Affinity", "spec.part.nodeSelector Labels"]
    assert place_of({"type": "object", "properties": selector}) is None
    assert place_of({"type": "object", "properties": {"nodeSelector": TEXT}}) is None
    found = place_of({"type": "object", "properties": {"nodeSelector": TEXT, **affinity}})
    assert found is not None
    assert [*lines(found)] == ["spec.part.affinity Affinity"]


def test_a_container_beside_the_list_is_a_runner_unless_it_has_more() -> None:
    main = {"type": "object", "properties": with_names("Container", 25)}
    more = {"type": "object", "properties": {**main["properties"], "inner": main}}
    pod = {**with_names("PodSpec", 43), "runner": main, "wide": more}
    found = place_of({"type": "object", "properties": pod})
    assert found is not None
    assert [*lines(found)] == [
        "spec.part PodSpec runner",
        "spec.part.wide Container",
        "spec.part.wide.inner Container",
    ]


def test_a_policy_may_say_what_a_node_is_where_the_definition_has_it() -> None:
    item = {"type": "object", "properties": {"name": TEXT, "inner": {"type": "object", "properties": {"a": TEXT}}}}
    node = {"type": "array", "items": item}
    declared = {("spec", "part", "*"): ("EnvVar", True), ("spec", "none"): ("EnvVar", True)}
    found = place_of(node, declared)
    assert found is not None
    assert [*lines(found)] == ["spec.part[*] EnvVar whole"]
    assert place_of(node, {("spec", "none"): ("EnvVar", False)}) is None
    deeper = place_of(node, {("spec", "part", "*", "inner"): ("Labels", False), **declared})
    assert deeper is not None
    assert [*lines(deeper)] == ["spec.part[*] EnvVar whole", "spec.part[*].inner Labels"]
    open_node = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    below = place_of(open_node, {("spec", "part", "any"): ("Labels", False)})
    assert below is not None
    assert [*lines(below)] == ["spec.part.any Labels"]


def test_what_a_verdict_depends_on_is_what_has_parts_of_pods_in_it() -> None:
    place = place_of({"type": "object", "properties": {"a": TEXT, "env": {"type": "array", "items": {
        "type": "object", "properties": with_names("EnvVar", 3)}}}})  # fmt: skip
    assert place is not None
    env = [{"name": "A"}]
    assert parts(place, {"kind": "x", "spec": {"part": {"a": "b", "env": env}}}) == {"spec": {"part": {"env": env}}}
    assert [str(spot.path) for spot in spots(place, {"spec": {"part": {"a": "b", "env": env}}})] == ["spec.part.env[0]"]
    for value in ({}, {"spec": {"part": {"a": "b"}}}, {"spec": {"part": {"env": "x"}}}, {"spec": 1}, None):
        assert parts(place, value) is None


def test_what_a_policy_says_of_a_node_it_does_not_say_of_an_equal_one() -> None:
    env = {"type": "array", "items": {"type": "object", "properties": with_names("EnvVar", 3)}}
    node = {"type": "object", "properties": {"env": env, "inner": {"type": "object", "properties": {"a": TEXT}}}}
    definition = load_crd(crd("example.com", "Small", spec_schema(one=node, other=node)))
    found = pod_places(definition.versions["v1"].schema.root, {("spec", "one", "inner"): ("Labels", False)})
    assert found is not None
    assert [*lines(found)] == ["spec.one.env[*] EnvVar", "spec.one.inner Labels", "spec.other.env[*] EnvVar"]


def test_a_part_of_a_pod_is_taken_whole_and_a_map_or_list_of_them_too() -> None:
    affinity = {"type": "object", "properties": with_names("Affinity", 3)}
    variable = {"type": "object", "properties": with_names("EnvVar", 3)}
    by_name = {"type": "object", "additionalProperties": variable}
    place = place_of({"type": "object", "properties": {"affinity": affinity, "by": by_name}})
    assert place is not None
    assert [*lines(place)] == ["spec.part.affinity Affinity", "spec.part.by[*] EnvVar"]
    value = {"spec": {"part": {"affinity": {"x": 1}, "by": {"a": {"name": "b"}}}}}
    assert parts(place, {**value, "other": 1}) == value
    assert [str(spot.path) for spot in spots(place, value)] == ["spec.part.affinity", "spec.part.by.a"]
    assert parts(place, {"spec": {"part": {"affinity": 1, "by": None}}}) is None
    assert [spot.value for spot in spots(place, {"spec": {"part": {"affinity": 1, "by": [1]}}})] == [1, 1]
    assert [*spots(place, {"spec": [1]})] == []


def test_what_looks_nearly_like_a_type_is_of_none() -> None:
    small = {"type": "object", "properties": {"a": TEXT}}
    assert type_of({"metadata": {"type": "object"}, "spec": small}) == ""
    for name in ("limits", "requests"):
        assert type_of({"limits": AMOUNTS, "requests": AMOUNTS, name: small}) == ""
        assert (
            type_of({"limits": AMOUNTS, "requests": AMOUNTS, name: {"type": "object", "additionalProperties": TEXT}})
            == ""
        )
