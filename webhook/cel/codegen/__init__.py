"""The fast backend: one generated Python function for an expression."""
