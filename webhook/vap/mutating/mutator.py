"""Compiles a MutatingAdmissionPolicy, whose mutations are made in two ways.

By ``applyConfiguration``, an ``Object{…}`` is merged into the object. By ``jsonPatch``, a list of ``JSONPatch{…}``
operations is applied to it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from webhook.admission import patch
from webhook.cel import CelError
from webhook.vap.compiled import Compilation, CompiledPolicy, Invocation
from webhook.vap.expressions import Expression, VariableSet
from webhook.vap.models import MutatingPolicy
from webhook.vap.mutating.applied import native
from webhook.vap.mutating.evaluation import (
    MOST_BYTES,
    Failure,
    MutationError,
    defaulted,
    evaluate,
    live_object,
    size_of,
)
from webhook.vap.mutating.merge import MergeError, merge
from webhook.vap.mutating.mergetypes import METADATA_ONLY, OBJECT_FIELDS, MergeType, builtin_type, type_of_kind
from webhook.vap.mutating.objects import APPLY_CONFIGURATION, JSON_PATCHES, json_of, mismatches


def apply_configuration(expression: Expression, variables: VariableSet, invocation: Invocation) -> dict[str, Any]:
    """Merge the ``Object{…}`` of an expression into the object.

    Raises:
        MutationError: the expression fails, a type name is not the path of its field, or the merge fails.
    """
    live = live_object(invocation)
    configuration = _configuration(evaluate(expression, variables, invocation), live)
    try:
        merged = merge(live, configuration, _merge_type(configuration, invocation))
    except MergeError as error:
        raise MutationError(Failure.MERGE, error) from None
    return defaulted(merged, invocation)


def _configuration(made: Any, live: Mapping[str, Any]) -> dict[str, Any]:
    """The ``Object{…}`` as JSON, with the apiVersion and kind of the object."""
    try:
        if wrong := mismatches(made):
            raise MutationError(Failure.TYPE_NAMES, "\n".join(wrong))
        configuration: dict[str, Any] = native(made)
    except CelError:
        raise MutationError(Failure.RESULT) from None
    return configuration | {key: live[key] for key in ("apiVersion", "kind") if key in live}


def _merge_type(configuration: Mapping[str, Any], invocation: Invocation) -> MergeType:
    """How the invocation's object merges. The lists of an unknown kind do not merge: a guess could lose data.

    Raises:
        MutationError: the configuration has a list, and its kind is unknown.
    """
    kind = invocation.matched.kind
    if schema := invocation.context.schema(kind):
        return type_of_kind(schema.raw)
    if of := builtin_type(kind):
        return of
    for key, value in configuration.items():
        if key not in OBJECT_FIELDS and (path := _first_list(value, f".{key}")):
            raise MutationError(Failure.UNKNOWN_LISTS, path, kind)
    return METADATA_ONLY


def _first_list(value: Any, path: str) -> str:
    if isinstance(value, list):
        return path
    children = value.items() if isinstance(value, dict) else ()
    return next(filter(None, (_first_list(item, f"{path}.{key}") for key, item in children)), "")


class _Null(dict[str, Any]):
    """A null that a patch has written.

    Until the patch is applied the API server's library treats it as an object without members: paths may lead into
    it, and it differs from every null of the original object.
    """


_NULL: Final = _Null()


def json_patch(expression: Expression, variables: VariableSet, invocation: Invocation) -> dict[str, Any]:
    """Apply the ``[JSONPatch{…}]`` of an expression. If one of its tests fails, the object stays as it is.

    Raises:
        MutationError: the expression fails, or the patch does not apply to the object.
    """
    operations = [_operation(item) for item in evaluate(expression, variables, invocation)]
    live = live_object(invocation)
    patched: Any = live
    copied = 0
    try:
        for operation in operations:
            before, patched = patched, _patched(patched, operation)
            if operation["op"] == "copy":
                copied += size_of(_source(before, operation["from"]))
                if copied > MOST_BYTES:
                    raise MutationError(Failure.COPIES, copied, MOST_BYTES)
    except patch.TestFailed:
        return live
    except patch.PatchError as error:
        raise MutationError(Failure.PATCH, error) from None
    if any(operation.get("value") is _NULL for operation in operations):
        patched = _with_nulls(patched)
    if not isinstance(patched, dict):
        raise MutationError(Failure.NO_OBJECT)
    if "kind" not in patched:
        text = json.dumps(patched, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        raise MutationError(Failure.NO_KIND, text)
    return defaulted(patched, invocation)


def _with_nulls(node: Any) -> Any:
    if node is _NULL:
        return None
    if isinstance(node, dict):
        return {key: _with_nulls(item) for key, item in node.items()}
    return [_with_nulls(item) for item in node] if isinstance(node, list) else node


def _source(document: Any, pointer: str) -> Any:
    """What an operation has copied from a place that exists, or, of an object's missing key, null."""
    for key in patch.keys(pointer):
        document = document[int(key)] if isinstance(document, list) else document.get(key)
    return document


def _patched(document: Any, operation: dict[str, Any]) -> Any:
    whole = operation["op"] == "replace" and not operation["path"]
    value = operation.get("value")
    if whole and (value is _NULL or not isinstance(value, (dict, list))):
        raise patch.PatchError("replace operation value must be object or array: %!w(<nil>)")
    return patch.apply(document, [operation])


def _operation(value: Mapping[str, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {"op": value.get("op", ""), "path": value.get("path", "")}
    if "from" in value:
        operation["from"] = value["from"]
    if "value" in value:
        try:
            if wrong := _value_mismatches(value["value"]):
                raise MutationError(Failure.TYPE_NAMES, "\n".join(wrong))
            operation["value"] = json_of(value["value"])
        except CelError as error:
            raise MutationError(Failure.PATCH_VALUE, error.message) from None
        if operation["value"] is None:
            operation["value"] = _NULL
    return operation


def _value_mismatches(value: Any) -> list[str]:
    """The errors of objects in a patch's value; paths begin with the name of the value's type."""
    made = getattr(value, "cel_type", None)
    return mismatches(value, (made.name,)) if isinstance(value, dict) and made is not None else []


Mutate = Callable[[Expression, VariableSet, Invocation], dict[str, Any]]
"""Applies one mutation to the invocation's object and returns the mutated object."""


@dataclass(frozen=True, slots=True)
class Mutator:
    """A compiled policy. Its mutations run in order. ``again``: reinvocationPolicy is IfNeeded."""

    compiled: CompiledPolicy
    mutations: tuple[tuple[Mutate, Expression], ...]
    again: bool = False

    def expressions(self) -> list[Expression]:
        """All expressions but those of the variables."""
        return [*self.compiled.conditions, *(expression for _, expression in self.mutations)]


def compile_mutator(document: MutatingPolicy, compilation: Compilation) -> Mutator:
    """Compile a policy; ``compilation.problems`` collects its errors."""
    compiled = compilation.policy(document)
    mutations: list[tuple[Mutate, Expression]] = []
    for index, mutation in enumerate(document.spec.mutations):
        by_patch = mutation.patchType == "JSONPatch"
        at = ("spec", "mutations", index, "jsonPatch" if by_patch else "applyConfiguration", "expression")
        expect = (JSON_PATCHES if by_patch else APPLY_CONFIGURATION,)
        expression = compilation.expression(at, mutation.expression, expect, patches=True)
        mutations.append((json_patch if by_patch else apply_configuration, expression))
    return Mutator(compiled, tuple(mutations), document.spec.reinvocationPolicy == "IfNeeded")
