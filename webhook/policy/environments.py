"""The environments of a policy's expressions: what they may name, and of which types.

A definition may leave data open (``x-kubernetes-preserve-unknown-fields`` without a type). An expression can only
compare it: everything else fails when it is evaluated, and the type checker does not see it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from threading import RLock
from typing import Any, Final, NamedTuple

from webhook.cel import SHOWN, TEXTS, Environment, type_of_schema
from webhook.cel.syntax import Call, Comprehension, Expr, Ident
from webhook.cel.types import DYN, Type, object_of
from webhook.policy.path import Path
from webhook.policy.reads import OBJECT, STORED, Keys, Reads
from webhook.schema import Structural

Schema = Mapping[str, Any]

_STRING: Final[Schema] = {"type": "string"}
_STRINGS: Final[Schema] = {"type": "object", "additionalProperties": _STRING}
_METADATA: Final[Schema] = {
    "type": "object",
    "properties": {
        "name": _STRING,
        "generateName": _STRING,
        "creationTimestamp": _STRING,
        "managedFields": {"type": "array", "items": {"type": "object", "properties": {"time": _STRING}}},
        "namespace": _STRING,
        "labels": _STRINGS,
        "annotations": _STRINGS,
        "finalizers": {"type": "array", "items": _STRING},
    },
}
"""The metadata that a policy can read: more than a rule in a CRD, which can read only name and generateName."""
_REQUEST: Final[Schema] = {
    "type": "object",
    "properties": {"operation": _STRING, "name": _STRING, "namespace": _STRING, "dryRun": {"type": "boolean"}},
}


class Inputs(NamedTuple):
    """What the rules of a kind can read: its objects, and its facts by name, each with its schema."""

    schema: Structural
    facts: Mapping[str, Schema]


class Environments:
    """One environment for the whole object, and one for each node that rules are about.

    A pickle has the texts of the variables only. Their types are made when an expression is compiled again.
    """

    def __init__(self, inputs: Inputs, variables: Mapping[str, str] | None = None) -> None:
        """``variables`` are expressions that are not checked yet."""
        self._inputs = inputs
        self._texts = dict(variables or {})
        self._unchecked = dict(self._texts)
        self._types: dict[str, Type] = {}
        self._at: dict[Path | None, Environment] = {}
        self._lock = RLock()

    def __reduce__(self) -> tuple[type[Environments], tuple[Any, ...]]:
        return Environments, (self._inputs, self._texts)

    def declare(self, name: str, text: str, of: Type) -> None:
        """Let expressions read one more variable."""
        self._texts[name], self._types[name] = text, of

    @property
    def facts(self) -> Mapping[str, Schema]:
        """The schemas of the facts."""
        return self._inputs.facts

    @cached_property
    def schema(self) -> Schema:
        """The schema of the object, with all metadata that a rule can read."""
        schema = self._inputs.schema.raw
        head = {"apiVersion": _STRING, "kind": _STRING, "metadata": _METADATA}
        return {**schema, "properties": {**schema.get("properties", {}), **head}}

    def node(self, keys: Sequence[str]) -> Schema | None:
        """The schema of the node at a path, or None."""
        return node_at(self.schema, keys)

    def at(self, path: Path | None) -> Environment:
        """The environment of rules at a node, or of expressions without ``self``: variables and defaults.

        It is built once for all of them, because a node may hold a whole pod.
        """
        environment = self._at.get(path)
        if environment is None:
            made = self._root() if path is None else self._below(path)
            environment = self._at.setdefault(path, replace(made, remake=partial(self.at, path)))
        return environment

    def of_item(self, keys: tuple[str, ...]) -> Environment:
        """The environment at the items of a list in the facts, such as ``("made", "components")``."""
        node = node_at({"properties": self._inputs.facts}, (*keys, "*"))
        assert node is not None  # the compiler has looked
        made = self.at(None).with_schema("self", node, type_name="self", whole_floats=True)
        return replace(made, remake=partial(self.of_item, keys))

    def _root(self) -> Environment:
        facts = {"type": "object", "properties": self._inputs.facts}
        return (
            Environment(
                variables={"oldObject": DYN, "variables": object_of("variables", self._known)},
                functions=(*SHOWN, *TEXTS),
            )
            .with_schema("object", self.schema, type_name="object", whole_floats=True)
            .with_schema("request", _REQUEST, type_name="request")
            .with_schema("facts", facts, type_name="facts", whole_floats=True)
        )

    def _below(self, path: Path) -> Environment:
        node = self.node(path.keys)
        assert node is not None  # the compiler has looked
        env = self.at(None).with_schema("self", node, type_name="self", whole_floats=True)
        return env.extend({"oldSelf": env.variables["self"]}, nodes={"oldSelf": env.nodes["self"]})

    def _known(self) -> Mapping[str, Type]:
        """The types of the variables. They read each other in the order of their declaration."""
        with self._lock:
            unchecked, self._unchecked = self._unchecked, {}  # the checks below find the types that are there by then
            for name, text in unchecked.items():
                self._types[name] = self.at(None).check(text).result
            return self._types


def with_stored_type(environment: Environment) -> Environment:
    """The environment in which the stored object has the type of the new one.

    Expressions are only checked by it: what an older definition has let in may be of another type.
    """
    return environment.extend({STORED: environment.variables[OBJECT]}, nodes={STORED: environment.nodes[OBJECT]})


def node_at(schema: Schema, keys: Sequence[str]) -> Schema | None:
    """The schema of the node at a path below another one, or None."""
    node: Schema | None = schema
    for key in keys:
        node = None if node is None else child_of(node, key)
    return node


def child_of(node: Schema, key: str) -> Schema | None:
    children = (node.get("properties") or {}).get(key) if key != "*" else node.get("items")
    if children is None and isinstance(node.get("additionalProperties"), Mapping):
        children = node["additionalProperties"]
    return children if isinstance(children, Mapping) else None


_BELOW: Final = ("items", "additionalProperties")
_ALLOWED: Final = frozenset({"_==_", "_!=_", "size"})


def has_open_field(schema: Schema, name: str) -> bool:
    """Whether a schema has a field of this name without a type, which no expression can read."""
    nodes = [schema]
    while nodes:
        node = nodes.pop()
        below = node.get("properties") or {}
        if isinstance(child := below.get(name), Mapping) and is_unstated(child):
            return True
        nodes += [*below.values(), *(node[key] for key in _BELOW if isinstance(node.get(key), Mapping))]
    return False


def is_unstated(node: Schema) -> bool:
    """Whether expressions have no type for the values of a node, or for the items of such a list or map."""
    return not node.get("x-kubernetes-int-or-string") and type_of_schema(node, name="self") == DYN


def unreadable(tree: Expr, variables: Mapping[str, Expr], schema: Schema, node: Schema) -> Iterator[str]:
    """What an expression reads of data that is left open: names of variables, and paths of fields.

    ``variables`` are the trees of the policy's variables, ``schema`` is that of the object, ``node`` that of ``self``.
    """
    if is_unstated(node):
        yield from dict.fromkeys(_misused(tree, {"self", "oldSelf"}))
    reads = Reads.of([tree], variables, {"oldObject": (OBJECT,)})
    for path in sorted(reads.values | reads.tests):
        if path[0] == OBJECT and (around := _open_node(schema, path[1:])) is not None:
            yield ".".join(around)


def _misused(tree: Expr, names: set[str]) -> Iterator[str]:
    """The names that are used for more than a comparison. Variables of a loop over such data are among them."""
    loops = [node for node in tree.walk() if isinstance(node, Comprehension)]
    for loop in loops:
        if isinstance(loop.iter_range, Ident) and loop.iter_range.name in names:
            names.add(loop.iter_var2 or loop.iter_var)
    for node in tree.walk():
        if not isinstance(node, Comprehension) and not (isinstance(node, Call) and node.function in _ALLOWED):
            yield from (each.name for each in node.children if isinstance(each, Ident) and each.name in names)


def _open_node(schema: Schema, keys: Keys) -> Keys | None:
    """The path of a node without a type above the end of a path."""
    for end in range(1, len(keys)):
        node = node_at(schema, keys[:end])
        if node is None:
            return None
        if is_unstated(node) and not node.get("items") and not node.get("additionalProperties"):
            return keys[:end]
    return None
