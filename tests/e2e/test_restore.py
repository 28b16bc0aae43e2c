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
        assert f"mutating/{NAME}: not as the release has it: matchConditions." in process.tail()
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


def test_without_the_value_nothing_may_be_made_and_nothing_is(cluster):
    cluster.helm(*UPGRADE, "--set=webhooks.restore=false")
    assert cluster.kubectl.find("configmap", TEMPLATE[1]) is None
    account = f"--as=system:serviceaccount:{NAMESPACE}:{NAME}"
    assert cluster.kubectl.run("auth", "can-i", "create", GUARD[0], account).out == "no\n"
