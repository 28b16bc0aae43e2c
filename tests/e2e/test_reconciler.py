"""The reconciler as a process of this machine, with the rights of the chart and no more, behind the gate."""

from __future__ import annotations

import contextlib
import threading
from datetime import UTC, datetime

import pytest

from reconciler.projections.llmkube import MODELS
from reconciler.resource import APIResource
from reconciler.say.status import write_status
from reconciler.writer import ApiError, Writer
from tests.e2e.gate import NAMESPACE
from tests.e2e.kinds import KINDS
from tests.e2e.models import bad_model, model
from tests.e2e.processes import wait_until
from tests.e2e.reconciling import ACCOUNT, Reconciler, condition, events, wait_for
from webhook.admission.stamp import Stamp
from webhook.cluster.connection import connect

pytestmark = pytest.mark.usefixtures("reconciler")

FLAGS = ("--profile=strict", "--apis=llmkube")
SERVICES = APIResource("ome.io", "v1beta1", "inferenceservices", "InferenceService")
SETS = ("reconciler.apis.llmkube=true",)


@pytest.fixture(scope="module")
def reconciler(plane, gate):  # noqa: ARG001  (behind the gate, which makes its namespace)
    with Reconciler(plane, *FLAGS, sets=SETS) as started:
        yield started


def test_an_applied_model_gets_its_status(kubectl):
    kubectl.send("apply", model("fresh"))
    status = wait_for(kubectl, "fresh", "Available", "True", "WorkloadResolved")["status"]
    assert status["phase"] == "Ready"
    assert len(status["cacheKey"]) == 16
    assert condition({"status": status}, "Normalised")["status"] == "True"
    assert status["acceleratorReady"] is False  # this cluster has no nodes


def test_the_status_is_written_whole_by_one_manager(kubectl):
    kubectl.send("apply", model("owned"))
    wait_for(kubectl, "owned", "Available", "True", "WorkloadResolved")
    writers = kubectl.json("get", "model", "owned", "--show-managed-fields")["metadata"]["managedFields"]
    of_status = [each for each in writers if each.get("subresource") == "status"]
    assert [(each["manager"], each["operation"]) for each in of_status] == [("modelgate", "Update")]


def test_a_status_computed_from_an_older_object_is_refused(kubectl, plane):
    kubectl.send("apply", model("raced"))
    before = wait_for(kubectl, "raced", "Available", "True", "WorkloadResolved")
    kubectl.patch("model", "raced", {"metadata": {"labels": {"team": "blue"}}})
    with pytest.raises(ApiError) as refused:
        write_status(Writer(connect(plane.kubeconfig)), MODELS, before, {"phase": "Failed"})
    assert refused.value.status == 409


def test_a_status_that_has_been_written_is_left_alone(kubectl):
    kubectl.send("apply", model("quiet"))
    done = wait_for(kubectl, "quiet", "Available", "True", "WorkloadResolved")
    kubectl.send("apply", model("marker"))
    wait_for(kubectl, "marker", "Available", "True", "WorkloadResolved")
    assert kubectl.find("model", "quiet")["metadata"]["resourceVersion"] == done["metadata"]["resourceVersion"]


def test_a_changed_source_changes_the_status_and_what_no_longer_holds_goes(kubectl):
    staged = {"source": "hf://org/repo", "files": ["a.gguf"]}
    kubectl.send("apply", model("moving", spec=staged))
    first = wait_for(kubectl, "moving", "Available", "True", "RuntimeResolved")
    assert first["status"]["stagedFiles"] == ["a.gguf"]
    kubectl.send("apply", model("moving"))
    second = wait_for(kubectl, "moving", "Available", "True", "WorkloadResolved")
    assert "stagedFiles" not in second["status"]
    assert condition(second, "Available")["observedGeneration"] == second["metadata"]["generation"]
    assert condition(second, "Available")["lastTransitionTime"] == condition(first, "Available")["lastTransitionTime"]


def test_a_model_waits_for_its_volume_claim(kubectl):
    kubectl.send("apply", model("stored", spec={"source": "pvc://weights/m.gguf"}))
    missing = wait_for(kubectl, "stored", "Degraded", "True", "PVCNotFound")
    assert missing["status"]["phase"] == "Failed"
    (event,) = wait_until(lambda: events(kubectl, "stored"), "an Event")
    assert event[:2] == ("Warning", "PVCNotFound")


def test_a_model_older_than_the_gate_is_normalised_through_it_before_anything_is_made_of_it(kubectl, gate, reconciler):
    reconciler.stop()
    with gate.absent():
        kubectl.send("create", model("older"))
    reconciler.start()
    older = wait_for(kubectl, "older", "Available", "True", "WorkloadResolved")
    assert Stamp.read(older).matches(older)
    assert older["spec"]["hardware"]["gpu"]["resourceName"] == "devic.es/dri-render"
    assert {each["observedGeneration"] for each in older["status"]["conditions"]} == {2}


def test_a_bad_model_older_than_the_gate_is_told_why_nothing_is_made_of_it(kubectl, gate, reconciler):
    reconciler.stop()
    with gate.absent():
        kubectl.send("create", bad_model("older-and-bad"))
    reconciler.start()
    refused = wait_for(kubectl, "older-and-bad", "Normalised", "False", "Refused")
    message = condition(refused, "Normalised")["message"]
    assert "spec.source: " in message
    assert "spec.hardware.memoryFraction: " in message
    assert "phase" not in refused["status"]
    stamp = Stamp.read(refused)
    assert stamp is None or not stamp.matches(refused)
    assert wait_until(lambda: events(kubectl, "older-and-bad"), "an Event") == [("Warning", "Refused", message)]


def test_an_invalid_old_model_is_not_processed_before_it_is_corrected(kubectl, gate):
    with gate.absent():
        kubectl.send("create", bad_model("corrected"))
    kubectl.patch("model", "corrected", {"metadata": {"labels": {"team": "blue"}}})
    wait_for(kubectl, "corrected", "Normalised", "False", "Refused")
    good = {"spec": {"source": "hf://org/repo", "hardware": {"memoryFraction": None}}}
    kubectl.patch("model", "corrected", good)
    wait_for(kubectl, "corrected", "Available", "True", "RuntimeResolved")
    assert condition(kubectl.find("model", "corrected"), "Normalised")["status"] == "True"


def test_without_the_gate_nothing_is_done_with_an_unstamped_model_until_it_is_back(kubectl, gate):
    with gate.absent():
        kubectl.send("create", model("waiting"))
        waiting = wait_for(kubectl, "waiting", "Normalised", "False", "GateAbsent")
        assert "phase" not in waiting["status"]
    wait_for(kubectl, "waiting", "Available", "True", "WorkloadResolved")


def test_a_gate_that_does_not_answer_is_named(kubectl, gate, reconciler):
    with gate.absent():
        reconciler.stop()
        kubectl.send("create", model("closed"))
    gate.stop()
    try:
        reconciler.start()
        closed = wait_for(kubectl, "closed", "Normalised", "False", "GateAbsent")
        assert "validate.modelgate.dev" in condition(closed, "Normalised")["message"]
    finally:
        gate.start()
    wait_for(kubectl, "closed", "Available", "True", "WorkloadResolved")


def test_a_second_reconciler_waits_and_takes_over(kubectl, plane, reconciler):
    lease = plane.kubectl.within(NAMESPACE).find("lease", ACCOUNT)
    with Reconciler(plane, *FLAGS, sets=SETS, name="second"):
        reconciler.stop()
        kubectl.send("apply", model("handed-over"))
        wait_for(kubectl, "handed-over", "Available", "True", "WorkloadResolved")
    after = plane.kubectl.within(NAMESPACE).find("lease", ACCOUNT)
    assert after["spec"]["leaseTransitions"] > lease["spec"]["leaseTransitions"]
    assert after["spec"]["holderIdentity"] == ""  # released
    reconciler.start()


def test_a_leader_that_is_killed_amid_its_work_is_followed_and_nothing_is_done_twice(kubectl, plane, gate, reconciler):
    names = [f"many-{number}" for number in range(60)]
    reconciler.stop()
    with gate.absent():
        kubectl.send_all("create", [model(name) for name in names])
    reconciler.start()
    with Reconciler(plane, *FLAGS, sets=SETS, name="next"):
        wait_for(kubectl, names[10], "Available", "True", "WorkloadResolved")
        reconciler.kill()
        for name in names:
            wait_for(kubectl, name, "Available", "True", "WorkloadResolved")
        found = [kubectl.find("model", name) for name in (names[0], names[-1])]
        assert {each["metadata"]["generation"] for each in found} == {2}
    reconciler.start()


def webhook_configurations(plane):
    """All of the cluster, with their generations."""
    return plane.kubectl.json("get", "mutatingwebhookconfigurations,validatingwebhookconfigurations")["items"]


def test_a_killed_leader_leaves_no_configuration_changed_and_no_decision_skipped(kubectl, plane, gate, reconciler):
    """Until another one leads, the gate decides as before; then every object gets its verdict, older or new."""
    reconciler.stop()
    with gate.absent():
        kubectl.send("create", bad_model("unseen"))
    before = webhook_configurations(plane)
    reconciler.start()
    wait_until(lambda: reconciler.metric("modelgate_leader"), "the reconciler to lead")
    with Reconciler(plane, *FLAGS, sets=SETS, name="heir"):
        reconciler.kill()
        assert "spec.hardware.memoryFraction: " in kubectl.refusal("create", bad_model("leaderless-and-bad"))
        assert Stamp.matching(kubectl.send("create", model("leaderless"))) is not None
        wait_for(kubectl, "unseen", "Normalised", "False", "Refused")
        wait_for(kubectl, "leaderless", "Available", "True", "WorkloadResolved")
        assert webhook_configurations(plane) == before
    reconciler.start()


def test_a_model_that_is_deleted_is_gone_at_once(kubectl):
    kubectl.send("apply", model("leaving"))
    wait_for(kubectl, "leaving", "Available", "True", "WorkloadResolved")
    kubectl("delete", "model", "leaving", "--timeout=20s")


class Operator(threading.Thread):
    """Another controller: it replaces the status of an object twice a second, as an operator does that knows only its
    own conditions.
    """

    def __init__(self, plane, resource, namespace, name, status):
        super().__init__(daemon=True)
        self._api = Writer(connect(plane.kubeconfig))
        self._resource, self._place, self._status = resource, (namespace, name), status
        self.stopped = threading.Event()

    def run(self):
        turn = 0
        while not self.stopped.wait(0.5):
            turn += 1
            with contextlib.suppress(ApiError):  # a conflict: the next time
                obj = self._api.get(self._resource, *self._place)
                turning = (
                    {"phase": ("Pending", "Failed")[turn % 2]} if "phase" in self._status else {"url": f"http://{turn}"}
                )
                obj["status"] = {**self._status, **turning}
                path = self._resource.path(*self._place, "status")
                self._api._call("PUT", path, {"fieldManager": "operator"}, obj)


def status_writes(reconciler):
    return reconciler.metric("/status")


def held_back(kubectl, reconciler, api, name):
    """The number of Events about an object of an API that is held back, once it is."""
    wait_until(lambda: reconciler.metric(f'modelgate_held_back_objects{{api="{api}"'), f"the hold-back of {name}")
    told = wait_until(lambda: [each for each in events(kubectl, name) if each[1] == "HeldBack"], "its Event")
    return len(told)


def test_where_another_controller_writes_the_status_nothing_is_written_after_one_hold_back(kubectl, plane, reconciler):
    namespace = kubectl.flags[-1]
    kubectl.send("apply", model("fought-over"))
    wait_for(kubectl, "fought-over", "Available", "True", "WorkloadResolved")
    service = next(each for each in KINDS if each.kind == "InferenceService" and each.apiVersion.startswith("ome.io"))
    kubectl.send("apply", service.object("fought-over-too"))
    operators = [
        Operator(plane, MODELS, namespace, "fought-over", {"phase": "Pending"}),
        Operator(plane, SERVICES, namespace, "fought-over-too", {"conditions": [{"type": "Ready", "status": "False"}]}),
    ]
    for each in operators:
        each.start()
    try:
        assert held_back(kubectl, reconciler, "llmkube", "fought-over") == 1
        assert held_back(kubectl, reconciler, "ome", "fought-over-too") == 1
        before = status_writes(reconciler)
        seen = kubectl.find("model", "fought-over")["metadata"]["resourceVersion"]
        wait_until(
            lambda: int(kubectl.find("model", "fought-over")["metadata"]["resourceVersion"]) > int(seen) + 20,
            "twenty more writes of the operators",
        )
        assert status_writes(reconciler) == before
    finally:
        for each in operators:
            each.stopped.set()


def test_the_chart_gave_every_right_that_was_needed_and_nothing_went_wrong(reconciler):
    """Last of all: what the process has logged so far."""
    assert "is forbidden: User" not in reconciler.log()
    assert "Traceback" not in reconciler.log()
    assert datetime.now(UTC).strftime("%Y-") in reconciler.log()  # it has logged at all
