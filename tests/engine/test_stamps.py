"""A stamp that the gate would not write is refused or warned of, and the gate never makes a forged one genuine."""

import copy
from dataclasses import replace
from uuid import uuid4

import pytest

from webhook import catalog, engine
from webhook.admission.decision import GroupVersionKind, Request
from webhook.admission.recent import RecentStamps
from webhook.admission.stamp import ANNOTATION, Stamp
from webhook.cluster import MemoryView
from webhook.engine import Options
from webhook.policy import Profile

MODEL = GroupVersionKind("inference.llmkube.dev", "v1alpha1", "Model")
LOADED = catalog.load()
VIEW = MemoryView()
STRICT = Options(profile=Profile.STRICT)
GOOD, BAD = "hf://org/repo", "pvc://weights"
FIELD = f"metadata.annotations[{ANNOTATION}]"


def model(source=GOOD, **spec):
    metadata = {"name": "m", "namespace": "default"}
    spec = {"source": source, **spec}
    return {"apiVersion": "inference.llmkube.dev/v1alpha1", "kind": "Model", "metadata": metadata, "spec": spec}


def request(obj, old=None):
    return Request(MODEL, "models", "UPDATE" if old else "CREATE", obj, old, uid="u", name="m", namespace="default")


def forged(obj, defaulted=None, digest=LOADED.digest):
    """The object with a stamp that fits its specification, written by hand."""
    text = Stamp.of(obj, digest, defaulted or {}).encode()
    return {**obj, "metadata": {**obj["metadata"], "annotations": {ANNOTATION: text}}}


def mutated(obj, old=None, options=STRICT):
    return engine.mutate(request(obj, old), LOADED, VIEW, options).object


def validated(obj, old=None, options=STRICT):
    return engine.validate(request(obj, old), LOADED, VIEW, options)


def on_stamp(found):
    return [each.message for each in found if each.field == FIELD]


def is_stamped(obj):
    stamp = Stamp.read(obj)
    return stamp is not None and stamp.matches(obj)


def test_the_stamp_that_the_gate_writes_passes():
    derived = {"hardware": {"gpu": {"enabled": True, "count": 1, "vendor": "amd"}}}
    for profile in Profile:
        options = Options(profile=profile)
        stored = mutated(model(), options=options)
        assert on_stamp(validated(stored, options=options).causes) == []
        assert on_stamp(validated(stored, options=options).warnings) == []
        changed = mutated(model(**derived), stored, options)
        assert validated(changed, stored, options).allowed
        assert on_stamp(validated(changed, stored, options).warnings) == []


def test_a_forged_stamp_on_an_object_without_defaults_is_refused_under_strict():
    (message,) = on_stamp(validated(forged(model())).causes)
    assert message.startswith("Forbidden: is not the stamp that Modelgate writes for this object: defaults are missing")


@pytest.mark.parametrize("profile", [Profile.STANDARD, Profile.AUDIT])
def test_a_forged_stamp_is_warned_of_otherwise(profile):
    decision = validated(forged(model()), options=Options(profile=profile))
    assert decision.allowed
    assert "defaults are missing" in on_stamp(decision.warnings)[0]


def test_a_forged_record_of_defaults_is_refused():
    whole = mutated(model())
    assert "its record of defaults is wrong" in on_stamp(validated(forged(whole, {"spec.x": 1})).causes)[0]


def test_a_forged_stamp_on_an_object_that_only_ratcheting_admits_is_refused():
    stored = mutated(model(BAD))
    del stored["metadata"]["annotations"]
    decision = validated(forged(stored), stored)
    assert "the object is invalid" in on_stamp(decision.causes)[0]


def test_a_missed_mutation_never_turns_a_wrong_object_into_a_stamped_one():
    """The stored object is wrong and carries a forged stamp; the gate is back, and any update comes."""
    stored = mutated(model(BAD))
    stored = forged(stored)
    later = copy.deepcopy(stored)
    later["metadata"]["labels"] = {"a": "b"}
    assert not is_stamped(mutated(later, stored))


def test_an_update_that_keeps_a_stored_stamp_is_not_refused_for_it():
    stored = forged(model())
    later = copy.deepcopy(stored)
    later["metadata"]["labels"] = {"a": "b"}
    assert validated(later, stored).allowed


def test_a_stamp_that_is_stored_beside_another_specification_is_checked_when_that_comes():
    later = forged(model("hf://other/repo"))
    stored = {**later, "spec": model()["spec"]}
    assert "defaults are missing" in on_stamp(validated(later, stored).causes)[0]


def test_a_stamp_that_calls_an_object_valid_is_refused_if_a_default_of_it_is_too_costly(monkeypatch):
    obj = forged(LOADED.kinds[MODEL].schema.default(model()))
    known = LOADED.kinds[MODEL]
    exactly = LOADED.with_kind(replace(known, policy=replace(known.policy)))  # without functions
    monkeypatch.setattr("webhook.engine.review.OBJECT_BUDGET", 1)
    options = Options(profile=Profile.STANDARD)
    decision = engine.validate(request(forged(obj)), exactly, VIEW, options)
    assert "defaults are missing" in on_stamp(decision.warnings)[0]


def test_a_stamp_of_a_kind_that_a_user_defines_is_not_checked():
    kind = LOADED.kinds[MODEL]
    foreign = LOADED.with_kind(replace(kind, foreign=True))
    decision = engine.validate(request(forged(model())), foreign, VIEW, STRICT)
    assert on_stamp(decision.causes) == []


@pytest.mark.parametrize(
    "metadata", [None, "text", [], {"annotations": "text"}, {"annotations": [ANNOTATION]}, {"annotations": 7}]
)
def test_metadata_that_cannot_carry_a_stamp_stays_as_it_is(metadata):
    assert mutated({**model(), "metadata": metadata})["metadata"] == metadata


def test_a_stamp_that_matches_nothing_states_nothing():
    obj = mutated(model())
    obj["metadata"]["annotations"][ANNOTATION] = Stamp.of(model("hf://other/repo"), "c", {}).encode()
    assert on_stamp(validated(obj).causes) == []


def test_a_stamp_of_another_catalog_is_only_warned_of_because_replicas_differ_during_a_rollout():
    decision = validated(forged(mutated(model()), digest="older"))
    assert decision.allowed
    assert len(on_stamp(decision.warnings)) == 1


def test_the_stamp_is_the_same_under_every_profile():
    assert len({str(mutated(model(), options=Options(profile=each))) for each in Profile}) == 1


def test_a_stamp_of_a_gate_that_wrote_the_profile_is_as_good_as_one_without():
    old = mutated(model())
    text = old["metadata"]["annotations"][ANNOTATION]
    old["metadata"]["annotations"][ANNOTATION] = text.replace('"spec":', '"profile":"audit","spec":')
    assert is_stamped(old)
    assert on_stamp((*validated(old).causes, *validated(old).warnings)) == []


def test_a_forged_stamp_on_an_object_that_is_too_large_to_be_judged_is_refused_with_it_or_warned_of():
    large = forged(model(files=[{"name": f"f{number}"} for number in range(60_000)]))
    assert mutated(large) == large
    assert not validated(large).allowed
    audited = validated(large, options=Options(profile=Profile.AUDIT))
    assert audited.allowed
    assert "is too large to be judged" in on_stamp(audited.warnings)[0]


@pytest.mark.parametrize("steps", [0, 1, 50])
def test_a_forged_stamp_on_an_object_whose_judgement_ends_is_refused_however_it_comes(steps):
    few, stored = replace(STRICT, steps=steps), model()
    sent = forged(stored)
    assert not validated(sent, options=few).allowed
    assert on_stamp(validated(sent, stored, options=few).causes)
    assert "takes more than" in str(validated(stored, stored, options=few).warnings)
    assert validated(stored, stored, options=few).allowed  # an update is not refused for what it does not change


def test_of_an_object_in_deletion_a_stamp_is_left_as_it_is_while_the_specification_stays():
    stored = mutated(model())
    stored["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    sent = copy.deepcopy(forged(stored, {"spec.source": GOOD}))
    assert mutated(sent, stored) == sent
    sent["spec"]["source"] = "hf://other/repo"
    assert "spec.source" not in Stamp.read(mutated(sent, stored)).defaulted


ODD_STAMPS = {
    "200 KB": "x" * 200_000,
    "nested lists": "[" * 100_000,
    "nested objects": '{"a":' * 40_000 + "1" + "}" * 40_000,
    "NUL": '{"catalog":"\\u0000","defaulted":{"spec.format":"gguf"},"spec":""}',
    "a raw NUL": "\0",
    "twice": '{"catalog":"a","catalog":"b","defaulted":{},"spec":""}',
    "odd paths": '{"catalog":"","defaulted":{"":1,"spec":{},"metadata.annotations":{}},"spec":""}',
    "no record": '{"catalog":"","defaulted":[],"spec":""}',
    "a lone surrogate": '{"catalog":"\\ud800","defaulted":{},"spec":""}',
}


@pytest.mark.parametrize("text", ODD_STAMPS.values(), ids=ODD_STAMPS)
def test_whatever_stands_in_place_of_a_stamp_is_replaced_and_changes_no_default(text):
    obj = model()
    obj["metadata"]["annotations"] = {ANNOTATION: text}
    made = mutated(obj)
    assert made["spec"] == mutated(model())["spec"]
    assert is_stamped(made)
    assert on_stamp(validated({**made, "metadata": obj["metadata"]}).causes) == []


ODD_ENTRIES = [None, "x", {}, [None], ["x"], [{}], [{"fieldsV1": None}], [{"fieldsV1": {"f:spec": "x"}}], [[]] * 1_000]


@pytest.mark.parametrize("entries", ODD_ENTRIES, ids=lambda entries: str(entries)[:30])
def test_odd_managed_fields_change_no_default_and_leave_the_stamp_or_are_refused(entries):
    """No API server sends most of them; what it cannot read, validation refuses."""
    stored = mutated(model())
    sent = copy.deepcopy(stored)
    sent["metadata"]["managedFields"] = entries
    made = mutated(sent, stored)
    assert made["spec"] == stored["spec"]
    assert is_stamped(made) or not validated(made, stored).allowed
    assert made["metadata"]["managedFields"] == entries


def called(obj, **changed):
    """A call about an object of known size: each call of a request has a uid of its own."""
    return replace(request(obj), **{"uid": str(uuid4()), "size": 1000, "user": {"username": "ada"}, **changed})


def test_a_process_that_has_written_the_stamp_for_the_request_does_not_compute_it_again(monkeypatch):
    monkeypatch.setattr("webhook.ground.budget.EVERY", 0)
    recent, steps = RecentStamps(), []
    options = replace(STRICT, written=recent.take, checkpoint=steps.append)
    whole = mutated(model())
    asked = called(whole)
    engine.validate(asked, LOADED, VIEW, options)
    assert steps.count("defaults") == 1
    recent.add(called(model()), whole)
    assert engine.validate(asked, LOADED, VIEW, options).allowed
    assert steps.count("defaults") == 1
    assert on_stamp(engine.validate(called(forged(model())), LOADED, VIEW, options).causes)
    assert engine.validate(asked, LOADED, VIEW, options).allowed
    assert steps.count("defaults") == 3  # each call after the second one


def with_metadata(obj, **changed):
    return {**obj, "metadata": {**obj["metadata"], **changed}}


def test_a_stamp_counts_for_the_request_that_it_was_written_for():
    recent, whole = RecentStamps(), mutated(model())
    recent.add(called(model()), whole)
    assert recent.take(called(copy.deepcopy(whole)))
    recent.add(called(model()), whole)
    annotations = whole["metadata"]["annotations"]
    stored = {"old_object": with_metadata(model(), resourceVersion="1"), "operation": "UPDATE"}
    others = [
        called(whole, name="n"),
        called(whole, namespace="other"),
        called(whole, user={"username": "bob"}),
        called(whole, dry_run=True),
        called(whole, kind=MODEL._replace(kind="Other")),
        called(whole, **stored),
        called(with_metadata(whole, labels={"a": "b"})),
        called(with_metadata(whole, annotations={**annotations, "a": "b"})),
        called(with_metadata(whole, annotations={ANNOTATION: "x"})),
    ]
    assert not any(map(recent.take, others))
    assert recent.missed == len(others)
    for _ in range(2):
        recent.add(called(model(), **stored), whole)
    assert recent.take(called(whole, **stored))
    recent.add(called(model(), **stored), whole)
    stored["old_object"]["metadata"]["resourceVersion"] = "2"
    assert not recent.take(called(whole, **stored))
    del stored["old_object"]["metadata"]["resourceVersion"]
    assert not recent.take(called(whole, **stored))


@pytest.mark.parametrize(
    "metadata",
    [None, [], "text", {}, {"annotations": None}, {"annotations": [ANNOTATION]}, {"annotations": {ANNOTATION: []}}],
)
def test_metadata_without_a_stamp_matches_no_request(metadata):
    recent, obj = RecentStamps(), {**model(), "metadata": metadata}
    recent.add(called(model()), obj)
    assert not recent.take(called(obj))


def test_metadata_that_is_nested_deeply_matches_no_request():
    recent, whole, deep, same = RecentStamps(), mutated(model()), {}, {}
    for _ in range(5000):
        deep, same = {"a": deep}, {"a": same}
    recent.add(called(model()), with_metadata(whole, labels={"a": deep}))
    assert not recent.take(called(with_metadata(whole, labels={"a": same})))


def test_of_recent_stamps_five_hundred_are_kept_and_none_of_a_large_object():
    recent, whole = RecentStamps(), mutated(model())
    asked = [called(whole, name=str(number)) for number in range(2000)]
    for each in asked:
        recent.add(each, whole)
    assert sum(map(recent.take, asked)) == 512
    large = called(whole, name="large", size=100_000)
    recent.add(large, whole)
    missed = recent.missed
    assert not recent.take(large)
    assert recent.missed == missed
