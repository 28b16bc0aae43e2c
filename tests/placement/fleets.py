"""Random pods and fleets, near the borders of kube-scheduler's filters."""

from __future__ import annotations

from random import Random
from typing import Any

Json = dict[str, Any]

KEYS = ("pool", "zone", "nvidia.com/gpu.memory", "kubernetes.io/hostname")
VALUES = ("a", "b", "gpu", "40960", "81559", "-3", "")
TAINTS = ("nvidia.com/gpu", "dedicated", "node.kubernetes.io/unschedulable", "node.kubernetes.io/not-ready")
EFFECTS = ("NoSchedule", "NoExecute", "PreferNoSchedule")
AMOUNTS = {
    "cpu": ("0", "100m", "1", "1.5", "4", "8", "0.0001"),
    "memory": ("0", "1Gi", "16Gi", "64Gi", "1e9", "1.5Gi", "1000000Ki", "100m"),
    "ephemeral-storage": ("1Gi", "50Gi", "1Ti"),
    "nvidia.com/gpu": ("0", "1", "2", "8"),
    "hugepages-2Mi": ("2Mi", "64Mi"),
    "devic.es/dri-render": ("1", "2"),
}
NAMES = ("n0", "n1", "n2", "elsewhere")


def _some(random: Random, chance: float) -> bool:
    return random.random() < chance


def _amounts(random: Random, chance: float) -> Json:
    return {name: random.choice(values) for name, values in AMOUNTS.items() if _some(random, chance)}


def node(random: Random, name: str) -> Json:
    labels = {key: random.choice(VALUES) for key in KEYS[:3] if _some(random, 0.6)}
    if _some(random, 0.8):
        labels[KEYS[3]] = name
    taints = [
        {
            "key": random.choice(TAINTS),
            "value": random.choice(("", "present", "true")),
            "effect": random.choice(EFFECTS),
        }
        for _ in range(random.choice((0, 0, 0, 1, 2)))
    ]
    pods = (
        {} if _some(random, 0.1) else {"pods": random.choice(("0", "110"))} if _some(random, 0.2) else {"pods": "110"}
    )
    spec = {"taints": taints} | ({"unschedulable": True} if _some(random, 0.15) else {})
    allocatable = {**_amounts(random, 0.8), **pods}
    return {"metadata": {"name": name, "labels": labels}, "spec": spec, "status": {"allocatable": allocatable}}


def fleet(random: Random) -> list[Json]:
    return [node(random, f"n{place}") for place in range(random.randint(1, 4))]


def _container(random: Random, name: str) -> Json:
    requests, limits = _amounts(random, 0.25), _amounts(random, 0.1)
    return {"name": name, "image": "x", "resources": {"requests": requests, "limits": limits}}


def _toleration(random: Random) -> Json:
    toleration: Json = {"operator": random.choice(("Exists", "Equal", ""))}
    if _some(random, 0.85):
        toleration["key"] = random.choice(TAINTS)
    if toleration["operator"] != "Exists":
        toleration["value"] = random.choice(("", "present", "true"))
    if _some(random, 0.5):
        toleration["effect"] = random.choice(EFFECTS)
    return toleration


def _expression(random: Random) -> Json:
    operator = random.choice(("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Sideways"))
    count = 0 if operator in {"Exists", "DoesNotExist"} else 1 if operator in {"Gt", "Lt"} else random.randint(0, 2)
    return {"key": random.choice(KEYS), "operator": operator, "values": random.choices(VALUES, k=count)}


def _field(random: Random) -> Json:
    operator, count = random.choice(("In", "In", "NotIn")), random.choice((1, 1, 1, 2))
    return {"key": "metadata.name", "operator": operator, "values": random.choices(NAMES, k=count)}


def _term(random: Random) -> Json:
    term: Json = {}
    if _some(random, 0.85):
        term["matchExpressions"] = [_expression(random) for _ in range(random.randint(0, 2))]
    if _some(random, 0.2):
        term["matchFields"] = [_field(random) for _ in range(random.randint(1, 2))]
    return term


def pod(random: Random) -> Json:
    spec: Json = {"containers": [_container(random, f"c{at}") for at in range(random.randint(1, 2))]}
    if _some(random, 0.3):
        spec["initContainers"] = [_container(random, f"i{at}") for at in range(random.randint(1, 3))]
        for each in spec["initContainers"]:
            if _some(random, 0.4):
                each["restartPolicy"] = "Always"
    if _some(random, 0.2):
        spec["overhead"] = _amounts(random, 0.4)
    if _some(random, 0.2):
        spec["resources"] = {"requests": {name: AMOUNTS[name][4] for name in ("cpu", "memory") if _some(random, 0.5)}}
    if _some(random, 0.3):
        spec["nodeSelector"] = {random.choice(KEYS): random.choice(VALUES)}
    if _some(random, 0.35):
        terms = [_term(random) for _ in range(random.randint(0, 3))]
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        spec["affinity"] = {"nodeAffinity": required}
    if _some(random, 0.5):
        spec["tolerations"] = [_toleration(random) for _ in range(random.randint(1, 3))]
    return spec
