"""What is wrong in a cluster is named with its cause, and the commands that `modelgate doctor` prints end it.

`doctored` has the states. Some are made together, of which no two are about the same thing; `make e2e-long` makes each
of all by itself.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
from typing import NamedTuple

import pytest

from tests.e2e.client import connected
from tests.e2e.crds import install_crds
from tests.e2e.doctored import FOLLOWING, STATES
from tests.e2e.gate import CHART
from tests.e2e.machine import Unavailable
from tests.e2e.plane import Plane
from tests.e2e.pretend import ROUTED, is_settled, own_address, released
from tests.e2e.processes import wait_until
from webhook.cli import main

TOGETHER = {
    "changed by hand": (
        *("url", "fails closed", "timeoutSeconds", "a long timeout", "left over", "Service selector", "second budget"),
        *("webhook without a Service", "paused", "old reconciler", "binding of the view", "guard audits"),
        *("version not served", "egress denied"),
    ),
    "by patches": (
        *("operations", "second webhook", "policies over pods", "flag", "flag of the other program", "memory", "root"),
        *("budget of nothing", "webhook without a pod", "administrator"),
    ),
    "by helm": ("interrupted upgrade", "template", "secrets", "no liveness probe"),
    "by values": ("reference without a right",),
    "stuck": ("broken image", "objectSelector", "condition"),
    "deleted": ("gate deleted",),
}
ALONE = sorted({*STATES} - {name for names in TOGETHER.values() if len(names) == 1 for name in names})
SECONDS = 120


class Fault(NamedTuple):
    """A finding of doctor."""

    level: str
    check: str
    about: str
    what: str
    run: str


@pytest.fixture(scope="module")
def cluster(plane_assets, tmp_path_factory):
    try:
        own_address()
    except Unavailable as reason:
        pytest.skip(str(reason))
    with Plane(plane_assets, flags=ROUTED) as plane:
        install_crds(plane.kubectl)
        plane.search_path = plane_assets.search_path()
        with released(plane, tmp_path_factory.mktemp("pods")):
            wait_until(lambda: is_settled(plane), "the pods")
            yield plane


def doctor(plane):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        code = main(["doctor", f"--kubeconfig={plane.kubeconfig}", "--output=json"])
    found = json.loads(printed.getvalue())["findings"]
    assert code == any(each["level"] == "error" for each in found)
    return [Fault(*(each[key] for key in Fault._fields)) for each in found]


def obey(plane, faults):
    """Run the commands of some findings, as a shell does."""
    environment = os.environ | {"KUBECONFIG": str(plane.kubeconfig), "PATH": plane.search_path}
    for command in dict.fromkeys(fault.run for fault in faults if fault.run):
        shell = ["sh", "-c", command.replace(" CHART ", f" {CHART} ")]
        done = subprocess.run(shell, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (command, done.stderr)


def unlike(states, faults):
    """What is not as the states say; "" if all is."""
    causes = {state.check for state in states}
    for state in states:
        if state.check and not any((state.check, True) == (each.check, state.about in each.about) for each in faults):
            return f"no {state.check} about {state.about!r}"
    if other := {each.check for each in faults} - causes - FOLLOWING.union(*(state.follows for state in states)):
        return f"{other} found"
    order = [each.check in causes for each in faults]
    return "" if order == sorted(order, reverse=True) else "a cause after what follows from it"


def made(plane, makes):
    """The API server ends connections that are long at rest, so that each use has its own."""
    with connected(plane.kubeconfig) as client:
        for make in filter(None, makes):
            make(plane, client)


def examined(plane, names):
    states = [STATES[name] for name in names]
    made(plane, [state.make for state in states])
    faults, seen = [], []

    def are_named():
        faults[:] = doctor(plane)
        seen[:] = [unlike(states, faults), *faults]
        return not seen[0]

    try:
        wait_until(are_named, "the causes", SECONDS)
    finally:
        if any(seen[:1]):
            print("\n".join(map(str, seen)))
    for state in states:
        assert state.end or not state.check or any(each.run for each in faults if each.check == state.check), state
    obey(plane, faults)
    made(plane, [make for state in states for make in (state.end, state.after)])
    becomes_clean(plane)


def becomes_clean(plane):
    """Wait until doctor finds nothing; print what it finds to the last."""
    faults = []

    def is_clean():
        faults[:] = doctor(plane) if is_settled(plane) else ["not settled"]
        return not faults

    try:
        wait_until(is_clean, "a release in which nothing is wrong", SECONDS)
    finally:
        print("\n".join(map(str, faults)))


def test_nothing_is_wrong_with_a_release(cluster):
    becomes_clean(cluster)


@pytest.mark.parametrize("names", TOGETHER.values(), ids=TOGETHER)
def test_causes_are_named_and_their_commands_end_them(cluster, names):
    examined(cluster, names)


@pytest.mark.long
@pytest.mark.parametrize("name", ALONE)
def test_the_cause_of_each_state_is_named_first_and_its_command_ends_it(cluster, name):
    examined(cluster, [name])
