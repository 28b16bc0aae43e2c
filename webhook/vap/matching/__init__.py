"""Which requests a policy or binding applies to."""
