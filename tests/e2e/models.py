"""Models as users write them."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from tests.e2e.kubectl import Object

FINALIZER = "example.com/keep"
GPU = {"vendor": "amd", "runtime": "vulkan", "enabled": True, "count": 1}


def model(name: str, *, gpu: Object | None = None, spec: Object | None = None, **metadata: Any) -> Object:
    """A good Model with something left to derive; ``gpu`` and ``spec`` are merged into it."""
    hardware = {"gpu": {**GPU, **(gpu or {})}}
    written = {"source": "https://example.com/models/llama-3.1-8b.Q4_K_M.gguf", "hardware": hardware}
    return {
        "apiVersion": "inference.llmkube.dev/v1alpha1",
        "kind": "Model",
        "metadata": {"name": name, **metadata},
        "spec": {**written, **(spec or {})},
    }


def bad_model(name: str, **metadata: Any) -> Object:
    """A Model that its CRD takes, and that can never work, for two reasons."""
    bad = model(name, spec={"source": "pvc://weights"}, **metadata)
    bad["spec"]["hardware"]["memoryFraction"] = 1.5
    return bad


def with_vendor(original: Object, vendor: str) -> Object:
    """The same Model, on another vendor's GPU."""
    changed = deepcopy(original)
    changed["spec"]["hardware"]["gpu"]["vendor"] = vendor
    return changed
