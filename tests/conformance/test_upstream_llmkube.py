"""Under each release, Modelgate says of Models and services what LLMKube's webhook and operator of it did with them."""

import json
import re
from collections import Counter
from functools import cache
from typing import Any

import pytest
import yaml

from tests.conformance.runner import Outcome, load_ops, run_file
from tests.conformance.tables import table
from tests.conformance.upstream_llmkube import FAMILY, OLDEST, RELEASES, Recorded, answer, whole
from tests.conformance.upstream_llmkube_ops import differences, without_derived
from tests.shared import shared
from webhook.policy import Profile

NAME = re.compile(r"[a-z0-9.-]+")
"""The name of a whole object: documents also show parts, and scripts have variables in the place of names."""


@cache
def outcomes(release: str) -> list[Outcome]:
    path = table(f"llmkube-{OLDEST}") if release == OLDEST else None
    return run_file(path or shared("corpora-upstream", "llmkube", f"{RELEASES[release]}.json"), load_ops(), {})


@pytest.mark.parametrize("release", [OLDEST, *RELEASES])
def test_we_answer_as_upstream_does_but_where_we_mean_to_differ(release: str) -> None:
    found = outcomes(release)
    assert {each.id: each.message for each in found if each.state not in {"passed", "skipped"}} == {}
    counts = Counter(each.op for each in found)
    assert min(counts[f"{FAMILY}Model"], counts[f"{FAMILY}InferenceService"]) > 150


def test_every_difference_is_met() -> None:
    met = {each.message for release in (OLDEST, *RELEASES) for each in outcomes(release) if each.state == "skipped"}
    assert met == {each.reason for each in differences()}


def samples(kind: str, release: str) -> list[tuple[str, Recorded]]:
    """Upstream's own objects of a release as the API server admits them, with their places: whole ones only."""
    if release == "head":
        read = json.loads(shared("samples", "llmkube", "head", "samples.json").read_text())
        named = [each for each in read if NAME.fullmatch(each["object"].get("metadata", {}).get("name", ""))]
        return [(f"{each['file']}:{each['line']}", _sample(each)) for each in named if each["kind"] == kind]
    documents = yaml.safe_load_all(shared("samples", "llmkube", release, f"{kind}.yaml").read_text())
    return [(each["metadata"]["name"], Recorded(release, each)) for each in documents if each]


def _sample(read: dict[str, Any]) -> Recorded:
    """One of upstream's manifests, alone."""
    obj = whole(read["kind"], read["object"].get("spec", {}), read["object"]["metadata"])
    return Recorded("head", obj, refused_by="" if read["server"]["allowed"] else "schema")


@pytest.mark.parametrize("release", ["0.9.19", "head"])
def test_upstream_s_own_models_are_admitted_and_get_no_stale_default(release: str) -> None:
    found = samples("Model", release)
    for name, model in found:
        got = answer(model)
        assert bool(got.refused) == bool(model.refused_by), (name, got.refused)
        if not model.refused_by:
            assert without_derived(got.spec, model.object["spec"]) == got.spec, name
    assert len(found) > 15


@pytest.mark.parametrize("release", ["0.9.19", "head"])
def test_only_one_of_upstream_s_models_can_never_work(release: str) -> None:
    admitted = [model for _, model in samples("Model", release) if not model.refused_by]
    assert {code for model in admitted for code in answer(model, Profile.STRICT).refused} == {"LK345"}


def test_upstream_s_own_services_are_admitted_as_its_api_server_admits_them() -> None:
    found = samples("InferenceService", "head")
    wrong = {name for name, each in found if bool(answer(each).refused) != bool(each.refused_by)}
    assert wrong == {"docs/operations/gpu-sharing.md:97"}
    assert {name for each in differences() for name in each.ids} >= wrong
    assert len(found) > 50
