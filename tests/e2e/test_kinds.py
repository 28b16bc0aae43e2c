"""Every kind in front of a real API server: create, dry run, update, apply twice, delete. A row of kinds.yaml each."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.gate import STAMP
from tests.e2e.kinds import KINDS
from tests.e2e.models import FINALIZER

pytestmark = pytest.mark.usefixtures("gate")

MISSED = "modelgate_stamps_missed_total"

kinds = pytest.mark.parametrize("row", KINDS, ids=lambda row: row.kind)


def lacking(obj: Any, part: Any, path: str = "") -> list[str]:
    """The paths at which an object differs from a part of it, in which None stands for any value."""
    if isinstance(part, dict) and isinstance(obj, dict):
        return [each for key in part for each in lacking(obj.get(key), part[key], f"{path}.{key}")]
    return [] if obj == part or (part is None and obj is not None) else [f"{path}: {obj!r}"]


@pytest.fixture
def name(kubectl):
    """A name that no other test has, in a kind without namespaces too."""
    return f"of-{kubectl.flags[-1]}"


@pytest.fixture(scope="module")
def older(plane, gate):
    """A kubectl, in a namespace with a bad object of each kind that was there before the gate, named ``older``."""
    namespace = "before-the-gate"
    plane.kubectl("create", "namespace", namespace)
    kubectl = plane.kubectl.within(namespace)
    with gate.absent():
        kubectl.send_all("create", [row.object("older", row.bad, finalizers=[FINALIZER]) for row in KINDS])
    yield kubectl
    plane.kubectl("delete", "namespace", namespace, "--wait=false")


@kinds
def test_a_dry_run_shows_what_is_filled_in_and_stores_nothing(kubectl, row, name):
    shown = kubectl.send("create", row.object(name), "--dry-run=server")
    assert STAMP in shown["metadata"]["annotations"]
    assert lacking(shown, row.filled) == []
    assert kubectl.find(row.resource, name) is None


@kinds
def test_it_is_created_changed_and_deleted(kubectl, gate, row, name):
    before = gate.metrics()[MISSED]
    created = kubectl.send("create", row.object(name))
    assert lacking(created, row.filled) == []
    changed = kubectl.send("replace", row.object(name, row.change))
    assert lacking(changed["spec"], row.change) == []
    assert changed["metadata"]["annotations"][STAMP] != created["metadata"]["annotations"][STAMP]
    if "createdAt" in created["spec"]:
        assert changed["spec"]["createdAt"] == created["spec"]["createdAt"]
    assert gate.metrics()[MISSED] == before  # the second call of each request finds the stamp of the first
    kubectl("delete", row.resource, name)
    assert kubectl.find(row.resource, name) is None


@kinds
@pytest.mark.parametrize("flags", [(), ("--server-side",)], ids=["client-side", "server-side"])
def test_applying_the_same_again_changes_nothing(kubectl, row, name, flags):
    first = kubectl.send("apply", row.object(name), *flags)
    again = kubectl.send("apply", row.object(name), *flags)
    assert again["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    kubectl("delete", row.resource, name)


@kinds
def test_a_bad_one_is_refused_with_the_reason_when_created_and_when_changed(kubectl, row, name):
    assert row.refusal in kubectl.refusal("create", row.object(name, row.bad))
    assert kubectl.find(row.resource, name) is None
    kubectl.send("create", row.object(name))
    assert row.refusal in kubectl.refusal("replace", row.object(name, row.bad))
    kubectl("delete", row.resource, name)


@kinds
def test_a_bad_one_that_is_older_than_the_gate_is_observed_labelled_and_deleted(older, row):
    if row.status:
        patched = older.patch(row.resource, "older", {"status": row.status}, "--subresource=status")
        assert lacking(patched["status"], row.status) == []
    labelled = older.patch(row.resource, "older", {"metadata": {"labels": {"team": "blue"}}})
    assert labelled["metadata"]["labels"]["team"] == "blue"
    older("delete", row.resource, "older", "--wait=false")
    assert "deletionTimestamp" in older.find(row.resource, "older")["metadata"]
    older.patch(row.resource, "older", {"metadata": {"finalizers": None}})
    older("wait", "--for=delete", f"{row.resource}/older", "--timeout=30s")
