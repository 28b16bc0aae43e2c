"""Nodes in memory are shapes; an update of a status that changes no shape is ignored."""

import tracemalloc

import orjson

from webhook.cluster.nodes import NodeStore
from webhook.cluster.readthrough import light
from webhook.cluster.view import APIResource, Key

NODES = APIResource("", "v1", "nodes", "Node", namespaced=False)
MIB = 2**20


def node(name: str, pool: int = 0, **more: object) -> dict[str, object]:
    labels = {"kubernetes.io/hostname": name, "pool": f"p{pool}"}
    status = {"allocatable": {"cpu": "8", "memory": "32611348Ki", "pods": "110"}, **more}
    return {"metadata": {"name": name, "labels": labels}, "spec": {}, "status": status}


def put(store: NodeStore, obj: dict[str, object]) -> bool:
    return store.put(Key("", obj["metadata"]["name"]), light(obj, NODES))


def test_equal_nodes_share_a_shape_though_kubelets_report_memory_that_differs_by_a_few_kib():
    store = NodeStore()
    assert put(store, node("a"))
    other = node("b")
    other["status"]["allocatable"]["memory"] = "32611352Ki"
    assert put(store, other)
    table = store.list(None)
    assert (table.total, len(table)) == (2, 1)
    assert store.get(Key("", "b"))["metadata"] == {"name": "b", "labels": {"pool": "p0"}}


def test_a_status_that_leaves_the_shape_as_it_is_leads_to_the_same_list():
    store = NodeStore()
    put(store, node("a"))
    table = store.list(None)
    assert not put(store, node("a", conditions=[{"type": "Ready"}]))
    assert store.list(None) is table
    assert put(store, node("a", pool=1))
    assert store.list(None) is not table
    assert [each["metadata"]["labels"] for each in table] == [{"pool": "p0"}]  # a list that was given stays as it is


def test_a_node_that_is_gone_is_gone():
    store = NodeStore()
    put(store, node("a"))
    before = store.list(None)
    store.drop(Key("", "a"))
    assert (store.count(), store.list(None).total, before.total) == (0, 0, 1)
    assert store.get(Key("", "a")) is None


def test_five_thousand_nodes_take_less_than_two_mebibytes():

    texts = [
        orjson.dumps(node(f"ip-10-0-{place // 256}-{place % 256}.ec2.internal", place % 40)) for place in range(5000)
    ]
    store = NodeStore()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for text in texts:
        put(store, orjson.loads(text))
    assert len(store.list(None)) == 40
    used = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert used < 2 * MIB
