"""The cost of expressions: estimated when a rule is compiled, counted when it runs."""
