"""The mutation by ``applyConfiguration``: merge an ``Object{…}`` into the object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from webhook.cel import CelError
from webhook.vap.compiled import Invocation
from webhook.vap.expressions import Expression, VariableSet
from webhook.vap.mutating.applied import native
from webhook.vap.mutating.evaluation import Failure, MutationError, defaulted, evaluate, live_object
from webhook.vap.mutating.merge import MergeError, merge
from webhook.vap.mutating.mergetypes import METADATA_ONLY, OBJECT_FIELDS, MergeType, builtin_type, type_of_kind
from webhook.vap.mutating.objects import mismatches

__all__ = ["apply_configuration"]


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
