"""Two tenants of one cluster, with the rights of users and none to a status: neither changes anything for the other.

The tenants are users of the API server's RBAC, by impersonation. The reconciler has the rights of the chart.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.e2e.kubectl import Kubectl, Object
from tests.e2e.models import model
from tests.e2e.processes import wait_until
from tests.e2e.reconciling import Reconciler, events, wait_for

SETS = ("reconciler.apis.llmkube=true",)
FUTURE = "2099-01-01T00:00:00Z"
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def reconciler(plane, gate):  # noqa: ARG001  (behind the gate, which makes its namespace)
    with Reconciler(plane, "--profile=strict", "--apis=llmkube", sets=SETS) as started:
        yield started


@dataclass(frozen=True, slots=True)
class Tenant:
    """A user with some namespaces, and what it may do there."""

    name: str
    kubectls: tuple[Kubectl, ...]

    def claim(self, kubectl: Kubectl, name: str, *entries: Object) -> Object:
        """Write entries of managedFields, for which a right to update the object is enough."""
        obj = kubectl.json("get", "model", name, "--show-managed-fields")
        obj["metadata"]["managedFields"] += entries
        kubectl.send("replace", obj)
        return kubectl.json("get", "model", name, "--show-managed-fields")


def tenant(plane: Any, namespaces: int) -> Tenant:
    number = next(_numbers)
    name, found = f"tenant-{number}", []
    rights = {"apiGroups": ["inference.llmkube.dev"], "resources": ["models"]}
    verbs = ["get", "list", "watch", "create", "update", "patch", "delete"]
    for index in range(namespaces):
        namespace = f"{name}-{index}"
        plane.kubectl("create", "namespace", namespace)
        api = "rbac.authorization.k8s.io"
        metadata = {"name": "user", "namespace": namespace}
        role = {"apiVersion": f"{api}/v1", "kind": "Role", "metadata": metadata, "rules": [{**rights, "verbs": verbs}]}
        binding = {
            **role,
            "kind": "RoleBinding",
            "roleRef": {"apiGroup": api, "kind": "Role", "name": "user"},
            "subjects": [{"apiGroup": api, "kind": "User", "name": name}],
        }
        del binding["rules"]
        plane.kubectl.send_all("create", [role, binding])
        inside = plane.kubectl.within(namespace)
        found.append(replace(inside, flags=(*inside.flags, "--as", name)))
    made = Tenant(name, tuple(found))
    wait_until(lambda: made.kubectls[-1].run("auth", "can-i", "create", "models").code == 0, "the rights of a tenant")
    return made


@pytest.fixture(scope="module")
def stranger(plane, reconciler):  # noqa: ARG001
    """A tenant with more namespaces than hold back an API."""
    return tenant(plane, 4)


@pytest.fixture(scope="module")
def neighbour(plane, reconciler):  # noqa: ARG001
    return tenant(plane, 1)


def entry(manager: str, moment: str) -> Object:
    fields = {"f:status": {"f:phase": {}}}
    api = "inference.llmkube.dev/v1alpha1"
    said = {"manager": manager, "operation": "Update", "apiVersion": api, "subresource": "status", "time": moment}
    return {**said, "fieldsType": "FieldsV1", "fieldsV1": fields}


def claims() -> list[list[Object]]:
    """Entries in the future, of now, and a last one of Modelgate that is older."""
    now = datetime.now(UTC)
    soon, just = (f"{now + timedelta(seconds=each):%Y-%m-%dT%H:%M:%SZ}" for each in (5, 0))
    return [[entry("foreign", FUTURE)], [entry("foreign", soon)], [entry("foreign", just)], [entry("llmkube", FUTURE)]]


def status_is_written(kubectl: Kubectl, name: str) -> None:
    """The status follows a new Model, and a change of its source."""
    kubectl.send("create", model(name))
    wait_for(kubectl, name, "Available", "True", "WorkloadResolved")
    kubectl.patch("model", name, {"spec": {"source": "hf://org/repo", "files": ["a.gguf"]}})
    wait_for(kubectl, name, "Available", "True", "RuntimeResolved")


def test_a_tenant_has_no_right_to_a_status(stranger):
    for each in stranger.kubectls:
        assert each.run("auth", "can-i", "patch", "models", "--subresource=status").code
    kubectl = stranger.kubectls[0]
    kubectl.send("create", model("own"))
    patch = ("patch", "model", "own", "--subresource=status", "--type=merge", "-p", '{"status":{"phase":"Failed"}}')
    assert "forbidden" in kubectl.run(*patch).err


def test_what_a_tenant_claims_in_managed_fields_holds_back_nothing_of_another_tenant(stranger, neighbour, reconciler):
    for each, entries in zip(stranger.kubectls, claims(), strict=True):
        each.send("create", model("claimed"))
        wait_for(each, "claimed", "Available", "True", "WorkloadResolved")
        stored = stranger.claim(each, "claimed", *entries)["metadata"]["managedFields"]
        assert entries[0]["manager"] in {one["manager"] for one in stored}  # the API server keeps it
    status_is_written(neighbour.kubectls[0], "after-claims")
    for each in stranger.kubectls:  # nor of its own objects: the status is as the reconciler wrote it
        each.patch("model", "claimed", {"spec": {"source": "hf://org/repo", "files": ["a.gguf"]}})
        wait_for(each, "claimed", "Available", "True", "RuntimeResolved")
    assert reconciler.metric("modelgate_held_back{") == 0


def test_nor_after_a_restart_where_only_managed_fields_tell_who_has_written(plane, stranger, neighbour, reconciler):
    moment = f"{datetime.now(UTC) + timedelta(seconds=2):%Y-%m-%dT%H:%M:%SZ}"
    for each in stranger.kubectls:
        each.send("create", model("claimed-again"))
        wait_for(each, "claimed-again", "Available", "True", "WorkloadResolved")
        stranger.claim(each, "claimed-again", entry("foreign", moment), entry("another", FUTURE))
    reconciler.stop()
    wait_until(lambda: f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}" > moment, "the time of the entries to be past")
    reconciler.start()
    status_is_written(neighbour.kubectls[0], "after-restart")
    assert reconciler.metric("modelgate_held_back{") == 0
    admin = plane.kubectl.within(f"{stranger.name}-0")
    told = wait_until(lambda: events(admin, "claimed-again"), "the Event about the own object")
    assert [reason for _, reason, _ in told] == ["HeldBack"]


def test_entries_that_a_tenant_removes_show_nothing_either(stranger, neighbour):
    kubectl = stranger.kubectls[0]
    kubectl.send("create", model("cleared"))
    wait_for(kubectl, "cleared", "Available", "True", "WorkloadResolved")
    kubectl.patch("model", "cleared", {"metadata": {"managedFields": [{}]}})
    kubectl.patch("model", "cleared", {"spec": {"source": "hf://org/repo", "files": ["a.gguf"]}})
    wait_for(kubectl, "cleared", "Available", "True", "RuntimeResolved")
    status_is_written(neighbour.kubectls[0], "after-clearing")


def test_nothing_went_wrong(reconciler):
    assert reconciler.forbidden() == []
    assert "Traceback" not in reconciler.log()
