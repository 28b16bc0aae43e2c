"""The exact backend: closures that count what they cost."""
