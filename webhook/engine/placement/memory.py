"""Weights against the memory of the GPUs of a pod (KF001), and with a cache (KF002): bounds, no estimates."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple

from webhook.engine.placement.nodes import NodePlace, Nodes, counted_gpus
from webhook.facts import GIB, Bound, GpuLoad, device_of_labels, gib
from webhook.placement import MOST_SHAPES, NodeShape

RESERVE: Final = GIB // 2
"""Bytes that a process needs on each GPU beside weights and cache: its context and its buffers, at least."""


_COUNT: Final = re.compile(r"[1-9][0-9]{0,3}")


class There(NamedTuple):
    """All memory of the GPUs, at most; ``by_nodes``: the nodes tell it. ``device`` is one of them."""

    total: int
    gpus: int
    device: Bound
    by_nodes: bool


def memory_there(load: GpuLoad, nodes: Nodes | None, *, is_elastic: bool) -> There | None:
    """What there can be; None if it is not known. Nodes tell it, or else the object itself."""
    if nodes is not None and not nodes.silent and not is_elastic and (nodes.tainted or nodes.fitting):
        return _of_nodes(load, nodes.tainted or nodes.fitting)
    if nodes is not None and not nodes.silent and not is_elastic:
        return None  # no node can run it, which another rule says
    device = load.device or (None if nodes is None else _of_selector(load, nodes))
    return None if device is None else There(load.gpus * device.bytes, load.gpus, device, False)


def _of_selector(load: GpuLoad, nodes: Nodes) -> Bound | None:
    """The device that the object asks for by the label of a product or of a cloud's machine."""
    return None if nodes.needs is None else device_of_labels(dict(nodes.needs.selector), load.resource)


def _of_nodes(load: GpuLoad, places: Iterable[NodePlace]) -> There | None:
    """The most of all nodes on which the pod fits; None if one of them does not tell."""
    offers = list[There]()
    for place in places:
        device = _device(place.shape, load.resource)
        if device is None:
            return None
        count = min(load.gpus, _physical(place.shape, load))
        offers.append(There(count * device.bytes, count, device, True))
    if not offers:
        return None
    most = max(offers, key=lambda there: there.total)
    is_certain = all(there.device.certain for there in offers)
    return most._replace(device=most.device._replace(certain=is_certain))


@lru_cache(maxsize=2 * MOST_SHAPES)
def _device(shape: NodeShape, resource: str) -> Bound | None:
    return device_of_labels(shape.labels, resource)


def _physical(shape: NodeShape, load: GpuLoad) -> int:
    """The devices of a node: four time slices have the memory of one."""
    count = shape.labels.get("nvidia.com/gpu.count", "") if load.resource == "nvidia.com/gpu" else ""
    is_true = _COUNT.fullmatch(count) and counted_gpus(shape) >= shape.offers(load.resource)
    return int(count) if is_true else load.gpus


class MemoryFault(NamedTuple):
    """A finding about memory."""

    code: str
    text: str
    certain: bool
    alone: bool


def verdict(load: GpuLoad, there: There | None) -> MemoryFault | None:
    """What is wrong with a load; None if nothing is, or not known."""
    weights = load.weights
    if weights is None or there is None or load.silent:
        return None
    noun = "GPU" if there.gpus == 1 else "GPUs"
    gpus = f"{there.gpus} {noun} of at most {gib(there.device.bytes)} ({there.device.source})"
    if weights.bytes > there.total:
        need = math.ceil(weights.bytes / there.device.bytes)
        more = "use a larger MIG profile" if load.resource.startswith("nvidia.com/mig-") else f"ask for {need}"
        advice = f"{more}, or a smaller quantization" if need <= 16 else "use a smaller model or quantization"
        text = f"{gib(weights.bytes)} of weights at least, and {gpus}: {advice}"
        return MemoryFault("KF001", text, weights.certain and there.device.certain, not there.by_nodes)
    if not load.cache and load.length == "":
        return None
    usable = load.usable * there.total
    if weights.bytes + load.cache + RESERVE * there.gpus <= usable:
        return None
    needed = f"{gib(weights.bytes)} of weights and {gib(load.cache)} for {_length(load)}"
    return MemoryFault("KF002", f"{needed}, and {gpus}: {_advice(load, there, usable)}", False, not there.by_nodes)


def _length(load: GpuLoad) -> str:
    return f"{load.length} {load.tokens}" if " " not in load.length else load.length


def _advice(load: GpuLoad, there: There, usable: float) -> str:
    """What to write instead."""
    assert load.weights is not None
    room = usable - load.weights.bytes - RESERVE * there.gpus
    fitting = int(load.tokens * room / load.cache) if load.cache and room > 0 else 0
    if fitting < 512:
        return "ask for more GPUs, or a smaller quantization"
    name = load.length if " " not in load.length else "the length"
    rounded = fitting // 1000 * 1000 or fitting
    return f"lower {name} to about {rounded}" + (", or set cacheTypeK and cacheTypeV: q8_0" if load.quantizes else "")
