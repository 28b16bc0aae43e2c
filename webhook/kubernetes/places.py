"""Where a definition embeds types of pods, by the names of a schema's properties, when its kind is loaded.

A node has a type if its names are among those of the type and are most of them. A pod or a container may have other
names, too: these are looked at by themselves. Types with few names are told apart by what is below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from webhook.ground.fieldpath import ROOT, FieldPath
from webhook.kubernetes.judge import DATA
from webhook.kubernetes.values import Json
from webhook.schema import SchemaNode

_NAMES: Final[Mapping[str, frozenset[str]]] = {name: frozenset(names) for name, names in DATA["shapes"].items()}
_MOST: Final = 0.6
"""The share of a type's names that a node must have: definitions embed the types of older releases."""
_MOST_OF_WIDE: Final = 0.7
_WIDE: Final = ("PodSpec", "Container")
"""Types that may have further names beside them."""
_LISTS: Final[Mapping[str, str]] = {
    "VolumeMount": "VolumeMounts",
    "VolumeDevice": "VolumeDevices",
    "ContainerPort": "Ports",
}
"""Types that are judged as a list: Kubernetes compares the items."""
_NO_POD: Final = frozenset({"apiVersion", "kind", "metadata", "status"})
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"

_TELLING: Final[Mapping[str, frozenset[str]]] = {
    "Toleration": frozenset({"effect", "tolerationSeconds"}),
    "TopologySpreadConstraint": frozenset({"whenUnsatisfiable"}),
    "VolumeMount": frozenset({"mountPath", "subPath"}),
    "ContainerPort": frozenset({"containerPort"}),
    "EnvVar": frozenset({"name", "value", "valueFrom"}),
    "EnvFromSource": frozenset({"configMapRef", "secretRef", "prefix"}),
    "VolumeDevice": frozenset({"devicePath", "name"}),
    "PodResourceClaim": frozenset({"name", "resourceClaimName", "resourceClaimTemplateName"}),
    "HostAlias": frozenset({"hostnames", "ip"}),
    "PodDNSConfig": frozenset({"nameservers", "options", "searches"}),
    "Lifecycle": frozenset({"postStart", "preStop"}),
    "ResourceRequirements": frozenset({"limits", "requests"}),
}
"""Names that a node must have to be of a type whose names are few, or are also those of other types."""

DECLARED: Final = frozenset({*_NAMES, "PodTemplateSpec", "InitContainer", "Labels", "Annotations"})
"""The types that a policy may declare."""


@dataclass(slots=True)
class Place:
    """A node of the index: the type of the value, if it has one, and where to look below.

    ``whole``: no other part completes the value. ``items`` is the place of each item of a list and each value of a map.
    ``runners`` are the names of further containers of a pod.
    """

    kind: str = ""
    whole: bool = False
    children: dict[str, Place] = field(default_factory=dict)
    items: Place | None = None
    runners: tuple[str, ...] = ()


class Spot(NamedTuple):
    """A value of a type of pods in an object, and its path."""

    place: Place
    value: Any
    path: FieldPath


def pod_places(root: SchemaNode, declared: Mapping[tuple[str, ...], tuple[str, bool]]) -> Place | None:
    """The index of a kind; None if its objects have no pods in them.

    ``declared`` has, by path (``*`` for the items of a list), the type that a policy gives a node, and whether it is
    whole.
    """
    finder = _Finder()
    below = ((key, finder.place(child)) for key, child in root.properties.items() if key not in _NO_POD)
    tree = Place(children={key: place for key, place in below if place is not None})
    for keys, (kind, whole) in declared.items():
        if _node_at(root, keys) is not None:
            _declare(tree, keys, kind, whole=whole)
    return tree if tree.children else None


def _node_at(node: SchemaNode | None, keys: tuple[str, ...]) -> SchemaNode | None:
    for key in keys:
        if node is None or node.preserve:
            return node
        node = (node.items or node.additional) if key == "*" else node.child(key)
    return node


def _declare(tree: Place, keys: tuple[str, ...], kind: str, *, whole: bool) -> None:
    """Give a node a type. Where shapes are shared, the nodes on the way are copied."""
    place = tree
    for key in keys:
        old = place.items if key == "*" else place.children.get(key)
        new = Place() if old is None else replace(old, children=dict(old.children))
        if key == "*":
            place.items = new
        else:
            place.children[key] = new
        place = new
    place.kind, place.whole = kind, whole
    if kind in _WIDE:
        place.children = {key: child for key, child in place.children.items() if key not in _NAMES[kind]}


class _Finder:
    """Finds the places of one schema. Equal nodes are shared, so each is looked at once."""

    def __init__(self) -> None:
        self._places: dict[int, Place | None] = {}

    def place(self, node: SchemaNode | None) -> Place | None:
        if node is None:
            return None
        if id(node) not in self._places:
            self._places[id(node)] = None
            self._places[id(node)] = self._made(node)
        return self._places[id(node)]

    def _made(self, node: SchemaNode) -> Place | None:
        kind = _kind(node)
        if kind and kind not in _WIDE:
            return Place(kind)
        skipped = _NAMES[kind] if kind else frozenset()
        below = ((key, self.place(child)) for key, child in node.properties.items() if key not in skipped)
        children = {key: place for key, place in below if place is not None}
        if children and not kind and _is_selector(node.properties.get("nodeSelector")):
            children["nodeSelector"] = Place("Labels")
        items = self.place(node.items or node.additional)
        if items is not None and items.kind in _LISTS:
            return Place(_LISTS[items.kind])
        runners: tuple[str, ...] = ()
        if kind == "PodSpec":
            runners = tuple(key for key, place in children.items() if place.kind == "Container" and not place.children)
            children = {key: place for key, place in children.items() if key not in runners}
        return Place(kind, children=children, items=items, runners=runners) if kind or children or items else None


def _kind(node: SchemaNode) -> str:
    names = node.properties.keys()
    if names == {"metadata", "spec"} and _kind(node.properties["spec"]) == "PodSpec":
        return "PodTemplateSpec"
    for kind in _WIDE:
        if len(names & _NAMES[kind]) >= _MOST_OF_WIDE * len(_NAMES[kind]):
            return kind
    for kind, all_names in _NAMES.items():
        is_most = names <= all_names and len(names) >= _MOST * len(all_names)
        if is_most and names >= _TELLING.get(kind, frozenset()) and (kind not in _CONFIRMED or _CONFIRMED[kind](node)):
            return kind
    return ""


def _is_selector(node: SchemaNode | None) -> bool:
    """Whether a node is a map of texts: it has no shape, but its name tells what it is beside other parts of pods."""
    return node is not None and node.additional is not None and node.additional.type == "string"


def _has_amounts(node: SchemaNode) -> bool:
    """Whether limits and requests are maps of quantities."""
    maps = [node.properties[name].additional for name in ("limits", "requests")]
    return all(amounts is not None and amounts.int_or_string for amounts in maps)


def _selects_nodes(node: SchemaNode) -> bool:
    """PodAffinity has the same names, but a list of terms."""
    required = node.properties.get(_REQUIRED)
    return required is not None and "nodeSelectorTerms" in required.properties


_CONFIRMED: Final[Mapping[str, Callable[[SchemaNode], bool]]] = {
    "ResourceRequirements": _has_amounts,
    "NodeAffinity": _selects_nodes,
    "EnvVar": lambda node: "secretKeyRef" in node.properties["valueFrom"].properties,
    "Lifecycle": lambda node: "httpGet" in node.properties["preStop"].properties,
}


def parts(place: Place, value: Any) -> Any:
    """The value without what no type of pods has, above its first parts of pods: what their verdict depends on.

    None if no part is there.
    """
    if place.kind or place.items is not None or value.__class__ is not dict:
        return value if value.__class__ is dict or value.__class__ is list else None
    below: Json = {}
    for key, child in place.children.items():
        if key in value:
            part = parts(child, value[key])
            if part is not None:
                below[key] = part
    return below or None


def spots(place: Place, value: Any, path: FieldPath = ROOT) -> Iterator[Spot]:
    """The values of an object that have a type of pods, in the order of the object."""
    if place.kind:
        yield Spot(place, value, path)
    if value.__class__ is dict:
        for key, item in value.items():
            below = place.children.get(key, place.items)
            if below is not None:
                yield from spots(below, item, path.child(key))
    elif place.items is not None and value.__class__ is list:
        for index, item in enumerate(value):
            yield from spots(place.items, item, path.index(index))
