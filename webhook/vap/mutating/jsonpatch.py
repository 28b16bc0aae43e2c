"""The mutation by ``jsonPatch``: apply a list of ``JSONPatch{…}`` operations to the object."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from webhook.admission import patch
from webhook.cel import CelError
from webhook.vap.compiled import Invocation
from webhook.vap.expressions import Expression, VariableSet
from webhook.vap.mutating.evaluation import (
    MOST_BYTES,
    Failure,
    MutationError,
    defaulted,
    evaluate,
    live_object,
    size_of,
)
from webhook.vap.mutating.objects import json_of, mismatches

__all__ = ["json_patch"]


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
