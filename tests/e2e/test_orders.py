"""``kubectl apply -f DIR``: applications whose files stand in any order end as the same stored objects."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import pytest

from tests.e2e.gate import STAMP, Gate
from tests.e2e.kubectl import Answer, Kubectl, Object
from tests.e2e.processes import wait_until
from tests.scenarios import scenario
from webhook import catalog
from webhook.admission.stamp import Stamp
from webhook.cluster import MemoryView
from webhook.engine import DEFAULT_OPTIONS
from webhook.library.review import review
from webhook.manifests.documents import Document

pytestmark = pytest.mark.usefixtures("seeing")

LOADED = catalog.load()

# As written, each object after those that it refers to; the reverse; and some orders by chance, but the same each time.
orders = pytest.mark.parametrize("order", ["as written", "reversed", 1, 2, 3])


def ordered(documents: list[Document], order: str | int) -> list[Document]:
    if order == "as written":
        return documents
    return documents[::-1] if order == "reversed" else random.Random(order).sample(documents, len(documents))


@pytest.fixture
def folder(kubectl, tmp_path):
    """A folder whose objects are deleted in the end, also those that are in no namespace."""
    yield tmp_path
    kubectl.run("delete", "-f", tmp_path, "--ignore-not-found", "--wait=false")


def write(folder: Path, documents: list[Document]) -> None:
    """A file for each document, named so that kubectl takes them in this order."""
    for number, each in enumerate(documents):
        (folder / f"{number:02}.json").write_text(json.dumps(each.value))


def apply_in_turn(kubectl: Kubectl, gate: Gate, folder: Path) -> list[Answer]:
    """As ``kubectl apply -f DIR`` takes the files, each once the watch of the gate has brought those before it.

    A service whose runtime comes between its mutation and its validation would be stored without it.
    """
    answers = []
    for file in sorted(folder.iterdir()):
        answers.append(kubectl.run("apply", "-f", file))
        wait_until(lambda: viewed(gate) == referred(kubectl), "the gate to hear of all that services refer to")
    return answers


REFERRED = ("BaseModel", "ClusterBaseModel", "FineTunedWeight", "ServingRuntime", "ClusterServingRuntime")


def viewed(gate: Gate) -> dict[str, float]:
    """How many objects of each kind that services of OME refer to the gate has in its view."""
    metrics = gate.metrics()
    return {kind: metrics.get(f'modelgate_view_objects{{kind="ome.io/{kind}"}}', 0) for kind in REFERRED}


def referred(kubectl: Kubectl) -> dict[str, float]:
    """How many there are."""
    items = kubectl.json("get", ",".join(f"{kind}.ome.io".lower() for kind in REFERRED), "-A")["items"]
    count = Counter(each["kind"] for each in items)
    return {kind: count[kind] for kind in REFERRED}


def expected(documents: list[Document]) -> dict[tuple[str, str], Object]:
    """What the engine makes of each where all the others are there: specification, and what was filled in."""
    view = MemoryView(each.value for each in documents)
    outcomes = [review(each, LOADED, view, DEFAULT_OPTIONS) for each in documents]
    return {key(each.mutation.object): seen(each.mutation.object) for each in outcomes if each.reviewed}


def stored(kubectl: Kubectl, folder: Path) -> dict[tuple[str, str], Object]:
    """The same of what is in the cluster."""
    found = kubectl.json("get", "-f", folder, "--ignore-not-found")
    return {key(each): seen(each) for each in found["items"] if STAMP in each["metadata"].get("annotations", {})}


def key(obj: Object) -> tuple[str, str]:
    return obj["kind"], obj["metadata"]["name"]


def seen(obj: Object) -> Object:
    stamp = Stamp.read(obj)
    assert stamp is not None
    assert stamp.matches(obj)
    # The time of its creation differs from run to run.
    times = {"spec.createdAt"} & stamp.defaulted.keys()
    spec = {name: value for name, value in obj["spec"].items() if f"spec.{name}" not in times}
    return {"spec": spec, "defaulted": {path: value for path, value in stamp.defaulted.items() if path not in times}}


def unchanged(answer: Answer) -> bool:
    return answer.code == 0 and all(line.endswith(" unchanged") for line in answer.out.splitlines())


@orders
@pytest.mark.parametrize("name", ["aim", "alone"])
def test_kinds_whose_references_only_warn_are_stored_at_once_in_any_order(kubectl, folder, name, order):
    documents = scenario(name, kubectl.flags[-1])
    write(folder, ordered(documents, order))
    first = kubectl.run("apply", "-f", folder)
    assert first.code == 0, first.err
    assert stored(kubectl, folder) == expected(documents)
    assert unchanged(kubectl.run("apply", "-f", folder))


@orders
def test_services_of_ome_are_stored_after_one_more_apply_at_most_and_all_else_at_once(seeing, kubectl, folder, order):
    documents = scenario("ome", kubectl.flags[-1])
    write(folder, ordered(documents, order))
    wanted = expected(documents)
    first = apply_in_turn(kubectl, seeing, folder)
    there = stored(kubectl, folder)
    assert there == {each: wanted[each] for each in there}
    assert {kind for kind, _ in wanted.keys() - there.keys()} <= {"InferenceService"}
    assert all(answer.code == 0 for answer in first) == (there == wanted), [answer.err for answer in first]
    second = kubectl.run("apply", "-f", folder)
    assert second.code == 0, second.err
    assert stored(kubectl, folder) == wanted
    assert unchanged(kubectl.run("apply", "-f", folder))


def test_a_service_before_its_model_is_refused_and_what_waits_for_it_is_only_warned_of(kubectl, folder):
    namespace = kubectl.flags[-1]
    write(folder, scenario("ome", namespace)[::-1])
    answer = kubectl.run("apply", "-f", folder)
    assert f'referenced model "small" not found in namespace "{namespace}"' in answer.err
    assert f'referenced model "{namespace}-large" not found in namespace "{namespace}"' in answer.err
    assert f"InferenceService chosen not found in namespace {namespace}" in answer.err
    assert "BaseModel or ClusterBaseModel small not found" in answer.err
    created = [line.split("/")[0] for line in answer.out.splitlines()]
    assert "inferenceservice.ome.io" not in created
    assert "benchmarkjob.ome.io" in created


def test_objects_of_aim_before_those_that_they_refer_to_are_told_what_is_missing(kubectl, folder):
    write(folder, scenario("aim", kubectl.flags[-1])[::-1])
    answer = kubectl.run("apply", "-f", folder)
    assert answer.code == 0
    for code in ("AI401", "AI406", "AI417", "AI431", "AI432", "AI441", "AI442", "AI461", "AI462"):
        assert f"({code})" in answer.err
