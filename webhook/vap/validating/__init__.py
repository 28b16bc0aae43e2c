"""ValidatingAdmissionPolicy: compiled, evaluated and dispatched."""
