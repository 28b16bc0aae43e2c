"""References between objects ask for no order that there is not: every scenario can be applied under every profile."""

from __future__ import annotations

import pytest

from tests.scenarios import NAMES, scenario
from webhook import catalog
from webhook.cli.manifests import review
from webhook.cluster import MemoryView
from webhook.engine import Options
from webhook.policy import Profile

LOADED = catalog.load()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("profile", [Profile.STANDARD, Profile.STRICT])
def test_what_comes_after_all_that_it_refers_to_is_accepted(name: str, profile: Profile) -> None:
    there: list[dict[str, object]] = []
    for document in scenario(name, "team"):
        found = review(document, LOADED, MemoryView(there), Options(profile=profile, strict_fields=True))
        assert found.validation.causes == ()
        assert found.mutation.object is not None
        there.append(found.mutation.object)
