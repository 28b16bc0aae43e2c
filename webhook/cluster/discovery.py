"""Discovery: the preferred version and the plural of a kind."""

from __future__ import annotations

from webhook.cluster.api import Reader
from webhook.cluster.resource import APIResource
from webhook.cluster.view import Kind

__all__ = ["find"]


def find(api: Reader, kind: Kind, timeout: float | None = None, version: str = "") -> APIResource | None:
    """The resource of a kind in a version (default: any), or None if its API is not installed.

    Every authenticated caller may do this (ClusterRole system:discovery).

    Raises:
        ApiError: the API server does not answer, so the kind may or may not be installed.
    """
    for each in [version] if version else _versions(api, kind.group, timeout):
        path = f"/apis/{kind.group}/{each}" if kind.group else f"/api/{each}"
        served = api.document(path, timeout) or {}
        for resource in served.get("resources") or ():
            if resource["kind"] == kind.kind and "/" not in resource["name"]:  # not a subresource
                return APIResource(kind.group, each, resource["name"], kind.kind, resource.get("namespaced", True))
    return None


def _versions(api: Reader, group: str, timeout: float | None) -> list[str]:
    """The versions of a group, the preferred one first; the API server sorts the others by maturity."""
    if not group:
        return ["v1"]
    served = api.document(f"/apis/{group}", timeout) or {}
    preferred = (served.get("preferredVersion") or {}).get("version")
    versions: list[str] = [each["version"] for each in served.get("versions") or ()]
    return sorted(versions, key=lambda version: version != preferred)
