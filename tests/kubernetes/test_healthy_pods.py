"""Healthy pods are right, and what is changed in them is judged alike in the whole and in its parts."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conformance.pods import PLACES, around, pods_cases
from tests.kubernetes.test_pods import TABLES, VALUES, WRONG
from tests.laws import examples
from tests.shared import shared
from tools.coverage.samples import verdicts
from webhook.engine.pods import findings
from webhook.ground.fieldpath import ROOT, FieldPath
from webhook.kubernetes import DECLARED, validate, warned
from webhook.kubernetes.judge import DATA

HEALTHY: dict[str, Any] = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 60,
    "dnsPolicy": "ClusterFirstWithHostNet",
    "hostNetwork": True,
    "hostIPC": True,
    "schedulerName": "volcano",
    "serviceAccountName": "models",
    "priorityClassName": "high",
    "runtimeClassName": "nvidia",
    "imagePullSecrets": [{"name": "registry"}, {"name": "other"}],
    "nodeSelector": {"example.com/gpu": "a100"},
    "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": "gpu", "operator": "In", "values": ["a100"]}]}]
            }
        }
    },
    "securityContext": {"runAsNonRoot": True, "fsGroup": 1000, "seccompProfile": {"type": "RuntimeDefault"}},
    "volumes": [
        {"name": "shm", "emptyDir": {"medium": "Memory"}},
        {"name": "models", "persistentVolumeClaim": {"claimName": "models", "readOnly": True}},
        {"name": "host", "hostPath": {"path": "/data", "type": "Directory"}},
        {"name": "token", "secret": {"secretName": "token", "defaultMode": 0o400}},
        {"name": "settings", "configMap": {"name": "settings", "optional": True}},
        {"name": "share", "nfs": {"server": "files", "path": "/x"}},
    ],
    "initContainers": [{"name": "fetch", "image": "fetch:1", "command": ["fetch"], "env": [{"name": "A"}]}],
    "containers": [
        {
            "name": "main",
            "image": "server:1",
            "args": ["--port", "8080"],
            "imagePullPolicy": "IfNotPresent",
            "terminationMessagePolicy": "FallbackToLogsOnError",
            "ports": [{"name": "http", "containerPort": 8080}, {"containerPort": 9090, "protocol": "UDP"}],
            "env": [
                {"name": "A", "value": "a"},
                {"name": "B", "valueFrom": {"secretKeyRef": {"name": "token", "key": "hf"}}},
                {"name": "C", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            ],
            "envFrom": [{"configMapRef": {"name": "settings"}}],
            "resources": {
                "limits": {"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": 1},
                "requests": {"cpu": "500m", "memory": "8Gi", "nvidia.com/gpu": "1"},
            },
            "volumeMounts": [
                {"name": "shm", "mountPath": "/dev/shm"},
                {"name": "models", "mountPath": "/models", "subPath": "a/b", "readOnly": True},
            ],
            "readinessProbe": {"httpGet": {"path": "/health", "port": "http"}, "periodSeconds": 5},
            "livenessProbe": {"tcpSocket": {"port": 8080}, "failureThreshold": 3},
            "startupProbe": {"exec": {"command": ["true"]}},
            "lifecycle": {"preStop": {"exec": {"command": ["drain"]}}},
            "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        }
    ],
}
KINDS = sorted({*DECLARED, "VolumeMounts", "VolumeDevices", "Ports"})
WAYS = [(part, owner) for part in (False, True) for owner in ("deployment", "job")]
SPEC = ROOT.child("spec")


def said(kind: str, value: Any, path: FieldPath = ROOT, **options: Any) -> list[str]:
    """The errors and the warnings of a value."""
    errors = validate(kind, value, path, templates=True, **options)
    return [*map(str, errors), *(f"{field}: {text}" for field, text in warned(kind, value, path, part=options["part"]))]


def parts_of(template: Any) -> Iterator[tuple[str, Any, FieldPath]]:
    """The parts that definitions have by themselves, as Kubernetes names their places in a template."""
    meta, spec = template.get("metadata"), template.get("spec")
    if isinstance(meta, dict):
        yield "Annotations", meta.get("annotations"), ROOT.child("annotations")
    if not isinstance(spec, dict):
        return
    yield "PodSpec", spec, SPEC
    yield "Labels", spec.get("nodeSelector"), SPEC.child("nodeSelector")
    yield "Affinity", spec.get("affinity"), SPEC.child("affinity")
    for kind, key in (("Toleration", "tolerations"), ("Volume", "volumes"), ("Container", "containers")):
        yield from items_of(kind, spec, key, SPEC)
    for _, container, path in items_of("Container", spec, "containers", SPEC):
        if isinstance(container, dict):
            yield from ((kind, container.get(key), path.child(key)) for kind, key in OF_CONTAINER.items())
            yield from items_of("EnvVar", container, "env", path)


def items_of(kind: str, holder: Any, key: str, path: FieldPath) -> Iterator[tuple[str, Any, FieldPath]]:
    items = holder.get(key)
    for index, item in enumerate(items if isinstance(items, list) else []):
        yield kind, item, path.child(key).index(index)


OF_CONTAINER = {
    "VolumeMounts": "volumeMounts",
    "VolumeDevices": "volumeDevices",
    "Ports": "ports",
    "ResourceRequirements": "resources",
    "SecurityContext": "securityContext",
}


def said_of_parts_only(template: Any) -> list[str]:
    """What is said of a part by itself, and not of the template."""
    found = []
    for owner in ("deployment", "job"):
        of_whole = {str(error) for error in validate("PodTemplateSpec", template, owner=owner)}
        for kind, value, path in parts_of(template):
            errors = validate(kind, value, path, part=True, templates=True, owner=owner)
            found += [f"{kind} {owner}: {error}" for error in errors if str(error) not in of_whole]
    return found


def templates() -> Iterator[Any]:
    """Those of the tables."""
    for name in TABLES:
        for case in pods_cases(orjson.loads(shared("corpora", "pods", f"{name}.json").read_bytes())):
            place = PLACES.get(case["op"].removeprefix("pods/"))
            yield case["in"] if place is None else around(place, case["in"])


def nodes(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each member of an object and of a list: what holds it, and its key."""
    for key in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else []:
        yield value, key
        yield from nodes(value[key])


def mutated(dice: random.Random) -> Any:
    """A healthy template with one to three members changed, removed, doubled, or taken from elsewhere."""
    template = {
        "metadata": {"labels": {"a": "b"}, "annotations": {"example.com/a": "b"}},
        "spec": copy.deepcopy(HEALTHY),
    }
    for _ in range(dice.randint(1, 3)):
        holder, key = dice.choice([*nodes(template)] or [({"": None}, "")])
        chosen = dice.randrange(6)
        if chosen == 0:
            holder[key] = dice.choice((*WRONG, *FAULTY))
        elif chosen == 1:
            del holder[key]
        elif chosen == 2 and isinstance(holder, list):
            holder.append(copy.deepcopy(holder[key]))
        elif chosen == 3 and isinstance(holder, dict):
            holder[dice.choice(FIELDS)] = copy.deepcopy(holder[key])
        elif chosen == 4 and isinstance(template.get("spec"), dict):
            template["spec"][dice.choice(DATA["shapes"]["PodSpec"])] = dice.choice((*WRONG, *FAULTY))
        else:
            other, place = dice.choice([*nodes(template), (holder, key)])
            holder[key] = copy.deepcopy(other[place])
    return template


FAULTY = ("A_b", "a=b", "é", "x" * 300, "../a", "/a", "{{.Name}}", "-1", "1.5", "100m", "0.5Gi", "1Pi", 65536, 8080, -5)
FAULTY = (*FAULTY, "Never", "OnFailure", "None", "a\n", "a/b/c", "{}", "http", 0.0, 8080.0, {"name": "a"}, ["Always"])
FIELDS = sorted(
    {*DATA["shapes"]["PodSpec"], *DATA["shapes"]["Container"], *(n for t in DATA["types"].values() for n in t)}
)


@pytest.fixture(scope="module")
def many() -> list[Any]:
    """Templates of the tables, with changes, and with one field beside what a pod needs."""
    main = {"name": "main", "image": "a"}
    fields = DATA["shapes"]["PodSpec"]
    alone = [{"spec": {"containers": [main], key: value}} for key in fields for value in (*WRONG, *FAULTY)]
    return [*templates(), *alone, *(mutated(random.Random(seed)) for seed in range(3000))]


def test_nothing_is_said_of_a_part_that_is_not_said_of_its_template(many):
    assert len(many) > 9000
    assert [text for template in many for text in said_of_parts_only(template)] == []


@given(st.randoms(use_true_random=False))
@settings(max_examples=examples(1500), deadline=None)
def test_nothing_is_said_of_a_part_of_a_changed_template_that_is_not_said_of_it(dice):
    assert said_of_parts_only(mutated(dice)) == []


@given(st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=6))
@settings(max_examples=examples(500), deadline=None)
def test_random_values_are_answered_without_an_error(value):
    for kind in KINDS:
        for part, owner in WAYS:
            said(kind, value, part=part, owner=owner, runners=("runner",))


@pytest.mark.parametrize("value", WRONG)
def test_a_value_of_a_wrong_type_is_answered_without_an_error(value):
    for kind, each in (("PodTemplateSpec", {"spec": value}), ("PodSpec", value), ("Container", value)):
        for part, owner in WAYS:
            said(kind, each, part=part, owner=owner)


def test_nothing_is_said_of_a_healthy_pod():
    template = {"metadata": {"labels": {"a": "b"}, "annotations": {"example.com/a": "b"}}, "spec": HEALTHY}
    assert said("PodTemplateSpec", template, part=False) == []
    assert said("PodSpec", HEALTHY, part=False) == []
    assert said("PodSpec", {**HEALTHY, "restartPolicy": "Never"}, part=False, owner="job") == []
    spec = {"minReplicas": 1, "runner": HEALTHY["containers"][0]}
    assert said("PodSpec", spec, part=True, runners=("runner",)) == []
    assert [text for kind, value, path in parts_of(template) for text in said(kind, value, path, part=True)] == []


@pytest.mark.parametrize("field", sorted(set(HEALTHY) | {f"containers.{key}" for key in HEALTHY["containers"][0]}))
def test_each_field_of_a_healthy_pod_is_right_alone(field):
    outer, _, inner = field.partition(".")
    own = HEALTHY["containers"][0]
    main = {key: own[key] for key in ("name", "image", inner) if key} if inner else {"name": "a", "image": "a"}
    spec = {"containers": [main], "volumes": HEALTHY["volumes"], **({} if inner else {outer: HEALTHY[outer]})}
    assert said("PodSpec", spec, part=False) == []


def test_the_pods_of_upstreams_samples_are_right(loaded, monkeypatch):
    judged, judge = list[Any](), findings._judged
    monkeypatch.setattr(findings, "_judged", lambda *given: judged.append(judge(*given)) or judged[-1])
    for file in shared("samples").rglob("*.yaml"):
        list(verdicts(file, loaded))
    assert len(judged) > 300
    assert sum(any(sort) for sort in judged) < len(judged) / 20
