"""What each benchmark through the API server needs: a control plane with all variants, and one client of it."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from http.client import HTTPException

from tests.bench.e2e.variants import Variant, installed
from tests.bench.objects import sparse
from tests.e2e.assets import assets
from tests.e2e.client import Client
from tests.e2e.crds import install_crds
from tests.e2e.kubectl import Object
from tests.e2e.plane import Place, Plane
from tests.e2e.processes import wait_until

__all__ = ["Creator", "measured_plane", "model", "path_of"]

QUIET = Place(enter=("env", "GOGC=800"))
"""The API server and etcd collect garbage an eighth as often as by default; the webhooks as they do by default."""


@contextmanager
def measured_plane(names: Sequence[str]) -> Iterator[tuple[Plane, Sequence[Variant]]]:
    """A control plane that asks each of these variants."""
    with ExitStack() as stack:
        plane = stack.enter_context(Plane(assets("plane"), place=QUIET))
        install_crds(plane.kubectl)
        variants = installed(plane, stack, names)
        with closing(Creator(plane)) as creator:
            for variant in variants:
                if variant.name != "nothing":
                    wait_until(partial(creator.is_defaulted, variant), f"the API server to ask {variant.name}")
        yield plane, variants


def path_of(variant: Variant) -> str:
    """Where Models of its namespace are."""
    return f"/apis/inference.llmkube.dev/v1alpha1/namespaces/{variant.namespace}/models"


def model(variant: Variant, number: int, name: str) -> Object:
    """A sparse Model of this number and name, in the namespace of the variant."""
    given = sparse(number)
    metadata = {"name": name, "namespace": variant.namespace, "labels": given["metadata"]["labels"]}
    metadata["annotations"] = {"note": given["metadata"]["annotations"]["note"]}
    return {**given, "metadata": metadata}


class FailedError(Exception):
    """The API server did not create the object."""


class Creator:
    """Creates Models of ever new names in the namespaces of the variants."""

    def __init__(self, plane: Plane, first: int = 0) -> None:
        self._client = Client(plane.kubeconfig)
        self._number = first

    def create(self, variant: Variant, *, dry: bool = False) -> float | None:
        """Milliseconds until the answer; None if the call failed."""
        try:
            return self._create(variant, dry=dry)[0]
        except (FailedError, HTTPException, OSError) as error:
            print(f"failed: {variant.name}: {error}", file=sys.stderr)
            self._client.connection.close()  # the next call opens another
            return None

    def is_defaulted(self, variant: Variant) -> bool:
        """Whether the API server asks the variant already: each fills in the resource of the GPU."""
        gpu: Object = self._create(variant, dry=True)[1]["spec"]["hardware"]["gpu"]
        return gpu.get("resourceName") == "nvidia.com/gpu"

    def _create(self, variant: Variant, *, dry: bool) -> tuple[float, Object]:
        self._number += 1
        path = path_of(variant)
        obj = model(variant, self._number, f"m-{self._number}")
        started = time.perf_counter()
        reply = self._client.ask("POST", f"{path}?dryRun=All" if dry else path, obj)
        seconds = time.perf_counter() - started
        if reply.code != 201:
            raise FailedError(f"{reply.code} {reply.body}")
        return seconds * 1e3, reply.body

    def clear(self, variant: Variant) -> None:
        self._client.ask("DELETE", path_of(variant), None)

    def close(self) -> None:
        self._client.connection.close()
