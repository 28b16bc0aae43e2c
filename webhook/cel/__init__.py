"""The Common Expression Language as Kubernetes speaks it: grammar, types, two backends, libraries, costs."""
