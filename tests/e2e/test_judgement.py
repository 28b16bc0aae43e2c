"""The reconciler on each of the nineteen kinds, with the rights of the chart: it heals, judges again, and reports."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path

import pytest

from reconciler.audit import Outlet, outlet
from tests.e2e import judged
from tests.e2e.kinds import KINDS, row_of
from tests.e2e.models import model
from tests.e2e.processes import wait_until
from tests.e2e.reconciling import Reconciler, condition, events
from tests.e2e.seeing import as_the_chart_lets_it
from tests.reconciler.world import rules
from webhook.admission.stamp import Stamp

NAMESPACE = "judged"
OUTLETS = {each.kind: outlet(rules(), each) for each in rules().kinds()}
SCOPES = {each.kind: each.namespaced for each in rules().kinds()}

kinds = pytest.mark.parametrize("row", KINDS, ids=lambda row: row.kind)


@pytest.fixture(scope="module")
def kubectl(plane):
    plane.kubectl("create", "namespace", NAMESPACE)
    yield plane.kubectl.within(NAMESPACE)
    plane.kubectl("delete", "namespace", NAMESPACE, "--wait=false")


@pytest.fixture(scope="module")
def policies(tmp_path_factory):
    return tmp_path_factory.mktemp("policies")


@pytest.fixture(scope="module")
def reconciler(plane, gate, kubectl, policies):
    """Objects that were created while the gate was away, and a reconciler that starts afterwards."""
    plane.kubectl("apply", "-f", str(Path(__file__).with_name("openreports.yaml")))
    gate.stop()
    gate.start("--view=live", f"--view-kubeconfig={as_the_chart_lets_it(plane)}")
    try:
        with gate.absent():
            kubectl.send_all("create", [*judged.referred(), *map(judged.good, KINDS), *map(judged.bad, KINDS)])
        with Reconciler(plane, "--profile=strict", "--log-level=debug", f"--admission-policies={policies}") as started:
            yield started
    finally:
        gate.stop()
        gate.start()
        for row in KINDS:
            if not SCOPES[row.kind]:
                kubectl("delete", row.resource, "--all", "--wait=false")


def where(kubectl, row):
    """Events about objects of cluster scope are in namespace default."""
    return kubectl if SCOPES[row.kind] else kubectl.within("default")


def report(kubectl, row, name):
    """The results of the report about an object, by result; None if there is none."""
    found = kubectl.json("get", "reports" if SCOPES[row.kind] else "clusterreports")["items"]
    mine = [each for each in found if (each["scope"]["kind"], each["scope"]["name"]) == (row.kind, name)]
    return mine[0]["results"] if mine else None


def wait_for_verdict(kubectl, row, name, status, reason):
    """The object, once its condition, or where the kind has no room for one its report, gives the verdict."""

    def given():
        obj = kubectl.find(row.resource, name)
        if OUTLETS[row.kind] is Outlet.NONE:
            refused = "fail" in {each["result"] for each in report(kubectl, row, name) or ()}
            return obj if refused == (reason == "Refused") else None
        found = condition(obj, "Normalised")
        return obj if (found.get("status"), found.get("reason")) == (status, reason) else None

    return wait_until(given, f"{reason} on {name}", seconds=15)


@kinds
def test_an_object_from_a_time_without_the_gate_is_healed(kubectl, reconciler, row):
    name = f"good-{row.kind.lower()}"

    def healed():
        obj = kubectl.find(row.resource, name)
        stamp = Stamp.read(obj)
        return obj if stamp is not None and stamp.matches(obj) else None

    obj = wait_until(healed, f"a stamp on {name}: {reconciler.log()}", seconds=30)
    if OUTLETS[row.kind] is not Outlet.NONE:
        wait_for_verdict(kubectl, row, name, "True", "Stamped")
    assert [each for each in events(where(kubectl, row), name) if each[0] == "Warning"] == []
    assert obj["spec"]


@kinds
def test_a_bad_one_is_told_why_by_what_its_kind_has_room_for_and_is_not_touched(kubectl, row):
    name = f"bad-{row.kind.lower()}"
    obj = wait_for_verdict(kubectl, row, name, "False", "Refused")
    assert obj["metadata"]["generation"] == 1
    assert Stamp.read(obj) is None
    message = next(each[2] for each in events(where(kubectl, row), name) if each[1] == "Refused")
    said = (message + condition(obj, "Normalised").get("message", "")).replace(f"bad-{row.kind.lower()}", "of-the-row")
    assert row.refusal[:60] in said
    results = wait_until(lambda: report(kubectl, row, name), f"a report about {name}")
    assert {each["result"] for each in results} >= {"fail"}
    if OUTLETS[row.kind] is Outlet.NONE:
        assert "conditions" not in obj.get("status", {})


@contextmanager
def a_new_policy(folder):
    file = folder / "marked.yaml"
    file.write_text(judged.POLICY)
    try:
        yield
    finally:
        file.unlink()


def test_a_new_rule_is_applied_to_what_is_stored_without_a_touch_and_cleared_with_the_rule(
    kubectl, reconciler, policies
):
    before = {row.resource: kubectl.find(row.resource, f"good-{row.kind.lower()}") for row in KINDS}
    with a_new_policy(policies):
        for row in KINDS:
            name = f"good-{row.kind.lower()}"
            wait_for_verdict(kubectl, row, name, "False", "Refused")
            results = wait_until(lambda row=row, name=name: report(kubectl, row, name), f"a report about {name}")
            assert "a new rule refuses this" in next(each["message"] for each in results if each["result"] == "fail")
    for row in KINDS:
        name = f"good-{row.kind.lower()}"
        obj = wait_for_verdict(kubectl, row, name, "True", "Stamped")
        assert obj["metadata"]["generation"] == before[row.resource]["metadata"]["generation"]
    assert "Traceback" not in reconciler.log()


@pytest.mark.parametrize(
    ("gone", "kind"),
    [
        (("AIMServiceTemplate", "llama-latency"), "AIMService"),
        (("AIMServiceTemplate", "llama-latency"), "AIMTemplateCache"),
        (("AIMClusterImage", "llama"), "AIMClusterServiceTemplate"),
        (("ClusterBaseModel", "llama-3-1-8b-instruct"), "InferenceService"),
        (("ClusterBaseModel", "llama-3-1-8b-instruct"), "FineTunedWeight"),
    ],
)
def test_what_refers_to_a_deleted_object_is_refused_until_it_is_back(kubectl, reconciler, gone, kind):  # noqa: ARG001
    row = row_of(kind)
    other = next(each for each in KINDS if each.kind == gone[0])
    name = f"good-{kind.lower()}"
    kubectl("delete", other.resource, gone[1])
    wait_for_verdict(kubectl, row, name, "False", "Refused")
    kubectl.send("create", next(each for each in judged.referred() if each["kind"] == gone[0]))
    wait_for_verdict(kubectl, row, name, "True", "Stamped")
    assert {"Refused", "Stamped"} <= {each[1] for each in events(where(kubectl, row), name)}


def test_a_quiet_cluster_is_left_in_peace(kubectl, reconciler):
    """What was written does not come back as work: the writes are the same before and after a new object."""
    wait_until(lambda: reconciler.metric("modelgate_queue_depth") == 0, "the queue to be empty")
    kubectl.send("create", model("quiet"))
    wait_until(lambda: condition(kubectl.find("model", "quiet"), "Normalised"), "a verdict")
    before = reconciler.metric("modelgate_writes_total")
    kubectl.send("create", model("quieter"))
    wait_until(lambda: condition(kubectl.find("model", "quieter"), "Normalised"), "a verdict")
    assert reconciler.metric("modelgate_writes_total") == before + 1


def test_the_chart_gave_every_right_that_was_needed_and_nothing_went_wrong(reconciler):
    """Last of all: what the process has logged so far."""
    assert not reconciler.forbidden()
    assert "Traceback" not in reconciler.log()
    assert "leading" in reconciler.get("/readyz")
