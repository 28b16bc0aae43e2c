"""What `modelgate doctor` can find: each check has a name, a reason and a fix."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from webhook.library import Finding, Severity
from webhook.manifests.places import Place

ERROR: Final = Severity.ERROR
WARNING: Final = Severity.WARNING


class Check(NamedTuple):
    """``why`` it matters, and the ``fix``: a sentence each."""

    level: Severity
    why: str
    fix: str


CHECKS: Final[Mapping[str, Check]] = {
    # the installation
    "gate-missing": Check(
        ERROR,
        "Without a gate nothing is reviewed.",
        "Install the chart, or name its namespace with --namespace.",
    ),
    "second-gate": Check(
        ERROR,
        "Both gates decide about each object, and may disagree.",
        "Uninstall one of the two releases.",
    ),
    "left-over": Check(
        ERROR,
        "The API server calls a gate that may not exist, whose certificate is not renewed.",
        "Delete the configuration.",
    ),
    "not-read": Check(
        WARNING,
        "What cannot be read is not checked.",
        "Run doctor as a user who may read it, such as a cluster admin.",
    ),
    "kubernetes-version": Check(
        ERROR,
        "Modelgate is tested from 1.34 on, and the chart refuses older releases.",
        "Upgrade Kubernetes.",
    ),
    "version-skew": Check(
        WARNING,
        "Gate and reconciler of different versions judge by different rules.",
        "Set one image for both: image.tag or image.digest.",
    ),
    # webhook configurations
    "configuration-missing": Check(
        ERROR,
        "Without it the API server does not call the gate.",
        "Restore it: helm upgrade --reset-then-reuse-values --force-conflicts. The caBundle follows within 5 s.",
    ),
    "configuration-changed": Check(
        ERROR,
        "Objects may not be reviewed, or be refused without reason.",
        "Run the command. webhooks.restore=changed does the same by itself, within 15 s.",
    ),
    "template-missing": Check(
        WARNING,
        "It holds what each webhook configuration has to be; to delete it is the first half of break-glass.",
        "Restore it when the break-glass state is over: helm upgrade --reset-then-reuse-values --force-conflicts.",
    ),
    "kind-not-guarded": Check(
        ERROR,
        "Objects of this kind are stored without review.",
        "Remove it from `kinds`, or disable its API with apis.<name>.enabled=false.",
    ),
    "rule-too-wide": Check(
        ERROR,
        "A webhook that is called for what the gate or the cluster needs can lock the cluster.",
        "Restore the rules of the chart: helm upgrade --reset-then-reuse-values --force-conflicts.",
    ),
    "lock-out": Check(
        ERROR,
        "While the gate is down, it cannot start again, because its own pods must pass it.",
        "Exclude kube-system and the gate's namespace by a namespaceSelector, or set policies.failurePolicy=Ignore.",
    ),
    "fails-open": Check(
        WARNING,
        "While the gate is down, invalid objects are stored.",
        "Set webhooks.validating.failurePolicy=Fail, unless this is a break-glass state.",
    ),
    "only-warns": Check(
        WARNING,
        "The gate refuses nothing: what cannot work is stored with a warning.",
        "Set gate.profile=standard when the break-glass state, or the trial, is over.",
    ),
    "namespace-excluded": Check(
        WARNING,
        "Objects that do not match are not reviewed.",
        "Remove webhooks.namespaceSelector, unless this is intended. Delete a match condition by hand: upgrades leave "
        "it.",
    ),
    "timeout-long": Check(
        WARNING,
        "While the gate does not answer, each write of these kinds waits this long.",
        "Set webhooks.timeoutSeconds to 10 or less.",
    ),
    "service-wrong": Check(
        ERROR,
        "The API server cannot reach the gate through it.",
        "Restore the Service: helm upgrade --reset-then-reuse-values --force-conflicts.",
    ),
    # certificates
    "bundle-missing": Check(
        ERROR,
        "The API server cannot verify the gate, so its calls fail.",
        "See the log of the container certs (mode own), or of cert-manager's cainjector.",
    ),
    "bundle-differs": Check(
        ERROR,
        "One of the configurations may not trust the gate.",
        "Find who writes caBundle: kubectl get --show-managed-fields.",
    ),
    "bundle-expired": Check(
        ERROR,
        "The API server trusts no valid CA.",
        "Renew the CA; mode own does so by itself.",
    ),
    "bundle-untrusting": Check(
        ERROR,
        "The API server does not trust the certificates that this CA signs.",
        "Find who writes caBundle; mode own restores it within 5 s.",
    ),
    "ca-ends": Check(
        WARNING,
        "When it has ended, every call of the gate fails.",
        "See the log of the container certs for why it is not replaced.",
    ),
    "secret-missing": Check(
        ERROR,
        "Pods cannot serve without it.",
        "Create it (mode files), or see the log of the container certs or of cert-manager.",
    ),
    "secret-unusable": Check(
        ERROR,
        "Pods that start cannot use it.",
        "Correct it. In mode own, deleting it is safe: a new CA is made.",
    ),
    "guard-missing": Check(
        WARNING,
        "A stolen token of the gate's pods could point the webhook at any address, or get another account's token.",
        "Set certs.guard=true, or a certs.mode in which the account may not patch configurations.",
    ),
    # definitions
    "definition-missing": Check(
        WARNING,
        "Objects of these kinds cannot exist yet, and rules that read them see none.",
        "Install the operator, or the chart modelgate-crds, or disable the API: apis.<name>.enabled=false.",
    ),
    "definition-differs": Check(
        WARNING,
        "Rules that need a field which this definition lacks are not applied.",
        "Use a release of the operator that Modelgate covers, or accept it: docs/installed-definitions.md.",
    ),
    "definition-unserved": Check(
        ERROR,
        "Objects of this kind are not reviewed.",
        "Install a release of the operator that serves this version.",
    ),
    "operator-beside": Check(
        ERROR,
        "Operator and reconciler write the same status.",
        "Set reconciler.apis.<name>=false, or stop the operator.",
    ),
    # pods
    "gate-down": Check(
        ERROR,
        "Objects of the guarded kinds cannot be created or changed.",
        "See `kubectl describe pod` and the log of its containers.",
    ),
    "one-replica": Check(
        WARNING,
        "An upgrade or a drained node interrupts writes.",
        "Set gate.replicas=2 or more.",
    ),
    "replica-not-ready": Check(
        WARNING,
        "The other replicas carry its load.",
        "See /readyz and the log of the pod.",
    ),
    "replica-troubled": Check(
        WARNING,
        "The replica serves, and will not for ever.",
        "See the log of the pod's containers.",
    ),
    "rollout": Check(
        WARNING,
        "During an upgrade, answers may depend on the replica.",
        "Run doctor again when `kubectl rollout status` has ended.",
    ),
    "rollout-paused": Check(
        ERROR,
        "An upgrade does not begin, or does not end.",
        "Resume it: kubectl rollout resume.",
    ),
    "rollout-stuck": Check(
        ERROR,
        "The upgrade does not end; the pods before it serve on.",
        "Correct what the new pods say and upgrade again, or go back: helm rollback.",
    ),
    "reconciler-down": Check(
        ERROR,
        "Stored objects are not judged, and no status is written.",
        "See `kubectl describe pod` and its log, or set reconciler.enabled=false.",
    ),
    "held-back": Check(
        WARNING,
        "The reconciler gives way, so this API has one writer of its status.",
        "Set reconciler.apis.<name>=false, or stop the other writer.",
    ),
    "replicas-together": Check(
        WARNING,
        "The end of one node takes all replicas.",
        "Keep gate.spread, and see that several nodes have room.",
    ),
    "rules-differ": Check(
        ERROR,
        "An answer depends on the replica, or differs from what the reconciler reports.",
        "Finish the upgrade: kubectl rollout status.",
    ),
    "policies-refused": Check(
        WARNING,
        "The gate uses the set before.",
        "Correct it; `modelgate check --admission-policies` finds the error.",
    ),
    "flag-unknown": Check(
        ERROR,
        "A program ends at once when it is started with a flag that it does not have.",
        "Remove it from gate.extraArgs or reconciler.extraArgs.",
    ),
    "memory-low": Check(
        ERROR,
        "The kernel ends the process when it needs more.",
        "Raise gate.resources.limits.memory or reconciler.resources.limits.memory.",
    ),
    "runs-as-root": Check(
        WARNING,
        "A namespace with the restricted Pod Security Standard refuses such pods.",
        "Restore the pod template: helm upgrade --reset-then-reuse-values --force-conflicts.",
    ),
    # around the release
    "release-pending": Check(
        ERROR,
        "Helm refuses each later upgrade: another operation is in progress.",
        "Go back to the last revision that ended, then upgrade again. Make sure first that no helm is running.",
    ),
    "budget-blocks": Check(
        WARNING,
        "A node with a pod of the gate cannot be drained.",
        "Keep the budget of the chart, maxUnavailable 1, and no other.",
    ),
    "pods-refused": Check(
        ERROR,
        "Pods of the gate that end cannot be replaced.",
        "Repair what answers that webhook, or let it fail open until then. Raise a quota that is used up.",
    ),
    "object-twice": Check(
        ERROR,
        "The last one that is applied wins, and the other release has none.",
        "Give each release names of its own: fullnameOverride.",
    ),
    # rights and network
    "right-missing": Check(
        ERROR,
        "The gate is not ready, or the reconciler stops, without it.",
        "Restore the roles: helm upgrade --reset-then-reuse-values --force-conflicts.",
    ),
    "right-too-wide": Check(
        WARNING,
        "A stolen token is worth more than it should.",
        "Remove the rule: the chart grants what is needed.",
    ),
    "network-closed": Check(
        ERROR,
        "The API server cannot reach the gate, so its calls fail.",
        "Allow the port in this NetworkPolicy.",
    ),
    # trials
    "canary-accepted": Check(
        ERROR,
        "The gate does not decide about new objects.",
        "See the findings about configurations and certificates.",
    ),
    "canary-unstamped": Check(
        ERROR,
        "Defaults are not filled in, and the reconciler does not act.",
        "See the findings about configurations and certificates.",
    ),
    "canary-failed": Check(
        ERROR,
        "A call of the gate fails.",
        "docs/operations.md explains the API server's texts.",
    ),
}


_NOWHERE: Final = Place(1, 1, 2)
"""A cluster has no lines."""


def finding(check: str, about: str, what: str, command: str = "") -> Finding:
    """One fault: its check, the object that it is about, what is wrong with it, and the command that ends it."""
    return Finding(CHECKS[check].level, check, about, what, _NOWHERE, (command,) if command else ())
