"""The chart as a release on a node, installed as a user installs it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.e2e.gate import CHART, NAME, NAMESPACE, PROFILE, in_effect
from tests.e2e.kubectl import Kubectl, Refused
from tests.e2e.processes import Failed, wait_until

if TYPE_CHECKING:
    from tests.e2e.given import GivenCluster
    from tests.e2e.node import Node

GATES = "--selector=app.kubernetes.io/component=gate"


@contextmanager
def installed(node: Node | GivenCluster, image: str, *flags: str) -> Iterator[Kubectl]:
    """Our chart in a namespace with the restricted Pod Security Standard; yields a kubectl of the namespace."""
    repository, _, tag = image.rpartition(":")
    node.kubectl("create", "namespace", NAMESPACE)
    node.kubectl("label", "namespace", NAMESPACE, "pod-security.kubernetes.io/enforce=restricted")
    image_of = [f"--set=image.repository={repository}", f"--set=image.tag={tag}"]
    values = [*image_of, f"--set=gate.profile={PROFILE}", "--set=reconciler.apis.llmkube=true"]
    kubectl = node.kubectl.within(NAMESPACE)
    try:
        node.helm("install", NAME, CHART, f"--namespace={NAMESPACE}", "--wait", "--timeout=1m", *values, *flags)
    except Refused as refused:
        raise Failed(f"{refused}\n{last_words(kubectl)}") from None
    wait_until(lambda: in_effect(node.kubectl), "the API server to call the gate")
    yield kubectl
    node.helm("uninstall", NAME, f"--namespace={NAMESPACE}", "--ignore-not-found")
    node.kubectl("delete", "namespace", NAMESPACE, "--timeout=2m")


def last_words(kubectl: Kubectl) -> str:
    """What the pods of the release say, and why they do not."""
    pods = kubectl("get", "pods", "-o=wide")
    logs = [
        kubectl.run("logs", name, "--all-containers", "--prefix", "--tail=15").out for name in names(kubectl, "pods")
    ]
    return "\n".join([pods, *logs])


def names(kubectl: Kubectl, kinds: str) -> list[str]:
    """The names of all objects of some kinds."""
    return [each["metadata"]["name"] for each in kubectl.json("get", kinds)["items"]]
