"""What the view keeps of an object."""

import pytest

from webhook.cluster.resource import APIResource
from webhook.cluster.store import LAST_APPLIED, light

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
        (APIResource("", "v1", "nodes", "Node"), {}),
    ],
    ids=["an object", "a node of somebody's", "a node"],
)
def test_what_no_fact_reads_is_not_kept(resource, kept):
    head = {"apiVersion": resource.api_version, "kind": resource.kind}
    assert light(OBJECT, resource) == {**head, "metadata": METADATA, **kept}
