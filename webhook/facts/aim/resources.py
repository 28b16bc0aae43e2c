"""The resources of one replica of a service, and models of GPUs: in names of products, and on nodes of the cluster."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final

from webhook.cluster.view import ClusterView, Kind
from webhook.facts.nodes import Referent, at, mapping, trimmed
from webhook.golang import quantity
from webhook.golang.errors import GoError

GPU: Final = "amd.com/gpu"


def effective_resources(
    service: dict[str, Any], template: dict[str, Any], image: dict[str, Any], gpus: int = 0
) -> dict[str, Any]:
    """Return the first resources block of the service, template and image, as a whole.

    ``gpus`` is the number that discovery found for the profile. It is filled in if the block does not name GPUs.
    """
    blocks = (at(spec, "resources") for spec in (service, template, image))
    chosen: dict[str, Any] = next((block for block in blocks if isinstance(block, dict)), {})
    if gpus < 1:
        return chosen
    return {**chosen, **{part: {GPU: gpus, **mapping(chosen, part)} for part in ("requests", "limits")}}


def profile_gpus(template: Referent | None) -> int:
    """The number of GPUs of a template's discovered profile, 0 if it is unknown."""
    value = at(template.object, "status", "profile", "metadata", "gpu_count") if template else None
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


_LONGEST: Final = 100
"""Characters of a quantity that is read: the largest one has 19 digits, the finest 9 behind the point."""


@lru_cache(maxsize=1024)
def _number(text: str) -> Decimal | str:
    try:
        return quantity.parse(text).amount if len(text) <= _LONGEST else text
    except GoError:
        return text


def amount(value: Any) -> Any:
    """The number that a quantity means, to compare it with others; ``value`` itself if it is not a quantity."""
    return _number(str(value)) if isinstance(value, int | str) and not isinstance(value, bool) else value


NODE: Final = Kind("", "Node")

_VENDORS: Final = frozenset({"AMD", "NVIDIA", "TESLA", "RTX", "INSTINCT"})
_MODEL: Final = re.compile(r"[A-Z]*\d+[A-Z\d]*\Z")

_AMD_IDS: Final = ("amd.com/gpu.device-id", "beta.amd.com/gpu.device-id")
_AMD_NAMES: Final = (
    *("amd.com/gpu.product-name", "beta.amd.com/gpu.product-name"),
    *("amd.com/gpu.family", "beta.amd.com/gpu.family"),
)
_NVIDIA_NAMES: Final = (
    *("nvidia.com/gpu.product", "nvidia.com/mig.product", "nvidia.com/gpu.family"),
    "feature.node.kubernetes.io/nvidia-gpu-model",
)
"""Labels that the vendors' labellers write, the most specific first; ``<label>.<value>: <number>`` is equivalent."""

_DEVICES: Final = {
    device: model
    for model, devices in {
        "MI100": "738c 738e",
        "MI210": "740f 7410",
        "MI250X": "7408 740c",
        "MI300A": "74a0",
        "MI300X": "74a1 74a9 74b5 74bd",
        "MI308X": "74a2 74a8 74b6",
        "MI325X": "74a5 74b9",
        "MI350X": "75a0 75b0",
        "MI355X": "75a3 75b3",
    }.items()
    for device in devices.split()
}
"""PCI device → model. Some models have several devices, such as those of virtual functions."""


@lru_cache(maxsize=1024)
def gpu_model(name: str) -> str:
    """Return the model in a GPU name: ``Instinct MI300X``, ``mi300x`` and ``MI300X (rev 2)`` are MI300X."""
    words = [word for word in re.split(r"[-\s/:]+", name.upper().replace("_", "-")) if word not in _VENDORS]
    return next(filter(_MODEL.match, words), words[0] if words else "")


def devices_of(model: str) -> list[str]:
    """The PCI devices of an AMD model, which nodes have as a label; empty if they are unknown."""
    return sorted(device for device, known in _DEVICES.items() if known == gpu_model(model))


def models_on_nodes(view: ClusterView) -> frozenset[str] | None:
    """The models on all nodes, free or in use. None if the view contains no nodes, so the models are unknown."""
    nodes = view.list(NODE)
    return frozenset(model for node in nodes for model in models_of_node(node)) if nodes else None


def models_of_node(node: dict[str, Any]) -> tuple[str, ...]:
    """The AMD and NVIDIA models of a node, from its labels."""
    labels = mapping(node, "metadata", "labels")
    return _models(frozenset((key, trimmed(labels, key)) for key in labels if "gpu" in key or "mig" in key))


@lru_cache(maxsize=1024)  # nodes of one pool share their labels
def _models(told: frozenset[tuple[str, str]]) -> tuple[str, ...]:
    labels = dict(told)
    device, name = _first(labels, _AMD_IDS).lower().removeprefix("0x"), _first(labels, _AMD_NAMES)
    amd = _DEVICES.get(device, f"AMD-{device.upper()}") if device else gpu_model(name)
    return tuple(filter(None, (amd, gpu_model(_first(labels, _NVIDIA_NAMES)))))


def _first(labels: dict[str, str], names: tuple[str, ...]) -> str:
    for name in names:
        if value := labels.get(name):
            return value
        start = f"{name}."
        for label in sorted(label for label in labels if label.startswith(start)):
            if labels[label] not in {"", "0"}:
                return label.removeprefix(start)
    return ""
