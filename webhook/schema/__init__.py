"""Structural schemas: load a CRD, default, prune and validate its objects with the API server's verdicts and words."""
