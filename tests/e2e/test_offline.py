"""`modelgate check` says of a file what the API server and the gate say: see tests/e2e/offline.py."""

from __future__ import annotations

import json
import os
from copy import deepcopy

import pytest

from tests.e2e.kinds import KINDS
from tests.e2e.kubectl import WITH_OPENAPI
from tests.e2e.offline import LOADED, OPTIONS, differences, differs, law
from webhook.admission.decision import GroupVersionKind, group_version
from webhook.cluster import MemoryView
from webhook.library.apiserver import stored_object
from webhook.library.review import Stored, review
from webhook.manifests.documents import Document

pytestmark = pytest.mark.usefixtures("gate")

OBJECTS = int(os.environ.get("MODELGATE_E2E_OBJECTS", "200"))


def test_check_and_a_strict_dry_run_agree_on_verdict_causes_and_object(plane):
    with law(plane) as under:
        assert list(differences(under, range(OBJECTS))) == []


@pytest.mark.parametrize("row", KINDS, ids=lambda row: row.kind)
def test_a_file_that_updates_a_stored_object_is_merged_as_kubectl_does(kubectl, row):
    known = LOADED.find(GroupVersionKind(*group_version(row.apiVersion), row.kind))
    namespace = {"namespace": kubectl.flags[-1]} if known.namespaced else {}
    first = row.object("applied", row.change, labels={"a": "1", "b": "2"}, annotations={"c": "3"}, **namespace)
    stored = kubectl.send("apply", first)
    try:
        second = row.object("applied", labels={"b": "3"}, **namespace)
        key = (known.gvk.group, row.kind, namespace.get("namespace", ""), "applied")
        there = Stored({key: stored_object(stored, known)})
        found = review(Document("", 1, deepcopy(second)), LOADED, MemoryView(), OPTIONS, there)
        answer = kubectl.run("apply", WITH_OPENAPI, "-f", "-", "--dry-run=server", "-o=json", stdin=json.dumps(second))
        assert found.validation.allowed == (answer.code == 0), answer.err
        if answer.code == 0:
            assert differs(found.mutation.object, json.loads(answer.out)) == ""
    finally:
        kubectl("delete", row.resource, "applied", "--wait=false")
