"""A small API server whose objects a gate watches, and threads that change them without a pause."""

from __future__ import annotations

import contextlib
import itertools
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.reconciler.apiserver import ApiServer
from tests.threads import beside
from webhook.cluster.view import APIResource

GROUP = "ome.io/v1beta1"
SERVED = (
    APIResource("ome.io", "v1beta1", "basemodels", "BaseModel"),
    APIResource("ome.io", "v1beta1", "clusterbasemodels", "ClusterBaseModel"),
    APIResource("ome.io", "v1beta1", "servingruntimes", "ServingRuntime"),
    APIResource("ome.io", "v1beta1", "clusterservingruntimes", "ClusterServingRuntime"),
)
WRITERS = 3
PAUSE = 0.001


@contextlib.contextmanager
def following() -> Iterator[tuple[ApiServer, list[str]]]:
    """An API server, and the flags with which a gate watches it."""
    with ApiServer() as cluster, tempfile.TemporaryDirectory() as folder:
        cluster.serve(*SERVED)
        path = Path(folder) / "kubeconfig"
        path.write_text(yaml.safe_dump(_kubeconfig(cluster.url)))
        yield cluster, ["--view", "live", "--view-kubeconfig", str(path)]
        cluster.end_watches()


def _kubeconfig(url: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }


def runtime(name: str, note: str = "") -> dict[str, Any]:
    """A runtime for the cluster, which InferenceServices may name."""
    formats = [{"modelFormat": {"name": "safetensors"}, "modelFramework": {"name": "transformers"}, "autoSelect": True}]
    metadata = {"name": name, "annotations": {"note": note}}
    spec = {"supportedModelFormats": formats, "engineConfig": {"runner": {"name": "ome-container", "image": "a/b:1"}}}
    return {"apiVersion": GROUP, "kind": "ClusterServingRuntime", "metadata": metadata, "spec": spec}


@contextlib.contextmanager
def churned(cluster: ApiServer, stop: threading.Event) -> Iterator[None]:
    """Three threads that write runtimes until the context ends."""

    def write(writer: int) -> None:
        for number in itertools.count():
            if stop.wait(PAUSE):
                return
            cluster.put("clusterservingruntimes", runtime(f"churned-{writer}-{number % 20}", str(number)))

    with beside(stop, write, WRITERS):
        yield
