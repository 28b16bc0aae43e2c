"""The review of an object: made once for a call, never changed, and made anew for another state of the object."""

from dataclasses import replace

import pytest

from tests.crds import crd, spec_schema
from tests.engine.test_unstated import KIND, load, thing
from webhook import catalog, engine
from webhook.admission import Cause, GroupVersionKind, Request
from webhook.cluster import MemoryView
from webhook.engine import Options
from webhook.engine.findings import Findings
from webhook.engine.judgement import judge
from webhook.engine.review import MAX_VALUES, ObjectReview, Subject, refusal_of, review_of
from webhook.facts import UNSEEN, Fact
from webhook.ground.budget import SpentError
from webhook.schema import load_crd

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


def test_a_state_of_an_object_spends_the_same_budget_and_is_counted_anew():
    review = review_of(replace(request(model()), size=320), LOADED, VIEW, STRICT_FIELDS)
    before = review.budget.left
    large = model()
    large["spec"]["files"] = ["a"] * MAX_VALUES
    state = review.of_state(large)
    assert before - review.budget.left == 21
    assert (state.obj, state.budget, state.view) == (large, review.budget, review.view)
    assert state.too_large is not None


def test_as_created_there_is_nothing_stored_and_no_unknown_field():
    review = reviewed(model(), model()).as_created()
    assert (review.request.operation, review.request.old_object, review.old) == ("CREATE", None, None)
    assert not review.options.strict_fields


def test_what_a_stored_object_is_judged_by_has_no_bound():
    kind, large = LOADED.kinds[MODEL], model()
    large["spec"]["files"] = ["a"] * MAX_VALUES
    assert reviewed(large).too_large is not None
    assert ObjectReview.of(kind, request(large), LOADED, VIEW, STRICT_FIELDS).too_large is None


@pytest.mark.parametrize(
    ("size", "is_counted"), [(0, True), (1, False), (2 * MAX_VALUES, False), (2 * MAX_VALUES + 1, True)]
)
def test_an_object_is_counted_unless_its_bytes_show_that_it_is_small(size, is_counted):
    large = model()
    large["spec"]["files"] = ["a"] * MAX_VALUES
    review = review_of(replace(request(large), size=size), LOADED, VIEW, STRICT_FIELDS)
    assert (review.too_large is not None) is is_counted


def test_a_status_counts_where_its_user_writes_it_and_metadata_may_be_anything(tmp_path):
    loaded = load(tmp_path, "spec", "true")
    large = {**thing({}), "status": {"a": [1] * MAX_VALUES}}
    assert review_of(Request(KIND, "things", "CREATE", large), loaded, VIEW, STRICT_FIELDS).too_large is not None
    for metadata in (1, "managedFields", None):
        small = {**thing({}), "metadata": metadata}
        assert review_of(Request(KIND, "things", "CREATE", small), loaded, VIEW, STRICT_FIELDS).too_large is None


def test_an_object_of_a_kind_that_only_a_user_defines_is_not_counted():
    loaded = LOADED.extended([load_crd(crd("example.com", "Gauge", spec_schema()))])
    obj = {**thing({"a": [1] * MAX_VALUES}), "kind": "Gauge"}
    asked = Request(KIND._replace(kind="Gauge"), "gauges", "CREATE", obj)
    assert review_of(asked, loaded, VIEW, STRICT_FIELDS).too_large is None


def of_fact(old=None, value=lambda obj, _: obj, **sort):
    """A review of a model with a fact of its own, and its scope."""
    review = reviewed(model(), old)
    kind = replace(review.kind, own_facts={"fact": Fact(value, {}, **sort)})
    review = review._replace(kind=kind)
    return review, review.scope({"state": 1}, review.old)


def test_a_fact_gets_the_state_or_what_was_sent_or_what_is_stored():
    old = model(labels={"a": "b"})
    assert of_fact(old)[1].fact("fact") == {"state": 1}
    assert of_fact(old, raw=True)[1].fact("fact") == model()
    assert of_fact(old, stored=True)[1].fact("fact") == old
    assert of_fact(stored=True)[1].fact("fact") == {}


def test_a_fact_takes_sixteen_steps_and_is_hidden_if_it_says_why_it_cannot_be_seen():
    review, scope = of_fact(value=lambda *_: {UNSEEN: "why"}, refers=True)
    before = review.budget.left
    scope.fact("fact")
    assert before - review.budget.left == 16
    assert scope.hidden_facts == {"fact": "why"}
    for value, sort in (({}, {"refers": True}), ({UNSEEN: "why"}, {}), (1, {})):
        _, scope = of_fact(value=lambda *_, value=value: value, **sort)
        assert scope.fact("fact") == value
        assert scope.hidden_facts == {}


@pytest.mark.parametrize("change", [{}, {"operation": "UPDATE"}, {"name": "b"}, {"namespace": "c"}, {"dry_run": True}])
def test_a_rule_reads_what_is_asked(change, tmp_path):
    rule = "request.operation == 'CREATE' && request.name == 'a' && request.namespace == 'n' && !request.dryRun"
    loaded = load(tmp_path, "spec", rule)
    asked = replace(Request(KIND, "things", "CREATE", thing({}), name="a", namespace="n"), **change)
    assert engine.validate(asked, loaded, VIEW).allowed is (not change)


def test_each_round_of_a_loop_in_a_rule_is_a_step(tmp_path):
    loaded = load(tmp_path, "spec.text", "self.split(',').all(word, '%s'.format([word]) != 'b')")

    def spent(rounds):
        obj = thing({"text": ",".join(["a"] * rounds)})
        review = review_of(Request(KIND, "things", "CREATE", obj, size=1), loaded, VIEW, STRICT_FIELDS)
        before = review.budget.left
        judge(review)
        return before - review.budget.left

    assert spent(101) - spent(1) >= 100


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
    assert (found.of_schema.causes, found.hidden) == ([large, other], (other,))


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
