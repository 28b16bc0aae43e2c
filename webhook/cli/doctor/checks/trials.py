"""Two dry runs: one object must come back stamped, the other refused or with a warning. Nothing is stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from webhook.admission.stamp import ANNOTATION
from webhook.cli.doctor.finding import Finding
from webhook.cli.doctor.snapshot import Installation

__all__ = ["CANARIES", "check"]

_NAME: Final = "modelgate-doctor"
_GPU: Final = {"enabled": True, "count": 1, "vendor": "nvidia"}

CANARIES: Final[Mapping[str, tuple[str, str, Mapping[str, Any], Mapping[str, Any]]]] = {
    "inference.llmkube.dev": (
        "v1alpha1",
        "Model",
        {"source": "https://example.com/models/m.Q4_K_M.gguf", "hardware": {"gpu": _GPU}},
        {"source": "pvc://weights"},
    ),
    "llmaz.io": (
        "v1alpha1",
        "OpenModel",
        {"familyName": "llama3", "source": {"modelHub": {"modelID": "meta-llama/Meta-Llama-3-8B"}}},
        {"familyName": "llama3", "source": {"uri": "nowhere://x"}},
    ),
    "ome.io": (
        "v1beta1",
        "BaseModel",
        {"modelFormat": {"name": "safetensors"}, "storage": {"storageUri": "hf://meta-llama/Llama-3-8B"}},
        {"modelFormat": {"name": "safetensors"}, "storage": {"storageUri": "nowhere://x"}},
    ),
}
"""Group → version, kind, a good specification, and one that rules refuse or warn of under every profile."""


def check(found: Installation) -> Iterator[Finding]:
    cluster = found.snapshot.cluster
    if cluster is None or found.snapshot.read_only:
        return
    installed = {each["spec"]["group"] for each in found.snapshot.of("CustomResourceDefinition")}
    usable = [group for group in CANARIES if group in found.groups() & installed]
    if not usable:
        return
    version, kind, good, bad = CANARIES[usable[0]]
    about = f"dry run of a {kind}"
    base = {"apiVersion": f"{usable[0]}/{version}", "kind": kind}
    metadata = {"name": _NAME, "namespace": found.namespace}
    status, body, _ = cluster.dry_run({**base, "metadata": metadata, "spec": good})
    if status >= 400:
        yield Finding("canary-failed", about, f"a good object is refused: {body.get('message')}")
        return
    if ANNOTATION not in (body["metadata"].get("annotations") or {}):
        yield Finding("canary-unstamped", about, "a good object comes back without a stamp")
    status, body, warnings = cluster.dry_run({**base, "metadata": metadata, "spec": bad})
    if status >= 500:
        yield Finding("canary-failed", about, f"the call ends without a decision: {body.get('message')}")
    elif status < 400 and not warnings:
        yield Finding("canary-accepted", about, "an object that rules refuse, or warn of, is accepted without a word")
