"""A webhook for Models with kopf, run in a virtual environment of its own: the rules and defaults of the Go peer.

kopf run --standalone kopf_peer.py     with BENCH_PORT and BENCH_TLS in the environment
"""

import os
import re
from typing import Any

import kopf

RESOURCES = {"nvidia": "nvidia.com/gpu", "amd": "amd.com/gpu", "intel": "gpu.intel.com/i915"}
SOURCE = re.compile(r"(https?|file|pvc)://.+|/.+|[\w.-]+/[\w.-]+")
MODELS = ("inference.llmkube.dev", "v1alpha1", "models")


@kopf.on.startup()
def configure(settings: Any, **_: Any) -> None:
    folder = os.environ["BENCH_TLS"]
    settings.posting.enabled = False
    settings.scanning.disabled = True
    settings.admission.server = kopf.WebhookServer(
        addr="127.0.0.1",
        port=int(os.environ["BENCH_PORT"]),
        host="localhost",
        certfile=f"{folder}/tls.crt",
        pkeyfile=f"{folder}/tls.key",
        cafile=f"{folder}/ca.crt",
    )
    settings.admission.managed = None


@kopf.on.mutate(*MODELS, id="mutate")
def mutate(spec: Any, patch: Any, **_: Any) -> None:
    patch.metadata.annotations["example.com/defaulted"] = "true"
    gpu = spec.get("hardware", {}).get("gpu")
    if gpu and not gpu.get("resourceClaims"):
        name = gpu.get("resourceName") or RESOURCES.get(gpu.get("vendor"))
        for key in ("resourceName", "tolerationKey"):
            if name and not gpu.get(key):
                patch.spec.setdefault("hardware", {}).setdefault("gpu", {})[key] = name


@kopf.on.validate(*MODELS, id="validate")
def validate(spec: Any, **_: Any) -> None:
    hardware = spec.get("hardware", {})
    gpu = hardware.get("gpu", {})
    claims = gpu.get("resourceClaims", [])
    fraction = hardware.get("memoryFraction")
    if not SOURCE.fullmatch(spec["source"]):
        raise kopf.AdmissionError("spec.source: not a source of a model")
    if fraction is not None and not 0 < fraction <= 1:
        raise kopf.AdmissionError("spec.hardware.memoryFraction: must be greater than 0 and at most 1")
    if gpu.get("resourceName") and claims:
        raise kopf.AdmissionError("spec.hardware.gpu: resourceClaims and resourceName are mutually exclusive")
    if any(("resourceClaimName" in each) == ("resourceClaimTemplateName" in each) for each in claims):
        raise kopf.AdmissionError("spec.hardware.gpu.resourceClaims: each needs exactly one reference")
