"""MutatingAdmissionPolicy: compiled, and applied to one object with one param."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from webhook.admission import patch
from webhook.cel import RUNTIME_BUDGET, BudgetExceeded, CelError
from webhook.vap.expressions import Expression, Scope, VariableSet
from webhook.vap.head import Compilation, Head, Invocation
from webhook.vap.models import MutatingPolicy
from webhook.vap.mutating.applied import native
from webhook.vap.mutating.merge import MergeError, merge
from webhook.vap.mutating.mergetypes import HEAD_ONLY, MergeType, builtin_type, type_of_kind
from webhook.vap.mutating.objects import APPLY_CONFIGURATION, JSON_PATCHES, json_of, mismatches
from webhook.vap.mutating.published import HEAD

__all__ = ["Mutate", "MutationError", "Mutator", "apply_configuration", "compile_mutator", "json_patch"]


class MutationError(Exception):
    """A mutation that cannot be made; the text is the API server's, and failurePolicy decides."""


class _Null(dict[str, Any]):
    """A null that a patch has written. To the API server's library it is an object without members until the end: it
    can be walked into, and no null that was there before is equal to it.
    """


_NULL: Final = _Null()

_FIELDS: Final = r'APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\""'
_NO_OBJECT: Final = (
    "Internal error occurred: couldn't get version/kind; json parse error: "
    f"json: cannot unmarshal array into Go value of type struct {{ {_FIELDS} }}"
)

Mutate = Callable[[Expression, VariableSet, Invocation], dict[str, Any]]
"""From an expression and the invocation's object to the mutated object."""


@dataclass(frozen=True, slots=True)
class Mutator:
    """A compiled policy; its mutations are made in order. ``again`` says that it may be invoked a second time."""

    head: Head
    mutations: tuple[tuple[Mutate, Expression], ...]
    again: bool = False


def compile_mutator(document: MutatingPolicy, compilation: Compilation) -> Mutator:
    """Compile a policy; what is wrong with it is in ``compilation.problems`` then."""
    head = compilation.head(document)
    mutations: list[tuple[Mutate, Expression]] = []
    for index, mutation in enumerate(document.spec.mutations):
        by_patch = mutation.patchType == "JSONPatch"
        at = ("spec", "mutations", index, "jsonPatch" if by_patch else "applyConfiguration", "expression")
        expect = (JSON_PATCHES if by_patch else APPLY_CONFIGURATION,)
        expression = compilation.expression(at, mutation.expression, expect, patches=True)
        mutations.append((json_patch if by_patch else apply_configuration, expression))
    return Mutator(head, tuple(mutations), document.spec.reinvocationPolicy == "IfNeeded")


def apply_configuration(expression: Expression, variables: VariableSet, invocation: Invocation) -> dict[str, Any]:
    """Merge the ``Object{…}`` that an expression makes.

    Raises:
        MutationError: it fails, its types' names are no paths, or it does not fit the object.
    """
    made = _evaluate(expression, variables, invocation)
    if wrong := mismatches(made):
        raise MutationError("type mismatch: " + "\n".join(wrong))
    live = _object(invocation)
    try:
        configuration = native(made)
    except CelError:
        raise MutationError("invalid return type: *dynamic.ObjectVal") from None
    for key in ("apiVersion", "kind"):
        if key in live:
            configuration[key] = live[key]
    try:
        merged = merge(live, configuration, _type_for(configuration, invocation))
    except MergeError as error:
        raise MutationError(f"error applying patch: {error}") from None
    return _defaulted(merged, invocation)


def _type_for(configuration: Mapping[str, Any], invocation: Invocation) -> MergeType:
    """How the invocation's object merges. Lists of a kind that nobody knows do not: that is not to be guessed.

    Raises:
        MutationError: the configuration has a list in such a kind.
    """
    kind = invocation.matched.kind
    if known := invocation.surroundings.schema(kind):
        return type_of_kind(known.raw)
    if found := builtin_type(kind):
        return found
    for key, value in configuration.items():
        if key not in HEAD and (path := _first_list(value, f".{key}")):
            unknown = f"it is not known how the lists of {kind} merge"
            raise MutationError(f"error applying patch: {path}: {unknown}: use a JSONPatch, or give its definition")
    return HEAD_ONLY


def _first_list(value: Any, path: str) -> str:
    if isinstance(value, list):
        return path
    children = value.items() if isinstance(value, dict) else ()
    return next(filter(None, (_first_list(item, f"{path}.{key}") for key, item in children)), "")


def json_patch(expression: Expression, variables: VariableSet, invocation: Invocation) -> dict[str, Any]:
    """Apply the ``[JSONPatch{…}]`` that an expression makes; not at all if one of its tests fails.

    Raises:
        MutationError: it fails, or does not fit the object.
    """
    made = _evaluate(expression, variables, invocation)
    operations = [_operation(item) for item in made]
    live = _object(invocation)
    patched: Any = live
    try:
        for operation in operations:
            patched = _patched(patched, operation)
    except patch.TestFailed:
        return live
    except patch.PatchError as error:
        raise MutationError(f"JSON Patch: {error}") from None
    if any(operation.get("value") is _NULL for operation in operations):
        patched = _with_nulls(patched)
    if not isinstance(patched, dict):
        raise MutationError(_NO_OBJECT)
    if "kind" not in patched:
        text = json.dumps(patched, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        raise MutationError(f"Internal error occurred: Object 'Kind' is missing in '{text}'")
    return _defaulted(patched, invocation)


def _with_nulls(node: Any) -> Any:
    if node is _NULL:
        return None
    if isinstance(node, dict):
        return {key: _with_nulls(item) for key, item in node.items()}
    return [_with_nulls(item) for item in node] if isinstance(node, list) else node


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
        if wrong := mismatches_of_value(value["value"]):
            raise MutationError("type mismatch: " + "\n".join(wrong))
        try:
            operation["value"] = json_of(value["value"])
        except CelError as error:
            no_json = "JSONPath valueExpression evaluated to a type that could not marshal to JSON"
            raise MutationError(f"{no_json}: {error.message}") from None
        if operation["value"] is None:
            operation["value"] = _NULL
    return operation


def mismatches_of_value(value: Any) -> list[str]:
    """The objects within a value whose type's name is not the path from the value's own type."""
    made = getattr(value, "cel_type", None)
    return mismatches(value, (made.name,)) if isinstance(value, dict) and made is not None else []


def _evaluate(expression: Expression, variables: VariableSet, invocation: Invocation) -> Any:
    if expression.program is None:
        raise MutationError(expression.error)
    scope = Scope(invocation.bindings(), variables, invocation.budget(RUNTIME_BUDGET))
    try:
        evaluation = scope.evaluate(expression)
    except BudgetExceeded as error:
        raise MutationError(error.message) from None
    if evaluation.error is not None:
        raise MutationError(evaluation.error)
    return evaluation.value


def _object(invocation: Invocation) -> dict[str, Any]:
    obj = invocation.attributes.object
    assert obj is not None  # who invokes has seen that there is something to mutate
    return obj


def _defaulted(obj: dict[str, Any], invocation: Invocation) -> dict[str, Any]:
    known = invocation.surroundings.schema(invocation.matched.kind)
    return obj if known is None else known.default(obj)
