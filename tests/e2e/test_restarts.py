"""Three replicas of the gate under steady load: they are restarted one after another, and each of them is killed.

MODELGATE_E2E_RESTARTS is the number of restarts in a row (2). docs/reliability.md has the figures of ten.
"""

from __future__ import annotations

import json
import os
import re
import time
from datetime import datetime
from statistics import quantiles

import pytest

from tests.e2e.crds import install_crds
from tests.e2e.gate import NAME
from tests.e2e.given import GivenCluster
from tests.e2e.load import load
from tests.e2e.models import model
from tests.e2e.processes import Process, wait_until
from tests.e2e.release import GATES, installed

RESTARTS = int(os.environ.get("MODELGATE_E2E_RESTARTS", "2"))
REPLICAS = 3
RATE = 60  # creations a second: 120 calls of the gate
RESTARTED = '--for=jsonpath={.status.containerStatuses[?(@.name=="gate")].restartCount}=1'
ROLLED_OUT = ("rollout", "status", "deployment", NAME, "--timeout=2m")
# What the API server says of a connection to an address where no process listens any more.
LOST = re.compile("connect: connection refused|connection reset by peer|broken pipe|EOF$")
TEAM = "restarts"
PATH = f"/apis/inference.llmkube.dev/v1alpha1/namespaces/{TEAM}/models"


@pytest.fixture(scope="module")
def release(node, image):
    if isinstance(node, GivenCluster):
        pytest.skip("needs a node of its own: a given cluster's processes and network are not within reach")
    install_crds(node.kubectl)
    node.kubectl("create", "namespace", TEAM)
    with installed(node, image, f"--set=gate.replicas={REPLICAS}") as kubectl:
        yield kubectl
    node.kubectl("delete", "namespace", TEAM, "--wait=false")


def calling(node):
    """A context with a steady load."""
    return load(node.processes.enter, node.kubeconfig, PATH, model("steady"), RATE)


class Handshakes:
    """The connections that the API server opens to the Service, counted by the node's own firewall."""

    def __init__(self, node, release):
        self._node = node
        address = release.json("get", "service", NAME)["spec"]["clusterIP"]
        self._rule = ["OUTPUT", "-p", "tcp", "-d", address, "--dport", "443", "--syn"]

    def __enter__(self):
        self._node.run("iptables", "-t", "mangle", "-I", *self._rule)
        return self

    def __exit__(self, *_):
        self._node.run("iptables", "-t", "mangle", "-D", *self._rule)

    def count(self):
        listed = self._node.run("iptables", "-t", "mangle", "-L", "OUTPUT", "-v", "-x", "-n")
        return int(listed.splitlines()[2].split()[0])


def test_rolling_restarts_under_load_lose_no_call(node, release, tmp_path):
    watch = ["get", "pods", GATES, "--watch", "--output-watch-events", "-o=json"]
    kubectl = [*node.processes.enter, str(release.path), *release.flags, f"--kubeconfig={release.kubeconfig}"]
    watching = Process("watch", [*kubectl, *watch], tmp_path / "watch.log")
    spans = []
    try:
        with Handshakes(node, release) as handshakes, calling(node) as made:
            for _ in range(RESTARTS):
                start, before = time.monotonic(), handshakes.count()
                restart(release)
                spans.append((start, time.monotonic(), handshakes.count() - before))
    finally:  # what was measured until then
        watching.stop()
        for start, end, opened in spans:
            print(figures(made.between(start, end), end - start, opened))
    ends = list(stopped(watching.log.read_text()))
    print(f"in all: calls {len(made.calls)}, failed {len(made.failed())}")
    print("seconds from deletion to the end of the process:", sorted(seconds for seconds, _ in ends))
    assert made.failed() == []
    assert len(made.calls) > 1000
    assert len(ends) == REPLICAS * RESTARTS
    assert {code for _, code in ends} == {0}


def restart(release):
    """Restart the Deployment, until the pods before are gone."""
    release("rollout", "restart", "deployment", NAME)
    wait_until(lambda: release.run(*ROLLED_OUT).code == 0, "the restart", 600)
    wait_until(lambda: len(release.json("get", "pods", GATES)["items"]) == REPLICAS, "old pods to be gone", 90)


def figures(calls, seconds, opened):
    spent = quantiles([1000 * each.seconds for each in calls], n=100)
    worst = 1000 * max(each.seconds for each in calls)
    failed = sum(each.code != 201 for each in calls)
    return (
        f"restart {seconds:.0f} s, calls {len(calls)}, failed {failed}, handshakes {opened}, "
        f"p50 {spent[49]:.0f} ms, p99 {spent[98]:.0f} ms, max {worst:.0f} ms"
    )


def stopped(log):
    """Of each gate that was ended: seconds from the deletion of its pod to its process's end, and the exit code."""
    asked = {}
    for event in events(log):
        pod = event["object"]
        deletion, grace = (pod["metadata"].get(f"deletion{each}") for each in ("Timestamp", "GracePeriodSeconds"))
        if grace:  # it becomes 0 when all containers have ended
            asked[pod["metadata"]["uid"]] = moment(deletion) - grace
        if event["type"] == "DELETED":
            ended = gate_of(pod)["state"]["terminated"]
            yield moment(ended["finishedAt"]) - asked[pod["metadata"]["uid"]], ended["exitCode"]


def events(log):
    decoder, rest = json.JSONDecoder(), log.strip()
    while rest:
        event, end = decoder.raw_decode(rest)
        rest = rest[end:].lstrip()
        yield event


def moment(text):
    return datetime.fromisoformat(text).timestamp()


def gate_of(pod):
    """The status of the container that serves."""
    return next(each for each in pod["status"]["containerStatuses"] if each["name"] == "gate")


def test_a_killed_replica_fails_the_calls_in_flight_there_and_then_only_connections_that_it_refuses(node, release):
    """Until kube-proxy leaves it out, the Service gives new connections to its address, where no process listens."""
    for pod in release.json("get", "pods", GATES)["items"]:
        name, pid = pod["metadata"]["name"], process_of(node, gate_of(pod)["containerID"])
        with Handshakes(node, release) as handshakes, calling(node) as made:
            before = handshakes.count()
            node.run("sh", "-c", f"kill -KILL {pid}; while kill -0 {pid} 2>&-; do :; done")
            ended = time.monotonic()
            release("wait", f"pod/{name}", RESTARTED, "--timeout=60s")
            release("wait", f"pod/{name}", "--for=condition=Ready", "--timeout=60s")
            opened = handshakes.count() - before
        failed = made.failed()
        print(f"killed: calls {len(made.calls)}, failed {len(failed)}, handshakes {opened}")
        late = [each.message for each in failed if each.sent > ended]
        print(f"of these connections refused after its end: {len(late)}")
        assert [message for message in late if not LOST.search(message)] == []


def process_of(node, container):
    """The id of a container's first process, as the node sees it."""
    name = container.removeprefix("containerd://")
    tasks = node.run(node.program("ctr"), "--namespace=k8s.io", "tasks", "list").splitlines()
    return next(line.split()[1] for line in tasks if line.startswith(name))
