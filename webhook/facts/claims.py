"""The claims that pods name: PersistentVolumeClaims for volumes, ResourceClaims and their templates for devices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from webhook.cluster.view import ClusterView, Kind
from webhook.facts.fact import STRINGS, fields
from webhook.facts.nodes import items, text
from webhook.golang.names import dns_1123_subdomain

_VOLUMES: Final = Kind("", "PersistentVolumeClaim")
_CLAIMS: Final = Kind("resource.k8s.io", "ResourceClaim")
_TEMPLATES: Final = Kind("resource.k8s.io", "ResourceClaimTemplate")

_LOOKED_UP: Final = 16
"""Claims of an object that are looked up. Each is a request to the API server, within the time of the review."""

MISSING_CLAIMS: Final = fields(volumes=STRINGS, claims=STRINGS, templates=STRINGS)


def missing_claims(pods: Iterable[Any], namespace: str, view: ClusterView) -> dict[str, list[str]]:
    """The names of the claims of pod specs that do not exist in the namespace; none for an unknown namespace ("")."""
    named = dict.fromkeys(_named(pods)) if namespace else {}
    missing: dict[Kind, list[str]] = {_VOLUMES: [], _CLAIMS: [], _TEMPLATES: []}
    for kind, name in list(named)[:_LOOKED_UP]:
        if view.get(kind, namespace, name) is None:
            missing[kind].append(name)
    return {"volumes": missing[_VOLUMES], "claims": missing[_CLAIMS], "templates": missing[_TEMPLATES]}


def _named(pods: Iterable[Any]) -> Iterator[tuple[Kind, str]]:
    for pod in pods:
        for volume in items(pod, "volumes"):
            name = text(volume, "persistentVolumeClaim", "claimName")
            if name:
                yield _VOLUMES, name
        for each in items(pod, "resourceClaims"):
            claim, template = text(each, "resourceClaimName"), text(each, "resourceClaimTemplateName")
            if bool(claim) != bool(template) and not dns_1123_subdomain(claim or template):  # else KP001 says so
                yield (_CLAIMS, claim) if claim else (_TEMPLATES, template)
