"""Structural schemas: load a CRD, default, prune and validate its objects with the API server's verdicts and words."""

from webhook.schema.fielderror import FieldError
from webhook.schema.load import CRD, SchemaError, Version, load_crd
from webhook.schema.structural import Structural

__all__ = ["CRD", "FieldError", "SchemaError", "Structural", "Version", "load_crd"]
