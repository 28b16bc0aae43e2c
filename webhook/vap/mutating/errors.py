"""Why a mutation cannot be made."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Failure", "MutationError"]

_FIELDS = r'APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\""'


class Failure(StrEnum):
    """The texts of failed mutations: the API server's, except ``UNKNOWN_LISTS`` and ``TOO_LARGE``."""

    EXPRESSION = "{}"
    TYPE_NAMES = "type mismatch: {}"
    RESULT = "invalid return type: *dynamic.ObjectVal"
    MERGE = "error applying patch: {}"
    UNKNOWN_LISTS = (
        "error applying patch: {}: the schema of {} is unknown, so its lists cannot be merged: "
        "use a JSONPatch, or provide its CustomResourceDefinition"
    )
    TOO_LARGE = "the expression makes more than {} bytes, the most that an object may have"
    PATCH = "JSON Patch: {}"
    COPIES = (
        "JSON Patch: Unable to complete the copy, the accumulated size increase of copy is {}, exceeding the limit {}"
    )
    PATCH_VALUE = "JSONPath valueExpression evaluated to a type that could not marshal to JSON: {}"
    NO_KIND = "Internal error occurred: Object 'Kind' is missing in '{}'"
    NO_OBJECT = (
        "Internal error occurred: couldn't get version/kind; json parse error: "
        f"json: cannot unmarshal array into Go value of type struct {{{{ {_FIELDS} }}}}"
    )


class MutationError(Exception):
    """A mutation that cannot be made; failurePolicy decides."""

    def __init__(self, failure: Failure, *details: object) -> None:
        super().__init__(failure.format(*details))
