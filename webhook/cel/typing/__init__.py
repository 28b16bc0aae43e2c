"""Static types: the checker, and what a schema declares."""
