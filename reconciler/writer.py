"""The API server's verbs that the reconciler needs: those that read and those that write."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, ClassVar

import urllib3

from webhook.cluster import JSON, ApiError, APIResource, Reader, content_of

FIELD_MANAGER = "modelgate"

MERGE_PATCH = "application/merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"  # JSON is YAML

_WARNING = re.compile(r'299 \S+ "(.*)"', re.DOTALL)


class Writer(Reader):
    """The verbs. Every method raises ApiError, and Unreachable without an answer within ``timeout`` seconds."""

    USER_AGENT: ClassVar = "modelgate-reconciler"

    written: Callable[[str, str], None] = staticmethod(lambda _verb, _resource: None)
    """Told of each write that succeeds: its verb, and the resource with the subresource."""

    def merge_patch(
        self, resource: APIResource, namespace: str, name: str, patch: dict[str, Any], *, dry_run: bool = False
    ) -> tuple[dict[str, Any], list[str]]:
        """The patched object, and the warnings of admission. A dry run passes admission and stores nothing."""
        path = resource.path(namespace, name)
        query = {"fieldManager": FIELD_MANAGER, **({"dryRun": "All"} if dry_run else {})}
        response = self._request("PATCH", path, query, patch, content_type=MERGE_PATCH)
        if not dry_run:
            self.written("patch", resource.plural)
        return content_of(response), _warnings(response)

    def apply(self, resource: APIResource, obj: dict[str, Any], subresource: str = "") -> dict[str, Any]:
        """Server-side apply: own the fields of the object, and give up owned fields that it no longer has."""
        return self._write("apply", "PATCH", resource, obj, subresource)

    def create(self, resource: APIResource, obj: dict[str, Any]) -> dict[str, Any]:
        return self._write("create", "POST", resource, obj)

    def replace(self, resource: APIResource, obj: dict[str, Any], subresource: str = "") -> dict[str, Any]:
        """PUT with the object's resourceVersion: a conflict (409) if it has changed since it was read."""
        return self._write("update", "PUT", resource, obj, subresource)

    def delete(self, resource: APIResource, namespace: str, name: str, uid: str) -> None:
        """Delete this very object and, in the background, its own children. It may be gone already."""
        body = {"propagationPolicy": "Background", "preconditions": {"uid": uid}}
        try:
            self._call("DELETE", resource.path(namespace, name), None, body)
        except ApiError as error:
            if error.status not in {404, 409}:
                raise
        else:
            self.written("delete", resource.plural)

    def _write(
        self, verb: str, method: str, resource: APIResource, obj: dict[str, Any], subresource: str = ""
    ) -> dict[str, Any]:
        metadata = obj["metadata"]
        name = "" if verb == "create" else metadata["name"]
        path = resource.path(metadata.get("namespace", ""), name, subresource)
        query = {"fieldManager": FIELD_MANAGER, **({"force": "true"} if verb == "apply" else {})}
        stored = self._call(method, path, query, obj, content_type=APPLY_PATCH if verb == "apply" else JSON)
        self.written(verb, f"{resource.plural}/{subresource}" if subresource else resource.plural)
        return stored


def _warnings(response: urllib3.BaseHTTPResponse) -> list[str]:
    """The texts of ``Warning: 299 - "text"`` headers: a quoted string of UTF-8 (apimachinery, util/net)."""
    headers: list[str] = response.headers.getlist("warning")
    found = (_WARNING.match(header.encode("latin-1").decode(errors="replace")) for header in headers)
    return [re.sub(r"\\(.)", r"\1", match[1]) for match in found if match]
