"""An update may leave a fault as it was; the stamp then matches nothing, and nothing acts on the object."""

import copy

import pytest

from webhook import catalog, engine
from webhook.admission.decision import GroupVersionKind, Request
from webhook.admission.stamp import ANNOTATION, UNSTAMPED, Stamp
from webhook.cluster import MemoryView
from webhook.engine import Options
from webhook.policy import Profile

MODEL = GroupVersionKind("inference.llmkube.dev", "v1alpha1", "Model")
LOADED = catalog.load()
VIEW = MemoryView()


def model(source, hardware=None, **annotations):
    metadata = {"name": "m", "namespace": "default", "annotations": annotations}
    spec = {"source": source} | ({"hardware": hardware} if hardware else {})
    return {"apiVersion": "inference.llmkube.dev/v1alpha1", "kind": "Model", "metadata": metadata, "spec": spec}


def request(obj, old=None):
    return Request(MODEL, "models", "UPDATE" if old else "CREATE", obj, old, name="m", namespace="default")


def mutated(obj, old=None, profile=Profile.STRICT):
    return engine.mutate(request(obj, old), LOADED, VIEW, Options(profile=profile))


def stamped(decision):
    return Stamp.read(decision.object).matches(decision.object)


GOOD, BAD = "hf://org/repo", "pvc://weights"


def test_a_bad_object_older_than_the_gate_passes_without_a_valid_stamp_and_is_told_why():
    old = model(BAD)
    decision = mutated(old, old)
    assert not stamped(decision)
    assert decision.object["spec"]["format"] == "gguf"  # the API's own defaults come all the same
    (warning,) = decision.warnings
    assert str(warning).startswith(f"{UNSTAMPED}spec.source: ")
    assert engine.validate(request(decision.object, old), LOADED, VIEW, Options(profile=Profile.STRICT)).allowed


def test_a_good_object_older_than_the_gate_is_stamped():
    decision = mutated(model(GOOD), model(GOOD))
    assert stamped(decision)
    assert decision.warnings == ()


def test_an_old_object_that_is_corrected_is_stamped():
    decision = mutated(model(GOOD), model(BAD))
    assert stamped(decision)


@pytest.mark.parametrize("stamp", ["", "{}", Stamp.of(model(GOOD), "c", {}).encode()])
def test_a_stamp_of_something_else_does_not_help(stamp):
    old = model(BAD, **{ANNOTATION: stamp, "theirs": "stays"})
    decision = mutated(old, old)
    assert not stamped(decision)
    assert decision.object["metadata"]["annotations"]["theirs"] == "stays"


def test_defaults_of_a_tolerated_object_are_recorded_and_follow_their_inputs_once_it_is_corrected():
    old = model(BAD, hardware={"gpu": {"enabled": True, "count": 1, "vendor": "amd"}})
    tolerated = mutated(old, old).object
    assert tolerated["spec"]["hardware"]["gpu"]["resourceName"] == "amd.com/gpu"
    corrected = copy.deepcopy(tolerated)
    corrected["spec"]["source"] = GOOD
    corrected["spec"]["hardware"]["gpu"]["vendor"] = "nvidia"
    decision = mutated(corrected, tolerated)
    assert stamped(decision)
    assert decision.object["spec"]["hardware"]["gpu"]["resourceName"] == "nvidia.com/gpu"


def test_a_stored_stamp_does_not_vouch_for_an_object_that_is_wrong():
    """It may be forged, or of older rules: only the rules of today can tell."""
    old = model(BAD)
    old["metadata"]["annotations"][ANNOTATION] = Stamp.of(old, "an older catalog", {}).encode()
    decision = mutated(old, old)
    assert not stamped(decision)


def test_a_bad_object_that_comes_anew_is_stamped_and_refused():
    decision = mutated(model(BAD))
    assert stamped(decision)
    assert not engine.validate(request(decision.object), LOADED, VIEW, Options(profile=Profile.STRICT)).allowed


MALFORMED = {"gpu": {"vendor": "none such"}}  # what its schema refuses, but not of an update that leaves it


@pytest.mark.parametrize("old", [model(BAD), model(GOOD, MALFORMED)])
def test_where_nothing_is_refused_everything_is_stamped(old):
    assert not stamped(mutated(old, old))
    assert stamped(mutated(old, old, Profile.AUDIT))


def test_mutating_again_changes_nothing():
    old = model(BAD)
    once = mutated(old, old).object
    assert mutated(once, old).object == once


# What a rule reads counts, also through variables; what it does not read, and what the gate derives, does not.
# OM314 reads the metrics, and the mode, which is derived.

SERVICE = GroupVersionKind("ome.io", "v1beta1", "InferenceService")
RUNNER = {"name": "ome-container", "image": "x"}
ENGINE = {"runner": RUNNER, "scaleMetric": "rps"}
MODE = "ome.io/deploymentMode"


def updated(change, *, stamped_before=False, stored_mode=None, **annotations):
    """The codes that refuse an update of a service that was there before the gate."""
    metadata = {"name": "s", "namespace": "default", "annotations": {MODE: stored_mode} if stored_mode else {}}
    old = {"apiVersion": "ome.io/v1beta1", "kind": "InferenceService", "metadata": metadata, "spec": {"engine": ENGINE}}
    options = Options(profile=Profile.STRICT)

    def asked(obj):
        return Request(SERVICE, "inferenceservices", "UPDATE", obj, old, name="s", namespace="default")

    old = engine.mutate(asked(old), LOADED, VIEW, options).object if stamped_before else old
    new = copy.deepcopy(old)
    new["spec"] = {**new["spec"], **change}
    new["metadata"]["annotations"] = {
        key: value for key, value in {**new["metadata"]["annotations"], **annotations}.items() if value is not None
    }
    mutated = engine.mutate(asked(new), LOADED, VIEW, options).object
    return [cause.code for cause in engine.validate(asked(mutated), LOADED, VIEW, options).causes]


@pytest.mark.parametrize("stamped_before", [False, True])
def test_what_a_rule_does_not_read_and_what_is_derived_does_not_count_as_a_change(stamped_before):
    assert updated({}, stamped_before=stamped_before) == []
    assert updated({}, stamped_before=stamped_before, team="blue") == []
    assert updated({"engine": {**ENGINE, "timeout": 5}}, stamped_before=stamped_before) == []


@pytest.mark.parametrize("stamped_before", [False, True])
def test_what_a_rule_reads_counts_though_what_is_derived_from_it_does_not(stamped_before):
    decoder = {"runner": RUNNER, "scaleMetric": "concurrency"}
    assert updated({"engine": {**ENGINE, "scaleMetric": "concurrency"}}, stamped_before=stamped_before) == ["OM314"]
    assert updated({"decoder": {"runner": RUNNER}}, stamped_before=stamped_before) == []
    assert updated({"decoder": decoder}, stamped_before=stamped_before) == ["OM314"]
    assert updated({}, stamped_before=stamped_before, **{MODE: "MultiNode"}) == ["OM314"]


def test_a_value_that_the_user_takes_back_counts_though_the_gate_puts_another_in_its_place():
    assert updated({}, stored_mode="MultiNode") == []
    assert updated({}, stored_mode="MultiNode", **{MODE: None}) == ["OM314"]
