"""The live view against a server that breaks off, compacts, errs, and installs and removes APIs."""

import math
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from tests.reconciler.apiserver import PATIENCE
from webhook.admission.errors import Fault, Unavailable
from webhook.cluster import informer as informers
from webhook.cluster import reflector as sources
from webhook.cluster.api import Reader
from webhook.cluster.informer import UNHEARD, Following, Informer
from webhook.cluster.live import STALE, LiveView
from webhook.cluster.readthrough import Reference, RequestView
from webhook.cluster.store import KEEP, LIMIT, RecentAnswers
from webhook.cluster.view import APIResource, ClusterView, Freshness, Kind, MemoryView

MODELS = APIResource("ome.io", "v1beta1", "basemodels", "BaseModel")
CLUSTER_MODELS = APIResource("ome.io", "v1beta1", "clusterbasemodels", "ClusterBaseModel")
CONFIGS = APIResource("", "v1", "configmaps", "ConfigMap")
MODEL, CLUSTER_MODEL, CONFIG = Kind("ome.io", "BaseModel"), Kind("ome.io", "ClusterBaseModel"), Kind("", "ConfigMap")
PATH = MODELS.path()
ALERTS = Path(__file__).parents[2] / "chart/files/alerts.yaml"
INTERVAL = informers.DISCOVERY_SECONDS


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """What failed is tried again at once, and what is not installed is looked for often."""
    for module in (sources, informers):
        monkeypatch.setattr(module, "FIRST_WAIT", 0.0)
    monkeypatch.setattr(informers, "DISCOVERY_SECONDS", 0.01)


def an_object(name, namespace="ns", resource=MODELS, **metadata):
    place = {"namespace": namespace} if namespace else {}
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": name, **place, **metadata},
        "spec": {},
    }


@contextmanager
def following(server, clock, *kinds, synced=True):
    view = LiveView(Reader(server.client()), kinds or [MODEL], clock=clock)
    view.start()
    try:
        if synced:
            until(view.synced)
        yield view
    finally:
        view.stop()
        assert [thread.name for thread in view._threads if thread.is_alive()] == []


def until(predicate):
    """Waits for another thread; only a broken program waits for long."""
    tick = threading.Event()
    for _ in range(int(PATIENCE / 0.005)):
        if predicate():
            return
        tick.wait(0.005)
    raise AssertionError("it did not happen")


def names(view, kind=MODEL, namespace=None):
    return [item["metadata"]["name"] for item in view.list(kind, namespace)]


def gets(server, path):
    return server.requests.count(("GET", path))


def test_what_is_there_and_what_comes_and_goes_is_in_memory_in_order(server, clock):
    server.serve(MODELS)
    server.put("basemodels", an_object("b"))
    server.put("basemodels", an_object("a", "other"))
    with following(server, clock) as view:
        assert names(view) == ["b", "a"]
        server.put("basemodels", an_object("a"))
        until(lambda: names(view, namespace="ns") == ["a", "b"])
        assert view.get(MODEL, "ns", "a")["kind"] == "BaseModel"
        server.delete("basemodels", "a", "ns")
        until(lambda: names(view) == ["b", "a"])
        assert view.get(MODEL, "ns", "a") is None
        assert view.unready() == []


def test_it_gives_the_answers_of_a_view_of_the_same_objects(server, clock):
    objects = [an_object("b"), an_object("a", "z"), an_object("a", "", CLUSTER_MODELS)]
    server.serve(MODELS, CLUSTER_MODELS)
    for obj in objects:
        server.put("basemodels" if obj["kind"] == "BaseModel" else "clusterbasemodels", obj)
    memory: ClusterView = MemoryView(objects)
    with following(server, clock, MODEL, CLUSTER_MODEL) as view:
        for kind in (MODEL, CLUSTER_MODEL):
            for namespace in (None, "", "ns", "z", "nowhere"):
                found = [item["metadata"]["name"] for item in view.list(kind, namespace)]
                assert found == [item["metadata"]["name"] for item in memory.list(kind, namespace)]
        assert view.get(CLUSTER_MODEL, "", "a") is not None


def test_what_no_fact_reads_is_not_kept(server, clock):
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": "{}", "mine": "yes"}
    server.serve(MODELS)
    server.put("basemodels", an_object("a", managedFields=[{"manager": "kubectl"}], annotations=annotations))
    with following(server, clock) as view:
        metadata = view.get(MODEL, "ns", "a")["metadata"]
    assert "managedFields" not in metadata
    assert metadata["annotations"] == {"mine": "yes"}


def test_after_410_everything_is_listed_again(server, clock):
    server.serve(MODELS)
    server.put("basemodels", an_object("a"))
    with following(server, clock) as view:
        with server.changed:
            server.end_watches()
            server.delete("basemodels", "a", "ns")
            server.put("basemodels", an_object("b"))
            server.forget_history()
        until(lambda: names(view) == ["b"])


@pytest.mark.parametrize("code", [500, 429, 403, 0])
def test_an_error_of_list_or_discovery_is_survived(server, clock, code):
    server.serve(MODELS)
    server.put("basemodels", an_object("a"))
    server.fail("GET", "/basemodels", code, "no", times=3)
    server.fail("GET", "/apis/ome.io", code, "no", times=3)
    with following(server, clock) as view:
        assert names(view) == ["a"]
        assert view.unready() == []


def test_before_the_first_list_the_view_is_not_ready_and_names_kind_and_cause(server, clock, monkeypatch):
    monkeypatch.setattr(sources, "FIRST_WAIT", 60.0)
    server.serve(MODELS)
    server.fail("GET", "/basemodels", 403, "basemodels is forbidden", times=1)
    with following(server, clock, synced=False) as view:
        until(lambda: "forbidden" in "".join(view.unready()))
        assert view.unready() == ["ome.io/BaseModel is not listed yet: 403 Test: basemodels is forbidden"]
        assert not view.synced()
        assert not view.listed(MODEL)


def test_silence_makes_the_view_not_ready_and_news_ready_again(server, clock):
    server.serve(MODELS)
    with following(server, clock) as view:
        clock.seconds += 179
        assert view.unready() == []
        clock.seconds += 1
        assert view.unready() == ["no event of ome.io/BaseModel for 180 s"]
        assert view.stale(200.0) == []
        server.put("basemodels", an_object("a"))
        until(lambda: view.unready() == [])


def test_news_tell_how_long_a_kind_has_been_silent_and_what_is_held(server, clock, monkeypatch):
    monkeypatch.setattr(sources, "FIRST_WAIT", 60.0)
    server.serve(MODELS)
    server.serve(CLUSTER_MODELS)
    server.put("basemodels", an_object("a"))
    server.put("basemodels", an_object("b"))
    server.fail("GET", "/clusterbasemodels", 403, "no", times=1)
    with following(server, clock, MODEL, CLUSTER_MODEL, synced=False) as view:
        until(lambda: view.listed(MODEL))
        clock.seconds += 7
        assert list(view.freshness()) == [
            Freshness("ome.io/BaseModel", 7.0, 2),
            Freshness("ome.io/ClusterBaseModel", math.inf, 0),
        ]


def test_an_api_that_is_not_installed_is_empty_and_no_fault_until_it_appears(server, clock):
    server.serve(CONFIGS)
    with following(server, clock) as view:
        assert names(view) == []
        assert view.unready() == []
        server.serve(MODELS)
        server.put("basemodels", an_object("a"))
        until(lambda: names(view) == ["a"])


def test_an_api_that_is_removed_takes_its_objects_along_and_may_come_back(server, clock):
    server.serve(MODELS)
    server.put("basemodels", an_object("a"))
    with following(server, clock) as view:
        server.unserve(MODELS)
        until(lambda: names(view) == [])
        until(view.synced)
        server.serve(MODELS)
        server.put("basemodels", an_object("b"))
        until(lambda: names(view) == ["b"])


def test_a_kind_that_moves_to_another_version_is_followed_there(server, clock):
    newer = APIResource("ome.io", "v1", "basemodels", "BaseModel")
    server.serve(MODELS)
    with following(server, clock) as view:
        with server.changed:
            server.serve(newer)
            server.unserve(MODELS)
            server.put("basemodels", an_object("a", resource=newer))
        until(lambda: names(view) == ["a"])


def test_an_object_that_memory_does_not_know_is_read_once(server, clock):
    server.serve(MODELS, CONFIGS)
    server.put("configmaps", an_object("c", resource=CONFIGS))
    reference = Reference(CONFIG, "ns", "c")
    with following(server, clock) as view:
        assert view.cached(reference) == (False, None)
        assert view.read(reference, 5.0)["metadata"]["name"] == "c"
        assert view.cached(reference)[0]
        view.read(reference, 5.0)
        assert gets(server, CONFIGS.path("ns", "c")) == 1
        clock.seconds += KEEP
        assert view.cached(reference) == (False, None)


def test_that_there_is_none_is_remembered_for_a_second_but_not_against_what_comes(server, clock):
    server.serve(MODELS)
    reference = Reference(MODEL, "ns", "late")
    with following(server, clock) as view:
        assert view.read(reference, 5.0) is None
        assert view.read(reference, 5.0) is None
        assert gets(server, MODELS.path("ns", "late")) == 1
        assert view.cached(reference) == (True, None)
        server.put("basemodels", an_object("late"))
        until(lambda: view.cached(reference)[1] is not None)


@pytest.mark.parametrize("code", [500, 503, 403, 401, 0])
def test_a_server_that_does_not_say_is_never_taken_for_no(server, clock, code):
    server.serve(MODELS)
    reference = Reference(MODEL, "ns", "a")
    with following(server, clock) as view:
        server.fail("GET", MODELS.path("ns", "a"), code, "no")
        with pytest.raises(Unavailable, match="BaseModel ns/a cannot be read"):
            view.read(reference, 5.0)
        assert view.cached(reference) == (False, None)


def test_a_reference_into_an_api_that_was_just_installed_is_found_at_once(server, clock, monkeypatch):
    monkeypatch.setattr(informers, "DISCOVERY_SECONDS", 3600.0)
    server.serve(CONFIGS)
    reference = Reference(MODEL, "ns", "a")
    with following(server, clock) as view:
        assert view.read(reference, 5.0) is None
        clock.seconds += KEEP
        server.serve(MODELS)
        server.put("basemodels", an_object("a"))
        assert view.read(reference, 5.0) is not None
        until(lambda: names(view) == ["a"])  # and the informer does not wait for its hour


def test_a_list_of_a_kind_that_is_not_watched_is_a_fault(server, clock):
    with following(server, clock, synced=False) as view, pytest.raises(Fault, match="is not watched"):
        view.list(CLUSTER_MODEL)


def test_stopping_ends_watches_that_hear_nothing_and_lists_that_fail(server, clock):
    server.serve(MODELS)
    with following(server, clock):
        until(lambda: gets(server, PATH) == 2)


class Asked(MemoryView):
    """RecentAnswers that is sure of nothing."""

    def cached(self, _reference):
        return False, None

    def listed(self, _kind):
        return False


def test_a_reading_notes_what_memory_did_not_know_and_uses_what_was_read_since():
    reference = Reference(MODEL, "ns", "a")
    first = RequestView(Asked(), {})
    assert first.get(MODEL, "ns", "a") is None
    assert list(first.list(MODEL)) == []
    assert (list(first.unread), list(first.unlisted)) == ([reference], [MODEL])
    second = RequestView(Asked(), {reference: an_object("a")})
    assert second.get(MODEL, "ns", "a") == an_object("a")
    assert not second.unread


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a%2fb", "x" * 254, None, 5, {}])
def test_a_name_that_no_object_can_have_is_never_asked_for(name):
    reading = RequestView(Asked(), {})
    assert reading.get(MODEL, "ns", name) is None
    assert not reading.unread


def test_memory_is_bounded(clock):
    memory = RecentAnswers(clock)
    for number in range(LIMIT + 5):
        memory.put(Reference(MODEL, "ns", str(number)), None)
    assert len(memory._entries) == LIMIT
    assert memory.get(Reference(MODEL, "ns", "0")) == (False, None)
    clock.seconds += KEEP
    memory.put(Reference(MODEL, "ns", "new"), None)
    assert len(memory._entries) == 1


def test_an_api_is_looked_for_again_after_its_definition_has_changed(server, monkeypatch):
    looks = []
    monkeypatch.setattr(informers, "find", lambda *_, **__: looks.append(1))
    informer = Informer(Reader(server.client()), MODEL, following=Following(heard=lambda: 0.0))
    thread = threading.Thread(target=informer.run)
    thread.start()
    until(lambda: len(looks) == 1)
    informer.recheck()
    until(lambda: len(looks) == 1 + 1 + informers.RECHECKS)
    informer.stop()
    thread.join(PATIENCE)
    assert not thread.is_alive()


def test_an_absent_api_is_as_fresh_as_the_watch_of_its_definition(server, clock, monkeypatch):
    server.serve(CONFIGS)
    heard = [math.inf]
    monkeypatch.setattr(informers, "DISCOVERY_SECONDS", 3600.0)
    informer = Informer(Reader(server.client()), MODEL, clock, Following(heard=lambda: heard[0]))
    thread = threading.Thread(target=informer.run)
    thread.start()
    until(lambda: informer.synced)
    clock.seconds += 300
    assert informer.unready(STALE) == "no event of ome.io/BaseModel for 300 s"  # no watch: only the check is news
    heard[0] = 59.0
    assert (informer.silence(), informer.unready(STALE)) == (59.0, "")
    heard[0] = 400.0
    assert informer.silence() == 300.0
    informer.stop()
    thread.join(PATIENCE)


def test_the_intervals_of_checks_bookmarks_and_alerts_are_in_order():
    bookmarks = 60.0  # kube-apiserver sends one about each minute
    alerts = yaml.safe_load(ALERTS.read_text())
    expressions = {rule["alert"]: rule["expr"] for group in alerts["groups"] for rule in group["rules"]}
    announced = float(expressions["ModelgateViewStale"].rpartition(" ")[2])
    assert 2 * INTERVAL < UNHEARD
    assert bookmarks < UNHEARD <= announced < STALE
