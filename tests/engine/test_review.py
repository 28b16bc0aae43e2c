"""The review of an object: made once for a call, never changed, and made anew for another state of the object."""

import pytest

from webhook import catalog, engine
from webhook.admission import Cause, GroupVersionKind, Request
from webhook.cluster import MemoryView
from webhook.engine import Options
from webhook.engine.findings import Findings
from webhook.engine.review import MAX_VALUES, ObjectReview, Subject, refusal_of, review_of
from webhook.ground.budget import SpentError

MODEL = GroupVersionKind("inference.llmkube.dev", "v1alpha1", "Model")
LOADED = catalog.load()
VIEW = MemoryView()
STRICT_FIELDS = Options(strict_fields=True)


def model(**metadata):
    metadata = {"name": "m", "namespace": "default", **metadata}
    spec = {"source": "https://example.com/m.gguf", "format": "gguf"}
    return {"apiVersion": "inference.llmkube.dev/v1alpha1", "kind": "Model", "metadata": metadata, "spec": spec}


def request(obj, old=None):
    return Request(MODEL, "models", "UPDATE" if old else "CREATE", obj, old, name="m", namespace="default")


def reviewed(obj, old=None):
    review = review_of(request(obj, old), LOADED, VIEW, STRICT_FIELDS)
    assert review is not None
    return review


def test_it_cannot_be_changed():
    with pytest.raises(AttributeError):
        reviewed(model()).obj = {}


def test_a_call_makes_one_and_an_update_one_more_for_the_object_with_its_defaults(monkeypatch):
    made = []
    prepared = type(LOADED).prepared

    def counted(self, kind):
        made.append(kind.gvk)
        return prepared(self, kind)

    monkeypatch.setattr(type(LOADED), "prepared", counted)
    engine.validate(request(model()), LOADED, VIEW)
    assert made == [MODEL]
    engine.mutate(request(model(labels={"a": "b"}), model()), LOADED, VIEW)
    assert made == [MODEL] * 3


def test_another_state_of_an_object_in_deletion_is_not_reviewed_if_it_is_what_is_stored():
    stored = model(deletionTimestamp="2026-01-01T00:00:00Z")
    review = reviewed({**stored, "spec": {}}, stored)
    assert review.of_state(stored) is None
    changed = review.of_state({**stored, "spec": {"source": "other"}})
    assert changed is not None
    assert changed.old is stored


def test_as_created_there_is_nothing_stored_and_no_unknown_field():
    review = reviewed(model(), model()).as_created()
    assert (review.request.operation, review.request.old_object, review.old) == ("CREATE", None, None)
    assert not review.options.strict_fields


def test_what_a_stored_object_is_judged_by_has_no_bound():
    kind, large = LOADED.kinds[MODEL], model()
    large["spec"]["files"] = ["a"] * MAX_VALUES
    assert reviewed(large).too_large is not None
    assert ObjectReview.of(kind, request(large), LOADED, VIEW, STRICT_FIELDS).too_large is None


def subject(obj, old=None):
    return Subject(reviewed(obj, old), obj, old, catalog.NOTHING_ASIDE, [])


def test_a_rule_that_fails_is_a_fault_of_the_rule_only_where_the_schema_gives_no_reason():
    wrong = model()
    wrong["spec"]["format"] = 1
    cause = Cause("spec.format", "FieldValueTypeInvalid", "must be of type string")
    assert subject(model()).must_evaluate()
    assert subject(model(), model()).must_evaluate()
    assert not subject(model(), wrong).must_evaluate()
    assert not subject(wrong, model()).must_evaluate()
    assert not subject(model()).with_findings(Findings([cause])).must_evaluate()
    assert not subject(model(), model()).with_findings(Findings(), (cause,)).must_evaluate()
    assert not subject({**model(), "metadata": {"name": 1}}).must_evaluate()


def test_what_the_schema_says_is_counted_with_what_an_update_hides_and_named_by_its_field():
    large = Cause("spec.files", "FieldValueTooMany", "must have at most 9 items")
    other = Cause("spec.format", "FieldValueTypeInvalid", "must be of type string")
    found = subject(model()).with_findings(Findings([large, other]), (other,))
    assert (found.errors, found.refused, found.oversized) == (3, {"spec.files", "spec.format"}, {"spec.files"})


def test_a_step_that_looks_at_the_whole_object_takes_a_step_for_sixteen_bytes():
    sized = Request(MODEL, "models", "CREATE", model(), None, name="m", namespace="default", size=320)
    review = review_of(sized, LOADED, VIEW, STRICT_FIELDS)
    before = review.budget.left
    review.begin("schema")
    assert before - review.budget.left == 21


def test_an_object_whose_budget_ends_says_where():
    cause = refusal_of(SpentError("rule X", 2_000_000))
    assert cause.message == (
        "judging the object takes more than 2,000,000 steps, the most for one object; they ended at rule X"
    )
    assert (cause.field, cause.reason, cause.refusal.code) == ("", "FieldValueTooMany", 413)
