"""Children: what the gate says of an object that an operator would make is what a dry run on a real API server says.

The objects are those of the cases of each kind whose children are described, and mutants of them. By hand, with more:
``MODELGATE_E2E_CHILDREN=3000 MODELGATE_E2E=1 pytest tests/e2e/test_children.py``.
"""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.e2e.client import Client, connected
from tests.engine.test_children import pack_at, server
from tests.fuzz.decoder import places
from tests.shared import shared
from webhook.admission import GroupVersionKind
from webhook.children import Child, child_errors, is_builtin
from webhook.cli.cases import parse_cases
from webhook.cluster import MemoryView
from webhook.engine import Options, Ruling
from webhook.ground.budget import Budget
from webhook.ground.fieldpath import field_keys
from webhook.library.apiserver import kind_of
from webhook.library.review import described, review
from webhook.manifests import documents
from webhook.manifests.documents import Document
from webhook.schema import load_crd
from webhook.vap import resource_of_kind

ROOT = Path(__file__).parents[2]
NAMESPACE = "children"
COUNT = int(os.environ.get("MODELGATE_E2E_CHILDREN", "200"))
"""Children of each API that are compared, at least; all of fewer objects."""
UNJUDGED = {403, 404, 409, 500}
"""Answers of what no validation knows: admission plugins, kinds that are not installed, and objects that there are."""
VALUES: list[Any] = [
    None,
    "",
    "A b",
    "x",
    "a/b",
    0,
    -1,
    3,
    70_000,
    "-5Gi",
    True,
    [],
    {},
    ["x"],
    {"a": "b"},
    "50%",
    "1Gi",
    "-5Gi",
]
OPTIONS = Options()
SPECS: list[dict[str, Any]] = [
    {"labels": {"a": "b"}, "env": [{"name": "A", "value": "b"}], "many": 3, "few": 2},
    {"many": 2, "metrics": [{"name": "a", "average": "1"}], "claim": True, "size": "1Gi", "priority": "high"},
]


class Sample(NamedTuple):
    """An object beside the others that it refers to."""

    object: dict[str, Any]
    others: list[dict[str, Any]]


class Compared(NamedTuple):
    """A child, what the API server answers, and the fields that we refuse."""

    child: dict[str, Any]
    code: int
    message: str
    theirs: frozenset[str]
    ours: frozenset[str]

    @property
    def differs(self) -> bool:
        return (self.code < 300) == bool(self.ours) or not self.theirs <= self.ours


@pytest.fixture(scope="session")
def ruling(tmp_path_factory: pytest.TempPathFactory) -> Ruling:
    """The rules of all kinds whose children are described, with the definitions of the children."""
    neighbours = [document.value for file in neighbour_files() for document in documents.read(file)]
    ruling = Ruling.of(OPTIONS, [pack_at(tmp_path_factory.mktemp("packs"))])
    return ruling.extended([load_crd(each) for each in neighbours])


def neighbour_files() -> list[Path]:
    return sorted(shared("neighbour-crds").glob("*.yaml"))


@pytest.fixture(scope="module")
def client(plane) -> Iterator[Client]:
    files = [flag for file in neighbour_files() for flag in ("-f", str(file))]
    plane.kubectl("apply", "--server-side", "--force-conflicts", *files)
    plane.kubectl("create", "namespace", NAMESPACE)
    with connected(plane.kubeconfig) as made:
        yield made
    plane.kubectl("delete", "namespace", NAMESPACE, "--wait=false")


@cache
def samples(api: str) -> list[Sample]:
    """The objects of the cases of an API that are whole."""
    if api == "acme":
        return [Sample(server(**spec), []) for spec in SPECS]
    found = []
    for file in sorted((ROOT / "policies" / api / "cases").glob("*.yaml")):
        for document in map(parse_cases, documents.read(file)):
            head = {"apiVersion": f"{document.target.group}/{document.target.version}", "kind": document.target.kind}
            for case in document.cases:
                spec = {"spec": case.spec} if isinstance(case.spec, dict) else {}
                obj = case.object or {**head, "metadata": {"name": "m"}, **spec}
                if isinstance(obj.get("spec"), dict) and isinstance(obj.get("metadata", {}), dict):
                    found.append(Sample({**head, **obj}, case.others))
    return found


def changed(sample: Sample, choose: random.Random) -> dict[str, Any]:
    """A copy in the namespace of the test, with up to four other values."""
    obj = deepcopy(sample.object)
    obj["metadata"] = {**(obj.get("metadata") or {}), "name": "m", "namespace": NAMESPACE}
    for _ in range(choose.randint(0, 4)):
        spots = places(obj["spec"]) if obj["spec"] else []
        if spots:
            parent, key = choose.choice(spots)
            parent[key] = deepcopy(choose.choice(VALUES))
    return obj


def children_of(obj: dict[str, Any], others: list[dict[str, Any]], ruling: Ruling) -> list[Child]:
    """Those of an object that the API server would store."""
    there = [{**each, "metadata": {**each["metadata"], "namespace": NAMESPACE}} for each in others]
    view = MemoryView([each for each in there if isinstance(each.get("kind"), str)])
    outcome = review(Document("object", 1, obj), ruling.catalog, view, OPTIONS)
    if any(cause.label == "schema" for cause in outcome.validation.causes):
        return []
    return [*described(outcome, ruling.catalog, view, OPTIONS)]


def refused(child: dict[str, Any], ruling: Ruling) -> frozenset[str]:
    """The fields for which a child is refused, as findings are made of it."""
    if is_builtin(kind_of(child)):
        return frozenset(error.field for error in child_errors(child, Budget()))
    outcome = review(Document("child", 1, child), ruling.catalog, MemoryView(), Options(strict_fields=True))
    return frozenset(cause.field for cause in outcome.validation.causes)


def compared(child: dict[str, Any], client: Client, ruling: Ruling) -> Compared | None:
    """None if the API server says nothing of what is compared."""
    gvk, namespace = kind_of(child), child["metadata"].get("namespace")
    known = ruling.catalog.find(gvk)
    if not is_builtin(gvk) and known is None:
        return None
    plural = known.plural if known else resource_of_kind(gvk).name
    prefix = f"/apis/{gvk.group}/{gvk.version}" if gvk.group else f"/api/{gvk.version}"
    if namespace not in (None, NAMESPACE):
        return None
    path = f"{prefix}/namespaces/{namespace}/{plural}" if namespace else f"{prefix}/{plural}"
    reply = client.ask("POST", f"{path}?dryRun=All&fieldValidation=Strict", child)
    if reply.code in UNJUDGED:
        return None
    causes = (reply.body.get("details") or {}).get("causes", ()) if not reply.accepted else ()
    theirs = frozenset(cause["field"] for cause in causes if cause.get("field"))
    return Compared(child, reply.code, str(reply.body.get("message")), theirs, refused(child, ruling))


def apis() -> list[str]:
    return ["acme", *sorted({file.parent.name for file in ROOT.glob("policies/*/*.children.yaml")})]


@pytest.mark.parametrize("api", apis())
def test_a_child_gets_the_verdict_of_the_api_server(api: str, client: Client, ruling: Ruling) -> None:
    choose, seen, differences, kinds = random.Random(api), 0, [], Counter[GroupVersionKind]()
    refusals = 0
    for _ in range(10 * COUNT):
        sample = choose.choice(samples(api))
        for child in children_of(changed(sample, choose), sample.others, ruling):
            each = compared(child.object, client, ruling)
            if each is None:
                continue
            seen += 1
            kinds[kind_of(child.object)] += 1
            refusals += each.code >= 300
            if each.differs:
                differences.append((child.object, each.code, each.message, sorted(each.ours)))
        if seen >= COUNT and refusals:
            break
    print(f"{api}: {seen} children, {refusals} refused: {dict(kinds)}")
    assert not differences, f"{len(differences)} of {seen}: {json.dumps(differences[:3], indent=1)}"
    assert seen > COUNT / 4
    assert refusals


def test_what_the_api_server_refuses_of_a_child_is_told_of_the_object(client: Client, ruling: Ruling) -> None:
    """Of each field that decides a refused place, there is a finding of the object."""
    choose, refusals = random.Random("told"), 0
    for _ in range(1_000):
        obj = changed(choose.choice(samples("acme")), choose)
        outcome = review(Document("object", 1, obj), ruling.catalog, MemoryView(), OPTIONS)
        told = {warning.field for warning in outcome.validation.warnings if warning.code.startswith("K")}
        for child in children_of(obj, [], ruling):
            each = compared(child.object, client, ruling)
            for field in each.theirs if each and each.code == 422 else ():
                refusals += 1
                assert child.origin(field_keys(field)).field in told, (obj, field, told)
    assert refusals > 20
