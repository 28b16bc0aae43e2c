"""`modelgate doctor` finds each planted fault by its name, and nothing wrong with the chart as it is."""

import base64
import io
import json
import re
from copy import deepcopy
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import combinations

import pytest
import yaml

from certs.authority import Authority
from certs.lifetimes import Lifetimes
from tests.chart.helm import CHART, NAMESPACE, POLICIES, ROOT, documents, rendered, run
from tests.chart.test_certificates import MANAGED
from tests.definitions import definitions
from tests.reconciler.world import rules
from tests.shared import shared
from webhook import engine
from webhook.admission.request import GroupVersionKind, Request
from webhook.cli import main
from webhook.cli.doctor import examined
from webhook.cli.doctor.checks import trials
from webhook.cli.doctor.finding import CHECKS, ERROR, WARNING
from webhook.cli.doctor.snapshot import Snapshot
from webhook.cli.test import read_cases
from webhook.cluster.view import MemoryView
from webhook.engine.installed import with_installed
from webhook.facts.reads import GROUPS

RULES = rules()
NOW = datetime(2026, 11, 1, tzinfo=UTC)
CA = Authority.create(NOW)
OLD = Authority.create(NOW - timedelta(days=364), Lifetimes(ca=timedelta(days=365)))
PEM = CA.credentials().certificate.decode()
TRUE_FILES = "certs=" + json.dumps({"mode": "files", "files": {"secretName": "theirs", "caBundle": PEM}})
METRICS = 'modelgate_catalog_info{digest="d"} 1.0\nmodelgate_catalog_loads_total{outcome="refused"} 0.0\n'


class World:
    """A cluster in which the chart runs well: its objects, and what only a live cluster answers.

    The definitions are large, so all worlds share them: a fault changes a copy, see ``definition``.
    """

    def __init__(self, *sets):
        self.objects = [*(deepcopy(each) for each in rendered(*sets)), *definitions()]
        self.metrics, self.said = {}, {}
        self.judged = judged
        self.namespace = None
        self.version = "v1.36.3"
        self.unread = ()
        for each in self.of("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
            self.trust(each, CA)
        own = CA.credentials()
        self.add("Secret", "modelgate-ca", data={"tls.crt": encoded(own.certificate), "tls.key": encoded(own.key)})
        for number in range(2):
            self.add("Node", f"n{number}")
            self.add("Pod", f"gate-{number}", spec={"nodeName": f"n{number}"}, status=ready("True"))
            self.find("Pod", f"gate-{number}")["metadata"]["labels"] = self.pod_labels()
        if any(each["metadata"]["name"] == "modelgate-reconciler" for each in self.of("Deployment")):
            self.add("Pod", "reconciler-0", spec={"nodeName": "n0"}, status=ready("True"))
            self.find("Pod", "reconciler-0")["metadata"]["labels"] = self.pod_labels("modelgate-reconciler")

    def pod_labels(self, name="modelgate"):
        return self.find("Deployment", name)["spec"]["template"]["metadata"]["labels"]

    def add(self, kind, name, **rest):
        self.objects.append({"kind": kind, "metadata": {"name": name, "namespace": NAMESPACE}, **rest})

    def of(self, *kinds):
        return [each for each in self.objects if each["kind"] in kinds]

    def find(self, kind, name="modelgate"):
        return next(each for each in self.of(kind) if each["metadata"]["name"] == name)

    def definition(self, name):
        """A definition of this world's own."""
        shared = self.find("CustomResourceDefinition", name)
        self.objects[self.objects.index(shared)] = own = deepcopy(shared)
        return own

    def remove(self, kind, name="modelgate"):
        self.objects.remove(self.find(kind, name))

    def trust(self, configuration, authority):
        for webhook in configuration["webhooks"]:
            webhook["clientConfig"]["caBundle"] = encoded(authority.credentials().certificate)

    def webhook(self, kind="Validating", name="modelgate"):
        return self.find(f"{kind}WebhookConfiguration", name)["webhooks"][0]

    def container(self, component="gate"):
        name = "modelgate" if component == "gate" else f"modelgate-{component}"
        return self.find("Deployment", name)["spec"]["template"]["spec"]["containers"][0]

    def dry_run(self, obj, plural):
        group, _, version = obj["apiVersion"].partition("/")
        known = RULES.catalog.find(GroupVersionKind(group, version, obj["kind"]))
        if known is None or known.plural != plural or known.namespaced != ("namespace" in obj["metadata"]):
            return 404, {"message": "404 page not found"}, []
        return self.judged(deepcopy(dict(obj)))

    def text(self, pod, _port, path):
        name = pod["metadata"]["name"]
        if path == "/readyz":
            return self.said.get(name, "ok\ncatalog d\n")
        return self.metrics.get(name, METRICS)

    def findings(self):
        snapshot = Snapshot(self.objects, NOW, self, self.version, self.unread)
        return list(examined(snapshot, RULES.catalog, self.namespace))


def judged(obj):
    """What the API server answers to a creation, by the real engine."""
    gvk = next(each for each in RULES.catalog.kinds if each.kind == obj["kind"])
    request = Request(gvk, RULES.catalog.kinds[gvk].plural, "CREATE", obj, name=obj["metadata"]["name"])
    mutated = engine.mutate(request, RULES.catalog, MemoryView(), RULES.options).object
    decision = engine.validate(replace(request, object=mutated), RULES.catalog, MemoryView(), RULES.options)
    message = "; ".join(map(str, decision.causes))
    return (422 if decision.causes else 201), {**mutated, "message": message}, [str(each) for each in decision.warnings]


def encoded(pem):
    return base64.b64encode(pem).decode()


def ready(status):
    return {"conditions": [{"type": "Ready", "status": status}]}


@pytest.fixture(autouse=True)
def cases_are_read_once(monkeypatch):
    monkeypatch.setattr(trials, "read_cases", lambda folders, _catalog: _cases(*folders))


@cache
def _cases(folder):
    return list(read_cases([folder], RULES.catalog))


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


@fault("namespace-excluded", 'webhooks.namespaceSelector={"matchLabels":{"gate":"on"}}')
def some_namespaces_only(_world):
    pass


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
def policy_about_our_account_not_bound(world):
    world.remove("ValidatingAdmissionPolicyBinding", "modelgate-ca-bundle-only")


@fault("definition-missing")
def definition_deleted(world):
    world.remove("CustomResourceDefinition", "basemodels.ome.io")


@fault("definition-differs")
def definition_of_another_release(world):
    (version,) = world.definition("models.inference.llmkube.dev")["spec"]["versions"]
    del version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["hardware"]


@fault("definition-unserved")
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


@fault("left-over", POLICIES)
def an_upgrade_without_policies_that_left_their_webhooks(world):
    for each in world.of("Deployment"):
        (container,) = (
            c for c in each["spec"]["template"]["spec"]["containers"] if c["name"] in {"gate", "reconciler"}
        )
        container["args"] = [arg for arg in container["args"] if not arg.startswith("--admission-policies")]


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


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found(name):
    check, sets, plant = FAULTS[name]
    world = World(*sets)
    plant(world)
    found = world.findings()
    assert {each.check for each in found} == ({check} if isinstance(check, str) else check)
    assert all(each.about and each.what for each in found)
    assert [each.level for each in found] == sorted(each.level for each in found)


def test_every_check_has_a_planted_fault():
    planted = [{check} if isinstance(check, str) else check for check, _, _ in FAULTS.values()]
    assert set().union(*planted) == CHECKS.keys()


@pytest.mark.parametrize(
    "sets",
    [
        (),
        ("apis.aim.enabled=false",),
        (POLICIES,),
        ("gate.autoscaling.enabled=true",),
        ("reconciler.enabled=false",),
        LISTED,
        (*LISTED, "reconciler.apis.ome=true", "reconciler.clusterObjects=true"),
        ('reconciler.apis={"aim":true,"llmd":true,"ome":true}', 'reconciler.namespaces=["team-a"]'),
    ],
)
def test_nothing_is_wrong_with_the_chart_in_a_cluster(sets):
    assert World(*sets).findings() == []


def test_faults_that_have_the_same_cause_are_few():
    world = World()
    secret_deleted(world)
    assert [each.check for each in world.findings()] == ["secret-missing"]


@pytest.mark.parametrize("sets", [(), (MANAGED,), (TRUE_FILES,), (POLICIES,), ('gate.view="none"',)])
def test_nothing_is_wrong_with_rendered_manifests(sets, tmp_path, capsys):
    path = tmp_path / "all.yaml"
    path.write_text(yaml.safe_dump_all(rendered(*sets)))
    assert main(["doctor", str(path)]) == 0, capsys.readouterr().out
    assert capsys.readouterr().out == "nothing is wrong\n"


def test_what_is_wrong_with_manifests_is_printed_with_reason_and_fix(capsys, monkeypatch):
    text = yaml.safe_dump_all(rendered("gate.replicas=1", "webhooks.timeoutSeconds=30"))
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert main(["doctor", "-"]) == 0
    printed = capsys.readouterr().out
    assert "warning: Deployment modelgate-system/modelgate: there is one replica (one-replica)\n  why: " in printed
    assert "  fix: Set gate.replicas=2 or more.\n" in printed
    assert printed.endswith("0 errors, 3 warnings\n")
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert main(["doctor", "--fail-on=warning", "-o", "json", "-"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert {each["check"] for each in document["findings"]} == {"one-replica", "timeout-long"}
    assert all(each.keys() == {"check", "level", "about", "what", "why", "fix"} for each in document["findings"])


def test_an_error_is_exit_code_1_and_what_cannot_be_read_2(tmp_path, capsys):
    path = tmp_path / "none.yaml"
    path.write_text("kind: List\n")
    assert main(["doctor", str(path)]) == 1
    assert "no Deployment of the gate is found (gate-missing)" in capsys.readouterr().out
    assert main(["doctor", str(tmp_path / "absent.yaml")]) == 2
    nowhere = {"clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:9"}}], "users": []}
    nowhere |= {"contexts": [{"name": "c", "context": {"cluster": "c", "user": ""}}], "current-context": "c"}
    (tmp_path / "kubeconfig").write_text(json.dumps(nowhere))
    assert main(["doctor", f"--kubeconfig={tmp_path / 'kubeconfig'}"]) == 2
    assert "the API server does not answer" in capsys.readouterr().err


def test_helm_test_runs_the_doctor_with_an_account_that_only_reads():
    done = run(
        "template", "modelgate", str(CHART), f"--namespace={NAMESPACE}", "--show-only=templates/tests/doctor.yaml"
    )
    found = {each["kind"]: each for each in documents(done.stdout)}
    (container,) = found["Pod"]["spec"]["containers"]
    assert container["args"] == ["doctor", "--read-only", f"--namespace={NAMESPACE}"]
    assert container["image"] == World().container()["image"]
    verbs = {verb for rule in found["ClusterRole"]["rules"] for verb in rule["verbs"]}
    assert verbs == {"get", "list"}
    assert not any("secrets" in rule["resources"] for rule in found["ClusterRole"]["rules"])
    for each in found.values():
        assert each["metadata"]["annotations"]["helm.sh/hook"] == "test"
        assert "hook-succeeded" in each["metadata"]["annotations"]["helm.sh/hook-delete-policy"]


def test_the_page_has_every_check():
    page = (ROOT / "docs" / "doctor.md").read_text()
    rows = re.findall(r"^\| `([a-z-]+)` \| (error|warning) \| (.*) \| (.*) \|$", page, re.MULTILINE)
    assert rows == [(name, each.level, each.why, each.fix) for name, each in CHECKS.items()]
    assert {each.level for each in CHECKS.values()} == {ERROR, WARNING}


APIS = ("aim", "llmaz", "llmd", "llmkube", "ome")
DEFINITION_GROUPS = {each["metadata"]["name"]: each["spec"]["group"] for each in definitions()}


def only(*apis):
    """The values that disable all other APIs."""
    return [f"apis.{each}.enabled=false" for each in APIS if each not in apis]


@pytest.mark.parametrize("apis", [*combinations(APIS, 1), *combinations(APIS, 2)], ids="+".join)
def test_nothing_is_wrong_where_some_apis_are_used(apis):
    """Enabled alone, or all enabled and only the definitions of these installed."""
    groups = {GROUPS[each] for each in apis}
    for sets in (only(*apis), ()):
        world = World(*sets)
        world.objects = [
            each for each in world.objects if DEFINITION_GROUPS.get(each["metadata"]["name"], "") in {"", *groups}
        ]
        assert world.findings() == []


@pytest.mark.parametrize("api", APIS)
def test_a_gate_that_says_nothing_is_noticed_in_every_api(api):
    world = World(*only(api))
    world.judged = lambda obj: (201, judged(obj)[1], [])
    (found,) = world.findings()
    assert (found.check, GROUPS[api] in found.about) == ("canary-accepted", True)


@pytest.mark.parametrize("api", ["aim", "llmaz", "llmkube", "ome"])
def test_the_trial_of_an_api_uses_a_rule_that_is_in_force_under_the_definition_upstream(api):
    documents = [yaml.safe_load(each.read_text()) for each in shared("upstream-crds", api).glob("*.yaml")]
    ruling, _ = with_installed(RULES.catalog, documents)
    names = {each["metadata"]["name"] for each in documents}
    trial = trials.trial_of(api, ruling, names, RULES.options, RULES.catalog)
    assert trial is not None
    assert trial.known is ruling.kinds[trial.known.gvk]


def test_where_nothing_is_installed_one_warning_says_so():
    world = World()
    world.objects = [each for each in world.objects if each["kind"] != "CustomResourceDefinition"]
    assert [(each.check, each.what) for each in world.findings()] == [
        ("definition-missing", "no definition of a covered kind is installed")
    ]
