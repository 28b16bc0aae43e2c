"""The gate and the reviews that a real API server sent (tests/fixtures/reviews): each gets its right answer."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import jsonpatch
import pytest

from webhook import catalog
from webhook.admission.stamp import ANNOTATION, Stamp
from webhook.serve.gate import Gate
from webhook.serve.gate.state import Call

REVIEWS = {
    path.stem: json.loads(path.read_text())
    for path in (Path(__file__).parents[1] / "fixtures" / "reviews").glob("*.json")
}
UNTOUCHED = {
    "delete",
    "delete-another",
    "delete-dry-run",
    "delete-with-finalizer",
    "deletecollection",
    "finalizer-removal",
    "status-update",
}
RESOURCES = {"amd": "devic.es/dri-render", "nvidia": "nvidia.com/gpu"}


@pytest.fixture(scope="module")
def gate() -> Gate:
    return Gate(catalog=catalog.load().compiled())  # as the server has it: nothing is read in its event loop


def ask(gate: Gate, call: Call, review: dict[str, Any]) -> dict[str, Any]:
    reply = asyncio.run(gate.reply(call, json.dumps(review).encode(), None))
    response: dict[str, Any] = json.loads(reply)["response"]
    return response


def operations(response: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(base64.b64decode(response.get("patch", b"W10=")))
    return found


def mutated(gate: Gate, name: str) -> dict[str, Any]:
    """The object as the API server has it after our patch."""
    review = REVIEWS[name]["mutate"]
    obj: dict[str, Any] = jsonpatch.apply_patch(review["request"]["object"], operations(ask(gate, "mutate", review)))
    return obj


@pytest.mark.parametrize("call", ["mutate", "validate"])
@pytest.mark.parametrize("name", REVIEWS)
def test_what_was_sent_is_allowed_and_answered_under_its_uid(gate: Gate, name: str, call: Call) -> None:
    review = REVIEWS[name][call]
    response = ask(gate, call, review)
    assert (response["uid"], response["allowed"]) == (review["request"]["uid"], True)


@pytest.mark.parametrize("name", sorted(UNTOUCHED))
def test_what_is_deleted_and_what_is_observed_is_let_through_as_it_is(gate: Gate, name: str) -> None:
    assert operations(ask(gate, "mutate", REVIEWS[name]["mutate"])) == []


@pytest.mark.parametrize("name", sorted(REVIEWS.keys() - UNTOUCHED))
def test_what_is_written_is_filled_in_and_stamped(gate: Gate, name: str) -> None:
    obj = mutated(gate, name)
    gpu = obj["spec"]["hardware"]["gpu"]
    assert gpu["resourceName"] == gpu["tolerationKey"] == RESOURCES[gpu["vendor"]]
    stamp = Stamp.read(obj)
    assert stamp is not None
    assert stamp.matches(obj)


@pytest.mark.parametrize("name", sorted(REVIEWS.keys() - UNTOUCHED))
def test_nothing_but_the_spec_and_our_annotation_is_touched(gate: Gate, name: str) -> None:
    before, after = REVIEWS[name]["mutate"]["request"]["object"], mutated(gate, name)
    del after["metadata"]["annotations"][ANNOTATION]
    if not after["metadata"]["annotations"]:
        del after["metadata"]["annotations"]
    assert {**after, "spec": None} == {**before, "spec": None}
    assert after["spec"] | before["spec"] == {**after["spec"], "hardware": before["spec"]["hardware"]}


@pytest.mark.parametrize("name", sorted(REVIEWS.keys() - UNTOUCHED))
def test_what_we_have_made_passes_our_own_validation_and_needs_no_second_patch(gate: Gate, name: str) -> None:
    made = {"object": mutated(gate, name)}
    validated = {**REVIEWS[name]["validate"], "request": REVIEWS[name]["validate"]["request"] | made}
    again = {**REVIEWS[name]["mutate"], "request": REVIEWS[name]["mutate"]["request"] | made}
    assert ask(gate, "validate", validated)["allowed"]
    assert operations(ask(gate, "mutate", again)) == []


def test_a_dry_run_gets_the_same_answer(gate: Gate) -> None:
    real, dry = (ask(gate, "mutate", REVIEWS[name]["mutate"]) for name in ("create", "create-dry-run"))
    assert operations(real) == operations(dry)
