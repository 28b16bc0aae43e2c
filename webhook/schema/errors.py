"""The exceptions of schemas.

SchemaError(ValueError)   a CRD that the API server would refuse, with all its errors
DecodeError(ValueError)   an object that the API server cannot decode
└── CoerceError             … because apiVersion, kind or metadata has the wrong type
"""

from __future__ import annotations

from webhook.schema.fielderror import FieldError


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
