"""Kubernetes' own kinds: what `check` says of an object is what a strict dry run on a real API server says."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest

from tests.e2e.client import Client, connected
from tests.fuzz.decoder import places
from tests.kubernetes.test_objects import OBJECTS, an_object
from webhook import catalog
from webhook.cluster import MemoryView
from webhook.engine import Options
from webhook.library.apiserver import kind_of
from webhook.library.review import review
from webhook.manifests.documents import Document
from webhook.vap import resource_of_kind

NAMESPACE = "built-in"
CHANGES = 60
"""Changed objects of each kind."""
LOADED = catalog.load()
HEAD = {"apiVersion", "kind", "metadata"}
UNJUDGED = {403, 409, 500}
"""Answers of what `check` does not know: admission plugins, objects that there are, and the allocators."""
VALUES: list[Any] = [None, "", "A b", "x", 0, -1, 3, 70_000, True, [], {}, ["x"], {"a": "b"}, "50%", "1Gi"]


@pytest.fixture(scope="module")
def client(plane) -> Iterator[Client]:
    plane.kubectl("create", "namespace", NAMESPACE)
    with connected(plane.kubeconfig) as made:
        yield made
    plane.kubectl("delete", "namespace", NAMESPACE, "--wait=false")


def changed(name: str, seed: int) -> dict[str, Any]:
    obj, choose = an_object(name), random.Random(f"{name} {seed}")
    obj["metadata"] = {"name": f"o{seed}", "namespace": NAMESPACE}
    for _ in range(choose.randint(0, 2)):
        body = {key: item for key, item in obj.items() if key not in HEAD}
        parent, key = choose.choice(places(body))
        new = deepcopy(choose.choice(VALUES))
        if parent is body and key in obj:
            obj[key] = new
        else:
            parent[key] = new
    return obj


def refused(obj: dict[str, Any]) -> set[str] | None:
    """The fields for which `check` refuses an object; None if it does not judge it."""
    document = Document("object", 1, obj)
    outcome = review(document, LOADED, MemoryView(), Options(strict_fields=True))
    return {cause.field for cause in outcome.validation.causes} if outcome.reviewed else None


@pytest.mark.parametrize("name", OBJECTS)
def test_an_object_gets_the_verdict_of_the_api_server(name: str, client: Client) -> None:
    differences, compared, refusals = [], 0, 0
    for seed in range(CHANGES):
        obj = changed(name, seed)
        gvk = kind_of(obj)
        prefix = f"/apis/{gvk.group}/{gvk.version}" if gvk.group else f"/api/{gvk.version}"
        path = f"{prefix}/namespaces/{NAMESPACE}/{resource_of_kind(gvk).name}?dryRun=All&fieldValidation=Strict"
        reply, ours = client.ask("POST", path, obj), refused(obj)
        if ours is None or reply.code in UNJUDGED:
            continue
        compared += 1
        refusals += not reply.accepted
        theirs = {cause["field"] for cause in (reply.body.get("details") or {}).get("causes", [])}
        told = {field for field in theirs if any(f"{each}.".startswith(f"{field}.") for each in ours)}
        if reply.accepted == bool(ours) or theirs != told:  # one cause is one line: not again at what is around it
            differences.append((obj.get("spec"), reply.code, reply.body.get("message"), sorted(ours)))
    assert not differences, json.dumps(differences[:3], indent=1)
    assert compared > CHANGES / 2
    assert refusals > CHANGES / 10 or name == "v1 ServiceAccount"  # which has little to be refused for
