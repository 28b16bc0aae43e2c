"""The releases of operators: what a folder says of them, which one is in force, and the rules under it."""
