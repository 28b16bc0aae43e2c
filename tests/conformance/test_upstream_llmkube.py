"""Under each release, Modelgate says of Models what LLMKube's operator of that release did with them."""

import json
from typing import Any

import pytest
import yaml

from tests.conformance.upstream_llmkube import NAME, RELEASES, Recorded, answer, difference_for, differences, recorded
from tests.shared import shared
from webhook.policy import Profile

DERIVED = ("resourceName", "tolerationKey")
"""Fields of a GPU that the gate writes before 0.9.9, and the operator derives."""


def models(release: str) -> list[Recorded]:
    return list(recorded(release))


def without_derived(spec: dict[str, Any], sent: dict[str, Any]) -> dict[str, Any]:
    """The specification without what the gate derives of the GPU, where the user wrote nothing of it."""
    copy = json.loads(json.dumps(spec))
    written = sent.get("hardware", {}).get("gpu", {})
    gpu = copy.get("hardware", {}).get("gpu", {})
    for name in DERIVED:
        if name not in written:
            gpu.pop(name, None)
    return copy


@pytest.mark.parametrize("release", RELEASES)
def test_the_standard_profile_refuses_what_the_api_server_refuses(release: str) -> None:
    found = models(release)
    refused = {each.name for each in found if answer(each.spec, release, Profile.STANDARD).refused}
    assert refused == {each.name for each in found if not each.admitted}
    assert len(found) > 150


@pytest.mark.parametrize("release", RELEASES)
def test_the_object_is_stored_as_upstream_stores_it(release: str) -> None:
    compared = [each for each in models(release) if each.admitted and each.stored is not None]
    ours = {each.name: answer(each.spec, release, Profile.STANDARD).spec for each in compared}
    assert {each.name for each in compared if without_derived(ours[each.name], each.spec) != each.stored} == set()
    assert len(compared) > 40


@pytest.mark.parametrize("release", ["0.9.12", "head"])
def test_nothing_is_derived_that_a_part_of_a_gpu_excludes(release: str) -> None:
    for each in (each for each in models(release) if each.admitted):
        spec = answer(each.spec, release, Profile.STANDARD).spec
        assert without_derived(spec, each.spec) == spec, each.name


@pytest.mark.parametrize("release", ["0.9.5", "0.9.7"])
def test_what_is_derived_is_what_pods_request(release: str) -> None:
    compared = 0
    for each in (each for each in models(release) if each.admitted and each.deployment):
        gpu = answer(each.spec, release, Profile.STANDARD).spec.get("hardware", {}).get("gpu", {})
        limits = (each.deployment or {}).get("resources", {}).get("limits", {})
        requested = limits.keys() - {"cpu", "memory", "ephemeral-storage"}
        if gpu.get("count") and "resourceName" in gpu:
            assert requested == {gpu["resourceName"]}, each.name
            keys = {toleration.get("key") for toleration in (each.deployment or {}).get("tolerations", ())}
            assert gpu["tolerationKey"] in keys, each.name
            compared += 1
    assert compared > (3 if release == "0.9.7" else 0)


@pytest.mark.parametrize("release", RELEASES)
def test_the_strict_profile_refuses_what_fails(release: str) -> None:
    reached = [each for each in models(release) if each.is_reached]
    for each in reached:
        found, listed = answer(each.spec, release, Profile.STRICT), difference_for(each)
        if listed is None:
            assert bool(found.refused) == (each.phase == "Failed"), (each.name, each.phase, found)
        else:
            assert found.refused == listed.refused, (each.name, found)
            assert set(listed.warned) <= set(found.warned), (each.name, found)
    assert len(reached) > (10 if release == "0.9.5" else 45)


def test_every_difference_is_met() -> None:
    met = {listed.reason for release in RELEASES for each in models(release) if (listed := difference_for(each))}
    assert met == {each.reason for each in differences()}


def samples(release: str) -> list[tuple[str, dict[str, Any], bool]]:
    """Upstream's own Models of a release: file, specification, whether the API server admits it."""
    if release == "head":
        read = json.loads(shared("samples", "llmkube", "head", "samples.json").read_text())
        return [
            (f"{each['file']}:{each['line']}", each["object"].get("spec", {}), each["server"]["allowed"])
            for each in read
            if each["kind"] == "Model" and NAME.fullmatch(each["object"].get("metadata", {}).get("name", ""))
        ]
    documents = yaml.safe_load_all(shared("samples", "llmkube", release, "Model.yaml").read_text())
    return [(each["metadata"]["name"], each["spec"], True) for each in documents if each]


@pytest.mark.parametrize("release", ["0.9.19", "head"])
def test_upstream_s_own_models_are_admitted_and_get_no_stale_default(release: str) -> None:
    found = samples(release)
    for name, spec, admitted in found:
        got = answer(spec, release, Profile.STANDARD)
        assert bool(got.refused) == (not admitted), (name, got.refused)
        if admitted:
            assert without_derived(got.spec, spec) == got.spec, name
    assert len(found) > 15


@pytest.mark.parametrize("release", ["0.9.19", "head"])
def test_only_one_of_upstream_s_models_can_never_work(release: str) -> None:
    refused = {
        code
        for _, spec, admitted in samples(release)
        if admitted
        for code in answer(spec, release, Profile.STRICT).refused
    }
    assert refused == {"LK345"}
