"""A webhook configuration that was deleted comes back as the chart has it, and stays away where it has to."""

from __future__ import annotations

import copy
import json
import time
from contextlib import contextmanager

import pytest

from tests.e2e.gate import CHART, CHECKOUT, NAME, NAMESPACE
from tests.e2e.plane import Plane
from tests.e2e.processes import Process, wait_until
from tests.e2e.programs import modelgate
from tests.e2e.test_certs import kubeconfig_of

UPGRADE = ("upgrade", NAME, CHART, f"--namespace={NAMESPACE}", "--reset-then-reuse-values")
GUARD = [f"{kind}webhookconfiguration/{NAME}" for kind in ("mutating", "validating")]
EVERY = [*GUARD, *(f"{each}-policies" for each in GUARD)]
LATE = 6  # seconds: what is put back is there after five
TEMPLATE = ("configmap", f"{NAME}-webhooks", f"--namespace={NAMESPACE}")


@pytest.fixture(scope="module")
def bare(plane_assets):
    with Plane(plane_assets) as started:
        yield started


@pytest.fixture
def cluster(bare):
    bare.helm("install", NAME, CHART, f"--namespace={NAMESPACE}", "--create-namespace")
    yield bare
    if NAME in bare.helm("list", f"--namespace={NAMESPACE}", "--short"):
        bare.helm("uninstall", NAME, f"--namespace={NAMESPACE}")


@contextmanager
def sidecar(plane, folder):
    """What the container certs of a pod runs, with the chart's flags and its account's token only."""
    spec = plane.kubectl.json("get", "deployment", NAME, f"--namespace={NAMESPACE}")["spec"]["template"]["spec"]
    (container,) = [each for each in spec["containers"] if each["name"] == "certs"]
    own = {"--tls-dir=/tls": f"--tls-dir={folder}/tls", "--account-dir=/view": f"--account-dir={folder}/view"}
    flags = [
        own.get(each, each).replace("$(POD_NAME)", "pod-0").replace("$(POD_UID)", "1") for each in container["args"]
    ]
    token = plane.kubectl("create", "token", NAME, f"--namespace={NAMESPACE}").strip()
    environment = {"KUBECONFIG": str(kubeconfig_of(plane, token, folder)), "PYTHONPATH": str(CHECKOUT)}
    process = Process("certs", modelgate(*flags), folder / "certs.log", environment)
    try:
        wait_until(lambda: all(bundle(plane, each) for each in EVERY), "the bundles", watching=[process])
        yield process
    finally:
        process.stop()


def found(plane, name):
    return plane.kubectl.find(*name.split("/"))


def bundle(plane, name):
    there = found(plane, name)
    return there and there["webhooks"][0]["clientConfig"].get("caBundle")


def seconds_until_back(plane, names):
    start = time.monotonic()
    wait_until(lambda: all(bundle(plane, each) for each in names), "what was deleted")
    return time.monotonic() - start


def comparable(configuration):
    """Without what the API server assigns, and the owner."""
    left = copy.deepcopy(configuration)
    for key in ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "ownerReferences"):
        left["metadata"].pop(key, None)
    return left


def events(plane, reason):
    every = plane.kubectl.json("get", "events.events.k8s.io", f"--namespace={NAMESPACE}")["items"]
    return {
        (each["regarding"]["kind"], each["regarding"]["name"], each["type"])
        for each in every
        if each["reason"] == reason
    }


def test_what_was_deleted_is_back_within_five_seconds_as_helm_made_it(cluster, tmp_path):
    with sidecar(cluster, tmp_path) as process:
        before = [comparable(found(cluster, each)) for each in EVERY]
        cluster.kubectl("delete", *EVERY)
        assert seconds_until_back(cluster, EVERY) < 5
        assert [comparable(found(cluster, each)) for each in EVERY] == before
        kinds = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
        told = {(kind, name, "Normal") for kind in kinds for name in (NAME, f"{NAME}-policies")}
        wait_until(lambda: events(cluster, "ConfigurationRestored") == told, "an Event about each")
        assert (
            f"validating/{NAME}: the ValidatingWebhookConfiguration was deleted, and has been put back"
            in process.tail()
        )
        assert ("Secret", f"{NAME}-ca", "Normal") in events(cluster, "AuthorityChanged")


def test_the_next_upgrade_takes_what_was_put_back_and_the_bundle_stays(cluster, tmp_path):
    with sidecar(cluster, tmp_path):
        cluster.kubectl("delete", *GUARD)
        seconds_until_back(cluster, GUARD)
    trusted = bundle(cluster, GUARD[1])
    cluster.helm(*UPGRADE, "--set=webhooks.validating.failurePolicy=Ignore,webhooks.timeoutSeconds=7")
    after = found(cluster, GUARD[1])
    assert (after["webhooks"][0]["failurePolicy"], after["webhooks"][0]["timeoutSeconds"]) == ("Ignore", 7)
    assert bundle(cluster, GUARD[1]) == trusted
    assert "ownerReferences" not in after["metadata"]


@pytest.mark.long
def test_what_an_upgrade_that_is_not_finished_has_changed_comes_back_changed(cluster, tmp_path):
    """The pods before the upgrade put back what the release has now."""
    with sidecar(cluster, tmp_path):
        cluster.helm(*UPGRADE, "--set=webhooks.timeoutSeconds=9")
        cluster.kubectl("delete", *GUARD)
        seconds_until_back(cluster, GUARD)
        assert {found(cluster, each)["webhooks"][0]["timeoutSeconds"] for each in GUARD} == {9}


def test_an_uninstalled_release_stays_away(cluster, tmp_path):
    with sidecar(cluster, tmp_path) as process:
        cluster.helm("uninstall", NAME, f"--namespace={NAMESPACE}")
        end = time.monotonic() + LATE
        while time.monotonic() < end:
            assert [each for each in EVERY if found(cluster, each)] == []
            time.sleep(0.3)
        process.check()


@pytest.mark.long
def test_what_was_put_back_in_the_last_moment_goes_with_the_release(cluster, tmp_path):
    """An uninstallation that takes long: the configurations are gone, and what they come back from is not, yet."""
    with sidecar(cluster, tmp_path):
        cluster.kubectl("delete", *EVERY)
        seconds_until_back(cluster, EVERY)
        cluster.kubectl("delete", "clusterrole", NAME)
        wait_until(lambda: not [each for each in EVERY if found(cluster, each)], "their owner's end")


def test_break_glass_is_one_command_more_and_helm_ends_it(cluster, tmp_path):
    with sidecar(cluster, tmp_path) as process:
        cluster.kubectl("delete", *TEMPLATE)
        cluster.kubectl("delete", *EVERY)
        time.sleep(LATE)
        assert [each for each in EVERY if found(cluster, each)] == []
        said = f"without the ConfigMap {NAMESPACE}/{NAME}-webhooks it does not come back"
        wait_until(lambda: said in process.tail(), "the reason", 40)
        missing = ("ValidatingWebhookConfiguration", NAME, "Warning")
        wait_until(lambda: missing in events(cluster, "BundleNotPublished"), "an Event about it")
        cluster.helm(*UPGRADE)
        assert seconds_until_back(cluster, EVERY) < 5


def test_what_an_administrator_changed_is_an_event_and_a_state_until_it_is_as_before(cluster, tmp_path):
    def states():
        return json.loads((tmp_path / "tls" / "status.json").read_text())["configurations"]

    condition = [{"name": "never", "expression": "false"}]
    changed = [{"op": "add", "path": "/webhooks/0/matchConditions", "value": condition}]
    gone = [{"op": "remove", "path": "/webhooks/0/matchConditions"}]
    with sidecar(cluster, tmp_path) as process:
        assert states()[f"mutating/{NAME}"] == "current"
        cluster.kubectl("patch", *GUARD[0].split("/"), "--type=json", f"--patch={json.dumps(changed)}")
        told = {("MutatingWebhookConfiguration", NAME, "Warning")}
        wait_until(lambda: events(cluster, "ConfigurationChanged") == told, "an Event about it", 40)
        said = f"mutating/{NAME}: not as the release has it: webhooks[0].matchConditions changed by kubectl-patch."
        assert said in process.tail()
        wait_until(lambda: states()[f"mutating/{NAME}"] == "changed", "the state for the server")
        assert states()[f"validating/{NAME}"] == "current"
        cluster.kubectl("patch", *GUARD[0].split("/"), "--type=json", f"--patch={json.dumps(gone)}")
        wait_until(lambda: states()[f"mutating/{NAME}"] == "current", "the end of it")


@pytest.mark.long
def test_a_pod_that_starts_puts_back_what_was_deleted_while_none_ran(cluster, tmp_path):
    with sidecar(cluster, tmp_path):
        pass
    cluster.kubectl("delete", *EVERY)
    with sidecar(cluster, tmp_path):
        assert all(bundle(cluster, each) for each in EVERY)


CHANGES = {
    "a URL instead of the Service": [
        {"op": "remove", "path": "/webhooks/0/clientConfig/service"},
        {"op": "add", "path": "/webhooks/0/clientConfig/url", "value": "https://127.0.0.1:9999/validate"},
    ],
    "what the chart does not set": [
        {"op": "add", "path": "/webhooks/0/matchConditions", "value": [{"name": "never", "expression": "false"}]},
        {"op": "add", "path": "/webhooks/0/objectSelector", "value": {"matchLabels": {"gate": "on"}}},
    ],
    "what the chart sets": [
        {"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Ignore"},
        {"op": "replace", "path": "/webhooks/0/rules/0/operations", "value": ["CREATE"]},
        {"op": "remove", "path": "/webhooks/0/rules/1"},
    ],
    "a second webhook": [
        {
            "op": "add",
            "path": "/webhooks/0",
            "value": {
                "name": "first.example.com",
                "clientConfig": {"url": "https://127.0.0.1:9999/"},
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
            },
        }
    ],
}


def changed(plane, name, operations):
    plane.kubectl("patch", *name.split("/"), "--type=json", f"--patch={json.dumps(operations)}")


def test_what_was_changed_is_put_right_where_that_is_wanted_and_the_next_upgrade_has_no_conflict(cluster, tmp_path):
    """By the account of the sidecar, so as its guard allows it. The upgrade changes what was changed, without force."""
    cluster.helm(*UPGRADE, "--set=webhooks.restore=changed")
    with sidecar(cluster, tmp_path) as process:
        before = {each: comparable(found(cluster, each)) for each in GUARD}
        for name, changes in zip(GUARD, (list(CHANGES)[1::2], list(CHANGES)[::2]), strict=True):
            changed(cluster, name, [operation for each in changes for operation in CHANGES[each]])
            assert comparable(found(cluster, name)) != before[name]
        for name in GUARD:
            wait_until(lambda name=name: comparable(found(cluster, name)) == before[name], name, 60)
        text = "webhooks[0].clientConfig.url changed by kubectl-patch"
        wait_until(
            lambda: text in process.log.read_text() and f"mutating/{NAME}: the Mut" in process.log.read_text(), text
        )
    for each in GUARD:
        whole = cluster.kubectl.json("get", *each.split("/"), "--show-managed-fields")
        managers = {one["manager"] for one in whole["metadata"]["managedFields"]}
        assert managers <= {"helm", "modelgate-certs"}
    cluster.helm(*UPGRADE, "--set=webhooks.validating.failurePolicy=Ignore,webhooks.mutating.failurePolicy=Fail")


def test_the_account_may_give_back_what_the_chart_has_and_nothing_else(cluster):
    account = f"--as=system:serviceaccount:{NAMESPACE}:{NAME}"
    half = [{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Ignore"}]
    whole = [{**half[0], "value": "Fail"}]

    def patch(operations):
        return cluster.kubectl.run(
            "patch", *GUARD[1].split("/"), "--type=json", f"--patch={json.dumps(operations)}", account
        )

    cluster.helm(*UPGRADE, "--set=webhooks.restore=changed")
    wait_until(lambda: "changes caBundle only" in patch(half).err, "the guard")
    changed(cluster, GUARD[1], half)
    wait_until(lambda: patch(whole).code == 0, "the guard of the value")
    cluster.helm(*UPGRADE, "--set=webhooks.restore=deleted", "--force-conflicts")

    def refused():
        changed(cluster, GUARD[1], half)
        return "changes caBundle only" in patch(whole).err

    wait_until(refused, "the guard of another value")


def test_without_the_value_nothing_may_be_made_and_nothing_is(cluster):
    cluster.helm(*UPGRADE, "--set=webhooks.restore=false")
    account = f"--as=system:serviceaccount:{NAMESPACE}:{NAME}"
    assert cluster.kubectl.run("auth", "can-i", "create", GUARD[0], account).out == "no\n"
