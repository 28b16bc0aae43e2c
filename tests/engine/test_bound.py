"""What is too large: objects with too many values, values too large for a rule, and messages that quote them."""

import copy
import json
from dataclasses import replace

import orjson
import pytest

from webhook import catalog, engine
from webhook.admission import review
from webhook.admission.decision import Cause, GroupVersionKind, Request
from webhook.admission.stamp import ANNOTATION, Stamp
from webhook.admission.status import STATUS_LENGTH, status
from webhook.cluster import MemoryView
from webhook.engine import Options
from webhook.engine.review import MAX_VALUES
from webhook.policy import Profile

MODEL = GroupVersionKind("inference.llmkube.dev", "v1alpha1", "Model")
OPEN_MODEL = GroupVersionKind("llmaz.io", "v1alpha1", "OpenModel")
LOADED = catalog.load()
VIEW = MemoryView()


def model(files=(), **spec):
    metadata = {"name": "m", "namespace": "default"}
    spec = {"source": "hf://org/repo", "files": list(files), **spec}
    return {"apiVersion": "inference.llmkube.dev/v1alpha1", "kind": "Model", "metadata": metadata, "spec": spec}


def request(obj, old=None):
    return Request(MODEL, "models", "UPDATE" if old else "CREATE", obj, old, uid="u", name="m", namespace="default")


def validated(obj, old=None, profile=Profile.STANDARD):
    return engine.validate(request(obj, old), LOADED, VIEW, Options(profile=profile))


LARGE = model(["a"] * MAX_VALUES)


def test_an_object_with_too_many_values_is_refused_with_the_count_and_the_limit():
    for old in (None, model()):
        decision = validated(LARGE, old)
        assert decision.audit == {"catalog": LOADED.digest, "codes": "size"}
        answer = orjson.loads(review.encode("validate", "admission.k8s.io/v1", request(LARGE, old), decision))
        found = answer["response"]["status"]
        assert (found["code"], found["reason"]) == (413, "RequestEntityTooLarge")
        assert found["message"] == (
            "Request entity too large: the object has 50,009 values; the gate judges objects of at most 50,000"
        )


def test_the_largest_object_is_judged():
    assert validated(model(["a"] * (MAX_VALUES - 9))).causes == ()


def test_mutation_returns_an_object_that_is_too_large_unchanged():
    asked = request(LARGE)
    assert engine.mutate(asked, LOADED, VIEW).object is asked.object


def test_the_audit_profile_lets_it_through_unjudged_with_a_warning():
    decision = validated(LARGE, profile=Profile.AUDIT)
    assert decision.allowed
    assert decision.audit == {"catalog": LOADED.digest, "codes": "size"}
    assert [str(each) for each in decision.warnings] == [
        "would be refused: the object has 50,009 values; the gate judges objects of at most 50,000"
    ]


def test_an_update_that_leaves_the_specification_is_not_refused_for_its_size():
    labelled = {**LARGE, "metadata": {**LARGE["metadata"], "labels": {"a": "b"}}}
    decision = validated(labelled, LARGE)
    assert decision.allowed
    assert decision.audit == {"catalog": LOADED.digest, "codes": "size"}
    assert "not refused, because this update does not change it" in str(decision.warnings[0])


def test_only_the_new_object_counts():
    assert validated(model(), LARGE).allowed


def test_what_a_user_does_not_write_does_not_count():
    grown = model()
    grown["metadata"]["managedFields"] = [{"fieldsV1": {}}] * MAX_VALUES
    grown["status"] = {"conditions": ["x"] * MAX_VALUES}
    assert not any("values" in cause.message for cause in validated(grown).causes)
    grown["spec"] = LARGE["spec"]
    assert any("50,009 values" in cause.message for cause in validated(grown).causes)


def test_an_object_in_deletion_loses_its_finalizers_whatever_its_size():
    dying = copy.deepcopy(LARGE)
    dying["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["f"]}
    released = {**dying, "metadata": {key: dying["metadata"][key] for key in ("name", "deletionTimestamp")}}
    assert validated(released, dying).warnings == ()


def test_the_specification_of_an_object_in_deletion_is_judged():
    dying = model()
    dying["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["f"]}
    changed = copy.deepcopy(dying)
    changed["spec"]["source"] = 1
    assert [cause.field for cause in validated(changed, dying).causes] == ["spec.source"]


def test_a_wrong_specification_of_an_object_in_deletion_may_stay_while_another_part_changes():
    dying = model(format="nothing")
    dying["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    changed = copy.deepcopy(dying)
    changed["spec"]["quantization"] = "Q4_K_M"
    assert validated(changed, dying).allowed


@pytest.mark.parametrize("operation", ["CREATE", "UPDATE"])
def test_a_value_that_is_too_large_for_a_rule_is_a_finding_and_no_fault(operation):
    obj = model(["a" * 1_040_000])
    asked = request(obj, model() if operation == "UPDATE" else None)
    decision = engine.validate(asked, LOADED, VIEW)
    found = [str(each) for each in (*decision.causes, *decision.warnings)]
    assert any("is too large for rule LK" in text and "(CEL cost limit)" in text for text in found)


def test_a_default_that_is_too_costly_is_left_out_and_the_object_is_not_stamped(monkeypatch):
    monkeypatch.setattr("webhook.engine.review.OBJECT_BUDGET", 1)
    known = LOADED.kinds[MODEL]
    exactly = LOADED.with_kind(replace(known, policy=replace(known.policy)))  # without functions
    decision = engine.mutate(request(model(hardware={"gpu": {"enabled": True}})), exactly, VIEW)
    assert "is too large for rule LK101 to default (CEL cost limit)" in str(decision.warnings[-1])
    assert Stamp.read(decision.object).spec == ""


def test_rules_are_not_run_at_or_below_what_the_schema_calls_too_many():
    def judged(number):
        spec = {"source": {"modelHub": {"modelID": "a/b"}}, "familyName": "a"}
        spec["inferenceConfig"] = {"flavors": [{"name": "same"} for _ in range(number)]}
        obj = {"apiVersion": "llmaz.io/v1alpha1", "kind": "OpenModel", "metadata": {"name": "m"}, "spec": spec}
        return engine.validate(Request(OPEN_MODEL, "openmodels", "CREATE", obj, name="m"), LOADED, VIEW).causes

    assert "LZ217" in [each.code for each in judged(8)]
    assert "LZ217" not in [each.code for each in judged(9)]
    assert any("must have at most 8 items" in each.message for each in judged(9))


def test_two_flavors_of_one_name_are_still_refused():
    spec = {"source": {"modelHub": {"modelID": "a/b"}}, "familyName": "a"}
    spec["inferenceConfig"] = {"flavors": [{"name": "f"}, {"name": "g"}, {"name": "f"}]}
    obj = {"apiVersion": "llmaz.io/v1alpha1", "kind": "OpenModel", "metadata": {"name": "m"}, "spec": spec}
    decision = engine.validate(Request(OPEN_MODEL, "openmodels", "CREATE", obj, name="m"), LOADED, VIEW)
    assert "LZ217" in [each.code for each in decision.causes]


def test_a_stamp_is_read_as_often_for_a_thousand_failing_places_as_for_ten(monkeypatch):
    def reads(number):
        count = 0
        old = model(["../x"] * number)
        record = {f"spec.{'x' * 10}{index}": index for index in range(1000)}
        old["metadata"]["annotations"] = {ANNOTATION: Stamp.of(old, "c", record).encode()}
        original = Stamp.read.__func__

        def counted(cls, obj):
            nonlocal count
            count += 1
            return original(cls, obj)

        monkeypatch.setattr(Stamp, "read", classmethod(counted))
        new = copy.deepcopy(old)
        new["spec"]["format"] = "gguf"
        validated(new, old, Profile.STRICT)
        monkeypatch.undo()
        return count

    assert reads(10) == reads(1000)


def test_the_value_of_a_user_is_shortened_in_causes():
    decision = validated(model(["../" + "x" * 10_000]), profile=Profile.STRICT)
    assert decision.causes
    assert all(len(cause.message) < 2_000 for cause in decision.causes if cause.code)


@pytest.mark.parametrize("value", ["x" * 9_000, "x" * 90, 'é"\n' * 900, "\ud800" * 900])
@pytest.mark.parametrize("number", [1, 2, 30, 1000])
def test_all_causes_together_stay_within_their_limit_and_the_last_counts_the_rest(value: str, number: int):
    text = f'Invalid value: "{value}": no'
    causes = tuple(Cause(f"spec.a{n}", "FieldValueInvalid", text) for n in range(number))
    found = status(replace(request(model()), name=value), causes)
    assert len(json.dumps(found, ensure_ascii=False).encode(errors="replace")) <= STATUS_LENGTH
    shown = [each for each in found["details"]["causes"] if each["field"]]
    assert shown
    assert [each["message"] for each in found["details"]["causes"][len(shown) :]] == (
        [f"{number - len(shown)} more errors are omitted: see `modelgate check` for all of them"]
        if len(shown) < number
        else []
    )
    assert all(each["message"].endswith(("…", '": no')) for each in shown)


def test_a_long_cause_is_complete_only_once():
    cause = Cause("spec.model", "FieldValueInvalid", "Invalid value: " + " ".join(map(str, range(500))))
    found = status(request(model()), (cause,))
    assert found["details"]["causes"][0]["message"] == cause.message
    assert found["message"].endswith("…")
    assert cause.message[:400] in found["message"]
    short = Cause("spec.model", "FieldValueInvalid", "Invalid value: 1: no")
    assert status(request(model()), (short,))["message"].endswith(f" is invalid: {short}")
