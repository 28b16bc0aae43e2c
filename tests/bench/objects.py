"""Reviews to measure with. Each is different: caches by text must not make a benchmark faster than a cluster."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any, Final
from uuid import UUID

import orjson

from webhook import engine
from webhook.admission import review
from webhook.catalog import Catalog
from webhook.cluster import ClusterView, MemoryView

__all__ = ["MODELS", "Json", "body", "full", "invalid", "normalised", "refused_service", "service", "sized", "sparse"]

Json = dict[str, Any]

_API: Final = {"Model": ("inference.llmkube.dev", "v1alpha1", "models")}
_SERVICE: Final = ("ome.io", "v1beta1", "inferenceservices")
_FAMILIES: Final = ("llama", "qwen", "mistral", "phi", "gemma", "granite")
_SIZES: Final = ("1b", "3b", "8b", "14b", "32b", "70b")
_QUANTIZATIONS: Final = ("Q4_K_M", "Q5_K_M", "Q8_0", "F16")


def _random(number: int) -> random.Random:
    return random.Random(number)


def _metadata(number: int, chosen: random.Random) -> Json:
    """What an object has that ``kubectl apply`` sends, when the API server calls the webhooks."""
    name = f"{chosen.choice(_FAMILIES)}-{chosen.choice(_SIZES)}-{number}"
    return {
        "name": name,
        "namespace": f"team-{chosen.randrange(40)}",
        "uid": str(UUID(int=chosen.getrandbits(128), version=4)),
        "creationTimestamp": f"2026-{chosen.randrange(1, 13):02}-{chosen.randrange(1, 29):02}T08:15:{number % 60:02}Z",
        "generation": 1,
        "labels": {"app.kubernetes.io/name": name, "team": f"team-{chosen.randrange(40)}"},
        "managedFields": [
            {
                "manager": "kubectl-client-side-apply",
                "operation": "Update",
                "apiVersion": "inference.llmkube.dev/v1alpha1",
                "time": f"2026-05-{chosen.randrange(1, 29):02}T10:00:00Z",
                "fieldsType": "FieldsV1",
                "fieldsV1": {
                    "f:metadata": {"f:annotations": {".": {}, "f:note": {}}, "f:labels": {".": {}, "f:team": {}}},
                    "f:spec": {".": {}, "f:source": {}, "f:hardware": {".": {}, "f:gpu": {".": {}, "f:enabled": {}}}},
                },
            }
        ],
    }


def _source(chosen: random.Random, number: int) -> str:
    family, size, quantization = (chosen.choice(each) for each in (_FAMILIES, _SIZES, _QUANTIZATIONS))
    return (
        f"https://huggingface.co/org-{number % 97}/{family}/resolve/main/{family}-{size}-{number}.{quantization}.gguf"
    )


def _model(number: int, spec: Json, chosen: random.Random) -> Json:
    metadata = _metadata(number, chosen)
    applied = orjson.dumps({"kind": "Model", "metadata": {"name": metadata["name"]}, "spec": spec}).decode()
    metadata["annotations"] = {"note": "n" * 400, "kubectl.kubernetes.io/last-applied-configuration": applied}
    return {"apiVersion": "inference.llmkube.dev/v1alpha1", "kind": "Model", "metadata": metadata, "spec": spec}


def sparse(number: int) -> Json:
    """A Model of few fields: defaults are to be filled in."""
    chosen = _random(number)
    gpu = {"enabled": True, "count": chosen.choice((1, 2, 4)), "memory": f"{chosen.randrange(8, 81)}Gi"}
    spec = {"source": _source(chosen, number), "hardware": {"accelerator": "cuda", "gpu": gpu}}
    return _model(number, spec, chosen)


def full(number: int) -> Json:
    """A Model that sets every field that it can."""
    chosen = _random(number)
    layers = chosen.randrange(60, 100)
    split = [f"{layers * part // 4}-{layers * (part + 1) // 4 - 1}" for part in range(4)]
    sharding = {"strategy": "layer", "layerSplit": split}
    memory = f"{chosen.randrange(16, 81)}Gi"
    gpu = {"enabled": True, "count": 4, "vendor": "nvidia", "memory": memory, "layers": -1, "sharding": sharding}
    source = _source(chosen, number)
    spec = {
        "source": source,
        "format": "gguf",
        "refreshPolicy": chosen.choice(("IfNotPresent", "OnChange")),
        "quantization": source.split(".")[-2],
        "hardware": {"accelerator": "cuda", "gpu": gpu},
        "resources": {"cpu": str(chosen.randrange(2, 65)), "memory": f"{chosen.randrange(16, 513)}Gi"},
    }
    return _model(number, spec, chosen)


def invalid(number: int) -> Json:
    """A Model that its schema accepts, with 14 findings of the policy's rules."""
    chosen = _random(number)
    split = ["0-19", "10-29", f"40-{50 + number % 9}", "55-79"]
    gpu = {
        "enabled": False,
        "count": 2,
        "vendor": "amd",
        "memory": f"{number} gigabytes",
        "resourceName": "nvidia.com/gpu",
        "sharding": {"strategy": "layer", "layerSplit": split},
    }
    spec = {
        "source": _source(chosen, number),
        "format": "mlx",
        "quantization": f"Q{number % 9}\n",
        "hardware": {"accelerator": "cpu", "memoryFraction": 1.5, "memoryBudget": f"{number}x", "gpu": gpu},
        "resources": {"cpu": f"{number} cores", "memory": f"-{number}Gi"},
    }
    return _model(number, spec, chosen)


def sized(size: int, number: int = 0) -> Json:
    """A full Model of about ``size`` bytes."""
    obj = full(number)
    filler = size - len(orjson.dumps(obj))
    obj["metadata"]["annotations"]["note"] += "n" * max(0, filler)
    return obj


def service(number: int, model: str = "m") -> Json:
    """An InferenceService of OME with the containers of both components: 15 KB."""
    chosen = _random(number)
    container = {
        "name": "ome-container",
        "image": f"registry.example/sglang:{number % 10}.{number % 7}.{number % 5}",
        "args": [f"--flag-{each}={chosen.randrange(10**6)}" for each in range(40)],
        "env": [{"name": f"NAME_{each}", "value": f"{chosen.randrange(10**12)}-{number}"} for each in range(60)],
        "resources": {"limits": {"cpu": str(number % 60 + 1), "memory": f"{number % 400 + 8}Gi", "nvidia.com/gpu": 8}},
    }
    part = {"minReplicas": 1, "maxReplicas": 3, "runner": container, "labels": {"team": f"t-{number}"}}
    metadata = {**_metadata(number, chosen), "annotations": {"note": "n" * 6500}}
    spec = {"model": {"name": model}, "engine": part, "decoder": part, "router": {"minReplicas": 1}}
    return {"apiVersion": "ome.io/v1beta1", "kind": "InferenceService", "metadata": metadata, "spec": spec}


def refused_service(number: int) -> Json:
    """The same with faults in each component."""
    obj = service(number)
    for part in ("engine", "decoder"):
        wrong = {
            "minReplicas": -number - 1,
            "maxReplicas": 0,
            "restartPolicy": f"Sometimes-{number}",
            "dnsPolicy": f"Cluster-{number}",
            "hostPID": True,
            "shareProcessNamespace": True,
            "terminationGracePeriodSeconds": -number - 1,
            "nodeSelector": {f"gpu {number}": "A 100"},
            "scaleMetric": f"speed-{number}",
            "resourceClaims": [{"name": f"Gpu-{number}"}],
        }
        obj["spec"][part] = {**obj["spec"][part], **wrong}
    obj["spec"]["kedaConfig"] = {"scalingThreshold": f"x{number}", "promServerAddress": f"host-{number}"}
    return obj


MODELS: Final[Mapping[str, Callable[[int], Json]]] = {
    "sparse Model": sparse,
    "full Model": full,
    "Model with 14 findings": invalid,
}


def body(obj: Json, number: int = 0, operation: str = "CREATE") -> bytes:
    """The AdmissionReview of an object."""
    chosen = _random(number + 10**6)
    group, version, plural = _API.get(obj["kind"], _SERVICE)
    request = {
        "uid": str(UUID(int=chosen.getrandbits(128), version=4)),
        "kind": {"group": group, "version": version, "kind": obj["kind"]},
        "resource": {"group": group, "version": version, "resource": plural},
        "requestKind": {"group": group, "version": version, "kind": obj["kind"]},
        "requestResource": {"group": group, "version": version, "resource": plural},
        "name": obj["metadata"]["name"],
        "namespace": obj["metadata"]["namespace"],
        "operation": operation,
        "userInfo": {"username": f"user-{number % 50}", "groups": ["system:authenticated"]},
        "object": obj,
        "oldObject": None,
        "dryRun": False,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
    }
    return orjson.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request})


def normalised(raw: bytes, loaded: Catalog, view: ClusterView | None = None) -> bytes:
    """The review that the API server sends to validate, after mutate has answered this one. It has its own uid."""
    document = orjson.loads(raw)
    document["request"]["uid"] = str(UUID(int=UUID(document["request"]["uid"]).int ^ 1))
    _, request = review.decode(raw)
    document["request"]["object"] = engine.mutate(request, loaded, view or MemoryView()).object
    return orjson.dumps(document)
