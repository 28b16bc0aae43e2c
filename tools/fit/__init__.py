"""The tables of GPUs and models: rows with their sources, and the form of them that the facts read."""
