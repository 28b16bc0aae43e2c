"""Decide by its values which rules hold for an object, where another definition of its kind is installed.

A rule is written for the values that the catalog's definition accepts. The installed one may accept more: a rule that
reads such a value is left out of the review of this object, and of no other. Facts follow the same law for the objects
of other kinds that they read.
"""

from webhook.catalog.byvalue.own import NOTHING_ASIDE, Aside, Own
from webhook.catalog.byvalue.sight import Foreign, Sight

__all__ = ["NOTHING_ASIDE", "Aside", "Foreign", "Own", "Sight"]
