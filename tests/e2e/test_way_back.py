"""What is documented for the worst hour is run: break-glass, its end, and what a failed upgrade leaves behind."""

from __future__ import annotations

import json
import re

import pytest

from tests.e2e.gate import CHART, CHECKOUT, NAME, NAMESPACE
from tests.e2e.kubectl import Refused
from tests.e2e.plane import Plane
from tests.e2e.test_install import diagnosed

UPGRADE = ("upgrade", NAME, CHART, f"--namespace={NAMESPACE}", "--reset-then-reuse-values")
PODS = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingAdmissionPolicy",
    "metadata": {"name": "pods"},
    "spec": {
        "matchConstraints": {
            "resourceRules": [
                {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
            ]
        },
        "validations": [{"expression": "true"}],
    },
}
POLICIES = (
    f"--set-json=policies.documents={json.dumps({'pods.yaml': json.dumps(PODS)})}",
    f"--set-json=policies.rules={json.dumps(PODS['spec']['matchConstraints']['resourceRules'])}",
    "--set=policies.failurePolicy=Fail",
)


@pytest.fixture(scope="module")
def bare(plane_assets):
    with Plane(plane_assets) as started:
        yield started


@pytest.fixture
def cluster(bare):
    """A plane with a release whose pods never start: here it is about configurations."""
    bare.helm("install", NAME, CHART, f"--namespace={NAMESPACE}", "--create-namespace")
    yield bare
    if NAME in bare.helm("list", f"--namespace={NAMESPACE}", "--short"):
        bare.helm("uninstall", NAME, f"--namespace={NAMESPACE}")
    bare.kubectl("delete", *both(f"{NAME}-policies"), "--ignore-not-found")


def both(name):
    return [f"{kind}webhookconfiguration/{name}" for kind in ("mutating", "validating")]


def failure_policy(cluster):
    found = cluster.kubectl.json("get", f"validatingwebhookconfiguration/{NAME}")
    return found["webhooks"][0]["failurePolicy"]


def documented(number):
    """The kubectl commands of a step of the section Break-glass, without the name of the program."""
    page = (CHECKOUT / "docs/operations.md").read_text().partition("## Break-glass")[2].partition("\n## ")[0]
    step = page.partition(f"\n{number}. ")[2].partition(f"\n{number + 1}. ")[0]
    commands = re.findall(r"^ +kubectl (.+)$", step.replace("\\\n", " "), re.MULTILINE)
    return [[word.strip("'") for word in re.findall(r"'[^']*'|\S+", command)] for command in commands]


def run(cluster, number):
    """A step of that section."""
    for command in documented(number):
        cluster.kubectl(*command)


def test_break_glass_and_its_end_are_the_commands_of_the_page(cluster):
    run(cluster, 2)
    assert failure_policy(cluster) == "Ignore"
    assert "configuration-changed" in {check for check, _ in diagnosed(cluster)}
    with pytest.raises(Refused, match="conflict with"):
        cluster.helm(*UPGRADE)
    cluster.helm(*UPGRADE, "--force-conflicts")
    assert failure_policy(cluster) == "Fail"
    cluster.helm(*UPGRADE)
    assert not {"configuration-changed", "fails-open"} & {check for check, _ in diagnosed(cluster)}


def test_configurations_that_were_deleted_to_get_the_gate_out_of_the_way_come_back(cluster):
    run(cluster, 1)
    assert "configuration-missing" in {check for check, _ in diagnosed(cluster)}
    cluster.helm(*UPGRADE, "--force-conflicts")
    assert failure_policy(cluster) == "Fail"


EXCLUDED = json.dumps(
    {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["rescue"]}]},
    separators=(",", ":"),
)


@pytest.mark.parametrize(
    ("begin", "end", "check"),
    [
        ("--set=gate.profile=audit", "--set=gate.profile=standard", "only-warns"),
        (
            f"--set-json=webhooks.namespaceSelector={EXCLUDED}",
            "--set-json=webhooks.namespaceSelector=null",
            "namespace-excluded",
        ),
    ],
)
def test_a_state_of_an_upgrade_is_told_and_ended_by_the_words_of_the_page(cluster, begin, end, check):
    page = (CHECKOUT / "docs/operations.md").read_text()
    for flag in (begin, end):
        name, _, value = flag.partition("=")
        assert f"{name} {value}" in page or f"{name} '{value}'" in page
    cluster.helm(*UPGRADE, "--force-conflicts", begin)
    assert check in {found for found, _ in diagnosed(cluster)}
    cluster.helm(*UPGRADE, "--force-conflicts")
    assert check in {found for found, _ in diagnosed(cluster)}, "it is a value, so it stays"
    cluster.helm(*UPGRADE, "--force-conflicts", end)
    assert check not in {found for found, _ in diagnosed(cluster)}


@pytest.mark.parametrize(
    "change", [("scale", "deployment", NAME, "--replicas=3"), ("set", "env", f"deployment/{NAME}", "X=y")]
)
def test_a_change_by_hand_is_taken_back_by_force(cluster, change):
    cluster.kubectl(*change, f"--namespace={NAMESPACE}")
    cluster.helm(*UPGRADE, "--force-conflicts")
    spec = cluster.kubectl.json("get", "deployment", NAME, f"--namespace={NAMESPACE}")["spec"]
    assert spec["replicas"] == 2


def called_for_policies(cluster):
    """The webhooks for users' policies that are called for something."""
    found = cluster.kubectl.json("get", *both(f"{NAME}-policies"))["items"]
    return [hook["name"] for each in found for hook in each["webhooks"] if hook.get("rules")]


def test_an_upgrade_that_fails_leaves_no_webhook_that_the_next_one_and_the_end_do_not_take_away(cluster):
    """Helm compares with the last upgrade that ended well, and does not see what the one that failed has made."""
    run(cluster, 2)
    with pytest.raises(Refused, match="conflict with"):
        cluster.helm(*UPGRADE, *POLICIES)
    assert called_for_policies(cluster), "half of it is applied"
    cluster.helm(*UPGRADE[:-1], "--reset-values", "--force-conflicts")
    assert called_for_policies(cluster) == []
    assert "left-over" not in {check for check, _ in diagnosed(cluster)}
    cluster.helm("uninstall", NAME, f"--namespace={NAMESPACE}")
    assert {check for check, _ in diagnosed(cluster)} == {"gate-missing"}


def test_a_rollback_of_an_upgrade_that_failed_takes_its_webhooks_away(cluster):
    cluster.kubectl("scale", "deployment", NAME, "--replicas=3", f"--namespace={NAMESPACE}")
    with pytest.raises(Refused, match="conflict with"):
        cluster.helm(*UPGRADE, *POLICIES, "--set=gate.replicas=4")
    cluster.helm("rollback", NAME, "1", f"--namespace={NAMESPACE}", "--force-conflicts")
    assert called_for_policies(cluster) == []


def test_webhooks_without_a_release_are_named_with_the_command_that_deletes_them(cluster):
    """As the charts before 0.2 left them."""
    guard = f"mutatingwebhookconfiguration/{NAME}"
    orphan = cluster.kubectl.json("get", guard)
    orphan["metadata"] = {"name": "before", "labels": orphan["metadata"]["labels"]}
    cluster.kubectl.send("create", orphan)
    assert ("left-over", "MutatingWebhookConfiguration before") in diagnosed(cluster)
    cluster.helm("uninstall", NAME, f"--namespace={NAMESPACE}")
    assert {check for check, _ in diagnosed(cluster)} == {"gate-missing", "left-over"}
    cluster.kubectl("delete", "mutatingwebhookconfiguration", "before")
    assert {check for check, _ in diagnosed(cluster)} == {"gate-missing"}


def patched(kind, name, *operations):
    return "patch", kind, name, "--type=json", f"-p={json.dumps(operations)}"


def put(path, value):
    return {"op": "replace", "path": path, "value": value}


VALIDATING, MUTATING = ((f"{kind}webhookconfiguration", NAME) for kind in ("validating", "mutating"))
EVERYTHING = (put("/webhooks/0/rules/0/apiGroups", ["*"]), put("/webhooks/0/rules/0/resources", ["*"]))
SELECTOR = put("/webhooks/0/namespaceSelector", {"matchLabels": {"a": "b"}})
FIELDS = (
    patched(*VALIDATING, *EVERYTHING),
    patched(*MUTATING, put("/webhooks/0/rules/1/operations", ["CREATE"])),
    patched(*MUTATING, SELECTOR),
    patched(*MUTATING, put("/webhooks/0/timeoutSeconds", 30)),
)
CHANGED = {
    "configuration-missing": ("delete", f"mutatingwebhookconfiguration/{NAME}-policies"),
    "service-wrong": patched("service", NAME, put("/spec/selector", {"app": "other"})),
    "right-missing": patched("clusterrole", f"{NAME}-view", put("/rules", [])),
    "guard-missing": ("delete", f"validatingadmissionpolicybinding/{NAME}-ca-bundle-only"),
    "network-closed": patched("networkpolicy", NAME, put("/spec/ingress/0/ports/0/port", 1)),
}


def test_each_change_by_hand_is_found_and_taken_back_by_the_upgrade_that_doctor_and_page_name(cluster):
    usual = diagnosed(cluster)
    for change in (*FIELDS, *CHANGED.values()):
        cluster.kubectl(*change, f"--namespace={NAMESPACE}")
    findings = diagnosed(cluster)
    assert {check for check, _ in findings} >= {"configuration-changed", *CHANGED}
    changed = {about.split(" ")[0] for check, about in findings if check == "configuration-changed"}
    assert changed == {"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}
    cluster.helm(*UPGRADE, "--force-conflicts")
    assert diagnosed(cluster) == usual
