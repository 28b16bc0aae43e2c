"""The fast way of pods is right: where it finds a value clean, the exact way has nothing to say."""

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
from webhook.kubernetes import is_clean, template_warnings, validate, warned
from webhook.kubernetes.clean import containers, pod
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
KINDS = sorted(pod._KINDS)
WAYS = [(part, owner) for part in (False, True) for owner in ("deployment", "job")]


def doubts(kind: str, value: Any, runners: tuple[str, ...] = ()) -> Iterator[str]:
    """What the exact way says of a value that the fast way finds clean."""
    for part, owner in WAYS:
        if is_clean(kind, value, part, owner, runners):
            said = validate(kind, value, "a", part=part, templates=True, owner=owner, runners=runners)
            yield from (f"{kind} {part} {owner}: {error}" for error in said)
            yield from (f"{kind} {part}: {text}" for _, text in warned(kind, value, "a", part=part))


def doubts_of_template(template: Any) -> list[str]:
    """As :func:`doubts`, of a template and of what it is made of, with a runner as definitions have it."""
    found = [*doubts("PodTemplateSpec", template)]
    spec = template.get("spec") if isinstance(template, dict) else None
    if not isinstance(spec, dict):
        return found
    found += doubts("PodSpec", spec)
    found += doubts("Labels", spec.get("nodeSelector"))
    for kind, each in parts_of(template):
        found += doubts(kind, each)
    listed = spec.get("containers")
    for each in listed if isinstance(listed, list) else []:
        found += [*doubts("Container", each), *doubts("InitContainer", each)]
        found += doubts("PodSpec", {**spec, "containers": None, "runner": each}, ("runner",))
        rest = {key: item for key, item in spec.items() if key not in ("containers", "initContainers")}
        found += doubts("PodSpec", {**rest, "runner": each}, ("runner",))
    return found


def parts_of(template: Any) -> Iterator[tuple[str, Any]]:
    """The parts that definitions have by themselves."""
    meta, spec = template.get("metadata"), template["spec"]
    if isinstance(meta, dict):
        yield from (("Labels", meta.get("labels")), ("Annotations", meta.get("annotations")))
    affinity = spec.get("affinity")
    yield "Affinity", affinity
    yield "NodeAffinity", affinity.get("nodeAffinity") if isinstance(affinity, dict) else affinity
    listed = [("Toleration", spec.get("tolerations")), ("Volume", spec.get("volumes"))]
    containers_ = spec.get("containers")
    for each in containers_ if isinstance(containers_, list) else []:
        if isinstance(each, dict):
            yield from ((kind, each.get(key)) for kind, key in OF_CONTAINER.items())
            listed.append(("EnvVar", each.get("env")))
    for kind, items in listed:
        yield from ((kind, item) for item in items) if isinstance(items, list) else ()


OF_CONTAINER = {
    "VolumeMounts": "volumeMounts",
    "Ports": "ports",
    "ResourceRequirements": "resources",
    "Probe": "livenessProbe",
    "SecurityContext": "securityContext",
}


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


def test_what_the_fast_way_finds_clean_is_clean_in_the_tables(many):
    assert len(many) > 9000
    assert [said for template in many for said in doubts_of_template(template)] == []


@given(st.randoms(use_true_random=False))
@settings(max_examples=examples(1500), deadline=None)
def test_what_the_fast_way_finds_clean_is_clean_after_changes(dice):
    assert doubts_of_template(mutated(dice)) == []


@given(st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=6))
@settings(max_examples=examples(500), deadline=None)
def test_random_values_are_answered_without_an_error(value):
    for kind in KINDS:
        assert [*doubts(kind, value, ("runner",))] == []


@pytest.mark.parametrize("value", WRONG)
def test_a_value_of_a_wrong_type_is_not_clean(value):
    assert [*doubts("PodTemplateSpec", {"spec": value}), *doubts("PodSpec", value), *doubts("Container", value)] == []


def test_a_healthy_pod_is_decided_by_the_fast_way():
    assert doubts_of_template({"spec": HEALTHY}) == []
    assert is_clean("PodTemplateSpec", {"metadata": {"labels": {"a": "b"}}, "spec": HEALTHY}, False, "deployment")
    assert is_clean("PodSpec", HEALTHY, False, "deployment")
    assert is_clean("PodSpec", {**HEALTHY, "restartPolicy": "Never"}, False, "job")
    container = HEALTHY["containers"][0]
    assert is_clean("PodSpec", {"minReplicas": 1, "runner": container}, True, "deployment", ("runner",))


@pytest.mark.parametrize("field", sorted(set(HEALTHY) | {f"containers.{key}" for key in HEALTHY["containers"][0]}))
def test_each_field_of_a_healthy_pod_is_known_alone(field):
    outer, _, inner = field.partition(".")
    own = HEALTHY["containers"][0]
    main = {key: own[key] for key in ("name", "image", inner) if key} if inner else {"name": "a", "image": "a"}
    spec = {"containers": [main], "volumes": HEALTHY["volumes"], **({} if inner else {outer: HEALTHY[outer]})}
    assert is_clean("PodSpec", spec, False, "deployment")


def test_most_valid_templates_of_the_tables_are_decided_by_the_fast_way():
    """The tables look for what is rare; ordinary pods are all clean, as above."""
    valid = clean = 0
    for template in templates():
        if not validate("PodTemplateSpec", template) and not [*template_warnings(template, "")]:
            valid += 1
            clean += is_clean("PodTemplateSpec", template, False, "deployment")
    assert clean / valid > 0.3, f"{clean} of {valid}"


TABLES_OF_CHECKS = (pod._FIELDS, pod._SOURCES, containers._FIELDS)
CHECKS = [(table, key) for table in TABLES_OF_CHECKS for key in table]


@pytest.fixture(scope="module")
def many():
    """Templates of the tables, with changes, and with one field beside what a pod needs."""
    main = {"name": "main", "image": "a"}
    alone = [{"spec": {"containers": [main], key: value}} for key in pod._FIELDS for value in (*WRONG, *FAULTY)]
    return [*templates(), *alone, *(mutated(random.Random(seed)) for seed in range(3000))]


@pytest.mark.parametrize(("table", "key"), CHECKS, ids=[key for _, key in CHECKS])
def test_a_check_that_always_says_yes_is_noticed(table, key, monkeypatch, many):
    monkeypatch.setitem(table, key, lambda *_: True)
    assert any(doubts_of_template(template) for template in many)


def test_the_pods_of_upstreams_samples_are_clean_for_the_fast_way(loaded, monkeypatch):
    exact, judged = list[Any](), list[Any]()
    looked_at, judge = findings._looked_at, findings._judged
    monkeypatch.setattr(findings, "_looked_at", lambda *given: exact.append(given) or looked_at(*given))
    monkeypatch.setattr(findings, "_judged", lambda *given: judged.append(given) or judge(*given))
    for file in shared("samples").rglob("*.yaml"):
        list(verdicts(file, loaded))
    assert len(judged) > 500
    assert len(exact) < len(judged) / 20
