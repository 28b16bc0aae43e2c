"""What expressions cost: the estimate when a rule is compiled, and the count when it runs."""
