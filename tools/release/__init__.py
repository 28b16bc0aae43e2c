"""`make release`: everything that a release consists of, the same bytes for the same commit."""
