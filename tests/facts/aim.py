"""Objects of AIM for tests of its facts."""

from __future__ import annotations

from typing import Any

V1 = "aim.silogen.ai/v1alpha1"


def obj(kind: str, name: str, namespace: str = "ns", status: Any = None, **spec: Any) -> dict[str, Any]:
    where = {} if kind.startswith("AIMCluster") else {"namespace": namespace}
    more = {"status": status} if status else {}
    return {"apiVersion": V1, "kind": kind, "metadata": {"name": name, **where}, "spec": spec, **more}


def service(**spec: Any) -> dict[str, Any]:
    return obj("AIMService", "svc", **{"aimImageName": "img", **spec})


def template(name: str, cluster: bool = False, status: Any = None, **spec: Any) -> dict[str, Any]:
    kind = "AIMClusterServiceTemplate" if cluster else "AIMServiceTemplate"
    return obj(kind, name, status=status, **{"aimImageName": "img", **spec})


def available(name: str, gpu: str = "", metric: str = "", precision: str = "", **more: Any) -> dict[str, Any]:
    """A template whose discovery has found a profile; ``type`` is that of the profile, ``count`` its GPUs."""
    profile = {"gpu": gpu, "metric": metric, "precision": precision, "type": more.pop("type", "")}
    profile["gpu_count"] = more.pop("count", 0)
    return template(name, status={"status": "Available", "profile": {"metadata": profile}}, **more)


def image(name: str = "img", cluster: bool = False, status: str = "Ready", **spec: Any) -> dict[str, Any]:
    kind = "AIMClusterImage" if cluster else "AIMImage"
    return obj(kind, name, status={"status": status}, **{"image": "r/x:1", **spec})


def node(name: str, **labels: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


def storage_class(name: str, provisioner: str, **annotations: str) -> dict[str, Any]:
    metadata = {"name": name, "annotations": annotations}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": metadata,
        "provisioner": provisioner,
    }
