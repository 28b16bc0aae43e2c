"""What two gates, their sidecars and two reconcilers ask of an API server at rest: they watch, and do not poll."""

from __future__ import annotations

import json
import urllib.request
from collections import Counter
from contextlib import ExitStack
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.e2e.crds import install_crds
from tests.e2e.gate import CHART, CHECKOUT, NAME, NAMESPACE
from tests.e2e.plane import Plane
from tests.e2e.processes import Process, free_port, wait_until
from tests.e2e.programs import modelgate
from tests.e2e.reconciling import Reconciler
from tests.e2e.seeing import VIEW, as_the_chart_lets_it
from tests.e2e.test_restore import sidecar

AUDIT = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [{"level": "Metadata"}]}
LEASE = ("lease", f"{NAME}-reconciler", f"--namespace={NAMESPACE}")
TURNS = 3
"""Renewals of the Lease, by which the test counts."""
WEBHOOKS = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
PODS, FOLLOWED = 2, 6
"""Pods of the gate, and the objects that each of them follows: four configurations, the Secret and the ConfigMap."""
READ_ANEW = 2
"""Minutes between two times that a pod reads these."""
MOST = 10
"""Requests a minute with each further pod of the gate."""


@pytest.fixture(scope="module")
def plane(plane_assets, tmp_path_factory):
    folder = tmp_path_factory.mktemp("audit")
    (folder / "policy").write_text(json.dumps(AUDIT))
    flags = [f"--audit-policy-file={folder / 'policy'}", f"--audit-log-path={folder / 'log'}"]
    with Plane(plane_assets, flags=flags) as started:
        install_crds(started.kubectl)
        started.helm("install", NAME, CHART, f"--namespace={NAMESPACE}", "--create-namespace")
        started.audit = folder / "log"
        yield started


def events(plane):
    """The requests of the accounts of the chart: account and event, each once."""
    every = {event["auditID"]: event for event in map(json.loads, plane.audit.read_text().splitlines())}
    named = ((event["user"]["username"].rpartition(":")[2], event) for event in every.values())
    return [(account, event) for account, event in named if account.startswith(NAME)]


def requests(plane):
    """How many requests each account of the chart has made: account, verb and resource."""
    return Counter((account, event["verb"], resource(event)) for account, event in events(plane))


def resource(event):
    return (event.get("objectRef") or {}).get("resource") or event["requestURI"].partition("?")[0]


def turns(plane, count):
    """Let the leader renew its Lease so many times."""
    for _ in range(count):
        before = plane.kubectl.json("get", *LEASE)["spec"]["renewTime"]
        wait_until(lambda before=before: plane.kubectl.json("get", *LEASE)["spec"]["renewTime"] != before, "a renewal")


@pytest.fixture(scope="module")
def at_rest(plane, tmp_path_factory):
    """Two pods of the gate, the reconciler that leads and one that waits."""
    with ExitStack() as stack:
        view, ports = as_the_chart_lets_it(plane), []
        for pod in range(PODS):
            folder = tmp_path_factory.mktemp(f"pod-{pod}")
            stack.enter_context(sidecar(plane, folder))
            ports.append(free_port())
            own = [f"--port={free_port()}", f"--health-port={ports[-1]}", f"--tls-dir={folder / 'tls'}"]
            command = modelgate("serve", *own, "--drain-seconds=0", "--view=live", f"--view-kubeconfig={view}")
            process = Process("gate", command, folder / "gate.log", {"PYTHONPATH": str(CHECKOUT)})
            stack.callback(process.stop)
        for port in ports:
            url = f"http://127.0.0.1:{port}/readyz"
            wait_until(lambda url=url: answers(url), url, 60)
        leader = stack.enter_context(Reconciler(plane, name="leader"))
        wait_until(lambda: "leading" in leader.get("/readyz"), "the leader", 60)
        follower = stack.enter_context(Reconciler(plane, name="follower"))
        wait_until(lambda: "waiting" in follower.get("/readyz"), "the one that waits", 60)
        turns(plane, TURNS)
        yield plane


def answers(url):
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except OSError:
        return False


def test_at_rest_nothing_is_asked_but_the_lease_is_renewed(at_rest):
    """Once in two minutes, each pod of the gate reads six objects anew: that may fall into the time of the test."""
    before = requests(at_rest)
    turns(at_rest, TURNS)
    asked = requests(at_rest) - before
    renewals = asked.pop((f"{NAME}-reconciler", "update", "leases"))
    assert renewals <= TURNS + 1
    assert asked.total() <= PODS * FOLLOWED, asked
    assert {resource for _, _, resource in asked} <= {*WEBHOOKS, "secrets", "configmaps"}, asked


def test_each_object_is_followed_by_one_watch(at_rest):
    watches = Counter({key: count for key, count in requests(at_rest).items() if key[1] == "watch"})
    sidecars = {key[2]: count for key, count in watches.items() if key[0] == NAME}
    assert sidecars == {**dict.fromkeys(WEBHOOKS, 2 * PODS), "secrets": PODS, "configmaps": PODS}
    assert watches[f"{NAME}-reconciler", "watch", "leases"] == 1, "of the one that waits"


def test_a_further_pod_asks_by_watches_which_the_api_server_ends_seldom(at_rest):
    """Each watch is a request when the API server ends it. Both pods follow the same objects."""
    watches = [event for account, event in events(at_rest) if event["verb"] == "watch" and account in {NAME, VIEW}]
    counts = Counter((resource(event), (event.get("objectRef") or {}).get("name")) for event in watches)
    assert {count % PODS for count in counts.values()} == {0}, counts
    minutes = [int(parse_qs(urlsplit(event["requestURI"]).query)["timeoutSeconds"][0]) / 60 for event in watches]
    assert sum(1 / each for each in minutes) / PODS + FOLLOWED / READ_ANEW <= MOST, counts
