"""AIM's caches on a real API server: volume, Job and status; the rest of the controllers are Kubernetes' own.

There is no node, so the test writes how the pod of the download ends.
"""

from __future__ import annotations

import pytest

from tests.e2e.kinds import KINDS
from tests.e2e.processes import wait_until
from tests.e2e.reconciling import Reconciler, condition, events

ROW = next(row for row in KINDS if row.kind == "AIMModelCache")
SETS = ("reconciler.apis.aim=true", "reconciler.namespaces={*}")
CLASS = "cache-e2e"


@pytest.fixture(scope="module")
def reconciler(plane, gate):  # noqa: ARG001  (behind the gate)
    with Reconciler(plane, "--profile=strict", "--apis=aim", sets=SETS, name="caches") as started:
        yield started


@pytest.fixture
def volume(plane, kubectl):
    """A volume that the claim of the cache is bound to."""
    name = f"{kubectl.flags[-1]}-cache"
    spec = {
        "capacity": {"storage": "20Gi"},
        "accessModes": ["ReadWriteMany"],
        "hostPath": {"path": "/nowhere"},
        "storageClassName": CLASS,
    }
    plane.kubectl.send(
        "create", {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec}
    )
    yield name
    plane.kubectl("delete", "persistentvolume", name, "--wait=false")


def status_of(kubectl, name, status):
    def there():
        obj = kubectl.find(ROW.resource, name)
        return obj if (obj or {}).get("status", {}).get("status") == status else None

    return wait_until(there, f"{name} to be {status}")


def pods_end(kubectl, phase):
    """Every pod of the Job ends like this; returns their names."""

    def ended():
        found = [each["metadata"]["name"] for each in kubectl.json("get", "pods")["items"]]
        for name in found:
            kubectl.patch("pod", name, {"status": {"phase": phase}}, "--subresource=status")
        return found

    return wait_until(ended, "a pod of the Job")


@pytest.mark.usefixtures("reconciler", "volume")
def test_a_cache_gets_its_volume_and_job_and_stays_available_without_the_job(kubectl):
    kubectl.send("create", ROW.object("cache", {"storageClassName": CLASS}))
    job = wait_until(lambda: kubectl.find("job", "cache-cache-download"), "the Job")
    assert job["metadata"]["ownerReferences"][0]["kind"] == "AIMModelCache"
    busy = status_of(kubectl, "cache", "Progressing")
    assert busy["status"]["persistentVolumeClaim"] == "cache-cache"
    pods_end(kubectl, "Succeeded")
    done = status_of(kubectl, "cache", "Available")
    assert condition(done, "Ready")["reason"] == "Warm"
    assert condition(done, "Normalised")["status"] == "True"
    kubectl("delete", "job", "cache-cache-download")
    kubectl.patch(ROW.resource, "cache", {"metadata": {"labels": {"team": "blue"}}})
    kubectl.send("create", ROW.object("other", {"storageClassName": CLASS, "sourceUri": "hf://a/b"}))
    status_of(kubectl, "other", "Progressing")
    assert kubectl.find("job", "cache-cache-download") is None
    assert kubectl.find(ROW.resource, "cache")["status"]["status"] == "Available"
    kubectl("delete", ROW.resource, "cache", "other")
    wait_until(lambda: not kubectl.json("get", "jobs")["items"], "the Jobs to go with their owners")


@pytest.mark.usefixtures("reconciler")
def test_a_claim_of_another_owner_is_not_touched(kubectl):
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": CLASS}
    metadata = {"name": "taken-cache"}
    kubectl.send("create", {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec})
    kubectl.send("create", ROW.object("taken", {"storageClassName": CLASS}))
    wait_until(lambda: "ChildConflict" in [each[1] for each in events(kubectl, "taken")], "an Event")
    claim = kubectl.find("persistentvolumeclaim", "taken-cache")
    assert "ownerReferences" not in claim["metadata"]
    assert claim["spec"]["accessModes"] == ["ReadWriteOnce"]


def test_the_chart_gave_every_right_that_was_needed_and_nothing_went_wrong(reconciler):
    assert not reconciler.forbidden()
    assert "Traceback" not in reconciler.log()
