"""Static types: the type checker, and the declarations of schemas."""
