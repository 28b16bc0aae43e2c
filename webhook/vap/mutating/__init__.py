"""MutatingAdmissionPolicy: compiled, applied and dispatched."""
