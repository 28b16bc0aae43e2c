"""The whole process: with its threads in this one, and as the command that the chart starts."""

import http.client
import os
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from dataclasses import replace

import pytest
import yaml

from reconciler.health import Health
from reconciler.lease import Lease
from reconciler.process import Process
from reconciler.projection import Projection
from reconciler.projections.llmkube import MODELS, controller
from reconciler.resource import EVENTS, LEASES, APIResource
from tests.reconciler.apiserver import PATIENCE
from tests.reconciler.looping import open_model
from tests.reconciler.models import Time, model
from tests.reconciler.world import Gate, rules
from webhook.cluster.definitions import AGAIN, DEFINITIONS, REFUSED_AGAIN
from webhook.cluster.live import STALE
from webhook.cluster.view import MemoryView


@pytest.fixture(autouse=True)
def with_a_gate(server):
    server.admission = stamp
    server.serve(*rules().kinds(), DEFINITIONS, EVENTS, LEASES, *OTHERS)


OTHERS = (
    APIResource("", "v1", "nodes", "Node", False),
    APIResource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim"),
    APIResource("", "v1", "configmaps", "ConfigMap"),
    APIResource("storage.k8s.io", "v1", "storageclasses", "StorageClass", False),
)


def stamp(obj):
    return Gate(rules(), MemoryView())(obj)


def started(server, *more, **settings):
    return Process(server.api(), rules(), [controller()], *more, **settings)


def lease(server, identity, duration=15.0):
    return Lease(server.api(), "ns", "l", identity, duration=duration, renewal=0.01, period=0.01)


@contextmanager
def running(process):
    stop = threading.Event()
    results = []
    thread = threading.Thread(target=lambda: results.append(process.run(stop)))
    thread.start()
    try:
        yield results, thread
    finally:
        stop.set()
        thread.join(PATIENCE)
        assert not thread.is_alive()


def phase(server, name="m"):
    return server.get("models", name).get("status", {}).get("phase")


def test_models_that_are_there_and_models_that_come_get_their_status(server):
    server.put("models", model("old"))
    process = started(server, lease(server, "a"))
    with running(process) as (results, _):
        server.wait(lambda: phase(server, "old") == "Ready")
        server.put("models", stamp(model("new")))
        server.wait(lambda: phase(server, "new") == "Ready")
        assert process.alive() == (True, "ok")
        assert process.ready()[0]
        assert "modelgate_leader 1.0" in process.metrics()[1]
    assert results == [True]


def test_it_is_ready_without_some_apis_as_long_as_the_watch_of_definitions_is_heard(server):
    server.unserve(OTHERS[2])  # a watch of one object; this server sends bookmarks for whole collections
    clock = Time()
    process = started(server, clock=clock)
    with running(process):
        until(lambda: process.ready()[1].startswith("leading"))
        for _ in range(12):
            clock.seconds += 60
            for each in server.served:
                server.bookmark(f"{each.api_version}/{each.plural}")
            until(lambda: not any(each.silence for each in process._view.freshness()))
            assert process.ready()[0], process.ready()[1]
        clock.seconds += STALE
        assert f"no event of wgpolicyk8s.io/PolicyReport for {STALE:.0f} s" in process.ready()[1]


def test_it_is_ready_and_works_without_the_right_to_read_some_definitions_until_the_right_is_given(server):
    name = "models.inference.llmkube.dev"
    server.fail("GET", name, 403, "no right")
    server.put("models", stamp(model()))
    clock = Time()
    process = started(server, clock=clock)
    with running(process):
        server.wait(lambda: phase(server) == "Ready")
        until(lambda: process.ready()[0])
        assert f", but the installed definitions of {name} cannot be read: 403" in process.ready()[1]
        clock.seconds += REFUSED_AGAIN
        until(lambda: "cannot be read" not in process.ready()[1])
        assert process.ready()[0]


def test_it_is_not_ready_while_the_api_server_does_not_give_the_definitions(server):
    server.fail("GET", "models.inference.llmkube.dev", 500, "later")
    clock = Time()
    process = started(server, clock=clock)
    with running(process):
        until(lambda: "the installed definitions cannot be read: 500" in process.ready()[1])
        assert not process.ready()[0]
        clock.seconds += AGAIN
        until(lambda: process.ready()[0])


def test_many_models_are_each_written_once(server):
    for number in range(40):
        server.put("models", stamp(model(f"m{number:02}")))
    with running(started(server, None, workers=4)):
        server.wait(lambda: all(phase(server, f"m{number:02}") == "Ready" for number in range(40)))
    assert len(server.writes()) == 40


def test_a_leader_that_ends_releases_the_lease_and_the_next_takes_over(server):
    second = started(server, lease(server, "b"))
    with running(started(server, lease(server, "a"))) as (_, thread):
        server.wait(lambda: any(obj["spec"]["holderIdentity"] == "a" for obj in server.all("leases")))
        with running(second):
            assert second.ready() == (True, "waiting to lead")
            server.put("models", stamp(model()))
            server.wait(lambda: phase(server) == "Ready")
    assert not thread.is_alive()
    assert server.get("leases", "l", "ns")["spec"]["holderIdentity"] == ""


def test_a_leader_whose_lease_is_taken_ends_and_says_so(server):
    process = started(server, lease(server, "a"))
    process._lease.deadline = 0.0
    with running(process) as (results, thread):
        server.wait(lambda: server.all("leases"))
        taken = server.get("leases", "l", "ns")
        server.put("leases", {**taken, "spec": {**taken["spec"], "holderIdentity": "b"}})
        thread.join(PATIENCE)
    assert results == [False]
    assert server.get("leases", "l", "ns")["spec"]["holderIdentity"] == "b"


def test_who_has_lost_the_lease_does_not_wait_for_what_is_being_done(server):
    begun, go_on = threading.Event(), threading.Event()

    def project(*_):
        begun.set()
        go_on.wait(PATIENCE * 2)
        return Projection()

    process = Process(server.api(), rules(), [replace(controller(), project=project)], lease(server, "a"))
    process._lease.deadline = 0.0
    server.put("models", stamp(model()))
    with running(process) as (results, thread):
        assert begun.wait(PATIENCE)
        server.fail("PUT", "/leases", 503, times=100)
        server.fail("GET", "/leases", 503, times=100)
        thread.join(PATIENCE)
        assert results == [False]
        until(lambda: not any(each.is_alive() for each in process._view._threads))
        go_on.set()


def test_a_process_that_waits_to_lead_does_nothing(server):
    server.put("models", stamp(model()))
    lease(server, "other").attempt()
    with running(started(server, lease(server, "a"))) as (results, _):
        # The list and the watch of the lease.
        server.wait(lambda: server.requests.count(("GET", "/apis/coordination.k8s.io/v1/namespaces/ns/leases")) > 1)
    assert results == [True]
    assert phase(server) is None


def get(port, path):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    connection.request("GET", path)
    response = connection.getresponse()
    try:
        return response.status, response.read().decode()
    finally:
        connection.close()


def test_health_answers_with_a_code_and_a_line():
    checks = {
        "/healthz": lambda: (True, "ok"),
        "/readyz": lambda: (False, "not listed yet"),
        "/metrics": lambda: (True, "a_metric 1"),
    }
    with Health(0, checks).running() as port:
        assert get(port, "/healthz") == (200, "ok\n")
        assert get(port, "/readyz?verbose") == (503, "not listed yet\n")
        assert get(port, "/metrics") == (200, "a_metric 1\n")
        assert get(port, "/") == (404, "not found\n")


@pytest.fixture
def kubeconfig(server, tmp_path):
    path = tmp_path / "kubeconfig"
    named = {
        "clusters": [{"name": "c", "cluster": {"server": server.url}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
    }
    path.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Config", "current-context": "x", **named}))
    return path


@contextmanager
def command(*flags):
    """What the console script runs; it ends with the test."""
    code = "import sys; from webhook.cli import main; sys.exit(main())"
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("MODELGATE_", "KUBE"))}
    arguments = [sys.executable, "-c", code, "reconcile", *map(str, flags)]
    with subprocess.Popen(arguments, env=clean, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def test_the_command_works_until_it_is_told_to_end(server, kubeconfig):
    server.put("models", stamp(model()))
    with command("--kubeconfig", kubeconfig, "--namespace", "ns", "--apis", "llmkube") as process:
        server.wait(lambda: phase(server) == "Ready")
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert "SIGTERM: stopping" in log
    assert "Traceback" not in log
    assert server.get("leases", "modelgate-reconciler", "ns")["spec"]["holderIdentity"] == ""


def test_the_command_begins_again_when_its_lease_is_lost_and_the_pod_is_not_restarted(server, kubeconfig):
    """As after an API server that was away for longer than the lease lasts."""
    with command("--kubeconfig", kubeconfig, "--namespace", "ns", "--apis", "llmkube") as process:
        server.put("models", stamp(model()))
        server.wait(lambda: phase(server) == "Ready")
        taken = server.get("leases", "modelgate-reconciler", "ns")
        server.put("leases", {**taken, "spec": {**taken["spec"], "holderIdentity": "another"}})
        lists = [("GET", "/apis/inference.llmkube.dev/v1alpha1/models")]
        before = server.requests.count(lists[0])
        watch = ("GET", "/apis/coordination.k8s.io/v1/namespaces/ns/leases")
        server.wait(lambda: server.requests.count(watch) > 1)  # it has lost it, and waits to lead
        free = server.get("leases", "modelgate-reconciler", "ns")
        server.put("leases", {**free, "spec": {**free["spec"], "holderIdentity": ""}})
        server.wait(lambda: server.requests.count(lists[0]) > before)
        server.put("models", stamp(model("new")))
        server.wait(lambda: phase(server, "new") == "Ready")
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert "is lost" in log
    assert "Traceback" not in log


def test_the_command_allows_host_paths_by_flag(server, kubeconfig):
    server.put("models", stamp(model(source="/models/m.gguf")))
    with command(
        "--kubeconfig", kubeconfig, "--no-lease", "--apis", "llmkube", "--allowed-host-path-root", "/models"
    ) as process:
        server.wait(lambda: phase(server) == "Ready")
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)
    assert server.get("models", "m")["status"]["path"] == "/models/m.gguf"


def test_without_a_cluster_the_command_says_so(tmp_path):
    with command("--kubeconfig", tmp_path / "none") as process:
        _, log = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    assert log.startswith("modelgate reconcile: ")
    assert "Traceback" not in log


def test_an_api_that_is_not_installed_is_nothing_to_do_until_it_appears(server):
    server.served = [each for each in server.served if each != MODELS]
    process = started(server)
    with running(process):
        definition = {"apiVersion": DEFINITIONS.api_version, "kind": DEFINITIONS.kind}
        server.wait(lambda: server.requests.count(("GET", DEFINITIONS.path())) == 2)
        until(lambda: process.ready()[0])
        server.serve(MODELS)
        server.put("models", model())
        server.put(
            "customresourcedefinitions",
            {**definition, "metadata": {"name": "models.inference.llmkube.dev"}, "spec": {}},
        )
        server.wait(lambda: phase(server) == "Ready")


def test_policies_that_change_lead_to_a_new_judgement(server):
    changes = []

    def reload(current):
        return changes.pop() if changes else current

    server.put("models", stamp(model(hardware={"memoryFraction": 1.5})))
    process = Process(server.api(), rules(), reload=reload)
    with running(process):
        server.wait(lambda: verdict(server) == "Stamped")
        changes.append(rules("strict"))
        server.wait(lambda: verdict(server) == "Refused")


def verdict(server):
    conditions = server.get("models", "m").get("status", {}).get("conditions", [{"reason": ""}])
    return conditions[-1]["reason"]


def until(predicate):
    tick = threading.Event()
    for _ in range(int(PATIENCE * 100)):
        if predicate():
            return
        tick.wait(0.01)
    raise AssertionError("it did not happen")


def test_a_kind_that_no_fact_lists_is_held_as_text(server):
    server.put("models", model())
    fast = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "fast"}}
    server.put("storageclasses", fast)
    server.put("openmodels", {**open_model(), "metadata": {"name": "open"}})
    process = started(server)
    with running(process):
        server.wait(lambda: phase(server) == "Ready")
        stores = {kind.kind: informer.store for kind, informer in process._view._informers.items()}
        assert {type(each) for each in stores["OpenModel"]._objects.values()} <= {bytes}
        assert {type(each) for each in stores["Model"]._objects.values()} == {bytes}
        assert {type(each) for each in stores["StorageClass"]._objects.values()} == {dict}


def test_an_unknown_api_is_an_error(kubeconfig):
    with command("--kubeconfig", kubeconfig, "--apis", "nothing") as process:
        _, log = process.communicate(timeout=PATIENCE)
    assert process.returncode == 64
    assert "unknown API nothing: use aim, llmaz, llmd, llmkube" in log
