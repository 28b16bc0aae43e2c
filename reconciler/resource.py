"""The resources that the reconciler reads and writes."""

from __future__ import annotations

from typing import Any, NamedTuple

from webhook.cluster import APIResource, Key
from webhook.cluster.view import Kind

EVENTS = APIResource("", "v1", "events", "Event")
LEASES = APIResource("coordination.k8s.io", "v1", "leases", "Lease")


def kind_of(resource: APIResource) -> Kind:
    return Kind(resource.group, resource.kind)


def reference(obj: dict[str, Any]) -> dict[str, Any]:
    """How another object refers to this one."""
    parts = {key: obj["metadata"][key] for key in ("name", "namespace", "uid") if key in obj["metadata"]}
    return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], **parts}


class Item(NamedTuple):
    """One object of any kind."""

    kind: Kind
    key: Key

    @classmethod
    def of(cls, obj: dict[str, Any]) -> Item:
        return cls(Kind(obj["apiVersion"].rpartition("/")[0], obj["kind"]), Key.of(obj))

    def __str__(self) -> str:
        return f"{self.kind.kind} {self.key}"
