"""States of an installation that is not as it has to be: how each is made, and what `modelgate doctor` calls its cause.

Those of an administrator's examination (42, of which six need a node), and more. Each is made by requests that a person
could send with kubectl or helm.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.e2e.gate import CHART, NAME, NAMESPACE
from tests.e2e.plane import Plane
from tests.e2e.pretend import BROKEN, DEPLOYMENTS, MERGE, PODS

Make = Callable[[Plane, Any], object]
"""Makes a state, or ends it: of a plane, and of a client of it."""

PATCH = {"Content-Type": "application/json-patch+json"}
ADMISSION, RBAC = "/apis/admissionregistration.k8s.io/v1", "/apis/rbac.authorization.k8s.io/v1"
INSIDE = f"/api/v1/namespaces/{NAMESPACE}"
V, M = (f"{ADMISSION}/{kind}webhookconfigurations" for kind in ("validating", "mutating"))
GATE, RECONCILER = f"{DEPLOYMENTS}/{NAME}", f"{DEPLOYMENTS}/{NAME}-reconciler"
TEMPLATE, SERVICE = f"{INSIDE}/configmaps/{NAME}-webhooks", f"{INSIDE}/services/{NAME}"
ROLES, BINDINGS = f"{RBAC}/clusterroles", f"{RBAC}/clusterrolebindings"
BUDGETS = f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets"
NETWORK = f"/apis/networking.k8s.io/v1/namespaces/{NAMESPACE}/networkpolicies"
GUARDS = f"{ADMISSION}/validatingadmissionpolicybindings"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CONTAINER = "/spec/template/spec/containers/0"
FOLLOWING = frozenset({"canary-failed", "canary-accepted", "canary-unstamped", "replica-troubled"})
"""What dry runs show, and what a sidecar says of itself: ten seconds after a change."""
UPGRADE = ("upgrade", NAME, CHART, f"--namespace={NAMESPACE}", "--reset-then-reuse-values", "--force-conflicts")


@dataclass(frozen=True)
class State:
    """``check`` is the cause that has to be named, None if nothing is wrong; ``about`` a part of what it is about.

    ``follows`` are the checks that may find something because of it, after the cause, beside FOLLOWING. ``end`` ends
    a state of which no command is printed, because a person has to decide, and ``after`` takes away what is left of it
    and is not wrong.
    """

    check: str | None
    make: Make
    about: str = ""
    follows: frozenset[str] = field(default_factory=frozenset)
    end: Make | None = None
    after: Make | None = None


def patch(path: str, *operations: tuple[str, str, Any]) -> Make:
    """JSON Patch: each an operation, a path and a value."""
    body = [{"op": op, "path": at, "value": value} for op, at, value in operations]
    return lambda _, client: sent(client, "PATCH", path, body, PATCH)


def add(path: str, at: str, value: Any) -> Make:
    return patch(path, ("add", at, value))


def delete(path: str) -> Make:
    return lambda _, client: sent(client, "DELETE", path, None)


def create(path: str, api: str, kind: str, name: str, **rest: Any) -> Make:
    metadata = {"name": name, **rest.pop("metadata", {})}
    body = {"apiVersion": api, "kind": kind, "metadata": metadata, **rest}
    return lambda _, client: sent(client, "POST", path, body)


def values(*sets: str) -> Make:
    """What a `helm upgrade` makes."""
    return lambda plane, _: plane.helm(*UPGRADE, *(f"--set={each}" for each in sets))


def value(key: str, of: Any) -> Make:
    """What a `helm upgrade` makes with one value that is not a text."""
    return lambda plane, _: plane.helm(*UPGRADE, f"--set-json={key}={json.dumps(of)}")


def referring(kind: str) -> Make:
    """An admission policy of the gate that reads objects of a kind."""
    references = json.dumps([{"name": "other", "group": "apps", "kind": kind, "path": "spec.source"}])
    metadata = {"name": "refers", "annotations": {"modelgate.dev/references": references}}
    rule = {"apiGroups": ["ome.io"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["basemodels"]}
    spec = {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": "refs.other.found"}]}
    policy = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy"}
    return value("policies.documents", {"refers.json": json.dumps({**policy, "metadata": metadata, "spec": spec})})


def both(*makes: Make) -> Make:
    return lambda plane, client: [make(plane, client) for make in makes]


def sent(client: Any, verb: str, path: str, body: Any, headers: Mapping[str, str] | None = None) -> Any:
    """The object that the API server answers with; it must accept the request."""
    reply = client.ask(verb, f"{path}?fieldManager=kubectl-patch" if verb == "PATCH" else path, body, headers)
    assert reply.accepted or reply.code == 202, (verb, path, reply.body)
    return reply.body


def hook(path: str, name: str, **fields: Any) -> Make:
    """Change fields of the first webhook; dots in names stand for what is inside."""
    return patch(
        f"{path}/{name}", *[("add", f"/webhooks/0/{key.replace('__', '/')}", value) for key, value in fields.items()]
    )


def interrupted(_: Plane, client: Any) -> None:
    """What a `helm upgrade` leaves that is killed: a further revision, which is pending."""
    records = client.ask("GET", f"{INSIDE}/secrets?labelSelector=owner%3Dhelm", None).body["items"]
    last = max(records, key=lambda each: int(each["metadata"]["labels"]["version"]))
    release = json.loads(gzip.decompress(base64.b64decode(base64.b64decode(last["data"]["release"]))))
    version = release["version"] = release["version"] + 1
    release["info"]["status"] = "pending-upgrade"
    labels = {**last["metadata"]["labels"], "version": str(version), "status": "pending-upgrade"}
    text = base64.b64encode(base64.b64encode(gzip.compress(json.dumps(release).encode()))).decode()
    metadata = {"name": f"sh.helm.release.v1.{NAME}.v{version}", "labels": labels}
    body = {"apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1", "metadata": metadata}
    sent(client, "POST", f"{INSIDE}/secrets", {**body, "data": {"release": text}})


def one_gate(client: Any) -> str:
    """The path of a pod of the gate."""
    pods = client.ask("GET", f"{PODS}?labelSelector=app.kubernetes.io%2Fcomponent%3Dgate", None).body["items"]
    return f"{PODS}/{pods[0]['metadata']['name']}"


def crashed(_: Plane, client: Any) -> None:
    waiting = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}}
    status = {"name": "gate", "image": "x", "imageID": "", "ready": False, "restartCount": 9, "state": waiting}
    whole = {"conditions": [{"type": "Ready", "status": "False"}], "containerStatuses": [status]}
    sent(client, "PATCH", f"{one_gate(client)}/status", {"status": whole}, MERGE)


def end_pod(_: Plane, client: Any) -> None:
    sent(client, "DELETE", one_gate(client), None)


def unserved(_: Plane, client: Any) -> None:
    """The version of a kind is not served any more; another one is, as a definition must have one that is stored."""
    sent(
        client,
        "PATCH",
        f"{CRDS}/models.inference.llmkube.dev",
        [{"op": "replace", "path": "/spec/versions/0/served", "value": False}],
        PATCH,
    )


def copied(_: Plane, client: Any) -> None:
    """A configuration of a name that the release had before."""
    old = client.ask("GET", f"{M}/{NAME}", None).body
    metadata = {"name": "modelgate-before", "labels": old["metadata"]["labels"]}
    sent(client, "POST", M, {**old, "metadata": metadata})


def foreign(name: str, service: str) -> Make:
    """A webhook of others over pods, which fails closed."""
    webhook = {
        "name": f"{name}.example.com",
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"service": {"name": service, "namespace": "default"}},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}],
    }
    return create(V, "admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", name, webhooks=[webhook])


def bound(name: str, role: str) -> Make:
    """A role of others for the account of the view."""
    subject = {"kind": "ServiceAccount", "name": f"{NAME}-view", "namespace": NAMESPACE}
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role}
    return create(BINDINGS, "rbac.authorization.k8s.io/v1", "ClusterRoleBinding", name, subjects=[subject], roleRef=ref)


SECRETS = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list"]}
SELECTS_GATE = {"matchLabels": {"app.kubernetes.io/component": "gate"}}
CHANGED = "configuration-changed"
OPERATIONS = [("add", f"/webhooks/0/rules/{number}/operations", ["CREATE"]) for number in range(5)]
SCOPES = [("add", f"/webhooks/0/rules/{number}/scope", "Namespaced") for number in range(5)]
CALLS_A_URL = [
    ("remove", "/webhooks/0/clientConfig/service", None),
    ("add", "/webhooks/0/clientConfig/url", "https://127.0.0.1:9/validate"),
]
FIRST = {
    "name": "first.example.com",
    "clientConfig": {"url": "https://127.0.0.1:9/"},
    "sideEffects": "None",
    "failurePolicy": "Ignore",
    "admissionReviewVersions": ["v1"],
}
LLMKUBE = {
    "replicas": 0,
    "selector": {"matchLabels": {"a": "b"}},
    "template": {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "m", "image": "ghcr.io/x/llmkube-controller:0.9"}]},
    },
}

CONFIGURATIONS = {
    "objectSelector": State(CHANGED, hook(V, NAME, objectSelector={"matchLabels": {"gate": "on"}}), "Validating"),
    "operations": State(CHANGED, patch(f"{V}/{NAME}", *OPERATIONS), "Validating"),
    "scope": State(CHANGED, patch(f"{V}/{NAME}", *SCOPES), "Validating"),
    "matchPolicy": State(CHANGED, hook(V, NAME, matchPolicy="Exact"), "Validating"),
    "timeoutSeconds": State(CHANGED, hook(V, f"{NAME}-policies", timeoutSeconds=1), "policies"),
    "a long timeout": State(CHANGED, hook(M, f"{NAME}-policies", timeoutSeconds=30), "policies"),
    "path": State(CHANGED, hook(V, NAME, clientConfig__service__path="/mutate"), "Validating"),
    "port": State(CHANGED, hook(M, NAME, clientConfig__service__port=8443), "Mutating"),
    "fails closed": State(CHANGED, hook(M, NAME, failurePolicy="Fail"), "Mutating"),
    "fails open": State(CHANGED, hook(V, NAME, failurePolicy="Ignore"), "Validating"),
    "url": State(CHANGED, patch(f"{V}/{NAME}", *CALLS_A_URL), "Validating"),
    "namespaceSelector": State(CHANGED, hook(M, NAME, namespaceSelector={"matchLabels": {"x": "y"}}), "Mutating"),
    "side effects": State(CHANGED, hook(V, NAME, sideEffects="NoneOnDryRun"), "Validating"),
    "review version": State(CHANGED, hook(V, NAME, admissionReviewVersions=["v1beta1"]), "Validating"),
    "condition": State(CHANGED, hook(M, NAME, matchConditions=[{"name": "never", "expression": "false"}]), "Mutating"),
    "second webhook": State(CHANGED, add(f"{M}/{NAME}", "/webhooks/0", FIRST), "Mutating"),
    "rules": State(CHANGED, patch(f"{M}/{NAME}", ("remove", "/webhooks/0/rules/1", None)), "Mutating"),
    "reinvocation": State(CHANGED, hook(M, NAME, reinvocationPolicy="Never"), "Mutating"),
    "policies over pods": State(
        CHANGED,
        patch(
            f"{V}/{NAME}-policies",
            ("add", "/webhooks/0/failurePolicy", "Fail"),
            (
                "add",
                "/webhooks/0/rules",
                [{"apiGroups": [""], "resources": ["nodes"], "apiVersions": ["v1"], "operations": ["CREATE"]}],
            ),
        ),
        "policies",
    ),
    "left over": State("left-over", copied, "modelgate-before"),
    "template": State("template-missing", delete(TEMPLATE), "webhooks"),
    "break-glass": State(
        "configuration-missing",
        both(delete(TEMPLATE), delete(f"{V}/{NAME}")),
        "Validating",
        frozenset({"template-missing"}),
    ),
}
AROUND = {
    "Service selector": State("service-wrong", add(SERVICE, "/spec/selector/app.kubernetes.io~1component", "gateway")),
    "Service targetPort": State("service-wrong", add(SERVICE, "/spec/ports/0/targetPort", "health")),
    "Service port": State("service-wrong", add(SERVICE, "/spec/ports/0/port", 8443)),
    "Service gone": State("service-wrong", delete(SERVICE)),
    "second budget": State(
        "budget-blocks",
        create(BUDGETS, "policy/v1", "PodDisruptionBudget", "mine", spec={"minAvailable": 2, "selector": SELECTS_GATE}),
        "mine",
    ),
    "budget of nothing": State("budget-blocks", add(f"{BUDGETS}/{NAME}", "/spec/maxUnavailable", 0), NAME),
    "webhook without a Service": State(
        "pods-refused", foreign("foreign", "nothing"), "foreign", after=delete(f"{V}/foreign")
    ),
    "webhook without a pod": State(
        "pods-refused",
        both(
            create(
                "/api/v1/namespaces/default/services",
                "v1",
                "Service",
                "empty",
                spec={"selector": {"x": "y"}, "ports": [{"port": 443}]},
            ),
            foreign("without-pods", "empty"),
        ),
        "without-pods",
        after=both(delete(f"{V}/without-pods"), delete("/api/v1/namespaces/default/services/empty")),
    ),
    "interrupted upgrade": State("release-pending", interrupted, NAME),
    "port of the NetworkPolicy": State(
        "network-closed", add(f"{NETWORK}/{NAME}", "/spec/ingress", [{"ports": [{"port": 443}]}]), "NetworkPolicy"
    ),
    "denied by others": State(
        "network-closed",
        both(
            values("networkPolicy.enabled=false"),
            create(
                NETWORK,
                "networking.k8s.io/v1",
                "NetworkPolicy",
                "deny",
                spec={"podSelector": {}, "policyTypes": ["Ingress"]},
            ),
        ),
        "deny",
        after=delete(f"{NETWORK}/deny"),
    ),
    "quota": State(
        "pods-refused",
        both(
            create(f"{INSIDE}/resourcequotas", "v1", "ResourceQuota", "q", spec={"hard": {"pods": "0"}}),
            end_pod,
        ),
        "Deployment",
        frozenset({"rollout"}),
        delete(f"{INSIDE}/resourcequotas/q"),
    ),
    "egress denied": State(
        None,
        create(
            NETWORK,
            "networking.k8s.io/v1",
            "NetworkPolicy",
            "egress",
            spec={"podSelector": {}, "policyTypes": ["Egress"]},
        ),
        after=delete(f"{NETWORK}/egress"),
    ),
}
PROGRAMS = {
    "paused": State("rollout-paused", add(GATE, "/spec/paused", True), NAME),
    "flag": State("flag-unknown", add(GATE, f"{CONTAINER}/args/-", "--prfile=audit"), NAME),
    "flag of the other program": State(
        "flag-unknown", add(RECONCILER, f"{CONTAINER}/args/-", "--tls-dir=/tls"), "reconciler"
    ),
    "memory": State(
        "memory-low",
        add(GATE, f"{CONTAINER}/resources", {"limits": {"memory": "64Mi"}, "requests": {"memory": "32Mi"}}),
        NAME,
    ),
    "root": State("runs-as-root", add(GATE, "/spec/template/spec/securityContext/runAsNonRoot", False), NAME),
    "profile": State("rules-differ", add(GATE, f"{CONTAINER}/args/-", "--profile=strict"), "reconciler"),
    "old reconciler": State(
        "version-skew", add(RECONCILER, f"{CONTAINER}/image", "localhost/modelgate:old"), "reconciler"
    ),
    "no replicas": State("gate-down", add(GATE, "/spec/replicas", 0), NAME),
    "one replica": State("one-replica", add(GATE, "/spec/replicas", 1), NAME),
    "no reconciler": State("reconciler-down", add(RECONCILER, "/spec/replicas", 0), "reconciler"),
    "reconciler deleted": State("reconciler-down", delete(RECONCILER), "reconciler"),
    "gate deleted": State("gate-missing", delete(GATE), NAME),
    "broken image": State(
        "rollout-stuck",
        patch(GATE, ("add", "/spec/progressDeadlineSeconds", 1), ("add", f"{CONTAINER}/image", BROKEN)),
        NAME,
        after=add(GATE, "/spec/progressDeadlineSeconds", 600),
    ),
    "crash": State("replica-not-ready", crashed, "Pod", end=end_pod),
    "environment": State(
        None,
        add(GATE, f"{CONTAINER}/env/0", {"name": "MODELGATE_PROFILE", "value": "audit"}),
        after=patch(GATE, ("remove", f"{CONTAINER}/env/0", None)),
    ),
    "no liveness probe": State(None, patch(GATE, ("remove", f"{CONTAINER}/livenessProbe", None)), after=values()),
}
RIGHTS = {
    "binding of the view": State("right-missing", delete(f"{BINDINGS}/{NAME}-view"), f"{NAME}-view"),
    "role without patch": State(
        "right-missing", add(f"{ROLES}/{NAME}", "/rules/0/verbs", ["get"]), f"{NAMESPACE}/{NAME}", frozenset()
    ),
    "binding inside": State(
        "right-missing",
        delete(f"/apis/rbac.authorization.k8s.io/v1/namespaces/{NAMESPACE}/rolebindings/{NAME}-reconciler"),
        "reconciler",
    ),
    "account": State("right-missing", delete(f"{INSIDE}/serviceaccounts/{NAME}-reconciler"), "reconciler"),
    "secrets": State("right-too-wide", add(f"{ROLES}/{NAME}-view", "/rules/-", SECRETS), "view"),
    "administrator": State("right-too-wide", bound("too-much", "cluster-admin"), "view"),
    "guard audits": State(
        "guard-missing", add(f"{GUARDS}/{NAME}-ca-bundle-only", "/spec/validationActions", ["Audit"]), NAME
    ),
    "guard gone": State("guard-missing", delete(f"{ADMISSION}/validatingadmissionpolicies/{NAME}-creations"), NAME),
    "guard not bound": State("guard-missing", delete(f"{GUARDS}/{NAME}-creations"), NAME),
    "version not served": State("definition-unserved", unserved, "models.inference.llmkube.dev"),
    "secret of rubbish": State(
        "secret-unusable",
        add(f"{INSIDE}/secrets/{NAME}-ca", "/data/tls.crt", "Z2FyYmFnZQ=="),
        f"{NAME}-ca",
        frozenset({"bundle-untrusting"}),
    ),
}
BY_VALUES = {
    "fails open by value": State("fails-open", values("webhooks.validating.failurePolicy=Ignore"), "Validating"),
    "only warns": State("only-warns", values("gate.profile=audit"), NAME),
    "waits long by value": State("timeout-long", values("webhooks.timeoutSeconds=30"), "Validating"),
    "some namespaces": State("namespace-excluded", values("webhooks.namespaceSelector.matchLabels.a=b"), "Validating"),
    "one replica by value": State("one-replica", values("gate.replicas=1"), NAME),
    "one replica by the autoscaler": State(
        "one-replica",
        values("gate.autoscaling.enabled=true", "gate.autoscaling.minReplicas=1"),
        NAME,
        after=values("gate.autoscaling.enabled=false"),
    ),
    "operator beside": State(
        "operator-beside",
        both(
            values("reconciler.apis.llmkube=true"),
            create(
                "/apis/apps/v1/namespaces/default/deployments",
                "apps/v1",
                "Deployment",
                "llmkube-controller-manager",
                spec=LLMKUBE,
            ),
        ),
        "llmkube-controller-manager",
        after=delete("/apis/apps/v1/namespaces/default/deployments/llmkube-controller-manager"),
    ),
    "reference without a right": State(
        "right-missing",
        referring("Deployment"),
        f"{NAME}-view",
        end=value("packs.reads", [{"group": "apps", "resources": ["deployments"]}]),
        after=both(value("policies.documents", None), value("packs.reads", [])),
    ),
    "reference to no kind": State(
        "definition-missing",
        referring("Deploiment"),
        "ValidatingAdmissionPolicy refers",
        end=value("policies.documents", None),
    ),
    "no guard by value": State("guard-missing", values("certs.guard=false"), NAME),
}
STATES = {**CONFIGURATIONS, **AROUND, **PROGRAMS, **RIGHTS, **BY_VALUES}
