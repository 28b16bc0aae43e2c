"""A view that is limited to namespaces: a watch in each, and what has no namespace."""

from contextlib import contextmanager

import pytest

from tests.cluster.test_live import CONFIG, CONFIGS, MODEL, MODELS, an_object, impatient, names, until
from webhook.cluster.api import Reader
from webhook.cluster.informer import Following
from webhook.cluster.live import LiveView
from webhook.cluster.view import APIResource, Key, Kind

CLUSTER_MODELS = APIResource("ome.io", "v1beta1", "clusterbasemodels", "ClusterBaseModel", namespaced=False)
CLUSTER_MODEL = Kind("ome.io", "ClusterBaseModel")
PLACES = ("a", "b")

__all__ = ["impatient"]


@contextmanager
def limited(server, clock, following=None):
    view = LiveView(
        Reader(server.client()), following or {MODEL: Following(), CLUSTER_MODEL: Following()}, 180.0, clock, PLACES
    )
    view.start()
    try:
        yield view
    finally:
        view.stop()
        assert [thread.name for thread in view._threads if thread.is_alive()] == []


@pytest.fixture
def served(server):
    server.serve(MODELS)
    server.serve(CLUSTER_MODELS)
    for namespace in ("a", "b", "c"):
        server.put("basemodels", an_object(f"of-{namespace}", namespace))
    server.put("clusterbasemodels", an_object("of-all", "", CLUSTER_MODELS))
    return server


def test_objects_of_the_namespaces_and_of_cluster_scope_are_shown_and_no_others(served, clock):
    with limited(served, clock) as view:
        until(view.synced)
        assert names(view) == ["of-a", "of-b"]
        assert names(view, CLUSTER_MODEL) == ["of-all"]
        served.put("basemodels", an_object("new", "b"))
        served.put("basemodels", an_object("unseen", "c"))
        until(lambda: names(view, namespace="b") == ["new", "of-b"])
        served.delete("basemodels", "of-a", "a")
        until(lambda: names(view) == ["new", "of-b"])
        assert [view.watches(MODEL, Key(each, "x")) for each in ("a", "b", "c")] == [True, True, False]
        assert view.watches(CLUSTER_MODEL, Key("", "x"))
        assert [view.outside(each) for each in ("a", "c", "")] == [False, True, False]


def test_only_these_namespaces_are_asked_for(served, clock):
    with limited(served, clock) as view:
        until(view.synced)
    asked = {path for verb, path in served.requests if path.endswith("/basemodels")}
    assert asked == {MODELS.path("a"), MODELS.path("b")}


def test_it_is_not_ready_before_each_namespace_is_listed_and_names_the_cause(served, clock, monkeypatch):
    monkeypatch.setattr("webhook.cluster.reflector.FIRST_WAIT", 60.0)
    served.fail("GET", "/namespaces/b/basemodels", 403, "basemodels is forbidden")
    with limited(served, clock) as view:
        until(lambda: "forbidden" in "".join(view.unready()))
        until(lambda: names(view) == ["of-a"])
        until(lambda: view.listed(CLUSTER_MODEL))
        assert not view.synced()
        assert view.unready() == ["ome.io/BaseModel is not listed yet: 403 Test: basemodels is forbidden"]


def test_silence_of_one_namespace_makes_it_not_ready(served, clock):
    with limited(served, clock) as view:
        until(view.synced)
        clock.seconds += 180
        served.put("basemodels", an_object("new", "a"))
        served.put("clusterbasemodels", an_object("new", "", CLUSTER_MODELS))
        until(lambda: names(view, namespace="a") == ["new", "of-a"])
        assert view.unready()
        served.put("basemodels", an_object("new", "b"))
        until(lambda: not view.unready())


def test_an_api_that_is_removed_takes_the_objects_of_all_namespaces_along_and_may_come_back(served, clock):
    with limited(served, clock) as view:
        until(view.synced)
        served.unserve(MODELS)
        until(lambda: names(view) == [])
        served.serve(MODELS)
        served.put("basemodels", an_object("back", "b"))
        until(lambda: names(view) == ["back"])


def test_one_object_of_another_namespace_can_be_followed_by_its_name(served, clock):
    served.serve(CONFIGS)
    served.put("configmaps", an_object("config", "ome", CONFIGS))
    with limited(served, clock, {CONFIG: Following(only=Key("ome", "config"))}) as view:
        until(view.synced)
        assert view.watches(CONFIG, Key("ome", "config"))
        assert not view.watches(CONFIG, Key("a", "config"))
        until(lambda: names(view, CONFIG) == ["config"])
