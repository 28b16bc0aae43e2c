"""Policy documents: what a CRD cannot say about its kind, as data."""
