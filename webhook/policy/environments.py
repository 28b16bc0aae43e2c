"""The environments of a policy's expressions: what they may name, and of which types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from threading import RLock
from typing import Any, Final, NamedTuple

from webhook.cel import SHOWN, Environment
from webhook.cel.types import DYN, Type, object_of
from webhook.policy.path import Path
from webhook.schema import Structural

__all__ = ["Environments", "Inputs", "Schema", "child_of", "node_at"]

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

    def _root(self) -> Environment:
        facts = {"type": "object", "properties": self._inputs.facts}
        return (
            Environment(variables={"oldObject": DYN, "variables": object_of("variables", self._known)}, functions=SHOWN)
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
