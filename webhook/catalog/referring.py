"""Holds references of policies against the definitions of the kinds that they name, where these are known."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final

from webhook.admission.errors import Problem
from webhook.catalog.kinds import KnownKind
from webhook.manifests.documents import Document
from webhook.policy import Path, node_at
from webhook.policy.problems import problem

if TYPE_CHECKING:
    from webhook.policy import PolicyDocument
    from webhook.policy.document import Member, Reference

__all__ = ["unfitting"]

_TYPES: Final[Mapping[str, Sequence[tuple[str, ...]]]] = {
    "boolean": [("boolean",)],
    "integer": [("integer",)],
    "number": [("number",), ("integer",)],
    "string": [("string",)],
    "integers": [("array", "integer")],
    "strings": [("array", "string")],
}
"""The types in a schema of what a member can be; of a list, with the type of its items."""


def unfitting(document: PolicyDocument, origin: Document, kinds: Collection[KnownKind]) -> Iterator[Problem]:
    """What references say that the definition of the other kind contradicts. A kind without one may be anything."""
    for index, each in enumerate(document.spec.references):
        for part, message in _unfitting(each, kinds):
            yield problem(origin, ("spec", "references", index, *part), message)


def _unfitting(reference: Reference, kinds: Collection[KnownKind]) -> Iterator[tuple[tuple[str, ...], str]]:
    found = [known for known in kinds if (known.gvk.group, known.gvk.kind) == (reference.group, reference.kind)]
    if not found:
        names = {known.gvk.kind for known in kinds if known.gvk.group == reference.group}
        for near in get_close_matches(reference.kind, names, 1):
            yield ("kind",), f"{reference.group} has no {reference.kind[:60]} here; did you mean {near}?"
        return
    if reference.namespaced != (namespaced := found[-1].namespaced):
        scope = "is in a namespace" if namespaced else "is a kind of the cluster"
        yield ("namespaced",), f"{reference.kind} {scope}: set namespaced: {str(namespaced).lower()}"
    for name, member in reference.fields.items():
        wrong = [_wrong(known.schema.raw, member) for known in found]
        if all(wrong):  # a version may lack what another one has
            yield ("fields", name), f"{reference.kind}: {wrong[-1]}"


def _wrong(schema: Mapping[str, Any], member: Member) -> str:
    """What is wrong with a path and a type; "" if nothing is, or if the definition leaves it open."""
    node: Mapping[str, Any] = schema
    keys = Path.parse(member.path).keys
    if keys[0] == "metadata":
        return ""
    for depth, key in enumerate(keys):
        if node.get("x-kubernetes-preserve-unknown-fields"):
            return ""
        below = node_at(node, (key,))
        if below is None:
            has = ", ".join(sorted(node.get("properties", {}))) or f"type {node.get('type')}"
            return f"no {key!r} in {'.'.join(keys[:depth]) or 'the object'} of the schema, which has {has}"
        node = below
    kinds: tuple[str | None, ...] = (node.get("type"),)
    if kinds == ("array",):
        kinds = ("array", (node.get("items") or {}).get("type"))
    if kinds[0] is None or kinds in _TYPES[member.type]:
        return ""
    return f"{member.path} is of type {' of '.join(map(str, kinds))}, not {member.type}"
