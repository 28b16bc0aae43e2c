"""What the children of an AIMService hold beyond what it says itself: names, labels, and what others say for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from webhook.facts.aim.lookup import GROUP
from webhook.facts.aim.resources import devices_of
from webhook.facts.aim.routing import route_of
from webhook.facts.aim.service import Resolved
from webhook.facts.fact import OPEN, STRING, STRINGS, TEXTS, fields, listed
from webhook.facts.names import LABEL, label, named
from webhook.facts.nodes import Referent, items, mapping, name_of, namespace_of, trimmed

_SHORTEST: Final = 20
"""Characters that are left of a name in the longest namespace."""

_NOT_COPIED: Final = ("kubectl.kubernetes.io/", "modelgate.dev/", "argocd.argoproj.io/", "meta.helm.sh/", "helm.sh/")
"""Annotations and labels by which tools recognise their own objects: on a copy, they would take it for theirs."""


def predictor_of(service: dict[str, Any]) -> str:
    """The name of the InferenceService: KServe makes ``<name>-predictor-<namespace>`` a DNS label of it."""
    return named(name_of(service), max(LABEL - len(f"-predictor-{namespace_of(service)}"), _SHORTEST))


def account_of(consumer: dict[str, Any], config: Referent | None) -> dict[str, Any]:
    """What a runtime config gives for pulling images: an account, and secrets that the consumer does not name."""
    settings = config.spec if config else {}
    own = {trimmed(each, "name") for each in items(consumer, "spec", "imagePullSecrets")}
    names = dict.fromkeys(trimmed(each, "name") for each in items(settings, "imagePullSecrets"))
    secrets = [{"name": name} for name in names if name and name not in own]
    return _known(account=trimmed(settings, "serviceAccountName"), secrets=secrets)


def parts_of(service: dict[str, Any], resolved: Resolved) -> dict[str, Any]:
    """The parts of its children; what is not known yet is left out."""
    template, image, routing = resolved.template.template, resolved.image, resolved.routing
    profile = mapping(template.object, "status", "profile", "metadata") if template else {}
    return {
        "name": predictor_of(service),
        "labels": _copied(mapping(service, "metadata", "labels")) | dict(_labels(resolved)),
        **account_of(service, resolved.config),
        **_known(
            template=template.name if template else "",
            image=trimmed(image.spec, "image") if image else "",
            path=route_of(service, routing.template).path or route_of(service, "").path,
            devices=devices_of(trimmed(profile, "gpu")),
            gateway=routing.gateway,
            resources=_as_texts(resolved.resources),
            annotations=_copied(mapping(service, "metadata", "annotations")),
        ),
    }


def _known(**parts: Any) -> dict[str, Any]:
    return {key: value for key, value in parts.items() if value}


def _labels(resolved: Resolved) -> Iterator[tuple[str, str]]:
    """The labels by which the operator finds what belongs to a template."""
    template, image = resolved.template.template, resolved.image
    if template is None:
        return
    profile = mapping(template.object, "status", "profile", "metadata")
    named_image = trimmed(template.spec, "aimImageName")
    more = {
        "template": template.name,
        "model-id": model_of(template.object),
        "aim-image": image.name if image else named_image,
        "template.metric": trimmed(template.spec, "metric") or trimmed(profile, "metric"),
        "template.precision": trimmed(template.spec, "precision") or trimmed(profile, "precision"),
    }
    yield from ((f"{GROUP}/{key}", label(value)) for key, value in more.items() if value)


def _copied(members: Mapping[str, Any]) -> dict[str, str]:
    texts = ((key, value) for key, value in members.items() if isinstance(value, str))
    return {key: value for key, value in texts if not key.startswith(_NOT_COPIED)}


def _as_texts(resources: dict[str, Any]) -> dict[str, Any]:
    """Quantities as text, which is how Kubernetes writes them."""
    parts = {part: resources[part] for part in ("requests", "limits") if isinstance(resources.get(part), dict)}
    return {**resources, **{part: {key: _text(value) for key, value in found.items()} for part, found in parts.items()}}


def _text(value: Any) -> Any:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def model_of(template: dict[str, Any]) -> str:
    """The model that the discovery of a template has found, else the image."""
    sources = items(template, "status", "modelSources")
    return (trimmed(sources[0], "name") if sources else "") or trimmed(template, "spec", "aimImageName")


ACCOUNT: Final = {"account": STRING, "secrets": listed(fields(name=STRING))}
PARTS: Final = fields(
    **dict.fromkeys(("name", "template", "image", "path"), STRING),
    **dict.fromkeys(("labels", "annotations"), TEXTS),
    **dict.fromkeys(("gateway", "resources"), OPEN),
    **ACCOUNT,
    devices=STRINGS,
)
