"""Faults to plant in a cluster in which the chart runs well, each with the checks that must find it, and no others."""

from copy import deepcopy
from datetime import timedelta

from certs.authority import Authority
from certs.lifetimes import Lifetimes
from tests.chart.helm import NAMESPACE, POLICIES
from tests.chart.world import METRICS, NOW, OLD, encoded, judged, ready

LISTED = ("reconciler.apis.llmkube=true", 'reconciler.namespaces=["team-a","team-b"]')
FAULTS = {}


def fault(check, *sets):
    """Declare a planted fault: a function that changes a world, and the check that must find it."""

    def declared(plant):
        FAULTS[plant.__name__] = (check, sets, plant)
        return plant

    return declared


@fault({"gate-missing", "left-over"})
def no_gate(world):
    world.objects = [each for each in world.objects if each["kind"] != "Deployment"]


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
def kind_left_out(world):
    for rule in world.webhook()["rules"]:
        if rule["apiGroups"] == ["ome.io"]:
            rule["resources"].remove("basemodels")


@fault("kind-not-guarded")
def updates_left_out(world):
    world.webhook("Mutating")["rules"][0]["operations"] = ["CREATE"]


@fault("rule-too-wide")
def everything_is_sent(world):
    world.webhook()["rules"][0] |= {"apiGroups": ["*"], "resources": ["*"]}


@fault({"rule-too-wide", "kind-not-guarded"})
def leases_are_sent(world):
    world.webhook()["rules"][0] |= {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"]}


@fault("lock-out", POLICIES)
def policies_about_pods_fail_closed(world):
    webhook = world.webhook(name="modelgate-policies")
    webhook |= {"failurePolicy": "Fail", "namespaceSelector": {}}
    webhook["rules"][0] |= {"apiGroups": [""], "resources": ["pods"]}


@fault("fails-open")
def break_glass(world):
    world.webhook()["failurePolicy"] = "Ignore"


@fault("only-warns", 'gate.profile="audit"')
def a_trial(_world):
    pass


@fault("namespace-excluded", 'webhooks.namespaceSelector={"matchLabels":{"gate":"on"}}')
def some_namespaces_only(_world):
    pass


@fault("namespace-excluded")
def some_objects_only(world):
    world.webhook()["objectSelector"] = {"matchLabels": {"gate": "on"}}


@fault("namespace-excluded")
def a_match_condition_by_hand(world):
    world.webhook("Mutating")["matchConditions"] = [{"name": "never", "expression": "false"}]


@fault("namespace-excluded")
def another_condition_under_the_name_of_the_charts(world):
    world.webhook()["matchConditions"][0]["expression"] = "false"


@fault("namespace-excluded")
def rules_about_what_has_no_namespace(world):
    for rule in world.webhook()["rules"]:
        rule["scope"] = "Cluster"


@fault("namespace-excluded")
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
def the_gate_is_called_under_another_path(world):
    world.webhook()["clientConfig"]["service"]["path"] = "/healthz"


@fault("service-wrong")
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


@fault("right-missing", *LISTED)
def reconciler_may_not_write_in_one_of_its_namespaces(world):
    world.objects.remove(next(each for each in world.of("RoleBinding") if each["metadata"]["namespace"] == "team-b"))


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
