"""What a node offers, without its name: its labels, its taints and its whole capacity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from webhook.placement.amounts import INT64_MAX, UnknownAmountError, amount

HOSTNAME: Final = "kubernetes.io/hostname"
_ROUNDED: Final = ("memory", "ephemeral-storage")
_GRAIN: Final = 2**26
"""Bytes. The kubelets of equal machines report memory that differs by a few KiB; what there is is rounded up."""


class Taint(NamedTuple):
    """A taint that keeps pods away; what is absent is ""."""

    key: str
    value: str
    effect: str

    def __str__(self) -> str:
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"


@dataclass(frozen=True, slots=True, eq=False)  # told apart by identity: a table has each once
class NodeShape:
    """Nodes that differ by nothing but their names. ``capacity`` is None where it is not told: such a node may run any
    pod. An amount that is not understood counts as :data:`INT64_MAX`. ``devices`` are the resources of device plugins
    that the machine has, in use or out of order, with their amounts.
    """

    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    capacity: Mapping[str, int] | None
    unschedulable: bool
    devices: Mapping[str, int]

    @classmethod
    def of(cls, node: Mapping[str, Any], *, apart: frozenset[str] = frozenset(), rounded: bool = False) -> NodeShape:
        """The shape of a Node, without the labels ``apart``. ``rounded``: see :data:`_GRAIN`."""
        metadata, spec, status = (mapping(node.get(key)) for key in ("metadata", "spec", "status"))
        labels = {
            key: value
            for key, value in mapping(metadata.get("labels")).items()
            if isinstance(key, str) and isinstance(value, str) and key not in apart
        }
        given = status.get("allocatable")
        capacity = None if not isinstance(given, dict) or not given else _capacity(given, rounded=rounded)
        unschedulable = spec.get("unschedulable") is True
        machine = {name: value for name, value in mapping(status.get("capacity")).items() if _is_device(name, value)}
        devices = {name: _offered(name, value) for name, value in machine.items()}
        taints = _taints(spec.get("taints"))
        return cls(MappingProxyType(labels), taints, capacity, unschedulable, MappingProxyType(devices))

    @property
    def key(self) -> tuple[object, ...]:
        """What two nodes of one shape share."""
        capacity = None if self.capacity is None else frozenset(self.capacity.items())
        labels, devices = frozenset(self.labels.items()), frozenset(self.devices.items())
        return labels, self.taints, capacity, self.unschedulable, devices

    def as_object(self, name: str = "") -> dict[str, Any]:
        """A node of this shape, with what the shape keeps of it."""
        taints = [taint._asdict() for taint in self.taints]
        metadata = {"name": name, "labels": dict(self.labels)}
        status = {"capacity": {name: str(most) for name, most in self.devices.items()}}
        return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {"taints": taints}, "status": status}

    def offers(self, resource: str) -> int:
        """The amount of a resource; :data:`INT64_MAX` if it is not known."""
        return INT64_MAX if self.capacity is None else self.capacity.get(resource, 0)


def _is_device(name: Any, amount: Any) -> bool:
    return isinstance(name, str) and "/" in name and any(digit in str(amount)[:20] for digit in "123456789")


def mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _taints(value: Any) -> tuple[Taint, ...]:
    listed = [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
    read = (
        Taint(*(text if isinstance(text := item.get(key), str) else "" for key in Taint._fields)) for item in listed
    )
    return tuple(taint for taint in read if taint.effect in {"NoSchedule", "NoExecute"})


def _capacity(given: Mapping[str, Any], *, rounded: bool) -> Mapping[str, int]:
    capacity = {name: _offered(name, value) for name, value in given.items() if isinstance(name, str)}
    if rounded:
        for name in _ROUNDED:
            if name in capacity:
                capacity[name] = min(-(-capacity[name] // _GRAIN) * _GRAIN, INT64_MAX)
    return MappingProxyType(capacity)


def _offered(name: str, value: Any) -> int:
    try:
        return amount(name, value)
    except UnknownAmountError:
        return INT64_MAX
