"""Where the API server serves a kind: the version it prefers, and the plural."""

from __future__ import annotations

from webhook.cluster.api import Reader
from webhook.cluster.resource import APIResource
from webhook.cluster.view import Kind

__all__ = ["find"]


def find(api: Reader, kind: Kind, timeout: float | None = None, version: str = "") -> APIResource | None:
    """The resource of a kind, or None where its API is not installed; in any version, or in the one that is wanted.

    Every authenticated caller may ask (ClusterRole system:discovery).

    Raises:
        ApiError: no answer, which says nothing about what is installed.
    """
    for each in [version] if version else _versions(api, kind.group, timeout):
        path = f"/apis/{kind.group}/{each}" if kind.group else f"/api/{each}"
        served = api.document(path, timeout) or {}
        for resource in served.get("resources") or ():
            if resource["kind"] == kind.kind and "/" not in resource["name"]:  # not a subresource
                return APIResource(kind.group, each, resource["name"], kind.kind, resource.get("namespaced", True))
    return None


def _versions(api: Reader, group: str, timeout: float | None) -> list[str]:
    """The preferred one first; the API server sorts the others by their maturity."""
    if not group:
        return ["v1"]
    served = api.document(f"/apis/{group}", timeout) or {}
    preferred = (served.get("preferredVersion") or {}).get("version")
    versions: list[str] = [each["version"] for each in served.get("versions") or ()]
    return sorted(versions, key=lambda version: version != preferred)
