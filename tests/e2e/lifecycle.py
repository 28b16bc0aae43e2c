"""The life of a release under load: whatever is done to it, no call fails, or a metric says why it may.

Objects are created at a steady rate from before the installation until after the removal. Each step of ``STEPS`` is one
thing that an administrator does, or that happens to the release. A call may fail only while the API server has a
webhook that it cannot call yet: after an installation that fails closed at once, and after a configuration was made
again, until its bundle is back.

    MODELGATE_E2E=require python -m tests.e2e.lifecycle
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.e2e.assets import assets
from tests.e2e.crds import install_crds
from tests.e2e.gate import CHART, NAME, NAMESPACE, in_effect, out_of_effect
from tests.e2e.image import IMAGE, build
from tests.e2e.kubectl import Object
from tests.e2e.load import Call, load
from tests.e2e.models import model
from tests.e2e.node import Node
from tests.e2e.processes import wait_until
from tests.e2e.release import GATES

__all__ = ["SHORT", "STEPS", "Life", "Span", "lived", "living", "unexcused"]

RATE = 60  # creations a second: 120 calls of the gate
ALARM = 10  # seconds until a metric tells of a configuration that is gone
TEAM = "life"
PATH = f"/apis/inference.llmkube.dev/v1alpha1/namespaces/{TEAM}/models"
KINDS = ("mutating", "validating")
EVERYTHING = (
    "configmaps,deployments,leases,networkpolicies,poddisruptionbudgets,pods,rolebindings,roles,secrets,serviceaccounts,"
    "services,clusterrolebindings,clusterroles,mutatingwebhookconfigurations,validatingadmissionpolicies,"
    "validatingadmissionpolicybindings,validatingwebhookconfigurations"
)
CA_ENDS = re.compile(r"^modelgate_ca_not_after_seconds (\S+)$", re.MULTILINE)

BROKEN = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: broken}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [inference.llmkube.dev], apiVersions: [v1alpha1], operations: [CREATE], resources: [models]}
  validations:
  - {expression: object.spec.source <= <= 1}
"""


@dataclass
class Span:
    """A step. ``excused`` is the time in which its calls may fail; all times in seconds of the monotonic clock."""

    name: str
    start: float
    end: float = 0.0
    excused: tuple[float, float] | None = None
    alarmed: float | None = None  # seconds until a metric told, where one has to
    trusted: float | None = None  # seconds until a new bundle was in the configurations

    def excuses(self, call: Call) -> bool:
        if self.excused is None:
            return False
        begin, end = self.excused
        return begin <= call.answered and call.sent <= end and "validate.modelgate.dev" in call.message

    def row(self, calls: list[Call]) -> str:
        """One line about it and its calls."""
        mine = [each for each in calls if self.start <= each.sent < self.end]
        failed = [each for each in mine if each.code != 201]
        allowed = sum(map(self.excuses, failed))
        words = [f"{self.name}: {self.end - self.start:.0f} s, calls {len(mine)}, failed {len(failed) - allowed}"]
        if allowed:
            words.append(f"refused for {failed[-1].answered - failed[0].sent:.1f} s as it has to be {allowed}")
        if self.alarmed is not None:
            words.append(f"a metric tells after {self.alarmed:.1f} s")
        if self.trusted is not None:
            words.append(f"the new bundle is there after {self.trusted:.1f} s")
        return ", ".join(words)


class Life:
    """A release on a node, and what is done to it."""

    def __init__(self, node: Node, image: str) -> None:
        self.node = node
        self.release = node.kubectl.within(NAMESPACE)
        self._image = image
        self._ca_ends: set[str] = set()
        self._span = Span("", 0.0)

    def spans(self, names: Iterable[str]) -> Iterator[Span]:
        """Take the steps of these names, one after another."""
        for name in names:
            span = self._span = Span(name, time.monotonic())
            STEPS[name](self)
            span.end = time.monotonic()
            yield span

    def install(self) -> None:
        """As for a cluster with traffic: failing open until the gate answers, and closed from then on."""
        self._install("webhooks.validating.failurePolicy=Ignore")
        self._upgrade("webhooks.validating.failurePolicy=Fail")

    def install_closed(self) -> None:
        """With the defaults: what is guarded waits until the first pod is ready."""
        start = time.monotonic()
        self._install()
        self._span.excused = start, time.monotonic()

    def upgrade(self) -> None:
        self._upgrade("gate.profile=strict")

    def rollback(self) -> None:
        self._helm("rollback")
        self._in_effect()

    def break_policies(self) -> None:
        """The upgrade fails. Pods with the policies before serve, also one that is made now."""
        documents = json.dumps({"mine.yaml": BROKEN})
        flags = [f"--namespace={NAMESPACE}", "--reset-then-reuse-values", f"--set-json=policies.documents={documents}"]
        answer = self.node.helm.run("upgrade", NAME, CHART, *flags, "--wait", "--timeout=20s")
        assert answer.code, f"a broken policy was installed: {answer.out}"
        before = {each["metadata"]["name"] for each in self._ready()}
        assert len(before) == self.release.json("get", "deployment", NAME)["spec"]["replicas"]
        self.release("delete", "pod", min(before), "--wait=false")

        def another() -> bool:
            now = {each["metadata"]["name"] for each in self._ready()}
            return len(now - before) == 1

        wait_until(another, "a pod instead of the one that was deleted", 60)
        self._in_effect()

    def delete_secret(self) -> None:
        """Another CA is made, and trusted beside the one before."""
        bundles = {kind: self._bundle(kind) for kind in KINDS}
        self._ca_ends = self._served()
        start = time.monotonic()
        self.release("delete", "secret", f"{NAME}-ca")
        wait_until(lambda: all(self._bundle(kind) not in {"", bundles[kind]} for kind in KINDS), "another CA", 60)
        self._span.trusted = time.monotonic() - start

    def change_leaves(self) -> None:
        """After that, every pod takes a certificate of the new CA."""
        wait_until(lambda: not self._served() & self._ca_ends, "certificates of the new CA", 120)

    def delete_configuration(self, kind: str) -> None:
        """It is put back, with its bundle. Objects pass meanwhile, and no call fails."""
        start = time.monotonic()
        self.node.kubectl("delete", f"{kind}webhookconfiguration", NAME)
        wait_until(lambda: self._bundle(kind), "the configuration", 60)
        self._span.trusted = time.monotonic() - start
        self._in_effect()

    def break_glass(self) -> None:
        """As docs/operations.md has it. A metric of each gate tells, and everything passes."""
        start = time.monotonic()
        self.release("delete", "configmap", f"{NAME}-webhooks")
        self.node.kubectl("delete", *(f"{kind}webhookconfiguration/{NAME}" for kind in KINDS))
        absent = [f'modelgate_ca_bundle_state{{configuration="{kind}/{NAME}",state="absent"}} 1' for kind in KINDS]
        wait_until(lambda: all(each in text for text in self._metrics() for each in absent), "all gates to tell", 60)
        self._span.alarmed = time.monotonic() - start
        wait_until(lambda: out_of_effect(self.node.kubectl), "the gate to be out of the way")

    def end_break_glass(self) -> None:
        """Until the bundle is there, a call may fail: Helm makes the configurations without it."""
        start = time.monotonic()
        self._upgrade(flags=("--force-conflicts",))
        self._span.excused = start, time.monotonic()

    def fail_upgrade(self) -> None:
        """The gate was scaled by hand: Helm refuses, when half of the upgrade is applied."""
        self.release("scale", "deployment", NAME, "--replicas=3")
        rules = [{"apiGroups": ["inference.llmkube.dev"], "apiVersions": ["*"], "resources": ["models/status"]}]
        given = json.dumps({"documents": {"mine.yaml": BROKEN.replace("<= <=", "<=")}, "rules": rules})
        flags = (f"--namespace={NAMESPACE}", "--reset-then-reuse-values", f"--set-json=policies={given}")
        answer = self.node.helm.run("upgrade", NAME, CHART, *flags, "--wait", "--timeout=20s")
        assert "conflict" in answer.err, answer
        self._in_effect()

    def upgrade_after_it(self) -> None:
        self._upgrade(flags=("--force-conflicts",))
        found = self.node.kubectl.json("get", *(f"{kind}webhookconfiguration/{NAME}-policies" for kind in KINDS))
        assert not [hook for each in found["items"] for hook in each["webhooks"] if hook.get("rules")]

    def uninstall(self) -> None:
        """Nothing of the release is left but the CA and the Lease, which the notes name, and what docs/operations.md
        says to delete after an upgrade that failed.
        """
        self._helm("uninstall")
        wait_until(lambda: out_of_effect(self.node.kubectl), "the API server to forget the gate")
        self.release("wait", "--for=delete", "pod", "--all", "--timeout=60s")
        ours = f"--selector=app.kubernetes.io/name={NAME}"
        self.release("delete", "configmap", ours)
        left = self.release("get", EVERYTHING, ours, "--output=name").split()
        assert left == [f"secret/{NAME}-ca"], left

    def _install(self, *sets: str) -> None:
        repository, _, tag = self._image.rpartition(":")
        given = (f"image.repository={repository}", f"image.tag={tag}", *sets)
        self._helm("install", str(CHART), *(f"--set={each}" for each in given))
        self._in_effect()

    def _upgrade(self, *sets: str, flags: Iterable[str] = ()) -> None:
        self._helm("upgrade", str(CHART), "--reset-then-reuse-values", *(f"--set={each}" for each in sets), *flags)
        self._in_effect()

    def _helm(self, verb: str, *flags: str) -> None:
        self.node.helm(verb, NAME, *flags, f"--namespace={NAMESPACE}", "--wait", "--timeout=2m")

    def _in_effect(self) -> None:
        wait_until(lambda: in_effect(self.node.kubectl), "the API server to call the gate")

    def _ready(self) -> list[Object]:
        """The pods that serve."""
        pods = self.release.json("get", "pods", GATES)["items"]
        return [each for each in pods if "deletionTimestamp" not in each["metadata"] and _is_ready(each)]

    def _metrics(self) -> list[str]:
        """What Prometheus reads from each gate."""
        urls = [f"http://{each['status']['podIP']}:9440/metrics" for each in self._ready()]
        return [self.node.run("curl", "--silent", "--max-time", "5", url) for url in urls]

    def _served(self) -> set[str]:
        """When the CAs end whose certificates are served."""
        return {found for each in self._metrics() for found in CA_ENDS.findall(each)}

    def _bundle(self, kind: str) -> str:
        """The CAs that a configuration trusts, in base64; empty without any, and without the configuration."""
        found = self.node.kubectl.find(f"{kind}webhookconfiguration", NAME)
        bundle: str = found["webhooks"][0]["clientConfig"].get("caBundle", "") if found else ""
        return bundle


def _is_ready(pod: Object) -> bool:
    conditions = pod["status"].get("conditions", ())
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


STEPS: dict[str, Callable[[Life], None]] = {
    "install": Life.install,
    "upgrade": Life.upgrade,
    "rollback": Life.rollback,
    "upgrade with a broken policy": Life.break_policies,
    "rollback of it": Life.rollback,
    "Secret of the CA deleted": Life.delete_secret,
    "certificates of the next CA": Life.change_leaves,
    **{f"{kind} configuration deleted": partial(Life.delete_configuration, kind=kind) for kind in KINDS},
    "break-glass": Life.break_glass,
    "its end": Life.end_break_glass,
    "upgrade that fails": Life.fail_upgrade,
    "next upgrade": Life.upgrade_after_it,
    "uninstall": Life.uninstall,
    "install again": Life.install,
    "uninstall again": Life.uninstall,
    "install that fails closed at once": Life.install_closed,
}
SHORT = (
    "install",
    "upgrade with a broken policy",
    "rollback of it",
    "Secret of the CA deleted",
    "validating configuration deleted",
    "break-glass",
    "its end",
    "uninstall",
)
"""What the suite takes the time for; test_restarts.py and test_rotation.py have the restarts and the certificates."""


@contextmanager
def living(node: Node, image: str) -> Iterator[Life]:
    """Namespaces and definitions on the node; afterwards no release."""
    install_crds(node.kubectl)
    for name in (TEAM, NAMESPACE):
        node.kubectl("create", "namespace", name)
    node.kubectl("label", "namespace", NAMESPACE, "pod-security.kubernetes.io/enforce=restricted")
    try:
        yield Life(node, image)
    finally:
        node.helm("uninstall", NAME, f"--namespace={NAMESPACE}", "--ignore-not-found")
        node.kubectl("delete", "namespace", TEAM, NAMESPACE, "--timeout=2m")


def lived(life: Life, steps: Iterable[str]) -> tuple[list[Span], list[Call]]:
    """Take steps under load; returns them, and all calls."""
    with load(life.node.processes.enter, life.node.kubeconfig, PATH, model("steady"), RATE) as made:
        spans = list(life.spans(steps))
    return spans, made.calls


def unexcused(spans: list[Span], calls: list[Call]) -> list[Call]:
    """The failed calls that no step explains."""
    return [each for each in calls if each.code != 201 and not any(span.excuses(each) for span in spans)]


def main() -> None:
    """All steps; ends with 1 where a call failed, or a metric was late."""
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "modelgate.tar"
        build(archive)
        with Node(assets("node")) as node:
            node.load(archive)
            with living(node, IMAGE) as life:
                spans, calls = lived(life, STEPS)
    for span in spans:
        print(span.row(calls))
    failed = unexcused(spans, calls)
    print(f"in all: calls {len(calls)}, failed {len(failed)}")
    for each in failed[:20]:
        print(f"  after {each.sent - spans[0].start:.1f} s: {each.code} {each.message}")
    late = [span.name for span in spans if (span.alarmed or 0) > ALARM]
    sys.exit(1 if failed or late else 0)


if __name__ == "__main__":
    main()
