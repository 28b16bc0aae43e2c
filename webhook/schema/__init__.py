"""Structural schemas: load a CRD; default, prune and validate its objects with the API server's results and texts."""

from webhook.schema.errors import CoerceError, DecodeError, SchemaError
from webhook.schema.fielderror import FieldError
from webhook.schema.load import CRD, Version, load_crd
from webhook.schema.structural import Structural

__all__ = [
    "CRD",
    "CoerceError",
    "DecodeError",
    "FieldError",
    "SchemaError",
    "Structural",
    "Version",
    "load_crd",
]
