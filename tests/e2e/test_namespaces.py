"""A reconciler with a list of namespaces: its Roles are enough there, and its token opens nothing elsewhere."""

from __future__ import annotations

import pytest

from tests.e2e.gate import NAMESPACE
from tests.e2e.models import bad_model
from tests.e2e.models import model as good
from tests.e2e.processes import wait_until
from tests.e2e.reconciling import ACCOUNT, Reconciler, condition, events, wait_for

MINE = ("listed-a", "listed-b")
OTHER = "not-listed"
SETS = ("reconciler.apis.llmkube=true", "reconciler.apis.ome=true", "reconciler.namespaces={listed-a,listed-b}")
MODELS = "models.inference.llmkube.dev"
EVERYWHERE = [("list", "nodes"), ("list", "storageclasses"), ("watch", "clusterbasemodels.ome.io")]
THERE = [
    *(("patch", MODELS), ("update", f"{MODELS}/status"), ("list", MODELS), ("create", "events")),
    *(("create", "deployments.apps"), ("create", "jobs.batch"), ("create", "roles.rbac.authorization.k8s.io")),
    *(("get", "persistentvolumeclaims"), ("patch", "inferenceservices.ome.io")),
]
NOWHERE = [
    *(("get", "secrets"), ("list", "secrets"), ("create", "pods"), ("create", "pods/exec"), ("impersonate", "users")),
    *(("patch", "clusterbasemodels.ome.io"), ("patch", "clusterservingruntimes.ome.io"), ("patch", "nodes")),
    *(("create", "serviceaccounts/token"), ("patch", "openmodels.llmaz.io"), ("delete", MODELS)),
]


@pytest.fixture(scope="module")
def reconciler(plane, gate):  # noqa: ARG001  (behind the gate, which makes its namespace)
    for each in (*MINE, OTHER, "ome"):
        plane.kubectl("create", "namespace", each)
    plane.kubectl.within(OTHER).send("create", good("before"))
    with Reconciler(
        plane, "--profile=strict", "--apis=llmkube,ome", f"--only-namespaces={','.join(MINE)}", sets=SETS
    ) as started:
        yield started
    for each in (*MINE, OTHER, "ome"):
        plane.kubectl("delete", "namespace", each, "--wait=false")


def may(plane, verb, resource, namespace=None):
    """Whether the account of the reconciler may do this, in a namespace or (None) in the cluster."""
    resource, _, subresource = resource.partition("/")
    where = ("--all-namespaces",) if namespace is None else (f"--namespace={namespace}",)
    who = f"--as=system:serviceaccount:{NAMESPACE}:{ACCOUNT}"
    flags = (*where, who, *((f"--subresource={subresource}",) if subresource else ()))
    return plane.kubectl.run("auth", "can-i", verb, resource, *flags).code == 0


@pytest.mark.parametrize("namespace", MINE)
def test_what_is_in_a_listed_namespace_is_judged_and_acted_on(plane, reconciler, namespace):  # noqa: ARG001
    kubectl = plane.kubectl.within(namespace)
    kubectl.send("create", good("good"))
    status = wait_for(kubectl, "good", "Available", "True", "WorkloadResolved")["status"]
    assert condition({"status": status}, "Normalised")["status"] == "True"


def test_a_bad_object_is_told_why(plane, gate, reconciler):  # noqa: ARG001
    kubectl = plane.kubectl.within(MINE[0])
    with gate.absent():
        kubectl.send("create", bad_model("bad"))
    wait_for(kubectl, "bad", "Normalised", "False", "Refused")
    assert wait_until(lambda: events(kubectl, "bad"), "an Event")[0][:2] == ("Warning", "Refused")


def test_what_has_no_namespace_is_read_and_left_alone(plane, gate, reconciler):
    model = {"vendor": "v", "modelFormat": {"name": "safetensors"}, "storage": {"storageUri": "hf://org/repo"}}
    obj = {"apiVersion": "ome.io/v1beta1", "kind": "ClusterBaseModel", "metadata": {"name": "listed"}, "spec": model}
    with gate.absent():
        plane.kubectl.send("create", obj)
    writes = reconciler.metric("clusterbasemodels")
    mine = plane.kubectl.within(MINE[0])
    mine.send("create", good("after-cluster"))
    wait_for(mine, "after-cluster", "Available", "True", "WorkloadResolved")
    assert reconciler.metric("clusterbasemodels") == writes == 0
    assert "annotations" not in plane.kubectl.find("clusterbasemodel", "listed")["metadata"]
    plane.kubectl("delete", "clusterbasemodel", "listed")


def test_what_is_in_another_namespace_is_left_alone(plane, reconciler):  # noqa: ARG001
    kubectl = plane.kubectl.within(OTHER)
    kubectl.send("create", good("after"))
    mine = plane.kubectl.within(MINE[0])
    mine.send("create", good("marker"))
    wait_for(mine, "marker", "Available", "True", "WorkloadResolved")
    assert [kubectl.find("model", each).get("status") for each in ("before", "after")] == [None, None]
    assert events(kubectl, "after") == []


@pytest.mark.parametrize(("verb", "resource"), THERE)
def test_its_token_may_do_this_in_the_listed_namespaces_and_nowhere_else(plane, reconciler, verb, resource):  # noqa: ARG001
    assert [may(plane, verb, resource, each) for each in (*MINE, OTHER, "kube-system")] == [True, True, False, False]
    assert not may(plane, verb, resource)


@pytest.mark.parametrize(("verb", "resource"), EVERYWHERE)
def test_its_token_may_do_this_in_the_cluster(plane, reconciler, verb, resource):  # noqa: ARG001
    assert may(plane, verb, resource)


@pytest.mark.parametrize(("verb", "resource"), NOWHERE)
def test_its_token_may_do_this_nowhere(plane, reconciler, verb, resource):  # noqa: ARG001
    assert not any(may(plane, verb, resource, each) for each in (*MINE, OTHER, None))


def test_the_roles_were_enough_and_nothing_went_wrong(reconciler):
    assert reconciler.forbidden() == []
    assert "Traceback" not in reconciler.log()
    assert wait_until(lambda: reconciler.get("/readyz"), "readiness").startswith("leading")
