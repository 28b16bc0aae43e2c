"""References between objects ask for no order that there is not: every scenario can be applied under every profile."""

from __future__ import annotations

import pytest

from tests.scenarios import NAMES, scenario
from webhook import catalog
from webhook.cluster import MemoryView
from webhook.engine import Options
from webhook.library.review import review
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


ALONE = {
    Profile.STANDARD: {"InferenceService"},  # as upstream decides at admission
    Profile.STRICT: {
        "InferenceService",
        "BenchmarkJob",
        "FineTunedWeight",
        "AIMService",
        "AIMServiceTemplate",
        "AIMClusterServiceTemplate",
        "AIMTemplateCache",
    },
}


@pytest.mark.parametrize("profile", ALONE)
def test_what_comes_before_all_that_it_refers_to_is_refused_where_the_profile_says_so(profile: Profile) -> None:
    options = Options(profile=profile, strict_fields=True)
    found = [review(each, LOADED, MemoryView(), options) for name in NAMES for each in scenario(name, "team")]
    assert {each.document.value["kind"] for each in found if not each.validation.allowed} == ALONE[profile]
    codes = [cause.code for each in found for cause in each.validation.causes]
    assert all(code[2] == "4" for code in codes), codes
