"""LLMKube Models for the tests, and a gate that stamps them."""

from __future__ import annotations

import copy
from datetime import UTC, datetime
from typing import Any

from tests.reconciler.apiserver import Denied
from webhook.admission.stamp import ANNOTATION, Stamp

NOW = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)


class Time:
    """A clock that stands still until it is told."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


def model(name: str = "m", /, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "inference.llmkube.dev/v1alpha1",
        "kind": "Model",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"source": "hf://org/repo", "format": "gguf", **spec},
    }


def stamp(obj: dict[str, Any]) -> dict[str, Any]:
    """What our gate does with an object: a default and the stamp; refuses a source that says so."""
    if obj.get("kind") != "Model":
        return obj
    if obj["spec"]["source"].startswith("bad"):
        raise Denied('admission webhook "validate.modelgate.dev" denied the request: spec.source: no')
    stamped = copy.deepcopy(obj)
    stamped["spec"].setdefault("refreshPolicy", "IfNotPresent")
    annotations = stamped["metadata"].setdefault("annotations", {})
    annotations[ANNOTATION] = Stamp.of(stamped, "catalog", {}).encode()
    return stamped


def volume_claim(name: str, phase: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default"},
        "status": {"phase": phase},
    }


def node(name: str, **capacity: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": {"capacity": capacity}}
