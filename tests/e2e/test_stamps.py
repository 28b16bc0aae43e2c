"""What a user may try against the stamp by way of a real API server: whatever is sent, what is stored is the gate's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from http.client import RemoteDisconnected

import pytest

from tests.e2e.client import Client, connected
from tests.e2e.gate import NAME, STAMP
from tests.e2e.kubectl import Object
from tests.e2e.models import FINALIZER, model
from tests.e2e.processes import wait_until
from webhook.admission.stamp import Stamp

pytestmark = pytest.mark.usefixtures("gate")

MODELS = "/apis/inference.llmkube.dev/v1alpha1/namespaces/{}/models"
FALSE = Stamp("0" * 64, "0" * 16, {"spec.source": "https://example.com/models/llama-3.1-8b.Q4_K_M.gguf"})
DERIVED = "devic.es/dri-render"
FORCED = ("--server-side", "--force-conflicts", "--field-manager=forger")
MERGE = {"Content-Type": "application/merge-patch+json"}


@pytest.fixture
def client(plane) -> Iterator[Client]:
    with connected(plane.kubeconfig) as client:
        yield client


@pytest.fixture
def models(kubectl) -> str:
    """The path of the Models of the test's namespace."""
    return MODELS.format(kubectl.flags[-1])


def forged(obj: Object, text: str | None = None) -> Object:
    """The object with a stamp that a user wrote: this text, or one that fits the specification."""
    stamp = Stamp.of(obj, FALSE.catalog, FALSE.defaulted).encode()
    metadata = {**obj["metadata"], "annotations": {STAMP: stamp if text is None else text}}
    return {**obj, "metadata": metadata}


def is_the_gates(obj: Object) -> bool:
    """Whether the stamp matches, and says what only the gate could say of the object."""
    stamp = Stamp.matching(obj)
    return stamp is not None and stamp.catalog != FALSE.catalog and "spec.source" not in stamp.defaulted


def test_an_apply_by_force_does_not_take_the_stamp(kubectl):
    honest = kubectl.send("apply", model("forced"), "--server-side")
    assert is_the_gates(honest)
    for turn in (forged(model("forced")), forged(model("forced"), FALSE.encode()), model("forced")):
        assert is_the_gates(kubectl.send("apply", turn, *FORCED))
    only = {key: value for key, value in forged(model("forced")).items() if key != "spec"}
    stored = kubectl.send("apply", only, *FORCED)
    assert is_the_gates(stored)
    assert stored["spec"]["hardware"]["gpu"]["resourceName"] == DERIVED


def test_one_who_owns_the_stamp_by_force_keeps_no_say_in_it(kubectl):
    """The forger's manager owns the annotation; the user's next apply changes the specification, and so the stamp."""
    kubectl.send("apply", forged(model("owned-stamp")), *FORCED)
    changed = model("owned-stamp", spec={"source": "hf://org/other"})
    stored = kubectl.send("apply", changed, "--server-side", "--force-conflicts")
    assert stored["spec"]["source"] == "hf://org/other"
    assert is_the_gates(stored)


@pytest.mark.parametrize("verb", ["create", "apply", "replace"])
def test_a_forged_stamp_is_replaced_by_every_verb(kubectl, verb):
    if verb == "replace":
        kubectl.send("create", model("replaced"))
    assert is_the_gates(kubectl.send(verb, forged(model("replaced" if verb == "replace" else verb))))


@pytest.mark.parametrize(
    "text",
    [
        "x" * 200_000,
        "[" * 100_000,
        '{"a":' * 40_000,
        json.dumps({"catalog": "\0", "defaulted": {"spec.format": "gguf"}, "profile": "", "spec": ""}),
        "\0",
        "",
        "null",
        '{"catalog":"a","catalog":"b","defaulted":{},"profile":"","spec":""}',
        json.dumps({"catalog": "", "defaulted": {"": 1, "spec": {}, "metadata.annotations": {}}, "spec": ""}),
    ],
    ids=["200 KB", "nested lists", "nested objects", "NUL inside", "NUL", "empty", "null", "twice", "odd paths"],
)
def test_an_odd_stamp_is_replaced(client, models, text):
    made = client.ask("POST", models, forged(model("odd"), text))
    assert made.accepted, made.body
    assert is_the_gates(made.body)
    assert made.body["spec"]["hardware"]["gpu"]["resourceName"] == DERIVED
    again = client.ask("PATCH", f"{models}/odd", {"metadata": {"annotations": {STAMP: text}}}, MERGE)
    assert again.accepted, again.body
    assert is_the_gates(again.body)


ENTRY = {
    "manager": "m",
    "operation": "Update",
    "apiVersion": "inference.llmkube.dev/v1alpha1",
    "fieldsType": "FieldsV1",
}
LEAF = {"f:spec": {"f:hardware": {"f:gpu": {"f:resourceName": {}}}}}
ODD_ENTRIES = {
    "none": [],
    "reset": [{}],
    "no fields": [ENTRY],
    "null": [{**ENTRY, "fieldsV1": None}],
    "null inside": [{**ENTRY, "fieldsV1": {"f:spec": None}}],
    "text": [{**ENTRY, "fieldsV1": {"f:spec": "x"}}],
    "the stamp": [{**ENTRY, "fieldsV1": {"f:metadata": {"f:annotations": {f"f:{STAMP}": {}}}}}],
    "a leaf, in 2099": [{**ENTRY, "fieldsV1": LEAF, "time": "2099-01-01T00:00:00Z"}],
    "odd keys": [{**ENTRY, "operation": "Apply", "fieldsV1": {"f:spec": {".": {}, "k:{}": {}, "v:1": {}, "i:0": {}}}}],
    "many": [{**ENTRY, "manager": f"m{number}", "fieldsV1": {"f:spec": {}}} for number in range(500)],
    "no list": "x",
    "a null item": [None],
}


@pytest.mark.parametrize("entries", ODD_ENTRIES.values(), ids=ODD_ENTRIES)
def test_odd_managed_fields_are_refused_by_the_api_server_or_harmless(client, models, entries):
    """A user writes managedFields, too. What the API server takes has the gate's stamp and all defaults."""
    stored = client.ask("POST", models, model("managed")).body
    changed = deepcopy(stored)
    changed["metadata"]["managedFields"] = entries
    changed["metadata"]["annotations"] = forged(stored)["metadata"]["annotations"]
    answer = client.ask("PUT", f"{models}/managed", changed)
    assert answer.code in {200, 400, 422}, answer.body
    found = client.ask("GET", f"{models}/managed", None).body
    assert is_the_gates(found)
    assert found["spec"]["hardware"]["gpu"]["resourceName"] == DERIVED


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_a_write_of_the_status_changes_no_stamp(client, models, method):
    before = client.ask("POST", models, model("by-status")).body
    if method == "PUT":
        sent = client.ask("PUT", f"{models}/by-status/status", {**forged(before), "status": {"phase": "Ready"}})
    else:
        body = {"metadata": {"annotations": {STAMP: FALSE.encode()}}, "status": {"phase": "Ready"}}
        sent = client.ask("PATCH", f"{models}/by-status/status", body, MERGE)
    assert sent.accepted, sent.body
    after = client.ask("GET", f"{models}/by-status", None).body
    assert after["status"]["phase"] == "Ready"
    assert after["metadata"]["annotations"] == before["metadata"]["annotations"]


def test_only_of_an_object_in_deletion_a_forged_stamp_is_stored_while_its_specification_stays(client, models):
    """It must be able to lose its finalizers, so the gate reviews no such write; and nothing acts on the object."""
    client.ask("POST", models, model("going", finalizers=[FINALIZER]))
    client.ask("DELETE", f"{models}/going", None)
    forging = {"metadata": {"annotations": {STAMP: FALSE.encode()}}}
    stored = client.ask("PATCH", f"{models}/going", forging, MERGE)
    assert stored.body["metadata"]["annotations"][STAMP] == FALSE.encode()
    changed = client.ask("PATCH", f"{models}/going", {**forging, "spec": {"source": "hf://org/other"}}, MERGE)
    assert not is_the_gates(stored.body)
    assert is_the_gates(changed.body)
    assert client.ask("PATCH", f"{models}/going", {"metadata": {"finalizers": []}}, MERGE).accepted


SCALE = {"specReplicasPath": ".spec.hardware.gpu.count", "statusReplicasPath": ".status.observedGeneration"}


def _exists(client: Client, path: str) -> bool | None:
    """Whether the API server serves a path; None if it ends the connection, as after a change of the definition."""
    try:
        return client.ask("GET", path, None).accepted
    except RemoteDisconnected:  # the next request connects anew
        return None


@pytest.fixture
def scalable(plane, client, models) -> Iterator[None]:
    """Models can be scaled, as by a definition that another release of the operator may install."""
    name = "models.inference.llmkube.dev"
    before = plane.kubectl.json("get", "crd", name)["spec"]["versions"]
    subresources = {**before[0]["subresources"], "scale": SCALE}
    scaled = [{**before[0], "subresources": subresources}, *before[1:]]
    plane.kubectl.patch("crd", name, {"spec": {"versions": scaled}})
    probe = client.ask("POST", models, model("probe")).body["metadata"]["name"]
    wait_until(lambda: _exists(client, f"{models}/{probe}/scale"), "Models to have a scale")
    yield
    plane.kubectl.patch("crd", name, {"spec": {"versions": before}})
    wait_until(lambda: _exists(client, f"{models}/{probe}/scale") is False, "Models to have none")


@pytest.mark.usefixtures("scalable")
def test_scale_writes_no_stamp_and_leaves_none_that_matches(client, models):
    """The webhooks are not asked about it: what it changes is not what the gate stamped, and the stamp shows that."""
    before = client.ask("POST", models, model("scaled")).body
    scale = client.ask("GET", f"{models}/scaled/scale", None).body
    scale["metadata"]["annotations"] = {STAMP: FALSE.encode()}
    scale["spec"] = {"replicas": 7}
    assert client.ask("PUT", f"{models}/scaled/scale", scale).accepted
    after = client.ask("GET", f"{models}/scaled", None).body
    assert after["spec"]["hardware"]["gpu"]["count"] == 7
    assert after["metadata"]["annotations"] == before["metadata"]["annotations"]
    assert Stamp.matching(after) is None
    healed = client.ask("PATCH", f"{models}/scaled", {}, MERGE).body  # as the reconciler asks the gate
    assert is_the_gates(healed)


@pytest.fixture
def without_mutation(plane, kubectl) -> Iterator[None]:
    """The API server misses the mutating webhook, and asks the validating one."""
    configuration = plane.kubectl.json("get", "mutatingwebhookconfiguration", NAME)
    plane.kubectl("delete", "mutatingwebhookconfiguration", NAME)
    probe = json.dumps(model("probe"))
    sent = ("create", "-f", "-", "--dry-run=server", "-o=json")
    wait_until(lambda: STAMP not in kubectl.run(*sent, stdin=probe).out, "the webhook to be missed")
    yield
    for field in ("resourceVersion", "uid", "creationTimestamp", "generation", "managedFields"):
        configuration["metadata"].pop(field, None)
    plane.kubectl.send("create", configuration)
    wait_until(lambda: STAMP in kubectl.run(*sent, stdin=probe).out, "the webhook to be called")


@pytest.mark.usefixtures("without_mutation")
def test_where_mutation_is_missed_validation_refuses_a_false_stamp_under_strict(kubectl):
    """The stamp fits what is stored, with the defaults of the definition in it."""
    as_stored = kubectl.send("create", model("missed"), "--dry-run=server")
    assert Stamp.read(as_stored) is None
    for field in ("uid", "creationTimestamp", "generation"):
        del as_stored["metadata"][field]
    assert "defaults are missing" in kubectl.refusal("create", forged(as_stored))
    stored = kubectl.send("create", model("missed"))
    assert "is not the stamp that Modelgate writes" in kubectl.refusal("replace", forged(stored))
