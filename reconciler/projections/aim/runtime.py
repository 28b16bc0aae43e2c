"""What an AIMService is made of: KServe's InferenceService, and the HTTPRoute to it."""

from __future__ import annotations

from typing import Any, Final

from reconciler.projections import kinds
from reconciler.projections.aim.parts import DOMAIN, secrets, system_labels
from reconciler.projections.objects import given, label, named, new, on_nodes
from webhook.facts.aim import Referent, Resolved, devices_of

NOT_COPIED: Final = ("kubectl.kubernetes.io/", "modelgate.dev/", "argocd.argoproj.io/", "meta.helm.sh/", "helm.sh/")
"""Annotations and labels by which tools recognise their own objects: on a copy, they would take it for theirs."""

SHORTEST: Final = 20
"""Characters that are left of a name in the longest namespace."""


def name_of_service(service: dict[str, Any]) -> str:
    """The name of the InferenceService: KServe makes ``<name>-predictor-<namespace>`` a DNS label of it."""
    metadata = service["metadata"]
    return named(metadata["name"], max(63 - len(f"-predictor-{metadata['namespace']}"), SHORTEST))


def inference_service(service: dict[str, Any], template: Referent, resolved: Resolved) -> dict[str, Any]:
    """The InferenceService by which KServe runs the template."""
    spec, settings = service["spec"], resolved.config.spec if resolved.config else {}
    model = {
        "modelFormat": {"name": "aim", "version": "1"},
        "runtime": template.name,
        **given(env=spec.get("env"), resources=_as_texts(resolved.resources or {})),
    }
    profile = (template.object.get("status") or {}).get("profile") or {}
    devices = devices_of((profile.get("metadata") or {}).get("gpu") or "")
    predictor = {
        "minReplicas": spec["replicas"],
        "maxReplicas": spec["replicas"],
        "model": model,
        **given(
            serviceAccountName=settings.get("serviceAccountName"),
            imagePullSecrets=secrets(spec.get("imagePullSecrets"), settings.get("imagePullSecrets")),
            affinity=devices and on_nodes("amd.com/gpu.device-id", devices),
        ),
    }
    metadata = {
        "name": name_of_service(service),
        "labels": _labels(service, template, resolved),
        "annotations": _copied(service["metadata"].get("annotations")),
    }
    return new(kinds.INFERENCE_SERVICES, metadata, spec={"predictor": predictor})


def http_route(service: dict[str, Any], template: Referent, resolved: Resolved, path: str) -> dict[str, Any]:
    """The route of a path to the InferenceService, which sees requests without that path."""
    gateway = {"group": kinds.ROUTES.group, "kind": "Gateway", "namespace": service["metadata"]["namespace"]}
    rewritten = {"path": {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/"}}
    rule = {
        "matches": [{"path": {"type": "PathPrefix", "value": path}}],
        "filters": [{"type": "URLRewrite", "urlRewrite": rewritten}],
        "backendRefs": [{"name": f"{name_of_service(service)}-predictor", "port": 80}],
    }
    metadata = {
        "name": service["metadata"]["name"],
        "labels": _labels(service, template, resolved),
        "annotations": dict((service["spec"].get("routing") or {}).get("annotations") or {}),
    }
    spec = {"parentRefs": [{**gateway, **(resolved.routing.gateway or {})}], "rules": [rule]}
    return new(kinds.ROUTES, metadata, spec=spec)


def _labels(service: dict[str, Any], template: Referent, resolved: Resolved) -> dict[str, str]:
    metadata = ((template.object.get("status") or {}).get("profile") or {}).get("metadata") or {}
    sources = (template.object.get("status") or {}).get("modelSources") or [{}]
    image = template.spec["aimImageName"]
    more = {
        "template": template.name,
        "model-id": sources[0].get("name") or image,
        "aim-image": resolved.image.name if resolved.image else image,
        "template.metric": template.spec.get("metric") or metadata.get("metric"),
        "template.precision": template.spec.get("precision") or metadata.get("precision"),
    }
    system = {f"{DOMAIN}/{key}": label(value) for key, value in more.items() if value}
    return _copied(service["metadata"].get("labels")) | system_labels("aim-service", "inference-service") | system


def _copied(members: dict[str, str] | None) -> dict[str, str]:
    return {key: value for key, value in (members or {}).items() if not key.startswith(NOT_COPIED)}


def _as_texts(resources: dict[str, Any]) -> dict[str, Any]:
    """Quantities as text, which is how Kubernetes writes them."""
    parts = {part: resources[part] for part in ("requests", "limits") if isinstance(resources.get(part), dict)}
    return {**resources, **{part: {key: str(each) for key, each in found.items()} for part, found in parts.items()}}
