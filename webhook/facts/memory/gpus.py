"""The memory of one device, an upper bound, from the labels of a node, a MIG profile or the name of a GPU."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from webhook.facts.memory.bounds import GIB, TABLES, Bound

_MIB: Final = 2**20
_LEAST_MIB: Final = 2048
"""No driver tells less: a smaller number is in another unit, and not understood."""
_DIGITS: Final = re.compile(r"[0-9]{1,9}")
_VRAM: Final = re.compile(r"([0-9]{1,5})G")
_PROFILE: Final = re.compile(r"[0-9]+g\.([0-9]{1,4})gb(?:\+.*)?")
_LONGEST: Final = 100
_MEMORY: Final = "nvidia.com/gpu.memory"
_PRODUCTS: Final = (
    "nvidia.com/gpu.product",
    "cloud.google.com/gke-accelerator",
    "amd.com/gpu.product-name",
    "beta.amd.com/gpu.product-name",
)
"""Labels that name a GPU (GPU feature discovery, GKE, AMD's node labeller)."""
_INSTANCE: Final = "node.kubernetes.io/instance-type"
_SLICED: Final = "-SHARED"
"""What GPU feature discovery adds to the product of a GPU in time slices."""


@lru_cache(maxsize=512)  # a cluster has a few products
def _row(name: str) -> Mapping[str, Any] | None:
    """The row of a GPU by one of its labels, with its ``name``."""
    gpu = TABLES["labels"].get(name.removesuffix(_SLICED).lower()) if len(name) <= _LONGEST else None
    return None if gpu is None else {"gpu": gpu, **TABLES["devices"][gpu]}


def accelerator(name: str) -> Bound | None:
    """The most memory of a GPU of this name, of all its variants: an A100 has 80 GiB at most. None if unknown."""
    wanted = name.strip().upper() if len(name) <= _LONGEST else ""
    devices = TABLES["devices"]
    named = [gpu for gpu in devices if wanted and f"{gpu.upper()}-".startswith(f"{wanted}-")]
    row = _row(name)
    named += [row["gpu"]] if row is not None else []
    if not named or any(devices[gpu]["shared"] for gpu in named):
        return None
    most = max(devices[gpu]["bytes"] for gpu in named)
    return Bound(most, all(devices[gpu]["firm"] for gpu in named), name.strip())


def device_of_partition(profile: str, labels: Mapping[str, str]) -> Bound | None:
    """The memory of one MIG device, by the label of the node, or the number in the name of its profile."""
    written = labels.get(f"nvidia.com/mig-{profile}.memory", "")
    if _DIGITS.fullmatch(written):
        return Bound(int(written) * _MIB, True, f"MIG {profile}")
    named = _PROFILE.fullmatch(profile)
    return None if named is None else Bound(int(named[1]) * GIB, True, f"MIG {profile}")


def device_of_labels(labels: Mapping[str, str], resource: str) -> Bound | None:
    """The memory of one device of a resource on a node with these labels; None if they do not tell it, or share it."""
    if resource.startswith("nvidia.com/mig-"):
        return device_of_partition(resource.removeprefix("nvidia.com/mig-"), labels)
    if resource not in {"nvidia.com/gpu", "amd.com/gpu"}:
        return None
    product = next((labels[key] for key in _PRODUCTS if key in labels), "")
    row = _row(product) if product else None
    if row is not None and row["shared"]:
        return None
    by_label = _by_driver(labels, resource, product)
    if by_label is not None:
        is_table_more = row is not None and row["firm"] and row["bytes"] > by_label.bytes
        return by_label._replace(bytes=row["bytes"]) if is_table_more and row is not None else by_label
    if row is not None:
        return Bound(row["bytes"], row["firm"], product)
    return _of_instance(labels.get(_INSTANCE, "")) if not product else None


def _by_driver(labels: Mapping[str, str], resource: str, product: str) -> Bound | None:
    """What the driver says."""
    if resource == "nvidia.com/gpu":
        written = labels.get(_MEMORY, "")
        if not _DIGITS.fullmatch(written) or int(written) < _LEAST_MIB:
            return None
        return Bound(int(written) * _MIB, True, product or f"{_MEMORY}={written}")
    vram = _VRAM.fullmatch(labels.get("amd.com/gpu.vram", ""))
    return None if vram is None else Bound(int(vram[1]) * GIB, True, product or f"amd.com/gpu.vram={vram[0]}")


def _of_instance(kind: str) -> Bound | None:
    row = TABLES["instances"].get(kind) if len(kind) <= _LONGEST else None
    return None if row is None or row["shared"] else Bound(row["bytes"], row["firm"], f"{row['gpu']} of {kind}")
