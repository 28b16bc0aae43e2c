"""Facts: what a rule may know beyond the object's own text, one module per API, pure."""
