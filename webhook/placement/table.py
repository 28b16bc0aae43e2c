"""The nodes of a cluster as shapes: nodes that are equal but for their names share one frozen value.

5,000 nodes in 40 pools take less than a megabyte so, and a judgement looks at 40 shapes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, overload

from webhook.placement.nodes import HOSTNAME, NodeShape, mapping

MOST_SHAPES: Final = 1000
"""Shapes that are looked at. A cluster with more has labels that tell each node apart: nothing is said of its nodes."""

_APART: Final = frozenset(
    [
        HOSTNAME,
        "alpha.eksctl.io/instance-id",
        "container.googleapis.com/instance_id",
        "csi.hetzner.cloud/server-id",
        "displayName",
        "hostname",
        "instance.hetzner.cloud/provided-by-id",
        "internal_addr",
        "kubernetes.azure.com/nodename",
        "oci.oraclecloud.com/node.info.id",
    ]
)
"""Labels that tell the nodes of a pool apart (kubelet, eksctl, GKE, AKS, OKE, Hetzner)."""

_HOSTNAMES: Final = frozenset([HOSTNAME])
_LONGEST: Final = 253
"""Characters of the name of a node."""


class _Held(NamedTuple):
    """``hostname`` is "" where it is the name of the node, and None for a node without that label."""

    shape: NodeShape
    hostname: str | None


class NamedNode(NamedTuple):
    """A node by its name, with the labels of its shape and its hostname."""

    name: str
    shape: NodeShape
    labels: Mapping[str, str]


class NodeTable(Sequence[dict[str, Any]]):
    """A frozen table of nodes. As a sequence it has one object for each shape: its labels, taints and capacity.

    ``counts``: shape → its nodes.
    """

    __slots__ = ("_held", "counts")

    def __init__(self, held: Mapping[str, _Held]) -> None:
        self._held = held
        self.counts: Mapping[NodeShape, int] = Counter(node.shape for node in held.values())

    @classmethod
    def of(cls, nodes: Iterable[Mapping[str, Any]], *, rounded: bool = True) -> NodeTable:
        """The table of Node objects. ``rounded``: memory and storage are, so that equal machines are equal."""
        shapes = Shapes(rounded=rounded)
        return cls({name: held for name, held in map(shapes.held, nodes) if name})

    @property
    def total(self) -> int:
        """The number of nodes."""
        return len(self._held)

    def nodes(self) -> Iterator[NamedNode]:
        for name, (shape, hostname) in self._held.items():
            labels = shape.labels if hostname is None else {**shape.labels, HOSTNAME: hostname or name}
            yield NamedNode(name, shape, labels)

    def name_of(self, shape: NodeShape) -> str:
        """The first node of a shape."""
        return min(name for name, held in self._held.items() if held.shape is shape)

    @staticmethod
    def lacks(labels: Iterable[str]) -> bool:
        """Whether the shapes do not have some of these labels, and :meth:`nodes` has them neither."""
        return not (_APART - _HOSTNAMES).isdisjoint(labels)

    def __len__(self) -> int:
        return len(self.counts)

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, index: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        return list(self)[index]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (shape.as_object() for shape in self.counts)


class Shapes:
    """Gives equal nodes one shape. It holds the shapes of all nodes that it was given until :meth:`keep` is called."""

    def __init__(self, *, rounded: bool = True) -> None:
        self._rounded, self._held = rounded, dict[tuple[object, ...], _Held]()

    def held(self, node: Mapping[str, Any]) -> tuple[str, _Held]:
        """The name of a Node, "" if it has none, and what the table keeps of it."""
        metadata = mapping(node.get("metadata"))
        name, hostname = metadata.get("name"), mapping(metadata.get("labels")).get(HOSTNAME)
        if not isinstance(name, str) or len(name) > _LONGEST:
            name = ""
        shape = NodeShape.of(node, apart=_APART if self._rounded else _HOSTNAMES, rounded=self._rounded)
        usual = self._held.setdefault(shape.key, _Held(shape, ""))
        if hostname == name:
            return name, usual  # one value for thousands of nodes
        return name, _Held(usual.shape, hostname if isinstance(hostname, str) else None)

    def keep(self, shapes: Iterable[NodeShape]) -> None:
        """Forget all other shapes."""
        kept = set(shapes)
        self._held = {key: held for key, held in self._held.items() if held.shape in kept}


def table_of(nodes: Sequence[dict[str, Any]]) -> NodeTable:
    """The table of what a view lists as nodes."""
    return nodes if isinstance(nodes, NodeTable) else NodeTable.of(nodes)
