"""Settings of every test."""

from functools import cache
from importlib.resources.abc import Traversable

import pytest
from hypothesis import settings

from tests.laws import QUICK
from webhook.engine import catalog
from webhook.facts.settings import DEFAULT_SETTINGS, Settings

# A property is a law, not a race: an example may be slow on a machine that does other things.
settings.register_profile("modelgate", deadline=None)
settings.register_profile(QUICK, deadline=None, max_examples=20)  # make check
settings.load_profile("modelgate")

load = catalog.load


@cache
def installed(chosen: Settings) -> catalog.Catalog:
    return load(None, chosen)


def load_once(root: Traversable | None = None, settings: Settings = DEFAULT_SETTINGS) -> catalog.Catalog:
    """A process of ours loads the installed catalog once, which is immutable; so does that of the tests."""
    return installed(settings) if root is None else load(root, settings)


catalog.load = load_once


@pytest.fixture(scope="session")
def loaded() -> catalog.Catalog:
    """The installed catalog."""
    return catalog.load()
