"""Structural schemas: load a CRD; default, prune and validate its objects with the API server's results and texts."""

from webhook.schema.fielderror import OMIT, CoerceError, DecodeError, FieldError, SchemaError
from webhook.schema.load import CRD, load_crd
from webhook.schema.node import SchemaNode
from webhook.schema.objectmeta.codec import MetadataError, decode_metadata, decode_metadata_leniently
from webhook.schema.objectmeta.validation import (
    ANNOTATIONS_LIMIT,
    annotations_size,
    validate_metadata,
    validate_metadata_update,
)
from webhook.schema.rules.compile import RuleNode
from webhook.schema.rules.run import RuleRun
from webhook.schema.structural import RULES_NOT_RUN, Structural
