"""``field.Error`` of apimachinery: what is wrong with one field, in the API server's words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["OMIT", "FieldError", "quote"]

OMIT: Any = type("OmitValue", (), {"__repr__": lambda _: "OMIT"})()
"""A bad value that the message does not show (apimachinery's ``omitValueType``)."""

_BODY = {
    "FieldValueRequired": "Required value",
    "FieldValueForbidden": "Forbidden",
    "FieldValueTooLong": "Too long",
    "FieldValueTooMany": "Too many",
    "FieldValueInvalid": "Invalid value",
    "FieldValueTypeInvalid": "Invalid value",
    "FieldValueNotSupported": "Unsupported value",
    "FieldValueNotFound": "Not found",
    "FieldValueDuplicate": "Duplicate value",
    "InternalError": "Internal error",
}
