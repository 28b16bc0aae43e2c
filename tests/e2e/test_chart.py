"""The chart on a real API server, for a kind that only this test defines, without a running gate."""

from __future__ import annotations

import json

import pytest

from tests.e2e.processes import wait_until
from tests.e2e.widgets import CHART, GUARDED, definition, widget

NAMESPACE = "guarded"
FINALIZER = "widgets.example/wait"


@pytest.fixture(scope="module")
def release(plane):
    """The chart, installed by helm; its pods never run, since there is no node."""
    plane.kubectl.send("create", definition())
    plane.kubectl("wait", "--for=condition=Established", "crd/widgets.widgets.example", "--timeout=30s")
    plane.helm("install", "guard", CHART, f"--namespace={NAMESPACE}", "--create-namespace", GUARDED)
    yield plane.kubectl.within(NAMESPACE)
    plane.helm("uninstall", "guard", f"--namespace={NAMESPACE}")
    plane.kubectl("delete", "crd/widgets.widgets.example", "--wait=false")
    plane.kubectl("delete", "namespace", NAMESPACE, "--wait=false")


@pytest.fixture(scope="module")
def older(release, plane):
    """A Widget that was there before the validating webhook failed closed, with a finalizer."""
    flags = [GUARDED, f"--namespace={NAMESPACE}"]
    plane.helm("upgrade", "guard", CHART, "--set=webhooks.validating.failurePolicy=Ignore", *flags)
    wait_until(
        lambda: release.run("create", "-f", "-", stdin=json.dumps(widget("probe"))).code == 0, "the gate to fail open"
    )
    release.send("create", widget("older", finalizers=[FINALIZER]))
    plane.helm("upgrade", "guard", CHART, *flags)
    wait_until(lambda: release.run("label", "widget/probe", "a=b", "--overwrite").code != 0, "the gate to fail closed")
    return release


def test_while_the_gate_is_away_its_kinds_are_refused_and_say_by_whom(older):
    assert "validate.modelgate.dev" in older.refusal("create", widget("new"))
    assert "validate.modelgate.dev" in older.run("label", "widget/older", "a=b").err


def test_while_the_gate_is_away_everything_else_passes(older):
    older("create", "configmap", "untouched")
    older("create", "serviceaccount", "untouched")
    older("create", "deployment", "untouched", "--image=localhost/none")
    older("delete", "configmap/untouched", "serviceaccount/untouched", "deployment/untouched", "--wait=false")


def test_while_the_gate_is_away_what_is_being_deleted_can_go_but_not_change(older):
    older("delete", "widget/older", "--wait=false")
    with pytest.raises(AssertionError, match=r"validate\.modelgate\.dev"):
        older.patch("widget", "older", {"spec": {"size": 2}})
    with pytest.raises(AssertionError, match=r"validate\.modelgate\.dev"):
        older.patch("widget", "older", {"spec": None})
    older.patch("widget", "older", {"metadata": {"finalizers": None}})
    wait_until(lambda: older.find("widget", "older") is None, "the Widget to be gone")
