"""Compiled policies in files, so that a start does not compile them."""

from webhook.catalog.kept.files import POLICIES, SHIPPED, Kept

__all__ = ["POLICIES", "SHIPPED", "Kept"]
