"""Settings of every test."""

from hypothesis import settings

# A property is a law, not a race: an example may be slow on a machine that does other things.
settings.register_profile("modelgate", deadline=None)
settings.load_profile("modelgate")
