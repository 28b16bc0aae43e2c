"""Faults to plant in a cluster in which the chart runs well, each with the checks that must find it, and no others."""

import json
from copy import deepcopy
from datetime import timedelta

from certs.authority import Authority
from certs.lifetimes import Lifetimes
from tests.chart.helm import NAMESPACE, POLICIES
from tests.chart.world import METRICS, NOW, OLD, encoded, judged, ready

LISTED = ("reconciler.apis.llmkube=true", 'reconciler.namespaces=["team-a","team-b"]')
REFERENCES = """\
- {name: service, kind: Service, path: spec.backend}
- {name: alike, group: inference.llmkube.dev, kind: Model, path: spec.host, by: spec.host}
"""
REFERRING = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingAdmissionPolicy",
    "metadata": {"name": "ports", "annotations": {"modelgate.dev/references": REFERENCES}},
}
REFERS = f"policies={json.dumps({'documents': {'ports.json': json.dumps(REFERRING)}})}"
MODELS = {"group": "inference.llmkube.dev", "resources": ["models"], "list": True}
MAY_READ = f"packs.reads={json.dumps([{'group': '', 'resources': ['services']}, MODELS])}"
FAULTS = {}


def fault(check, *sets):
    """Declare a planted fault: a function that changes a world, and the check that must find it."""

    def declared(plant):
        FAULTS[plant.__name__] = (check, sets, plant)
        return plant

    return declared


def released(plant):
    """The same fault, but the release says so: its ConfigMap has what the configurations are."""

    def planted(world):
        plant(world)
        data = world.find("ConfigMap", "modelgate-webhooks")["data"]
        for each in world.of("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
            type_ = each["kind"].removesuffix("WebhookConfiguration").lower()
            data[f"{type_}.{each['metadata']['name']}"] = json.dumps(each)

    planted.__name__ = plant.__name__
    return planted


@fault({"gate-missing", "left-over"})
def no_gate(world):
    world.objects = [each for each in world.objects if each["kind"] != "Deployment"]


@fault("gate-missing")
def gate_deleted_by_hand(world):
    no_gate(world)
    world.add("Secret", "sh.helm.release.v1.modelgate.v1")
    labels = {"owner": "helm", "name": "modelgate", "version": "1", "status": "deployed"}
    world.find("Secret", "sh.helm.release.v1.modelgate.v1")["metadata"]["labels"] = labels


@fault("second-gate")
def another_release(world):
    configuration, gate = deepcopy(world.find("ValidatingWebhookConfiguration")), deepcopy(world.find("Deployment"))
    for each in (configuration, gate):
        labels = {**each["metadata"]["labels"], "app.kubernetes.io/instance": "second"}
        each["metadata"] |= {"name": "second", "labels": labels}
    gate["metadata"]["namespace"] = "elsewhere"
    configuration["webhooks"][0]["clientConfig"]["service"] |= {"namespace": "elsewhere", "name": "second"}
    world.objects += [configuration, gate]
    world.namespace = NAMESPACE


@fault("not-read")
def forbidden(world):
    world.unread = ("nodes: forbidden",)


@fault("kubernetes-version")
def old_cluster(world):
    world.version = "v1.29.4"


@fault("version-skew")
def another_image(world):
    world.container("reconciler")["image"] = "localhost/modelgate:0.0.9"


@fault("configuration-missing")
def validating_deleted(world):
    world.remove("ValidatingWebhookConfiguration")


@fault("configuration-missing")
def mutating_deleted(world):
    world.remove("MutatingWebhookConfiguration")


@fault("kind-not-guarded")
@released
def kind_left_out(world):
    for rule in world.webhook()["rules"]:
        if rule["apiGroups"] == ["ome.io"]:
            rule["resources"].remove("basemodels")


@fault("kind-not-guarded")
@released
def updates_left_out(world):
    world.webhook("Mutating")["rules"][0]["operations"] = ["CREATE"]


@fault("rule-too-wide")
@released
def everything_is_sent(world):
    world.webhook()["rules"][0] |= {"apiGroups": ["*"], "resources": ["*"]}


@fault({"rule-too-wide", "kind-not-guarded"})
@released
def leases_are_sent(world):
    world.webhook()["rules"][0] |= {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"]}


@fault("lock-out", POLICIES)
@released
def policies_about_pods_fail_closed(world):
    webhook = world.webhook(name="modelgate-policies")
    webhook |= {"failurePolicy": "Fail", "namespaceSelector": {}}
    webhook["rules"][0] |= {"apiGroups": [""], "resources": ["pods"]}


@fault("fails-open")
@released
def break_glass(world):
    world.webhook()["failurePolicy"] = "Ignore"


@fault("only-warns", 'gate.profile="audit"')
def a_trial(_world):
    pass


@fault("namespace-excluded", 'webhooks.namespaceSelector={"matchLabels":{"gate":"on"}}')
def some_namespaces_only(_world):
    pass


@fault("namespace-excluded")
@released
def some_objects_only(world):
    world.webhook()["objectSelector"] = {"matchLabels": {"gate": "on"}}


@fault("namespace-excluded")
@released
def a_match_condition_by_hand(world):
    world.webhook("Mutating")["matchConditions"] = [{"name": "never", "expression": "false"}]


@fault("namespace-excluded")
@released
def another_condition_under_the_name_of_the_charts(world):
    world.webhook()["matchConditions"][0]["expression"] = "false"


@fault("namespace-excluded")
@released
def rules_about_what_has_no_namespace(world):
    for rule in world.webhook()["rules"]:
        rule["scope"] = "Cluster"


@fault("namespace-excluded")
@released
def one_version_only(world):
    world.webhook()["matchPolicy"] = "Exact"


@fault("timeout-long", "webhooks.timeoutSeconds=30")
def slow_to_give_up(_world):
    pass


@fault("service-wrong")
def service_deleted(world):
    world.remove("Service")


@fault("service-wrong")
def service_selects_others(world):
    world.find("Service")["spec"]["selector"] = {"app": "other"}


@fault("service-wrong")
def service_on_another_port(world):
    world.find("Service")["spec"]["ports"][0]["port"] = 8443


@fault("service-wrong")
@released
def the_gate_is_called_under_another_path(world):
    world.webhook()["clientConfig"]["service"]["path"] = "/healthz"


@fault("service-wrong")
@released
def the_gate_is_called_at_another_port(world):
    world.webhook()["clientConfig"]["service"]["port"] = 9440


@fault("bundle-missing")
def bundle_not_published(world):
    del world.webhook()["clientConfig"]["caBundle"]


@fault({"bundle-differs", "bundle-untrusting"})
def bundles_of_two_cas(world):
    world.trust(world.find("ValidatingWebhookConfiguration"), Authority.create(NOW))


@fault("bundle-untrusting")
def bundle_of_another_ca(world):
    other = Authority.create(NOW)
    for each in world.of("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        world.trust(each, other)


@fault({"bundle-expired", "bundle-differs", "bundle-untrusting"})
def bundle_expired(world):
    old = Authority.create(NOW - timedelta(days=400), Lifetimes(ca=timedelta(days=365)))
    world.trust(world.find("ValidatingWebhookConfiguration"), old)


@fault("ca-ends")
def ca_is_not_replaced(world):
    own = OLD.credentials()
    world.find("Secret", "modelgate-ca")["data"] |= {"tls.crt": encoded(own.certificate), "tls.key": encoded(own.key)}
    for each in world.of("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        world.trust(each, OLD)


@fault("secret-missing")
def secret_deleted(world):
    world.remove("Secret", "modelgate-ca")


@fault("secret-unusable")
def secret_of_rubbish(world):
    world.find("Secret", "modelgate-ca")["data"] = {"tls.crt": "bm90aGluZw=="}


@fault("guard-missing")
def policy_about_our_account_deleted(world):
    world.remove("ValidatingAdmissionPolicy", "modelgate-ca-bundle-only")


@fault("guard-missing")
def policy_about_what_our_accounts_create_deleted(world):
    world.remove("ValidatingAdmissionPolicy", "modelgate-creations")


@fault("guard-missing")
def policy_about_our_account_not_bound(world):
    world.remove("ValidatingAdmissionPolicyBinding", "modelgate-ca-bundle-only")


@fault("definition-missing")
def definition_deleted(world):
    world.remove("CustomResourceDefinition", "basemodels.ome.io")


@fault("definition-differs")
def definition_of_another_release(world):
    (version,) = world.definition("models.inference.llmkube.dev")["spec"]["versions"]
    del version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["hardware"]


@fault({"definition-unserved", "definition-differs"})
def definition_of_another_version(world):
    (version,) = world.definition("models.inference.llmkube.dev")["spec"]["versions"]
    version["name"] = "v1"


@fault("operator-beside", "reconciler.apis.llmkube=true")
def operator_of_an_api_that_we_act_for(world):
    spec = {"template": {"spec": {"containers": [{"name": "m", "image": "ghcr.io/x/llmkube-controller:0.9"}]}}}
    world.add("Deployment", "llmkube-controller-manager", spec=spec)


@fault("gate-down")
def no_pod_is_ready(world):
    for each in (world.find("Pod", "gate-0"), world.find("Pod", "gate-1")):
        waiting = {"reason": "CrashLoopBackOff"}
        each["status"] = {**ready("False"), "containerStatuses": [{"name": "gate", "state": {"waiting": waiting}}]}


@fault("gate-down", "gate.replicas=0")
def scaled_to_zero(_world):
    pass


@fault("one-replica", "gate.replicas=1")
def a_single_replica(_world):
    pass


@fault("replica-not-ready")
def one_pod_is_not_ready(world):
    world.find("Pod", "gate-0")["status"] = ready("False")


@fault("replica-not-ready")
def one_pod_crashes_after_an_upgrade(world):
    world.find("Pod", "gate-0")["status"] = ready("False")
    world.find("Deployment")["status"] = {"replicas": 2, "updatedReplicas": 2, "readyReplicas": 1}


@fault("replica-troubled")
def sidecar_is_blocked(world):
    world.said["gate-1"] = "ok, but modelgate certs has not looked for 86s\ncatalog d\n"


@fault(set())
def an_old_pod_ends_with_other_rules(world):
    world.add("Pod", "gate-old", spec={"nodeName": "n0"}, status=ready("True"))
    ending = {"labels": world.pod_labels(), "deletionTimestamp": "2026-11-01T00:00:00Z"}
    world.find("Pod", "gate-old")["metadata"] |= ending
    world.metrics["gate-old"] = METRICS.replace('"d"', '"e"')


@fault("rollout")
def an_upgrade_is_going_on(world):
    world.find("Deployment")["status"] = {"updatedReplicas": 1, "readyReplicas": 2, "replicas": 3}
    world.metrics["gate-0"] = METRICS.replace('"d"', '"e"')


@fault("rollout-stuck")
def an_upgrade_to_policies_with_an_error(world):
    stuck = [{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}]
    world.find("Deployment")["status"] = {"updatedReplicas": 1, "readyReplicas": 2, "conditions": stuck}
    world.add("Pod", "gate-new", spec={"nodeName": "n0"}, status=ready("False"))
    world.find("Pod", "gate-new")["metadata"]["labels"] = world.pod_labels()
    world.said["gate-new"] = "/policies/p.yaml:7:3: no such field\n"


@fault("reconciler-down")
def reconciler_scaled_to_zero(world):
    world.find("Deployment", "modelgate-reconciler")["spec"]["replicas"] = 0
    world.remove("Pod", "reconciler-0")


@fault("reconciler-down")
def reconciler_deleted_by_hand(world):
    world.remove("Deployment", "modelgate-reconciler")


@fault("reconciler-down")
def reconciler_has_no_image(world):
    waiting = {"reason": "ErrImagePull", "message": "not found"}
    status = {**ready("False"), "containerStatuses": [{"name": "reconciler", "state": {"waiting": waiting}}]}
    world.find("Pod", "reconciler-0")["status"] = status


@fault("reconciler-down")
def reconciler_is_not_ready(world):
    world.find("Pod", "reconciler-0")["status"] = ready("False")
    world.said["reconciler-0"] = "no event of ome.io/BaseModel for 200 s\n"


@fault("held-back")
def reconciler_gives_way(world):
    world.metrics["reconciler-0"] = 'modelgate_held_back{api="llmkube",manager="manager"} 1.0\n'


@fault("left-over")
def webhooks_of_a_name_that_the_release_had_before(world):
    old = deepcopy(world.find("MutatingWebhookConfiguration"))
    old["metadata"]["name"] = "modelgate-before"
    world.objects.append(old)


@fault("replicas-together")
def all_on_one_node(world):
    world.find("Pod", "gate-0")["spec"]["nodeName"] = "n1"


@fault("rules-differ")
def replicas_of_two_minds(world):
    world.metrics["gate-0"] = METRICS.replace('"d"', '"e"')


@fault("rules-differ")
def profiles_differ(world):
    world.container()["args"].append("--profile=strict")


@fault("policies-refused")
def a_refused_set(world):
    world.metrics["gate-0"] = METRICS.replace("} 0.0", "} 2.0")


@fault("right-missing")
def view_may_not_read(world):
    world.remove("ClusterRoleBinding", "modelgate-view")


@fault("right-missing")
def certs_may_not_publish(world):
    world.find("ClusterRole")["rules"][0]["verbs"] = ["get"]


@fault("right-missing")
def reconciler_may_not_patch(world):
    for rule in world.find("ClusterRole", "modelgate-reconciler")["rules"]:
        rule["verbs"] = [verb for verb in rule["verbs"] if verb != "patch"]


@fault("right-missing")
def account_deleted(world):
    world.remove("ServiceAccount", "modelgate-view")


@fault("right-missing", *LISTED)
def reconciler_may_not_write_in_one_of_its_namespaces(world):
    world.objects.remove(next(each for each in world.of("RoleBinding") if each["metadata"]["namespace"] == "team-b"))


@fault("right-missing", REFERS, f"packs.reads={json.dumps([MODELS])}")
def what_a_policy_refers_to_may_not_be_read(world):
    assert len([each for each in world.findings() if "get services for refs.service of " in each.message]) == 2


@fault("definition-missing", REFERS, MAY_READ)
def a_policy_refers_to_a_kind_that_is_not_served(world):
    documents = next(each for each in world.of("ConfigMap") if "ports.json" in each["data"])
    documents["data"]["ports.json"] = documents["data"]["ports.json"].replace("Service,", "Sevice,")


@fault("right-too-wide", *LISTED)
def may_read_every_secret_of_a_namespace(world):
    role = next(each for each in world.of("Role") if each["metadata"]["namespace"] == "team-b")
    role["rules"].append({"apiGroups": [""], "resources": ["secrets"], "verbs": ["list"]})


@fault("right-too-wide")
def may_do_everything(world):
    rule = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
    world.find("ClusterRole", "modelgate-view")["rules"].append(rule)


@fault("right-too-wide")
def may_read_every_secret(world):
    rule = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["list"]}
    world.find("ClusterRole", "modelgate-view")["rules"].append(rule)


@fault("network-closed", "networkPolicy.enabled=false")
def default_deny(world):
    world.add("NetworkPolicy", "deny", spec={"podSelector": {}, "policyTypes": ["Ingress"]})


@fault("network-closed")
def another_port_is_open(world):
    for each in world.of("NetworkPolicy"):
        each["spec"]["ingress"] = [{"ports": [{"protocol": "TCP", "port": 8443}]}]


@fault("canary-accepted")
def nothing_is_validated(world):
    world.judged = lambda obj: (201, judged(obj)[1], [])


@fault("canary-unstamped")
def nothing_is_mutated(world):
    world.judged = lambda obj: (201, obj, ["warning"])


@fault("canary-failed")
def calls_fail(world):
    message = 'failed calling webhook "validate.modelgate.dev": context deadline exceeded'
    world.judged = lambda _obj: (500, {"message": message}, [])


def changes(kind="Validating", **fields):
    """A webhook that differs from the release."""

    def plant(world):
        webhook = world.webhook(kind)
        bundle = webhook["clientConfig"]["caBundle"]
        webhook.update(deepcopy(fields))
        webhook["clientConfig"]["caBundle"] = bundle

    return plant


CHANGED = {
    "its_url_is_called": {"clientConfig": {"url": "https://127.0.0.1:9999/validate"}},
    "it_fails_closed": {"kind": "Mutating", "failurePolicy": "Fail"},
    "it_fails_open": {"failurePolicy": "Ignore"},
    "it_waits_a_second": {"timeoutSeconds": 1},
    "it_matches_exactly": {"matchPolicy": "Exact"},
    "it_selects_objects": {"objectSelector": {"matchLabels": {"gate": "on"}}},
    "it_selects_namespaces": {"namespaceSelector": {"matchLabels": {"gate": "on"}}},
    "it_has_a_condition": {"kind": "Mutating", "matchConditions": [{"name": "never", "expression": "false"}]},
    "it_has_side_effects": {"sideEffects": "Some"},
    "it_speaks_another_version": {"admissionReviewVersions": ["v1beta1"]},
    "it_is_called_for_nothing": {"rules": []},
    "it_is_called_once": {"kind": "Mutating", "reinvocationPolicy": "Never"},
}
for _name, _fields in CHANGED.items():
    FAULTS[_name] = ("configuration-changed", (), changes(**_fields))


@fault("configuration-changed")
def rules_lack_an_operation(world):
    for rule in world.webhook()["rules"]:
        rule["operations"] = ["CREATE"]


@fault("configuration-changed")
def a_webhook_of_others_is_added(world):
    world.find("ValidatingWebhookConfiguration")["webhooks"].append({**world.webhook(), "name": "other.example.com"})


@fault("template-missing")
def half_of_break_glass(world):
    world.remove("ConfigMap", "modelgate-webhooks")


@fault("rollout-paused")
def paused(world):
    world.find("Deployment")["spec"]["paused"] = True
    world.find("Deployment")["status"] = {"updatedReplicas": 1, "readyReplicas": 2, "replicas": 2}


@fault("flag-unknown")
def a_typo_in_a_flag(world):
    world.container()["args"].append("--prfile=audit")


@fault("flag-unknown")
def a_flag_of_the_gate_for_the_reconciler(world):
    world.container("reconciler")["args"].append("--tls-dir=/tls")


@fault("memory-low")
def too_little_memory(world):
    world.container()["resources"] = {"limits": {"memory": "64Mi"}}


@fault("runs-as-root")
def root(world):
    world.find("Deployment")["spec"]["template"]["spec"]["securityContext"].update(runAsUser=0, runAsNonRoot=False)


@fault("release-pending")
def an_interrupted_upgrade(world):
    for version, status in enumerate(("superseded", "deployed", "pending-upgrade"), 9):
        name = f"sh.helm.release.v1.modelgate.v{version}"
        world.add("Secret", name)
        labels = {"owner": "helm", "name": "modelgate", "version": str(version), "status": status}
        world.find("Secret", name)["metadata"]["labels"] = labels


@fault("budget-blocks")
def a_budget_that_lets_no_pod_go(world):
    world.find("PodDisruptionBudget")["spec"]["maxUnavailable"] = 0


@fault("budget-blocks")
def a_second_budget(world):
    selector = {"matchLabels": {"app.kubernetes.io/component": "gate"}}
    world.add("PodDisruptionBudget", "mine", spec={"selector": selector, "minAvailable": 1})


@fault("pods-refused")
def a_webhook_of_others_without_an_answer(world):
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}
    client = {"service": {"name": "x", "namespace": "default"}}
    webhook = {"name": "a.b.c", "failurePolicy": "Fail", "clientConfig": client, "rules": [rule]}
    world.objects.append(
        {"kind": "ValidatingWebhookConfiguration", "metadata": {"name": "foreign"}, "webhooks": [webhook]}
    )
    world.dead.add("default/x")


@fault("replica-troubled")
def the_account_was_made_again(world):
    world.said["gate-1"] = "ok, but GET /api/v1/namespaces/x/secrets/y: HTTP 401: Unauthorized\ncatalog d\n"


@fault("pods-refused")
def a_quota_is_used_up(world):
    message = 'pods "modelgate-x" is forbidden: exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0'
    refused = [{"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": message}]
    world.find("Deployment")["status"] = {"updatedReplicas": 1, "readyReplicas": 1, "conditions": refused}
