"""A day in a cluster: rules get strict step by step, one service is excepted for a time, a wrong rule is turned off.

Nothing restarts, and no call is lost. The gate and the reconciler have the rights of the chart. What the gate answers,
`modelgate check` says of the same files.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import threading
import time
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.e2e.client import connected
from tests.e2e.gate import CHECKOUT
from tests.e2e.models import model
from tests.e2e.processes import wait_until
from tests.e2e.programs import modelgate
from tests.e2e.reconciling import Reconciler
from tests.e2e.seeing import as_the_chart_lets_it
from tests.enforcement.policies import CRDS, enforcement, exception
from webhook import catalog
from webhook.admission import GroupVersionKind

KNOWN = catalog.load().find(GroupVersionKind("inference.llmkube.dev", "v1alpha1", "Model"))
TEAM, OTHER = "enforced-a", "enforced-b"
TEAM_A = {"matchLabels": {"team": "a"}}
FRACTION = {"hardware": {"memoryFraction": 1.5}}  # LK223
KINDS = ("enforcements.modelgate.dev", "policyexceptions.modelgate.dev")


def namespace(name, **labels):
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


@pytest.fixture(scope="module")
def team(plane):
    """Two namespaces, one of them of team a, and the definitions of Modelgate's own kinds."""
    plane.kubectl.send_all("create", [namespace(TEAM, team="a"), namespace(OTHER)])
    plane.kubectl("apply", "-f", str(Path(__file__).with_name("openreports.yaml")))
    yield plane.kubectl.within(TEAM)
    plane.kubectl("delete", "crd", *KINDS, "--ignore-not-found")
    plane.kubectl("delete", "namespace", TEAM, OTHER, "--wait=false")


@pytest.fixture(scope="module")
def running(plane, gate, team):  # noqa: ARG001
    """The gate, and beside it the reconciler, before the definitions are there."""
    gate.stop()
    gate.start("--view=live", f"--view-kubeconfig={as_the_chart_lets_it(plane)}", "--profile=standard")
    try:
        with Reconciler(plane, "--profile=standard", name="enforced") as reconciler:
            yield reconciler
    finally:
        gate.stop()
        gate.start()


@pytest.fixture
def client(plane):
    with connected(plane.kubeconfig) as found:
        yield found


def fraction(name, where=TEAM):
    """A Model with a fault of which the standard profile warns."""
    return model(name, spec=FRACTION, namespace=where)


def outcome(client, name="new-svc", where=TEAM):
    reply = client.create(KNOWN, fraction(name, where))
    if not reply.accepted:
        assert "(LK223)" in reply.body["message"], reply.body
        return "deny"
    return "warn" if any("(LK223)" in text for text in reply.warnings) else "silent"


def becomes(client, expected, name="new-svc", where=TEAM):
    """Wait for an outcome; returns the seconds that it took."""
    started = time.monotonic()
    wait_until(lambda: outcome(client, name, where) == expected, f"{expected} for {where}/{name}", seconds=10)
    return time.monotonic() - started


@contextmanager
def prober(plane):
    """Good Models without end; in the end, the replies that were no admission."""
    lost, count, stop = [], [], threading.Event()

    def probe():
        with connected(plane.kubeconfig) as own:
            while not stop.wait(0.05):
                reply = own.create(KNOWN, model("probe", namespace=OTHER))
                count.append(1)
                if not reply.accepted:
                    lost.append(reply.body)

    thread = threading.Thread(target=probe)
    thread.start()
    try:
        yield lost, count
    finally:
        stop.set()
        thread.join()


def by_check(plane, folder, name="new-svc", where=TEAM):
    """What `modelgate check` says of the same Model beside the same policies and namespaces."""
    there = [plane.kubectl.json("get", each)["items"] for each in (*KINDS, "namespaces")]
    (folder / "view.json").write_text(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": [*itertools.chain(*there)]})
    )
    (folder / "model.json").write_text(json.dumps(fraction(name, where)))
    flags = ("--no-config", f"--view={folder / 'view.json'}", "--references=open", "-o", "json")
    command = modelgate("check", *flags, str(folder / "model.json"))
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    (judged,) = json.loads(done.stdout)["objects"]
    if judged["verdict"] == "refused":
        return "deny"
    return "warn" if "LK223" in {each["code"] for each in judged["findings"]} else "silent"


def report_of(kubectl, name):
    """The result of LK223 in the Report about a Model, and the policy that it names."""
    for each in kubectl.json("get", "reports")["items"]:
        if each["scope"]["name"] == name:
            for result in each["results"]:
                if result["rule"] == "LK223":
                    assert (result["policy"], result["category"]) == ("LK223", "LLMKube")
                    assert result["timestamp"]["seconds"] > 0
                    assert each["summary"]["pass"] > 0
                    named = result.get("properties", {})
                    return result["result"], named.get("exception") or named.get("enforcement")
    return None


def fleet_digests(metrics):
    return {name for name in metrics if name.startswith("modelgate_fleet_info")}


def soon(seconds):
    return f"{datetime.now(UTC) + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%SZ}"


def test_a_day_in_a_cluster(plane, gate, team, running, client, tmp_path):
    kubectl = plane.kubectl
    before = gate.metrics()
    took = {}

    def change(step, obj, expected, **about):
        kubectl.send("apply", obj)
        took[step] = becomes(client, expected, **about)
        assert by_check(plane, tmp_path, **about) == expected, step

    with prober(plane) as (lost, count):
        assert outcome(client) == "warn"  # as without the kinds
        kubectl("apply", *(flag for file in sorted(CRDS.glob("*.yaml")) for flag in ("-f", str(file))))
        wait_until(lambda: kubectl.run("get", ",".join(KINDS)).code == 0, "the kinds to be served")
        change("audit everywhere", enforcement("everywhere", action="audit"), "silent")
        team.send("create", fraction("svc"))
        team.send("create", fraction("other"))
        wait_until(lambda: report_of(team, "svc") == ("warn", "everywhere"), "the Report of an audit")
        change("warn in team a", enforcement("team-a", action="warn", namespaceSelector=TEAM_A), "warn")
        assert outcome(client, where=OTHER) == "silent"
        change("deny in team a", enforcement("team-a", action="deny", namespaceSelector=TEAM_A), "deny")
        wait_until(lambda: report_of(team, "svc") == ("fail", None), "the Report of a denial")
        until = soon(25)
        service = exception("svc", codes=["LK223"], names=["svc", "new-svc"], namespaces=[TEAM], until=until)
        change("except one service", service, "silent")
        assert outcome(client, "new-other") == "deny"
        wait_until(lambda: report_of(team, "svc") == ("skip", "svc"), "the Report of an exception")
        wait_until(lambda: soon(0) >= until, "the end of the exception", seconds=60)
        took["the exception ends"] = becomes(client, "deny")
        wait_until(lambda: report_of(team, "svc") == ("fail", None), "the Report after the end")
        change("a wrong rule is off", enforcement("wrong", action="off", codes=["LK223"]), "silent")
        assert outcome(client, "new-other") == "silent"
    assert lost == []
    assert len(count) > 50
    after = gate.metrics()
    assert after['modelgate_exceptions_used_total{exception="svc"}'] >= 1
    assert after['modelgate_findings_total{action="audit",code="LK223"}'] >= 1
    assert after['modelgate_policies_in_force{kind="Enforcement"}'] == 3
    assert after["modelgate_policies_refused"] == 0
    assert fleet_digests(after).isdisjoint(fleet_digests(before))
    assert sum(each for name, each in after.items() if 'outcome="unavailable"' in name) == sum(
        each for name, each in before.items() if 'outcome="unavailable"' in name
    )
    reasons = {each["reason"] for each in kubectl.json("get", "events", "-n", "default")["items"]}
    assert {"ExceptionEnds", "ExceptionEnded"} <= reasons
    assert running.forbidden() == []
    assert max(took.values()) < 5, took  # 2 s on a machine of its own: docs/enforcement.md


def test_an_owner_of_a_namespace_tightens_by_a_label_and_a_rule_that_is_off_stays_off(plane, team, running, client):  # noqa: ARG001
    plane.kubectl("label", "namespace", OTHER, "modelgate.dev/profile=strict")
    becomes(client, "silent", where=OTHER)  # off
    plane.kubectl("delete", KINDS[0], "wrong")
    becomes(client, "deny", where=OTHER)
    plane.kubectl("label", "namespace", OTHER, "modelgate.dev/profile=audit", "--overwrite")
    becomes(client, "silent", where=OTHER)  # audit everywhere: no other value of the label counts


def test_a_tenant_may_write_neither_kind(plane, team, running):  # noqa: ARG001
    binding = ("create", "rolebinding", "owner", "--clusterrole=admin", "--user=tenant")
    team(*binding)
    for obj in (enforcement("t", action="off", codes=["LK223"]), exception("t", codes=["LK223"], namespaces=[TEAM])):
        answer = team.run("create", "-f", "-", "--as=tenant", stdin=json.dumps(obj))
        assert answer.code
        assert "forbidden" in answer.err


REFUSED = [
    (enforcement("all-off", action="off"), "off needs codes other than *"),
    (exception("all", codes=["*"], namespaces=["a"]), "* is every rule"),
    (exception("no-place", codes=["LK223"]), "give names, namespaces or namespaceSelector"),
    (exception("odd", codes=["lk223"], namespaces=["a"]), "should match"),
    (
        {**exception("endless", codes=["LK223"], namespaces=["a"])} | {"spec": {"codes": ["LK223"], "reason": "x"}},
        "until",
    ),
    (exception("late", codes=["LK223"], namespaces=["a"], from_="2999-01-01T00:00:00Z"), "from must be before until"),
]


@pytest.mark.parametrize(("obj", "text"), REFUSED, ids=[text for _, text in REFUSED])
def test_the_definitions_refuse_what_is_wrong(plane, team, running, obj, text):  # noqa: ARG001
    assert text in plane.kubectl.refusal("create", obj)


def test_odd_words_and_contradictions_are_told(plane, gate, team, running, client):  # noqa: ARG001
    odd = [enforcement("odd", action="deny", codes=["LK233"]), enforcement("twin", action="warn")]
    plane.kubectl.send_all("apply", odd)
    wait_until(lambda: '"LK233" is not a code of a rule; did you mean' in gate.log(), "the word to be told")
    wait_until(lambda: "Enforcement everywhere says audit of *" in gate.log(), "the contradiction to be told")
    assert gate.metrics()["modelgate_policies_odd"] == 3  # and the exception that has ended
    plane.kubectl("delete", KINDS[0], "odd", "twin")


def test_many_changes_in_a_second_end_in_the_last(plane, team, running, client):  # noqa: ARG001
    for action in ("deny", "warn", "audit", "deny", "warn", "audit", "deny", "warn"):
        plane.kubectl.send("apply", enforcement("team-a", action=action, namespaceSelector=TEAM_A))
    becomes(client, "warn")


def test_definitions_that_are_removed_while_the_gate_runs_leave_the_profile(plane, gate, team, running, client):
    with prober(plane) as (lost, _):
        plane.kubectl("delete", "crd", *KINDS)
        becomes(client, "warn")
        becomes(client, "warn", where=OTHER)
        assert gate.readiness()
    assert lost == []
    assert "Traceback" not in gate.log()
    assert "Traceback" not in running.log()
    assert team.find("model", "svc")
