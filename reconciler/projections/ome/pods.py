"""The pods of a component: its containers, the model on its node, and what the engine is told."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from reconciler.projections.objects import label, named
from reconciler.projections.ome.components import Component
from webhook.facts.ome import MAIN, NOT_OF_POD, Referent, expanded, ready_label

_GPU: Final = re.compile(r"(?:nvidia\.com|amd\.com)/gpu\Z")


@dataclass(frozen=True, slots=True)
class Context:
    """The service, and what was chosen for it."""

    service: dict[str, Any]
    model: Referent | None
    runtime: Referent | None

    @property
    def path(self) -> str:
        """The folder of the model on its nodes; empty without one."""
        storage = (self.model.spec.get("storage") or {}) if self.model else {}
        return str(storage.get("path") or "")


def labels_of(component: Component, context: Context) -> dict[str, str]:
    """The labels of all children of a component."""
    metadata, model = context.service["metadata"], context.model
    weights = (context.service["spec"].get("model") or {}).get("fineTunedWeights")
    found = {**(metadata.get("labels") or {}), **(component.spec.get("labels") or {})}
    system = {
        "app": component.name,
        "component": component.role,
        "ome.io/inferenceservice": label(metadata["name"]),
        "fine-tuned-serving": "true" if weights else "false",
    }
    if context.runtime is not None:
        system["serving-runtime"] = label(context.runtime.name)
    if model is not None:
        category = (model.object["metadata"].get("annotations") or {}).get("models.ome.io/category")
        system |= {"base-model-name": label(model.name), "base-model-size": label(category or "SMALL")}
        system["base-model-type"] = "Serving"
        if model.spec.get("vendor"):
            system["base-model-vendor"] = label(model.spec["vendor"])
    return found | system


def pod_template(component: Component, context: Context, part: str = "") -> dict[str, Any]:
    """The pod template of a component, or of the ``part`` leader or worker of one over several nodes."""
    spec = component.spec.get(part) or {} if part else component.spec
    pod = {key: value for key, value in spec.items() if key not in NOT_OF_POD}
    runner = spec.get("runner")
    containers = [*([runner] if runner else []), *(pod.get("containers") or ())]
    main = {"name": MAIN, **containers[0]} if containers else {"name": MAIN}
    main = expanded(_told(main, component, context, probed=part != "worker"), context.service)
    pod["containers"] = [main, *containers[1:]]
    if context.path and component.role != "router":
        _mount(pod, main, context)
    if component.role == "router":
        pod.setdefault("serviceAccountName", component.name)
    metadata = context.service["metadata"]
    annotations = {**_kept(metadata.get("annotations")), **(component.spec.get("annotations") or {})}
    labels = {**labels_of(component, context), "app.kubernetes.io/managed-by": "modelgate"}
    return {"metadata": {"labels": labels, "annotations": annotations}, "spec": pod}


def _told(main: dict[str, Any], component: Component, context: Context, *, probed: bool) -> dict[str, Any]:
    """The main container with its variables and probe; what is set already stays."""
    env = list(main.get("env") or ())
    known = {each["name"] for each in env}
    gpus = _gpus(main)
    more = {
        "MODEL_PATH": context.path if component.role != "router" else "",
        "PARALLELISM_SIZE": str(gpus * (1 + component.workers)) if gpus else "",
        **((component.spec.get("config") or {}) if component.role == "router" else {}),
    }
    env += [{"name": key, "value": value} for key, value in more.items() if value and key not in known]
    told = {"imagePullPolicy": "IfNotPresent", **main, **({"env": env} if env else {})}
    if main["name"] == MAIN and "readinessProbe" not in main and probed:
        told["readinessProbe"] = {"tcpSocket": {"port": component.port}}
    return told


def _gpus(container: dict[str, Any]) -> int:
    limits = (container.get("resources") or {}).get("limits") or {}
    found = [str(value) for key, value in limits.items() if _GPU.match(key)]
    return sum(int(value) for value in found if value.isdigit())


def _mount(pod: dict[str, Any], main: dict[str, Any], context: Context) -> None:
    """Mount the model from its node, and choose nodes that have it."""
    model = context.model
    assert model is not None
    name = named(model.name)
    volumes, mounts = pod.get("volumes") or [], main.get("volumeMounts") or []
    if all(each["name"] != name for each in volumes):
        pod["volumes"] = [*volumes, {"name": name, "hostPath": {"path": context.path}}]
    if all(each["mountPath"] != context.path for each in mounts):
        main["volumeMounts"] = [*mounts, {"name": name, "mountPath": context.path, "readOnly": True}]
    pod["nodeSelector"] = {**(pod.get("nodeSelector") or {}), ready_label(model): "Ready"}


def _kept(annotations: dict[str, str] | None) -> dict[str, str]:
    """Annotations of the service for its pods, without those of tools and of the gate."""
    skipped = ("kubectl.kubernetes.io/", "modelgate.dev/", "argocd.argoproj.io/")
    return {key: value for key, value in (annotations or {}).items() if not key.startswith(skipped)}
