"""The status of an llmaz OpenModel: where its weights will be, or why llmaz cannot use it.

Upstream's controller writes no status. ``Ready`` means "downloaded" there, which cannot be observed, so it is not
written. The paths are those that llmaz gives to containers (pkg/controller_helper/modelsource).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from reconciler.projection import Controller, Observed, Projection
from reconciler.say.conditions import Condition, merged
from webhook.admission import Cause
from webhook.cluster import APIResource

MODELS: Final = APIResource("llmaz.io", "v1alpha1", "openmodels", "OpenModel", namespaced=False)

ACCEPTED: Final = "Accepted"

ROOT: Final = "/workspace/models/"
"""Where llmaz mounts the volume of models."""

UNLOADED: Final = "the loader cannot read it, so a backend must read the URI itself (llmaz.io/skip-model-loader)"


def controller() -> Controller:
    return Controller(MODELS, project, refused=refused)


def project(model: dict[str, Any], observed: Observed) -> Projection:
    """The status of a model that has passed the gate."""
    before = (model.get("status") or {}).get("conditions") or ()
    condition = Condition(ACCEPTED, True, "SourceResolved", _resolved(model["spec"]["source"]))
    return Projection({"conditions": merged(before, [condition], model["metadata"]["generation"], observed.now)})


def refused(causes: Sequence[Cause]) -> Condition:
    """The condition of a model that a rule refuses, with the words of the rules."""
    flavors = all(cause.field.startswith("spec.inferenceConfig") for cause in causes)
    reason = "InvalidFlavors" if flavors else "InvalidSource"
    return Condition(ACCEPTED, False, reason, "; ".join(map(str, causes)))


def _resolved(source: dict[str, Any]) -> str:
    """The provider, and the path in the containers."""
    hub = source.get("modelHub")
    if hub is not None:
        return f"{hub['name']}: {ROOT}{hub.get('filename') or _folder(hub['modelID'].replace('/', '--'))}"
    protocol, _, address = source["uri"].partition("://")
    match protocol.upper():
        case "HOST":
            return f"Host: {address}"
        case "OLLAMA":
            return f"Ollama: {address}, which the backend pulls"
        case "OSS":
            last = address.rpartition("/")[2]
            return f"OSS: {ROOT}{last if '.gguf' in address else _folder(last)}"
        case provider:
            return f"{provider}: {UNLOADED}"


def _folder(name: str) -> str:
    return f"models--{name}"
