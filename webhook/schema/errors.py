"""The exceptions of schemas.

SchemaError(ValueError)   a CRD that the API server would refuse: every error it would report
DecodeError(ValueError)   an object that the API server would not even decode
└── CoerceError             … because type information or metadata is of the wrong type
"""

from __future__ import annotations

from webhook.schema.fielderror import FieldError

__all__ = ["CoerceError", "DecodeError", "SchemaError"]


class SchemaError(ValueError):
    """A CRD that the API server would refuse; ``errors`` holds all it would say."""

    def __init__(self, errors: tuple[FieldError, ...]) -> None:
        super().__init__("\n".join(map(str, errors)))
        self.errors = errors


class DecodeError(ValueError):
    """An object that is no JSON for Go: nested too deeply, or with a number beyond a float64."""


class CoerceError(DecodeError):
    """Type information or metadata of the wrong type; ``error`` says which."""

    def __init__(self, error: FieldError) -> None:
        super().__init__(str(error))
        self.error = error
