"""Validation of CustomResourceDefinition documents, with the API server's errors, and their ``digest``.

Only :func:`webhook.schema.load.load_crd` imports what validates, and only for a CRD that is not trusted.
"""
