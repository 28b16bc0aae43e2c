"""``x-kubernetes-validations``: compiled once, run on each object."""
