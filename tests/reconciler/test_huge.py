"""Objects as large as the API server takes: the reconciler judges them, refuses them, and goes on."""

import pytest

from tests.reconciler.looping import stored
from tests.reconciler.models import model

MANY = range(60_000)
HUGE = {
    "a long annotation": {"annotations": {"a": "x" * 1_400_000}},
    "many annotations": {"annotations": {f"k{number}": "v" for number in MANY}},
    "many labels": {"labels": {f"k{number}": "v" for number in MANY}},
    "many finalizers": {"finalizers": [f"a.b/{number}" for number in MANY]},
    "many owners": {
        "ownerReferences": [
            {"apiVersion": "v1", "kind": "Pod", "name": f"p{number}", "uid": str(number)} for number in range(15_000)
        ]
    },
}


@pytest.mark.parametrize("name", HUGE)
def test_a_huge_object_is_refused_with_a_short_reason_and_others_are_not_held_up(acting, name):
    huge = model("huge")
    huge["metadata"] |= HUGE[name]
    acting.server.put("models", huge)
    stored(acting, model())
    acting.reconcile()
    assert acting.status()["phase"] == "Ready"
    (condition,) = acting.obj(name="huge")["status"]["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == ("Normalised", "False", "Refused")
    assert len(condition["message"]) < 1000
    assert all(len(each["message"]) <= 1024 for each in acting.server.all("events"))


def test_many_entries_of_managed_fields_change_nothing(acting):
    entry = {"subresource": "status", "time": "2099-01-01T00:00:00Z"}
    obj = model()
    obj["metadata"]["managedFields"] = [{**entry, "manager": f"m{number}"} for number in range(14_000)]
    acting.server.put("models", obj)
    acting.reconcile()
    assert acting.status()["phase"] == "Ready"
