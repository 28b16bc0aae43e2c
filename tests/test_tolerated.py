"""What the gate tolerates it does not stamp: an update may leave a fault as it was, but nothing acts on the object."""

import pytest

from webhook import catalog, engine
from webhook.cluster import MemoryView
from webhook.engine import Options
from webhook.policy import Profile
from webhook.request import GroupVersionKind, Request
from webhook.stamp import ANNOTATION, UNSTAMPED, Stamp

MODEL = GroupVersionKind("inference.llmkube.dev", "v1alpha1", "Model")
LOADED = catalog.load()
VIEW = MemoryView()


def model(source, **annotations):
    metadata = {"name": "m", "namespace": "default", "annotations": annotations}
    return {
        "apiVersion": "inference.llmkube.dev/v1alpha1",
        "kind": "Model",
        "metadata": metadata,
        "spec": {"source": source},
    }


def request(obj, old=None):
    return Request(MODEL, "models", "UPDATE" if old else "CREATE", obj, old, name="m", namespace="default")


def mutated(obj, old=None, profile=Profile.STRICT):
    return engine.mutate(request(obj, old), LOADED, VIEW, Options(profile=profile))


GOOD, BAD = "hf://org/repo", "pvc://weights"


def test_a_bad_object_older_than_the_gate_passes_without_a_stamp_and_is_told_why():
    old = model(BAD)
    decision = mutated(old, old)
    assert Stamp.read(decision.object) is None
    assert decision.object["spec"]["format"] == "gguf"  # the API's own defaults come all the same
    (warning,) = decision.warnings
    assert str(warning).startswith(f"{UNSTAMPED}spec.source: ")
    assert engine.validate(request(decision.object, old), LOADED, VIEW, Options(profile=Profile.STRICT)).allowed


def test_a_good_object_older_than_the_gate_is_stamped():
    decision = mutated(model(GOOD), model(GOOD))
    assert Stamp.read(decision.object).matches(decision.object)
    assert decision.warnings == ()


def test_an_old_object_that_is_mended_is_stamped():
    decision = mutated(model(GOOD), model(BAD))
    assert Stamp.read(decision.object).matches(decision.object)


@pytest.mark.parametrize("stamp", ["", "{}", Stamp.of(model(GOOD), "c", {}).encode()])
def test_a_stamp_of_something_else_is_taken_away(stamp):
    old = model(BAD, **{ANNOTATION: stamp, "theirs": "stays"})
    assert mutated(old, old).object["metadata"]["annotations"] == {"theirs": "stays"}


def test_an_object_that_was_stamped_once_stays_so_when_rules_become_stricter():
    """It was right as a whole when it came; what changes is checked, and what does not is ratcheted."""
    old = model(BAD)
    old["metadata"]["annotations"][ANNOTATION] = Stamp.of(old, "an older catalog", {}).encode()
    decision = mutated(old, old)
    assert Stamp.read(decision.object).matches(decision.object)


def test_a_bad_object_that_comes_anew_is_stamped_and_refused():
    decision = mutated(model(BAD))
    assert Stamp.read(decision.object).matches(decision.object)
    assert not engine.validate(request(decision.object), LOADED, VIEW, Options(profile=Profile.STRICT)).allowed


def test_where_nothing_is_refused_everything_is_stamped():
    decision = mutated(model(BAD), model(BAD), Profile.AUDIT)
    assert Stamp.read(decision.object).matches(decision.object)


def test_mutating_again_changes_nothing():
    old = model(BAD)
    once = mutated(old, old).object
    assert mutated(once, old).object == once
