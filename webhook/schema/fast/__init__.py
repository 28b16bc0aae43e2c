"""The fast path for valid, complete objects."""
