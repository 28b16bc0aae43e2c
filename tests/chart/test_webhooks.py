"""What the API server will send us, and what it will never send us."""

import itertools
import json

import pytest

from tests.chart.helm import NAMESPACE, POLICIES, configurations, of_kind, rendered, values, webhooks
from tests.chart.test_certificates import FILES, MANAGED
from tests.definitions import definitions

# Two kinds, one of them under two versions, as later kinds will be.
MORE = "kinds=" + json.dumps(
    [
        {"group": "a.example", "versions": ["v1", "v1beta1"], "resources": ["xs", "ys"]},
        {"group": "b.example", "versions": ["v1"], "resources": ["zs"]},
    ]
)


def matches(rule, group, version, resource):
    """Whether a rule of a webhook matches a request, as the API server does it (resource/subresource, * and */*)."""
    name, _, subresource = resource.partition("/")
    wanted = {resource, "*/*", *(() if subresource else ("*",)), f"{name}/*", f"*/{subresource}"}
    return (
        bool({group, "*"} & set(rule["apiGroups"]))
        and bool({version, "*"} & set(rule["apiVersions"]))
        and bool(wanted & set(rule["resources"]))
    )


def sent(group, version, resource, *sets):
    return {
        webhook["name"]
        for webhook in webhooks(*sets)
        for rule in webhook["rules"]
        if matches(rule, group, version, resource)
    }


def test_the_rules_are_the_served_kinds_of_the_catalog_and_nothing_else():
    served = {
        (crd["spec"]["group"], version["name"], crd["spec"]["names"]["plural"])
        for crd in definitions()
        for version in crd["spec"]["versions"]
        if version["served"]
    }
    assert served
    for webhook in webhooks():
        of_rules = {
            each
            for rule in webhook["rules"]
            for each in itertools.product(rule["apiGroups"], rule["apiVersions"], rule["resources"])
        }
        assert of_rules == served


def test_both_webhooks_are_asked_about_creation_and_change():
    for webhook in webhooks():
        assert all(rule["operations"] == ["CREATE", "UPDATE"] for rule in webhook["rules"])
        assert webhook["matchPolicy"] == "Equivalent"


def test_models_are_sent_and_their_status_is_not():
    both = {"mutate.modelgate.dev", "validate.modelgate.dev"}
    assert sent("inference.llmkube.dev", "v1alpha1", "models") == both
    assert sent("inference.llmkube.dev", "v1alpha1", "models/status") == set()
    assert sent("inference.llmkube.dev", "v1alpha1", "models/scale") == set()


# What a cluster needs to start, to repair itself, or to get rid of us.
NEEDED = [
    ("", "v1", "pods"),
    ("", "v1", "pods/binding"),
    ("", "v1", "pods/status"),
    ("", "v1", "nodes"),
    ("", "v1", "nodes/status"),
    ("", "v1", "namespaces"),
    ("", "v1", "namespaces/finalize"),
    ("", "v1", "secrets"),
    ("", "v1", "configmaps"),
    ("", "v1", "services"),
    ("", "v1", "endpoints"),
    ("", "v1", "events"),
    ("", "v1", "serviceaccounts/token"),
    ("", "v1", "persistentvolumeclaims"),
    ("apps", "v1", "deployments"),
    ("apps", "v1", "deployments/scale"),
    ("apps", "v1", "replicasets"),
    ("apps", "v1", "daemonsets"),
    ("apps", "v1", "statefulsets"),
    ("batch", "v1", "jobs"),
    ("coordination.k8s.io", "v1", "leases"),
    ("discovery.k8s.io", "v1", "endpointslices"),
    ("events.k8s.io", "v1", "events"),
    ("certificates.k8s.io", "v1", "certificatesigningrequests"),
    ("certificates.k8s.io", "v1", "certificatesigningrequests/approval"),
    ("authentication.k8s.io", "v1", "tokenreviews"),
    ("authorization.k8s.io", "v1", "subjectaccessreviews"),
    ("rbac.authorization.k8s.io", "v1", "clusterroles"),
    ("rbac.authorization.k8s.io", "v1", "rolebindings"),
    ("apiextensions.k8s.io", "v1", "customresourcedefinitions"),
    ("apiregistration.k8s.io", "v1", "apiservices"),
    ("admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations"),
    ("admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations"),
    ("admissionregistration.k8s.io", "v1", "validatingadmissionpolicies"),
    ("storage.k8s.io", "v1", "csinodes"),
    ("node.k8s.io", "v1", "runtimeclasses"),
    ("scheduling.k8s.io", "v1", "priorityclasses"),
    ("networking.k8s.io", "v1", "ingresses"),
    ("policy", "v1", "poddisruptionbudgets"),
]


@pytest.mark.parametrize(("group", "version", "resource"), NEEDED)
def test_nothing_that_a_cluster_needs_is_ever_sent(group, version, resource):
    assert sent(group, version, resource) == set()
    assert sent(group, version, resource, MORE) == set()


def test_nothing_that_the_chart_itself_installs_is_ever_sent():
    for each in rendered():
        group, _, version = each["apiVersion"].rpartition("/")
        plural = each["kind"].lower() + "s"
        assert sent(group, version, plural) == set()


def test_the_rules_follow_the_values():
    rules = webhooks(MORE)[0]["rules"]
    assert [(rule["apiGroups"], rule["apiVersions"], rule["resources"]) for rule in rules] == [
        (["a.example"], ["v1", "v1beta1"], ["xs", "ys"]),
        (["b.example"], ["v1"], ["zs"]),
    ]


# What could narrow the selection: other kinds, one replica, users' policies, another profile, no namespaces' guard.
NARROWING = [(), (MORE,), (POLICIES,), ('gate.profile="audit"',), ("apis.ome.enabled=false",), ("gate.replicas=1",)]


@pytest.mark.parametrize("sets", NARROWING)
def test_no_namespace_is_a_way_around_the_gate(sets):
    """Of the guarded kinds; a cluster must start without the gate, so users' policies leave some namespaces out."""
    guarding = [each for each in webhooks(*sets) if "policies" not in each["name"]]
    assert len(guarding) == 2
    for webhook in guarding:
        assert (webhook["namespaceSelector"], webhook["objectSelector"]) == ({}, {})
        assert {rule["scope"] for rule in webhook["rules"]} == {"*"}


def test_only_the_value_for_it_exempts_a_namespace_and_it_does_so_for_both_webhooks_alike():
    """``modelgate doctor`` reports it (namespace-excluded, tests/chart/test_doctor.py)."""
    selector = {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["x"]}]}
    chosen = webhooks(f"webhooks.namespaceSelector={json.dumps(selector)}")
    assert [each["namespaceSelector"] for each in chosen] == [selector, selector]
    assert [each["objectSelector"] for each in chosen] == [{}, {}]


@pytest.mark.parametrize("sets", [(), (MORE,), ("gate.replicas=0",), ("reconciler.enabled=false",), (POLICIES,)])
def test_ca_bundle_is_never_rendered(sets):
    assert "caBundle" not in repr(configurations(*sets))


def test_the_names_by_which_the_ca_bundle_is_applied_never_change():
    assert [(each["metadata"]["name"], [hook["name"] for hook in each["webhooks"]]) for each in configurations()] == [
        ("modelgate", ["mutate.modelgate.dev"]),
        ("modelgate-policies", ["mutate-policies.modelgate.dev"]),
        ("modelgate", ["validate.modelgate.dev"]),
        ("modelgate-policies", ["validate-policies.modelgate.dev"]),
    ]


@pytest.mark.parametrize(
    ("sets", "policies"),
    [
        ((), ["Ignore", "Fail"]),
        (('webhooks.mutating.failurePolicy="Fail"',), ["Fail", "Fail"]),
        (('webhooks.validating.failurePolicy="Ignore"',), ["Ignore", "Ignore"]),
    ],
)
def test_mutation_fails_open_and_validation_closed_unless_told_otherwise(sets, policies):
    assert [webhook["failurePolicy"] for webhook in webhooks(*sets)] == policies


def test_dry_runs_are_answered_quickly_and_changes_by_others_are_looked_at_again():
    mutating, validating = webhooks()
    for webhook in (mutating, validating):
        assert webhook["sideEffects"] == "None"
        assert webhook["timeoutSeconds"] == 5
        assert webhook["admissionReviewVersions"] == ["v1"]
    assert mutating["reinvocationPolicy"] == "IfNeeded"


def test_the_webhooks_call_the_service_of_the_chart():
    (service,) = of_kind("Service")
    for webhook, path in zip(webhooks(), ["/mutate", "/validate"], strict=True):
        assert webhook["clientConfig"] == {
            "service": {
                "name": service["metadata"]["name"],
                "namespace": service["metadata"]["namespace"],
                "path": path,
                "port": service["spec"]["ports"][0]["port"],
            }
        }


def test_what_policies_of_the_users_are_about_is_sent_to_webhooks_of_their_own():
    assert webhooks(POLICIES)[::2] == webhooks()
    for webhook, first in zip(webhooks(POLICIES)[1::2], webhooks(), strict=True):
        assert webhook["rules"] == [
            {
                "apiGroups": ["apps"],
                "apiVersions": ["v1"],
                "resources": ["deployments"],
                "operations": ["CREATE", "UPDATE"],
                "scope": "*",
            }
        ]
        assert webhook["name"] == first["name"].replace(".", "-policies.", 1)
        assert webhook["clientConfig"] == first["clientConfig"]
        (selected,) = webhook["namespaceSelector"]["matchExpressions"]
        assert selected == {
            "key": "kubernetes.io/metadata.name",
            "operator": "NotIn",
            "values": ["kube-system", NAMESPACE],
        }


@pytest.mark.parametrize("policy", ["Ignore", "Fail"])
def test_a_cluster_depends_on_the_gate_for_other_kinds_only_where_it_is_told_to(policy):
    sets = (POLICIES, *(() if policy == "Ignore" else ('policies.failurePolicy="Fail"',)))
    assert [each["failurePolicy"] for each in webhooks(*sets)] == ["Ignore", policy, "Fail", policy]


@pytest.mark.parametrize("sets", [(), (POLICIES,), ('policies.configMap="mine"',), (FILES,)])
def test_every_release_has_the_same_configurations_so_that_an_upgrade_that_fails_leaves_none(sets):
    """Without rules of their own they are called for nothing, and say so: an upgrade then removes what was set."""
    found = [(each["metadata"]["name"], len(each["webhooks"])) for each in configurations(*sets)]
    assert found == [("modelgate", 1), ("modelgate-policies", 1)] * 2
    called = {webhook["name"] for webhook in webhooks(*sets)}
    assert {name for name in called if "policies" in name} == (
        {"mutate-policies.modelgate.dev", "validate-policies.modelgate.dev"} if sets == (POLICIES,) else set()
    )


@pytest.mark.parametrize("sets", [(), (POLICIES,), ('webhooks.annotations={"a":"b"}', 'commonLabels={"team":"x"}')])
def test_what_is_put_back_is_what_the_chart_has(sets):
    (template,) = [each for each in of_kind("ConfigMap", *sets) if "owner" in each["data"]]
    assert template["data"]["owner"] in {each["metadata"]["name"] for each in of_kind("ClusterRole", *sets)}
    for each in configurations(*sets):
        key = f"{each['kind'].removesuffix('WebhookConfiguration').lower()}.{each['metadata']['name']}"
        kept = json.loads(template["data"][key])
        metadata = {key: each["metadata"].get(key, {}) for key in ("labels", "annotations")}
        assert kept == {**metadata, "webhooks": each["webhooks"]}


@pytest.mark.parametrize("sets", [("webhooks.restore=false",), ("certs.guard=false",), (FILES,), (MANAGED,)])
def test_nothing_is_put_back_where_our_account_may_not_make_a_configuration(sets):
    assert [each["metadata"]["name"] for each in of_kind("ConfigMap", *sets)] == ["modelgate-webhooks"]
    text = repr(rendered(*sets))
    assert text.count("--put-back=off") == text.count("--restore=")
    assert "create" not in repr(
        [
            key
            for role in of_kind("ClusterRole", *sets)
            for key in role["rules"]
            if "admissionregistration.k8s.io" in key["apiGroups"]
        ]
    )


def test_only_what_is_being_deleted_passes_validation_unseen():
    mutating, validating = webhooks()
    assert "matchConditions" not in mutating
    assert [each["name"] for each in validating["matchConditions"]] == ["not-just-losing-finalizers"]


def test_the_kinds_of_the_values_are_sorted_and_unique():
    kinds = [kind["group"] for kind in values()["kinds"]]
    assert kinds == sorted(set(kinds))
