"""Validation of CustomResourceDefinition documents, with the API server's errors.

Only :func:`webhook.schema.load.load_crd` imports this package, and only for a CRD that is not trusted.
"""

from typing import Any

from webhook.schema.crd.document import validate_crd
from webhook.schema.crd.shape import shape_errors
from webhook.schema.fielderror import FieldError


def validate_document(document: Any) -> list[FieldError]:
    """All errors of creating a CRD; :func:`validate_crd` runs only if the document has the shape of a CRD."""
    return shape_errors(document) or validate_crd(document)
