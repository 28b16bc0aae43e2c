"""Every right that the chart gives, and what a stolen token tries to make of it, on a real API server.

A row is a right of an account. What is tried with it is refused, or passes and is harmless for the reason that the row
gives. ``tests/chart/test_rights.py`` has the same rights as the chart renders them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatch
from itertools import product
from typing import Any

import pytest

from tests.chart.attempts import FIELDS, METADATA, with_another_webhook, with_field, without_a_webhook
from tests.chart.helm import POLICIES
from tests.e2e.crds import install_crds
from tests.e2e.gate import CHART, NAME, NAMESPACE
from tests.e2e.kubectl import Answer, Object
from tests.e2e.models import model
from tests.e2e.plane import Plane
from tests.e2e.processes import wait_until
from tests.e2e.test_certs import kubeconfig_of
from tests.e2e.test_install import bundle_of

GATE, VIEW, RECONCILER = NAME, f"{NAME}-view", f"{NAME}-reconciler"
CA = f"{NAME}-ca"
FORBIDDEN = "is forbidden: User|Forbidden"
DRY = ("-f", "-", "--dry-run=server")


@dataclass(frozen=True)
class Row:
    """``rights``: "VERB[,VERB] RESOURCE.GROUP[/NAME]", with * as in a shell. ``tries``: what, command, object, answer;
    the answer is a pattern of the refusal, "" where it passes.
    """

    account: str
    rights: tuple[str, ...]
    because: str
    tries: tuple[tuple[str, tuple[str, ...], Object | None, str], ...] = ()

    def covers(self, verb: str, resource: str) -> bool:
        pairs = (each.split(" ") for each in self.rights)
        return any(verb in verbs.split(",") and fnmatch(resource, pattern) for verbs, pattern in pairs)


def secret(kind: str, name: str = CA, **metadata: Any) -> Object:
    data = {"tls.crt": "", "tls.key": ""} if kind == "kubernetes.io/tls" else {}
    return {"apiVersion": "v1", "kind": "Secret", "type": kind, "metadata": {"name": name, **metadata}, "data": data}


def event(namespace: str) -> Object:
    about = {"kind": "Pod", "name": "x", "namespace": namespace}
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"generateName": "x-", "namespace": namespace},
        "eventTime": "2026-11-01T00:00:00.000000Z",
        "reportingController": "x.example/x",
        "reportingInstance": "x",
        "action": "X",
        "reason": "X",
        "regarding": about,
        "note": "x",
        "type": "Warning",
    }


def lease(name: str, namespace: str = NAMESPACE) -> Object:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": {}}


def pod() -> Object:
    spec = {"containers": [{"name": "x", "image": "x"}], "serviceAccountName": RECONCILER}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": spec}


def may_read_secrets() -> Object:
    spec = {"user": "x", "resourceAttributes": {"verb": "get", "resource": "secrets", "namespace": NAMESPACE}}
    return {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}


OF_RECONCILER = {"annotations": {"kubernetes.io/service-account.name": RECONCILER}}
TOKEN_SECRET = secret("kubernetes.io/service-account-token", **OF_RECONCILER)
ROLE_RULES = [{"op": "add", "path": "/rules/-", "value": {"apiGroups": [""], "resources": ["secrets"], "verbs": ["*"]}}]
CREATE, REPLACE = ("create", *DRY), ("replace", *DRY)
OWN_SECRET = "this account makes the Secret of its CA and no other"

ROWS = [
    Row(
        GATE,
        ("create secrets",),
        "a policy of the chart lets it make the Secret of the CA, and no other name and type",
        (
            ("the Secret of the CA, which is there", CREATE, secret("kubernetes.io/tls"), "already exists"),
            ("a token of the reconciler, under the name that it may read", CREATE, TOKEN_SECRET, OWN_SECRET),
            (
                "a release of Helm's",
                CREATE,
                secret("helm.sh/release.v1", "sh.helm.release.v1.modelgate.v9"),
                OWN_SECRET,
            ),
            ("a Secret that another program reads", CREATE, secret("kubernetes.io/tls", "another"), OWN_SECRET),
            ("a name that the API server makes", CREATE, secret("Opaque", "", generateName=CA), OWN_SECRET),
            ("another type under the name of the CA", CREATE, secret("Opaque"), OWN_SECRET),
            ("another namespace", (*CREATE, "--namespace=default"), secret("kubernetes.io/tls"), FORBIDDEN),
        ),
    ),
    Row(
        GATE,
        (f"get,watch,update secrets/{CA}",),
        "the CA signs for the gate and nothing else, and the type of a Secret does not change",
        (
            ("the CA's key", ("get", "secret", CA), None, ""),
            ("another Secret", ("get", "secret", "another"), None, FORBIDDEN),
            ("all Secrets", ("get", "secrets"), None, FORBIDDEN),
            ("its deletion, so as to make another", ("delete", "secret", CA, "--dry-run=server"), None, FORBIDDEN),
            ("a token of the reconciler by another type", REPLACE, TOKEN_SECRET, "field is immutable|is invalid"),
            ("another CA", REPLACE, secret("kubernetes.io/tls"), ""),
        ),
    ),
    Row(
        GATE,
        (f"create serviceaccounts/token/{VIEW}",),
        "the account of the server reads what rules read, and a token of it ends within an hour",
        (
            ("a token of the server's account", ("create", "token", VIEW), None, ""),
            ("one of the reconciler", ("create", "token", RECONCILER), None, FORBIDDEN),
            ("one of itself, to last", ("create", "token", GATE), None, FORBIDDEN),
            ("one that lasts", ("create", "token", VIEW, "--duration=24h"), None, "makes tokens of one hour only"),
        ),
    ),
    Row(
        GATE,
        ("create events.events.k8s.io",),
        "an Event is words for people; no program of Modelgate reads one",
        (
            ("an Event beside the gate", CREATE, event(NAMESPACE), ""),
            ("an Event elsewhere", (*CREATE, "--namespace=kube-system"), event("kube-system"), FORBIDDEN),
            ("to hide one", ("delete", "events.events.k8s.io", "x"), None, FORBIDDEN),
        ),
    ),
    Row(
        GATE,
        (f"get,watch configmaps/{NAME}-webhooks",),
        "it holds what the configurations, which every user may read, are like",
        (
            ("what is put back", ("get", "configmap", f"{NAME}-webhooks"), None, ""),
            ("another ConfigMap", ("get", "configmap", "kube-root-ca.crt"), None, FORBIDDEN),
            ("to change what is put back", ("label", "configmap", f"{NAME}-webhooks", "x=y"), None, FORBIDDEN),
        ),
    ),
    Row(
        GATE,
        (f"get clusterroles.rbac.authorization.k8s.io/{NAME}",),
        "it sees its own rights",
        (
            ("its own role", ("get", "clusterrole", NAME), None, ""),
            ("another role", ("get", "clusterrole", "cluster-admin"), None, FORBIDDEN),
            (
                "more rights",
                ("patch", "clusterrole", NAME, "--type=json", f"--patch={json.dumps(ROLE_RULES)}", "--dry-run=server"),
                None,
                FORBIDDEN,
            ),
        ),
    ),
    Row(
        GATE,
        (
            f"create,get,watch,patch *webhookconfigurations.admissionregistration.k8s.io/{NAME}",
            f"create,get,watch,patch *webhookconfigurations.admissionregistration.k8s.io/{NAME}-policies",
        ),
        "a policy of the chart lets it change caBundle, and make a configuration as the chart has it: the tests below",
        (
            ("the configuration of another program", ("get", "validatingwebhookconfiguration", "x"), None, FORBIDDEN),
            ("all of them", ("get", "validatingwebhookconfigurations"), None, FORBIDDEN),
            ("its deletion", ("delete", "validatingwebhookconfiguration", NAME, "--dry-run=server"), None, FORBIDDEN),
            (
                "the end of the policy",
                ("delete", "validatingadmissionpolicy", f"{NAME}-ca-bundle-only", "--dry-run=server"),
                None,
                FORBIDDEN,
            ),
        ),
    ),
    Row(
        VIEW,
        ("get,list,watch *",),
        "it reads what rules read: no Secret, no ConfigMap but one of OME, no log, and it writes nothing",
        (
            ("runtimes", ("get", "servingruntimes.ome.io", "--all-namespaces"), None, ""),
            ("Secrets", ("get", "secrets"), None, FORBIDDEN),
            ("the Secret of the CA", ("get", "secret", CA), None, FORBIDDEN),
            ("ConfigMaps", ("get", "configmaps"), None, FORBIDDEN),
            ("another ConfigMap", ("get", "configmap", f"{NAME}-webhooks"), None, FORBIDDEN),
            ("pods", ("get", "pods"), None, FORBIDDEN),
            ("a token", ("create", "token", VIEW), None, FORBIDDEN),
            ("a Model", CREATE, model("x"), FORBIDDEN),
            (
                "a definition",
                ("label", "crd", "models.inference.llmkube.dev", "x=y", "--dry-run=server"),
                None,
                FORBIDDEN,
            ),
            ("a configuration", ("label", "validatingwebhookconfiguration", NAME, "x=y"), None, FORBIDDEN),
        ),
    ),
    Row(
        VIEW,
        ("create subjectaccessreviews.authorization.k8s.io",),
        "where there are policies: it learns who may do what, and gives no right",
        (
            ("who may do what", ("create", *DRY), may_read_secrets(), ""),
            ("a right", ("create", "rolebinding", "x", "--clusterrole=admin", "--user=x"), None, FORBIDDEN),
        ),
    ),
    Row(
        VIEW,
        ("create events.events.k8s.io",),
        "an Event is words for people; no program of Modelgate reads one",
        (
            ("an Event beside the gate", CREATE, event(NAMESPACE), ""),
            ("an Event elsewhere", (*CREATE, "--namespace=kube-system"), event("kube-system"), FORBIDDEN),
        ),
    ),
    Row(
        RECONCILER,
        ("create leases.coordination.k8s.io",),
        "a policy of the chart lets it make its own Lease only",
        (
            ("its Lease", CREATE, lease(RECONCILER), ""),
            (
                "the Lease of another program",
                CREATE,
                lease("another"),
                "this account makes the Lease of its release only",
            ),
            (
                "one of the control plane",
                (*CREATE, "--namespace=kube-system"),
                lease("kube-scheduler", "kube-system"),
                FORBIDDEN,
            ),
        ),
    ),
    Row(
        RECONCILER,
        (f"get,list,watch,update leases.coordination.k8s.io/{RECONCILER}",),
        "to hold it keeps the reconciler from acting, which a stolen token of it could do without the Lease",
        (("another Lease", ("get", "lease", "another"), None, FORBIDDEN),),
    ),
    Row(
        RECONCILER,
        ("create subjectaccessreviews.authorization.k8s.io",),
        "where there are policies: it learns who may do what, and gives no right",
        (("who may do what", ("create", *DRY), may_read_secrets(), ""),),
    ),
    Row(
        RECONCILER,
        ("create events",),
        "an Event is words for people; no program of Modelgate reads one",
        (("to hide one", ("delete", "event", "x"), None, FORBIDDEN),),
    ),
    Row(
        RECONCILER,
        ("create,delete,patch *reports.openreports.io", "create,delete,patch *policyreports.wgpolicyk8s.io"),
        "a Report is words for people and dashboards; no program of Modelgate acts on one",
    ),
    Row(
        RECONCILER,
        (
            *(
                f"patch *.{group}"
                for group in ("aim.silogen.ai", "inference.llmkube.dev", "llmaz.io", "llmd.ai", "ome.io")
            ),
            *(f"update */status.{group}" for group in ("aim.silogen.ai", "llmaz.io", "ome.io")),
        ),
        "RBAC cannot limit a patch to a stamp; the gate judges what it changes (docs/threat-model.md)",
        (
            (
                "the specification of a Model",
                (
                    "patch",
                    "models.inference.llmkube.dev",
                    "theirs",
                    "--type=merge",
                    '--patch={"spec":{"source":"hf://x/y"}}',
                ),
                None,
                r"failed calling webhook \"validate.modelgate.dev\"",  # none runs here
            ),
            ("its deletion", ("delete", "models.inference.llmkube.dev", "theirs"), None, FORBIDDEN),
            ("a Model of its own", CREATE, model("x"), FORBIDDEN),
        ),
    ),
    Row(
        RECONCILER,
        ("get,list,watch *",),
        "it reads what rules read, and no Secret",
        (
            ("Secrets", ("get", "secrets"), None, FORBIDDEN),
            ("ConfigMaps", ("get", "configmaps"), None, FORBIDDEN),
            ("pods", ("get", "pods"), None, FORBIDDEN),
            ("a pod", CREATE, pod(), FORBIDDEN),
            ("a token", ("create", "token", GATE), None, FORBIDDEN),
            ("a token by a Secret", CREATE, TOKEN_SECRET, FORBIDDEN),
            ("a configuration", ("label", "validatingwebhookconfiguration", NAME, "x=y"), None, FORBIDDEN),
            (
                "rights",
                ("create", "clusterrolebinding", "x", "--clusterrole=cluster-admin", "--user=x"),
                None,
                FORBIDDEN,
            ),
        ),
    ),
]
TRIES = [pytest.param(row.account, *each[1:], id=f"{row.account}: {each[0]}") for row in ROWS for each in row.tries]


@pytest.fixture(scope="module")
def released(plane_assets):
    """A plane with the release, whose pods never run: only a thief uses its accounts."""
    with Plane(plane_assets) as started:
        install_crds(started.kubectl)
        started.kubectl.send("create", model("theirs"))
        where = (f"--namespace={NAMESPACE}", "--create-namespace", f"--set-json={POLICIES}")
        started.helm("install", NAME, CHART, *where)
        started.kubectl.within(NAMESPACE).send("create", secret("kubernetes.io/tls"))
        another = (GATE, CREATE, secret("Opaque", "another"))
        wait_until(lambda: OWN_SECRET in answer(started, *another).err, "the API server's reading of the policies")
        wait_until(lambda: "caBundle only" in patched(started, with_field, "matchPolicy").err, "and of the other")
        wait_until(
            lambda: "validate.modelgate.dev" in started.kubectl.run("label", "model", "theirs", "x=y").err, "webhooks"
        )
        yield started


def answer(plane: Plane, account: str, command: tuple[str, ...], obj: Object | None = None) -> Answer:
    who = f"--as=system:serviceaccount:{NAMESPACE}:{account}"
    elsewhere = any(each.startswith("--namespace") or each == "theirs" for each in command)
    kubectl = plane.kubectl if elsewhere else plane.kubectl.within(NAMESPACE)
    return kubectl.run(*command, who, stdin=json.dumps(obj) if obj else None)


@pytest.mark.parametrize(("account", "command", "obj", "refusal"), TRIES)
def test_what_a_stolen_token_tries_is_refused_or_harmless(released, account, command, obj, refusal):
    done = answer(released, account, command, obj)
    assert (done.code == 0) == (not refusal), done
    assert re.search(refusal, done.err), done.err


def test_every_right_has_a_row(released):
    """As the cluster has them now. A new right needs a row: what a stolen token makes of it."""
    rights = {account: granted(released, account) for account in (GATE, VIEW, RECONCILER)}
    rows = {account: [each for each in ROWS if each.account == account] for account in rights}
    missing = [
        (account, verb, resource)
        for account, found in rights.items()
        for verb, resource in sorted(found)
        if not any(each.covers(verb, resource) for each in rows[account])
    ]
    assert missing == []
    for row in ROWS:
        assert any(row.covers(*each) for each in rights[row.account]), row


def granted(plane: Plane, account: str) -> set[tuple[str, str]]:
    """The verbs and resources of all roles of an account."""
    found = set()
    for scope in ("role", "clusterrole"):
        roles = {each["metadata"]["name"]: each for each in items(plane, scope)}
        for binding in items(plane, f"{scope}binding"):
            if any(each["name"] == account for each in binding.get("subjects") or []):
                for rule in roles[binding["roleRef"]["name"]]["rules"] or []:
                    found |= set(product(rule["verbs"], resources(rule)))
    return found


def items(plane: Plane, kind: str) -> list[Object]:
    return plane.kubectl.json("get", kind, f"--namespace={NAMESPACE}")["items"]


def resources(rule: Object) -> list[str]:
    names = rule.get("resourceNames") or [""]
    return [
        f"{plural}{f'.{group}' if group else ''}{f'/{name}' if name else ''}"
        for group, plural, name in product(rule["apiGroups"], rule["resources"], names)
    ]


KINDS = [f"{kind}webhookconfiguration" for kind in ("mutating", "validating")]


def current(plane: Plane, kind: str, name: str = NAME) -> Object:
    """A configuration, as something to apply."""
    found = plane.kubectl.json("get", kind, name)
    kept = {key: value for key, value in found["metadata"].items() if key in {"name", "labels", "annotations"}}
    return {**found, "metadata": kept}


def patched(plane: Plane, change: Callable[..., Object | None], *more: str, kind: str = KINDS[1]) -> Answer:
    before = current(plane, kind)
    changed = change(before, *more)
    assert changed
    patch = json.dumps({"webhooks": changed["webhooks"], "metadata": changed["metadata"]})
    return answer(plane, GATE, ("patch", kind, NAME, "--type=merge", f"--patch={patch}", "--dry-run=server"))


CHANGES = [(with_field, each) for each in (*FIELDS, *METADATA)] + [(without_a_webhook,), (with_another_webhook,)]
CHANGED = [
    pytest.param(kind, each, id=f"{kind[0]}-{each[-1] if each[1:] else each[0].__name__}")
    for kind in KINDS
    for each in CHANGES
    if not (kind[0] == "v" and each[-1] == "reinvocationPolicy")
]
REFUSED = r"this account (changes caBundle only|makes webhook configurations only as the chart has them)"


@pytest.mark.parametrize(("kind", "change"), CHANGED)
def test_no_field_but_the_bundle_is_changed(released, kind, change):
    before = current(released, kind)
    if change[0](before, *change[1:]) == before:
        pytest.skip("it has this value")
    assert re.search(REFUSED, patched(released, *change, kind=kind).err)


@pytest.mark.parametrize("kind", KINDS)
def test_the_bundle_is_published_and_an_administrator_changes_all(released, kind):
    assert "caBundle" not in current(released, kind)["webhooks"][0]["clientConfig"]
    assert patched(released, with_bundle, bundle_of(released), kind=kind).err == ""
    assert released.kubectl.run("label", f"{kind}/{NAME}", "x=y", "--dry-run=server").code == 0


def with_bundle(configuration: Object, bundle: str) -> Object:
    (webhook,) = configuration["webhooks"]
    client = {**webhook["clientConfig"], "caBundle": bundle}
    return {**configuration, "webhooks": [{**webhook, "clientConfig": client}]}


def test_the_api_server_has_no_other_field_of_a_webhook(released):
    document = json.loads(released.kubectl("get", "--raw", "/openapi/v3/apis/admissionregistration.k8s.io/v1"))
    schemas = {key.rpartition(".")[2]: each for key, each in document["components"]["schemas"].items()}
    fields = {each.partition(".")[0] for each in FIELDS}
    for kind in ("MutatingWebhook", "ValidatingWebhook"):
        assert schemas[kind]["properties"].keys() <= fields
    assert schemas["WebhookClientConfig"]["properties"].keys() == {"service", "url", "caBundle"}
    for kind, field in (("ServiceReference", "clientConfig.service"), ("RuleWithOperations", "rules")):
        assert {f"{field}.{each}" for each in schemas[kind]["properties"]} <= FIELDS.keys()


@pytest.fixture(scope="module")
def deleted(released):
    """The configurations, as they were before an administrator deleted them."""
    names = (NAME, f"{NAME}-policies")
    before = {(kind, name): current(released, kind, name) for kind in KINDS for name in names}
    for kind in KINDS:
        released.kubectl("delete", kind, *names)
    yield before
    released.kubectl.send_all("create", list(before.values()))


APPLY = ("apply", "--server-side", "--field-manager=helm", *DRY)


@pytest.mark.parametrize(("kind", "change"), CHANGED)
def test_a_configuration_is_made_with_every_field_as_the_chart_has_it(released, deleted, kind, change):
    before = deleted[kind, NAME]
    changed = change[0](before, *change[1:])
    assert changed
    done = answer(released, GATE, APPLY, changed)
    assert re.search(f"{REFUSED}|{FORBIDDEN}", done.err), done


def test_a_configuration_is_made_as_the_chart_has_it_and_under_no_other_name(released, deleted):
    for (kind, name), before in deleted.items():
        assert answer(released, GATE, APPLY, before).err == "", kind
        if name != NAME:
            for field in ("rules", "namespaceSelector"):
                assert re.search(REFUSED, answer(released, GATE, APPLY, with_field(before, field)).err)
        assert re.search(FORBIDDEN, answer(released, GATE, CREATE, before).err), "RBAC wants a name in the path"
        other = {**before, "metadata": {**before["metadata"], "name": "another"}}
        assert re.search(FORBIDDEN, answer(released, GATE, APPLY, other).err)


def test_no_way_makes_a_token_of_another_account(released, tmp_path):
    """The whole attack, with the token itself: the Secret of the CA is gone, and comes back with another type."""
    kubectl = released.kubectl.within(NAMESPACE)
    token = kubectl("create", "token", GATE).strip()
    thief = type(kubectl)(kubectl.path, kubeconfig_of(released, token, tmp_path)).within(NAMESPACE)
    kubectl("delete", "secret", CA)
    assert OWN_SECRET in thief.refusal("create", TOKEN_SECRET)
    made = secret("kubernetes.io/tls", **OF_RECONCILER)
    thief.send("create", made)
    kubectl.send("create", {**TOKEN_SECRET, "metadata": {"name": "an-administrators", **OF_RECONCILER}})
    wait_until(lambda: kubectl.find("secret", "an-administrators").get("data"), "a token, by one who may")
    assert thief.json("get", "secret", CA)["data"].keys() == {"tls.crt", "tls.key"}
