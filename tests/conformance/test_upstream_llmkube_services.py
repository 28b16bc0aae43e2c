"""Under each release, Modelgate says of InferenceServices what LLMKube's webhook and operator did with them."""

import json
from typing import Any

import pytest

from tests.conformance.upstream_llmkube import NAME, RELEASES
from tests.conformance.upstream_llmkube_services import Service, exceptions, of_sample, recorded, verdict
from tests.shared import shared
from webhook.policy import Profile

OTHERS = {"LS401", "LS402", "LS404", "LS405"}
"""What is missing, or has failed, and may come later."""

FEWEST = 155
"""Services that were recorded under each release."""


def services(release: str) -> list[Service]:
    return [each for each in recorded(release) if each.id not in exceptions()]


@pytest.mark.parametrize("release", RELEASES)
def test_what_schema_or_webhook_refuses_is_denied_and_nothing_else(release: str) -> None:
    found = services(release)
    denied = {each.id for each in found if verdict(each, release).refused}
    assert denied == {each.id for each in found if each.refused_by}
    assert len(found) > FEWEST


@pytest.mark.parametrize("release", ["0.9.7", "0.9.12", "head"])
def test_what_the_operator_fails_at_is_warned_of(release: str) -> None:
    failed = [each for each in services(release) if each.failed]
    assert [each.id for each in failed if not verdict(each, release).warned] == []
    assert len(failed) > 15


@pytest.mark.parametrize("release", ["0.9.7", "0.9.12", "head"])
def test_the_strict_profile_lets_only_what_other_objects_may_repair(release: str) -> None:
    strict = {each.id: verdict(each, release, Profile.STRICT) for each in services(release) if each.failed}
    let = {name: found.warned for name, found in strict.items() if not found.refused}
    assert {name for name, codes in let.items() if OTHERS.isdisjoint(codes)} == set()


def test_every_exception_is_still_one() -> None:
    found = {each.id for each in recorded("head") if each.refused_by and not verdict(each, "head").refused}
    assert found | {of_sample(each).id for each in samples() if is_wrong(each)} == exceptions().keys()


def samples() -> list[dict[str, Any]]:
    """Upstream's own services, as whole objects."""
    read = json.loads(shared("samples", "llmkube", "head", "samples.json").read_text())
    found = (each for each in read if each["kind"] == "InferenceService")
    return [each for each in found if NAME.fullmatch(each["object"].get("metadata", {}).get("name", ""))]


def is_wrong(sample: dict[str, Any]) -> bool:
    """Whether Modelgate admits what the API server refused, or refuses what it admitted."""
    admitted: bool = sample["server"]["allowed"]
    return bool(verdict(of_sample(sample), "head").refused) == admitted


def test_upstream_s_own_services_are_admitted_as_its_api_server_admits_them() -> None:
    wrong = [of_sample(each).id for each in samples() if is_wrong(each)]
    assert [each for each in wrong if each not in exceptions()] == []
    assert len(samples()) > 50
