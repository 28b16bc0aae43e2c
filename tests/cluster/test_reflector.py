"""List and watch against a server that breaks off, compacts and errs."""

import threading
import time
from contextlib import contextmanager

import pytest

from tests.reconciler.apiserver import PATIENCE
from tests.reconciler.models import model
from webhook.cluster import reflector as module
from webhook.cluster.reflector import Reflector
from webhook.cluster.view import APIResource, Key

MODELS = APIResource("inference.llmkube.dev", "v1alpha1", "models", "Model")
API = "inference.llmkube.dev/v1alpha1/models"


class Recorder:
    """What a reflector reports, in order, to be waited for."""

    def __init__(self):
        self.news = []
        self._more = threading.Condition()

    def changed(self, key, obj):
        self._add(("changed", str(key), obj["metadata"]["resourceVersion"]))

    def deleted(self, key):
        self._add(("deleted", str(key)))

    def _add(self, item):
        with self._more:
            self.news.append(item)
            self._more.notify_all()

    def wait_for(self, *words):
        with self._more:
            assert self._more.wait_for(lambda: any(item[:2] == words for item in self.news), PATIENCE), self.news


@pytest.fixture
def recorder():
    return Recorder()


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """A broken connection is tried again at once."""
    monkeypatch.setattr(module, "FIRST_WAIT", 0.0)


@contextmanager
def following(server, recorder, namespace="", clock=time.monotonic):
    reflector = Reflector(server.api(), MODELS, recorder.changed, recorder.deleted, namespace, clock)
    thread = threading.Thread(target=reflector.run)
    thread.start()
    try:
        assert reflector.listed.wait(PATIENCE)
        yield reflector
    finally:
        reflector.stop()
        thread.join(PATIENCE)
        assert not thread.is_alive()


def test_what_is_there_and_what_comes_is_reported_with_its_version(server, recorder):
    first = server.put("models", model("a"))
    with following(server, recorder):
        recorder.wait_for("changed", "default/a")
        second = server.put("models", model("b"))
        recorder.wait_for("changed", "default/b")
        server.delete("models", "a")
        recorder.wait_for("deleted", "default/a")
    assert ("changed", "default/a", first["metadata"]["resourceVersion"]) in recorder.news
    assert ("changed", "default/b", second["metadata"]["resourceVersion"]) in recorder.news


def test_long_lists_are_read_page_by_page(server, recorder, monkeypatch):
    monkeypatch.setattr("webhook.cluster.api.PAGE", 2)
    for name in "abcde":
        server.put("models", model(name))
    with following(server, recorder):
        recorder.wait_for("changed", "default/e")
    assert [item[1] for item in recorder.news] == [f"default/{name}" for name in "abcde"]
    assert server.requests.count(("GET", MODELS.path())) == 4  # three pages and the watch


def test_one_namespace_can_be_watched_alone(server, recorder):
    other = model("b")
    other["metadata"]["namespace"] = "other"
    server.put("models", other)
    server.put("models", model("a"))
    with following(server, recorder, "default"):
        recorder.wait_for("changed", "default/a")
    assert {item[1] for item in recorder.news} == {"default/a"}


def test_a_watch_that_ends_continues_where_it_stopped(server, recorder):
    with following(server, recorder):
        server.put("models", model("a"))
        recorder.wait_for("changed", "default/a")
        server.end_watches()
        server.put("models", model("b"))
        recorder.wait_for("changed", "default/b")
    assert [item[1] for item in recorder.news] == ["default/a", "default/b"]


def test_a_bookmark_moves_the_place_to_continue_from(server, recorder):
    heard = threading.Semaphore(0)

    def clock():
        heard.release()
        return 0.0

    with following(server, recorder, clock=clock) as reflector:
        assert heard.acquire(timeout=PATIENCE)  # the list
        server.bookmark(API)
        assert heard.acquire(timeout=PATIENCE)  # the bookmark
        with server.changed:
            server.end_watches()
            server.forget_history()
            server.put("models", model("a"))
        recorder.wait_for("changed", "default/a")
        assert reflector.silence() == 0.0
    assert server.requests.count(("GET", MODELS.path())) == 3  # one list, two watches


def test_after_410_everything_is_listed_again_and_what_vanished_unseen_is_reported(server, recorder):
    server.put("models", model("a"))
    server.put("models", model("b"))
    with following(server, recorder):
        recorder.wait_for("changed", "default/b")
        with server.changed:  # all this while the watch is away
            server.end_watches()
            server.delete("models", "a")
            server.put("models", model("c"))
            server.forget_history()
        recorder.wait_for("changed", "default/c")
    assert ("deleted", "default/a") in recorder.news


def test_after_410_the_list_is_read_at_once_and_after_a_second_one_with_a_wait(server, recorder, monkeypatch):
    reflector = Reflector(server.api(), MODELS, recorder.changed, recorder.deleted)
    monkeypatch.setattr(module, "FIRST_WAIT", 1.0)
    reflector._failures = 5  # as after an API server that was away for a minute
    waits = []

    def wait(seconds):
        waits.append(seconds)
        reflector._stop.set()

    monkeypatch.setattr(reflector._stop, "wait", wait)
    server.fail("GET", "watch", 410, times=2)
    reflector.run()
    assert waits == [30]
    assert [path for _, path in server.requests].count(MODELS.path()) == 4  # list, watch, list, watch


@pytest.mark.parametrize("code", [500, 503, 429, 403, 0])
def test_an_error_is_survived(server, recorder, caplog, code):
    server.fail("GET", "/models", code, times=3)
    server.put("models", model("a"))
    with following(server, recorder):
        recorder.wait_for("changed", "default/a")
    assert "retry in 0 s" in caplog.text


def test_waiting_grows_to_half_a_minute(server, recorder, monkeypatch):
    monkeypatch.setattr(module, "FIRST_WAIT", 1.0)
    reflector = Reflector(server.api(), MODELS, recorder.changed, recorder.deleted)
    waits = []

    def wait(seconds):
        waits.append(seconds)
        if len(waits) == 8:
            reflector._stop.set()

    monkeypatch.setattr(reflector._stop, "wait", wait)
    server.fail("GET", "/models", 500, times=8)
    reflector.run()
    assert waits == [1, 2, 4, 8, 16, 30, 30, 30]


def test_stopping_ends_a_watch_that_hears_nothing(server, recorder):
    with following(server, recorder):
        server.wait(lambda: server.requests.count(("GET", MODELS.path())) == 2)


def test_silence_is_unknown_before_the_first_list(server, recorder):
    reflector = Reflector(server.api(), MODELS, recorder.changed, recorder.deleted)
    assert reflector.silence() is None


def test_a_key_prints_as_kubectl_writes_it():
    assert str(Key("ns", "m")) == "ns/m"
    assert str(Key("", "node")) == "node"
