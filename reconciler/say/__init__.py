"""Tell users of a verdict: by a condition, an Event and a Report."""
