"""What the view keeps of an object."""

from typing import Any

import pytest

from webhook.cluster.readthrough import LAST_APPLIED, light
from webhook.cluster.store import Store
from webhook.cluster.view import APIResource, Key

OBJECT = {
    "metadata": {
        "name": "a",
        "labels": {"l": "1"},
        "managedFields": [{}],
        "annotations": {LAST_APPLIED: "{}", "b": "c"},
    },
    "spec": {"x": 1},
    "status": {"images": ["many"]},
}
METADATA = {"name": "a", "labels": {"l": "1"}, "annotations": {"b": "c"}}


@pytest.mark.parametrize(
    ("resource", "kept"),
    [
        (
            APIResource("ome.io", "v1beta1", "basemodels", "BaseModel"),
            {"spec": {"x": 1}, "status": {"images": ["many"]}},
        ),
        (APIResource("a.example", "v1", "nodes", "Node"), {"spec": {"x": 1}, "status": {"images": ["many"]}}),
        (
            APIResource("", "v1", "nodes", "Node"),
            {"spec": {"taints": None, "unschedulable": None}, "status": {"allocatable": None, "capacity": None}},
        ),
    ],
    ids=["an object", "a Node of another group", "a node"],
)
def test_what_no_fact_reads_is_not_kept(resource, kept):
    head = {"apiVersion": resource.api_version, "kind": resource.kind}
    assert light(OBJECT, resource) == {**head, "metadata": METADATA, **kept}


def version(number: int, name: str = "a") -> dict[str, Any]:
    return {"metadata": {"name": name, "resourceVersion": str(number)}}


@pytest.mark.parametrize("packed", [False, True])
def test_the_result_of_a_write_is_held_until_the_watch_has_it_and_older_versions_are_ignored(packed: bool) -> None:
    store, key = Store(packed=packed), Key("", "a")
    assert store.put(key, version(1))
    store.written(key, version(1), version(3))
    store.written(key, version(3), version(4))
    assert store.get(key) == version(4)
    assert not store.put(key, version(1))
    assert not store.put(key, version(3))
    assert store.get(key) == version(4)
    assert store.put(key, version(4))
    assert store.put(key, version(1))  # as after the restore of a backup: the list is right


def test_a_write_never_replaces_what_the_watch_brought_after_it() -> None:
    store, key = Store(), Key("", "a")
    store.put(key, version(1))
    store.put(key, version(5))
    store.written(key, version(1), version(3))
    assert store.get(key) == version(5)
    store.drop(key)
    store.written(key, version(5), version(6))
    assert store.get(key) is None
