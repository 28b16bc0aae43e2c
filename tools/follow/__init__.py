"""Follow an upstream: what its newer releases change, and the table of the releases that are known."""
