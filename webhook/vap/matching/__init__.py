"""Matching: the requests to which a policy or binding applies."""
