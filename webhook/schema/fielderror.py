"""``field.Error`` of apimachinery: an error of one field, with the API server's text; and the exceptions of schemas.

SchemaError(ValueError)   a CRD that the API server would refuse, with all its errors
DecodeError(ValueError)   an object that the API server cannot decode
└── CoerceError             … because apiVersion, kind or metadata has the wrong type
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from webhook.golang.fmt import GoStrings, value_text
from webhook.golang.json import marshal
from webhook.golang.strconv import quote
from webhook.ground.fieldpath import FieldPath

ERRORS: Final = 1000
"""Stop after this many errors in one list or map: a million errors take half a gigabyte of memory."""

OMIT: Any = type("OmitValue", (), {"__repr__": lambda _: "OMIT"})()
"""A bad value that the message omits (apimachinery's ``omitValueType``)."""

OVERSIZED: Final = frozenset({"FieldValueTooLong", "FieldValueTooMany"})
"""The types of errors about values that are larger than the schema allows."""

_BODY = {
    "FieldValueRequired": "Required value",
    "FieldValueForbidden": "Forbidden",
    "FieldValueTooLong": "Too long",
    "FieldValueTooShort": "Too short",
    "FieldValueTooMany": "Too many",
    "FieldValueTooFew": "Too few",
    "FieldValueInvalid": "Invalid value",
    "FieldValueTypeInvalid": "Invalid value",
    "FieldValueNotSupported": "Unsupported value",
    "FieldValueNotFound": "Not found",
    "FieldValueDuplicate": "Duplicate value",
    "InternalError": "Internal error",
}
_WITHOUT_VALUE = frozenset(
    {"FieldValueRequired", "FieldValueForbidden", "FieldValueTooLong", "FieldValueTooShort", "InternalError"}
)


@dataclass(frozen=True, slots=True)
class FieldError:
    """One error of one field.

    ``type`` is a metav1 CauseType ("FieldValueInvalid"), ``field`` the path in the API
    server's spelling ("spec.files[0]"; "<nil>" for the root), ``bad_value`` the offending
    JSON value, or :data:`OMIT`. ``str(error)`` is Go's ``Error()``. ``place`` is the path of the node where the API
    server names none ("<nil>").
    """

    type: str
    field: str
    detail: str = ""
    bad_value: Any = ""
    place: str = dataclasses.field(default="", compare=False)

    def body(self) -> str:
        """``ErrorBody()``: the message without the field."""
        text = _BODY[self.type]
        if self.type not in _WITHOUT_VALUE and self.bad_value is not OMIT:
            text = f"{text}: {_shown(self.bad_value)}"
        return f"{text}: {self.detail}" if self.detail else text

    def __str__(self) -> str:
        return f"{self.field}: {self.body()}"


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, GoStrings):
        return str(value)
    return value_text(value) if isinstance(value, int | float) else marshal(value)


def child_path(path: str, key: str) -> str:
    """The field below another one, as an error names it; "" is the object itself."""
    return f"{path}.{key}" if path else key


def required(field: str | FieldPath, detail: str = "") -> FieldError:
    return FieldError("FieldValueRequired", str(field), detail)


def forbidden(field: str | FieldPath, detail: str) -> FieldError:
    return FieldError("FieldValueForbidden", str(field), detail)


def invalid(field: str | FieldPath, bad_value: Any, detail: str) -> FieldError:
    return FieldError("FieldValueInvalid", str(field), detail, bad_value)


def type_invalid(field: str, bad_value: Any, detail: str) -> FieldError:
    return FieldError("FieldValueTypeInvalid", field, detail, bad_value)


def not_found(field: str | FieldPath, bad_value: Any, detail: str = "") -> FieldError:
    return FieldError("FieldValueNotFound", str(field), detail, bad_value)


def duplicate(field: str | FieldPath, bad_value: Any) -> FieldError:
    return FieldError("FieldValueDuplicate", str(field), "", bad_value)


def not_supported(field: str | FieldPath, bad_value: Any, supported: Iterable[str]) -> FieldError:
    names = ", ".join(map(quote, supported))
    detail = f"supported values: {names}" if names else ""
    return FieldError("FieldValueNotSupported", str(field), detail, bad_value)


def too_long(field: str | FieldPath, limit: int) -> FieldError:
    detail = f"may not be more than {limit} byte{'' if limit == 1 else 's'}"
    return FieldError("FieldValueTooLong", str(field), detail, "<value omitted>")


def too_many(field: str | FieldPath, actual: int, limit: int) -> FieldError:
    detail = f"must have at most {limit} item{'' if limit == 1 else 's'}"
    return FieldError("FieldValueTooMany", str(field), detail, actual)


class SchemaError(ValueError):
    """A CRD that the API server would refuse; ``errors`` are all its errors."""

    def __init__(self, errors: tuple[FieldError, ...]) -> None:
        super().__init__("\n".join(map(str, errors)))
        self.errors = errors


class DecodeError(ValueError):
    """An object that Go's JSON decoder refuses: nested too deeply, or with a number beyond float64."""


class CoerceError(DecodeError):
    """apiVersion, kind or metadata has the wrong type; ``error`` names the field."""

    def __init__(self, error: FieldError) -> None:
        super().__init__(str(error))
        self.error = error


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken keyword.

    ``kind`` selects the field error ("" is "Invalid value"), ``name`` is the path, ``limit`` the allowed number or the
    values of an enum.
    """

    kind: str
    name: str
    message: str
    value: Any
    limit: Any = None


@dataclass(slots=True)
class ValidationResult:
    """Violations by message (the API server reports each message once) and the number of passed checks."""

    errors: dict[str, Violation] = dataclasses.field(default_factory=dict)
    match_count: int = 0

    @classmethod
    def of(cls, violation: Violation) -> ValidationResult:
        return cls({violation.message: violation})

    def add(self, violation: Violation) -> None:
        self.errors.setdefault(violation.message, violation)

    def merge(self, other: ValidationResult) -> None:
        self.match_count += other.match_count
        if other.errors:
            for message, violation in other.errors.items():
                self.errors.setdefault(message, violation)
