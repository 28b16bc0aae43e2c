"""Record which fields the facts read, and keep them in ``webhook/facts/inputs.json``."""
