"""The review of an object: made once for a call, never changed, and made anew for another state of the object."""

import pytest

from webhook import catalog, engine
from webhook.admission import GroupVersionKind, Request
from webhook.cluster import MemoryView
from webhook.engine import Options
from webhook.engine.review import MAX_VALUES, ObjectReview, review_of

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
