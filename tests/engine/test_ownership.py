"""A value that a user has written is the user's, also where it equals what the gate had filled in.

The objects are as a webhook gets them: tests/e2e/test_ownership.py runs the same flows on a real API server.
"""

import copy
import json

import pytest

from webhook import catalog, engine
from webhook.admission.decision import GroupVersionKind, Request
from webhook.admission.stamp import ANNOTATION, Stamp
from webhook.cluster import MemoryView
from webhook.engine import Options
from webhook.engine.filling.ownership import LAST_APPLIED
from webhook.policy import MISSING, Path, Profile

LOADED = catalog.load()
STRICT = Options(profile=Profile.STRICT)
MODEL = GroupVersionKind("inference.llmkube.dev", "v1alpha1", "Model")
OPEN_MODEL = GroupVersionKind("llmaz.io", "v1alpha1", "OpenModel")
SERVICE = GroupVersionKind("ome.io", "v1beta1", "InferenceService")
WEIGHTS = {"vendor": "meta", "modelFormat": {"name": "safetensors"}, "storage": {"storageUri": "hf://a/b"}}
RUNTIME = {
    "supportedModelFormats": [{"modelFormat": {"name": "safetensors"}, "autoSelect": True}],
    "engineConfig": {"runner": {"name": "ome-container", "image": "x"}},
}


def ome(kind, name, spec):
    return {"apiVersion": "ome.io/v1beta1", "kind": kind, "metadata": {"name": name}, "spec": spec}


VIEW = MemoryView(
    [
        ome("ClusterBaseModel", "m", WEIGHTS),
        ome("ClusterBaseModel", "n", WEIGHTS),
        ome("ClusterServingRuntime", "r", RUNTIME),
    ]
)
GPU = "spec.hardware.gpu"


def manifest(gvk, spec, **metadata):
    head = {"apiVersion": f"{gvk.group}/{gvk.version}", "kind": gvk.kind}
    return {**head, "metadata": {"name": "n", "namespace": "default", **metadata}, "spec": spec}


def model(**gpu):
    return manifest(MODEL, {"source": "hf://org/repo", "hardware": {"gpu": gpu}})


def admitted(obj, old=None):
    """The object as it is stored: both webhooks accept it, and a second call changes nothing."""
    gvk = GroupVersionKind(*obj["apiVersion"].split("/"), obj["kind"])
    known = LOADED.find(gvk)
    obj = known.schema.default(obj)
    request = Request(
        gvk, known.plural, "UPDATE" if old else "CREATE", obj, old, uid="u", name="n", namespace="default"
    )
    stored = engine.mutate(request, LOADED, VIEW, STRICT).object
    again = Request(gvk, known.plural, request.operation, stored, old, uid="u", name="n", namespace="default")
    assert engine.mutate(again, LOADED, VIEW, STRICT).object == stored
    decision = engine.validate(again, LOADED, VIEW, STRICT)
    assert decision.causes == ()
    assert [each for each in decision.warnings if ANNOTATION in each.field] == []
    return stored


def merged(live, change):
    """A JSON merge patch."""
    if not isinstance(change, dict):
        return change
    result = dict(live) if isinstance(live, dict) else {}
    for key, value in change.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def client_side(file, live=None):
    """What the API server gets from ``kubectl apply``: no manager owns a field that is stored with the same value."""
    text = json.dumps(file, separators=(",", ":"))
    change = merged(file, {"metadata": {"annotations": {LAST_APPLIED: text}}})
    return change if live is None else merged(live, change)


def fields(value):
    """``fieldsV1`` of an applied configuration."""
    return {f"f:{key}": fields(item) for key, item in value.items()} if isinstance(value, dict) else {}


def server_side(file, live=None, manager="kubectl"):
    """What the webhook gets of ``kubectl apply --server-side``: the manager owns all that the file has."""
    metadata = {key: value for key, value in file["metadata"].items() if key not in {"name", "namespace"}}
    part = {"spec": file["spec"], **({"metadata": metadata} if metadata else {})}
    entry = {"manager": manager, "operation": "Apply", "apiVersion": file["apiVersion"], "fieldsType": "FieldsV1"}
    obj = merged(live or {}, file)
    others = [each for each in obj["metadata"].get("managedFields", []) if each["manager"] != manager]
    return merged(obj, {"metadata": {"managedFields": [*others, {**entry, "fieldsV1": fields(part)}]}})


def changed(live, **gpu):
    """A get, an edit and a replacement; or a patch, which gives the same object."""
    return merged(live, {"spec": {"hardware": {"gpu": gpu}}})


def at(obj, path):
    found = Path.parse(path).get(obj)
    return None if found is MISSING else found


@pytest.mark.parametrize("apply", [client_side, server_side])
def test_the_same_file_applied_twice_gives_the_same_object(apply):
    stored = admitted(apply(model(count=1)))
    assert at(stored, f"{GPU}.resourceName") == "nvidia.com/gpu"
    pinned = model(count=1, vendor="amd", resourceName="nvidia.com/gpu")
    once = admitted(apply(pinned, stored), stored)
    assert at(once, f"{GPU}.resourceName") == "nvidia.com/gpu"
    assert admitted(apply(pinned, once), once) == once


@pytest.mark.parametrize("apply", [client_side, server_side])
def test_a_value_is_the_users_from_the_moment_that_it_is_written(apply):
    stored = admitted(apply(model(count=1)))
    pinned = admitted(apply(model(count=1, resourceName="nvidia.com/gpu"), stored), stored)
    assert Stamp.read(pinned).defaulted == {f"{GPU}.tolerationKey": "nvidia.com/gpu"}
    moved = admitted(changed(pinned, vendor="amd"), pinned)
    assert at(moved, f"{GPU}.resourceName") == "nvidia.com/gpu"


@pytest.mark.parametrize("apply", [client_side, server_side])
def test_what_no_file_holds_follows_its_inputs(apply):
    stored = admitted(apply(model(count=1)))
    moved = admitted(apply(model(count=1, vendor="amd"), stored), stored)
    assert (at(moved, f"{GPU}.resourceName"), at(moved, f"{GPU}.tolerationKey")) == ("amd.com/gpu", "amd.com/gpu")


def test_what_another_manager_applies_is_that_managers():
    stored = admitted(server_side(model(count=1)))
    shared = admitted(server_side(model(resourceName="nvidia.com/gpu"), stored, "other"), stored)
    moved = admitted(server_side(model(count=1, vendor="amd"), shared), shared)
    assert at(moved, f"{GPU}.resourceName") == "nvidia.com/gpu"


def test_a_replacement_after_a_get_follows_its_inputs():
    for stored in (admitted(model(count=1)), admitted(client_side(model(count=1)))):
        moved = admitted(changed(stored, vendor="amd"), stored)
        assert (at(moved, f"{GPU}.resourceName"), at(moved, f"{GPU}.tolerationKey")) == ("amd.com/gpu", "amd.com/gpu")


@pytest.mark.parametrize("apply", [client_side, server_side])
def test_an_accelerator_that_the_user_writes_over_the_schemas_default_stays(apply):
    stored = admitted(apply(model(enabled=True, vendor="amd", runtime="vulkan")))
    assert at(stored, "spec.hardware.accelerator") == "vulkan"
    pinned = model(enabled=True, vendor="amd", runtime="rocm")
    pinned["spec"]["hardware"]["accelerator"] = "vulkan"
    once = admitted(apply(pinned, stored), stored)
    assert at(once, "spec.hardware.accelerator") == "vulkan"
    assert admitted(apply(pinned, once), once) == once


@pytest.mark.parametrize("apply", [client_side, server_side])
def test_an_accelerator_that_replaced_the_users_cpu_follows_its_runtime(apply):
    """The user's manager owns the accelerator, but has never written the value."""
    written = model(enabled=True, vendor="amd", runtime="vulkan")
    written["spec"]["hardware"]["accelerator"] = "cpu"
    stored = admitted(apply(written))
    assert at(stored, "spec.hardware.accelerator") == "vulkan"
    moved = admitted(changed(stored, runtime="rocm"), stored)
    assert at(moved, "spec.hardware.accelerator") == "rocm"


@pytest.mark.parametrize("apply", [client_side, server_side])
@pytest.mark.parametrize(
    ("gvk", "spec", "path", "value", "inputs"),
    [
        (SERVICE, {"model": {"name": "m"}, "engine": {}}, "spec.engine.maxReplicas", 3, {}),
        (
            SERVICE,
            {"predictor": {"model": {"baseModel": "m"}, "minReplicas": 2, "maxReplicas": 4}},
            "spec.engine.minReplicas",
            2,
            {"predictor": {"minReplicas": 1}},
        ),
        (
            SERVICE,
            {"predictor": {"model": {"baseModel": "m"}}},
            "spec.model.name",
            "m",
            {"predictor": {"model": {"baseModel": "n"}}},
        ),
        (SERVICE, {"model": {"name": "m"}, "engine": {}}, "spec.runtime.name", "r", {"model": {"name": "n"}}),
        (
            MODEL,
            model(count=1)["spec"],
            f"{GPU}.tolerationKey",
            "nvidia.com/gpu",
            {"hardware": {"gpu": {"vendor": "amd"}}},
        ),
    ],
    ids=["a number", "a part of an engine", "the name of a model", "a chosen runtime", "a toleration"],
)
def test_every_kind_keeps_what_is_written(apply, gvk, spec, path, value, inputs):
    first = manifest(gvk, spec)
    stored = admitted(apply(first))
    assert at(stored, path) == value
    assert any(path.startswith(recorded) for recorded in Stamp.read(stored).defaulted)
    pinned = merged(Path.parse(path).set(first, value), {"spec": inputs})
    once = admitted(apply(pinned, stored), stored)
    assert at(once, path) == value
    assert not any(path.startswith(recorded) for recorded in Stamp.read(once).defaulted)
    assert admitted(apply(pinned, once), once) == once


def test_a_null_for_a_default_in_what_was_derived_does_not_make_it_the_users():
    stored = admitted(manifest(SERVICE, {"model": {"name": "m"}, "engine": {}}))
    assert "spec.runtime" in Stamp.read(stored).defaulted
    sent = Path.parse("spec.runtime.apiGroup").set(stored, None)
    request = Request(SERVICE, "inferenceservices", "UPDATE", sent, stored, uid="u", name="n", namespace="default")
    assert engine.mutate(request, LOADED, VIEW, STRICT).object == stored


@pytest.mark.parametrize("runtime", [{"name": "r", "apiGroup": None}, {"name": "r", "unknown": None}])
def test_a_null_in_a_file_counts_as_absent(runtime):
    first = manifest(SERVICE, {"model": {"name": "m"}, "engine": {}})
    stored = admitted(client_side(first))
    once = admitted(client_side(Path.parse("spec.runtime").set(first, runtime), stored), stored)
    assert "spec.runtime" not in Stamp.read(once).defaulted
    empty = admitted(client_side(Path.parse("spec.runtime").set(first, None), once), once)
    assert "spec.runtime" in Stamp.read(empty).defaulted


@pytest.mark.parametrize("apply", [client_side, server_side])
def test_the_time_of_creation_stays_when_a_user_writes_it(apply):
    created = "2026-11-22T10:00:00Z"
    spec = {"familyName": "llama3", "source": {"modelHub": {"modelID": "a/b"}}}
    live = {"metadata": {"managedFields": [{"manager": "kubectl", "operation": "Apply", "time": created}]}}
    stored = admitted(merged(manifest(OPEN_MODEL, spec), live))
    assert at(stored, "spec.createdAt") == created
    pinned = manifest(OPEN_MODEL, {**spec, "createdAt": created})
    once = admitted(apply(pinned, stored), stored)
    assert admitted(apply(pinned, once), once) == once
    assert at(once, "spec.createdAt") == created


@pytest.mark.parametrize("apply", [client_side, server_side])
def test_a_manifest_exported_with_its_stamp_says_itself_what_was_derived(apply):
    exported = admitted(model(count=1))
    exported["metadata"].pop("managedFields", None)
    edited = changed(exported, vendor="amd")
    for stored in (None, exported):
        once = admitted(apply(edited, stored), stored)
        assert at(once, f"{GPU}.resourceName") == "amd.com/gpu"
        assert admitted(apply(edited, once), once)["spec"] == once["spec"]


def test_a_manager_of_an_object_without_managers_owns_nothing_that_was_derived():
    """The API server gives all that is stored to the manager before-first-apply."""
    stored = admitted(model(count=1))
    everything = {"spec": stored["spec"], "metadata": {"annotations": stored["metadata"]["annotations"]}}
    before = {"manager": "before-first-apply", "operation": "Update", "fieldsV1": fields(everything)}
    live = merged(stored, {"metadata": {"managedFields": [before]}})
    moved = admitted(server_side(model(count=1, vendor="amd"), live), stored)
    assert at(moved, f"{GPU}.resourceName") == "amd.com/gpu"


@pytest.mark.parametrize(
    "metadata",
    [
        {"managedFields": entries}
        for entries in (
            None, 5, "x", {}, [None, 5, []], [{}], [{"manager": None, "fieldsV1": []}],
            [{"fieldsV1": {"f:spec": "x"}}], [{"fieldsV1": {"f:spec": {"f:hardware": {"f:gpu": None}}}}],
        )
    ]
    + [
        {"annotations": {LAST_APPLIED: text}}
        for text in (
            None, 5, "", "{", "resourceName", "[" * 100_000 + '"resourceName"', '"resourceName"', '["resourceName"]',
            '{"spec": {"resourceName": 1}}', '{"spec": {"hardware": {"gpu": {"resourceName": null}}}}',
            '{"spec":{"hardware":{"gpu":{"resourceName":"nvidia.com/gpu"}}},"metadata":{"annotations":[]},"x":"\\ud800"}',
        )
    ],
    ids=lambda metadata: repr(metadata)[:60],
)  # fmt: skip
def test_metadata_that_cannot_be_read_shows_nothing(metadata):
    stored = admitted(model(count=1))
    obj = copy.deepcopy(changed(stored, vendor="amd"))
    annotations = {**obj["metadata"]["annotations"], **metadata.get("annotations", {})}
    obj["metadata"] = {**obj["metadata"], **metadata, "annotations": annotations}
    request = Request(MODEL, "models", "UPDATE", obj, stored, uid="u", name="n", namespace="default")
    moved = engine.mutate(request, LOADED, VIEW, STRICT).object
    assert at(moved, f"{GPU}.resourceName") == "amd.com/gpu"


def test_what_was_applied_and_changed_since_shows_nothing():
    stored = admitted(client_side(model(count=1, resourceName="example.com/gpu")))
    given_up = admitted(changed(stored, resourceName=None), stored)
    assert at(given_up, f"{GPU}.resourceName") == "nvidia.com/gpu"
    moved = admitted(changed(given_up, vendor="amd"), given_up)
    assert at(moved, f"{GPU}.resourceName") == "amd.com/gpu"


def test_what_a_manager_owns_is_read_for_every_default():
    """The managers' fields are read by name: no default is in a list, and none below what is owned as a whole."""
    for known in LOADED.kinds.values():
        for rule in known.policy.defaults:
            node = known.schema.root
            for key in rule.path.keys[:-1]:
                node = node.child(key)
                if node is None:
                    assert rule.path.keys[:2] in {("metadata", "annotations"), ("metadata", "labels")}
                    break
                assert node.raw.get("x-kubernetes-map-type") != "atomic"
                assert not (node.raw.get("x-kubernetes-preserve-unknown-fields") and not node.properties)
