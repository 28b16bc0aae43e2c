"""Who may do what: nothing by wildcard, no Secret but the CA's, no webhook configuration but ours."""

import itertools
import json

import pytest

from reconciler.audit import Outlet, outlet
from reconciler.projections.llmkube import MODELS
from tests.chart.helm import CHART, NAMESPACE, POLICIES, of_kind, pods, rendered, run
from tests.definitions import FETCHED, definitions
from tests.reconciler.world import rules
from webhook import catalog
from webhook.catalog import definition_names
from webhook.cluster.view import Kind
from webhook.facts import WATCHED

KINDS = 'kinds=[{"group":"a.example","versions":["v1"],"resources":["xs","ys"]}]'
DEFINITIONS = frozenset().union(*definition_names(catalog.load()))
RULES = rules()
BLIND = 'gate.view="none"'
CONFIG = Kind("", "ConfigMap")
NAMED_ALIKE = ("modelgate", "modelgate-policies")
MADE_AGAIN = ["create", "get", "patch", "watch"]


def rights(account, *sets):
    """What a ServiceAccount may do: (scope, group, resource, names) → verbs."""
    found = {}
    for binding in of_kind("RoleBinding", *sets) + of_kind("ClusterRoleBinding", *sets):
        if not any(subject["name"] == account for subject in binding["subjects"]):
            continue
        ref = binding["roleRef"]
        role = next(each for each in of_kind(ref["kind"], *sets) if each["metadata"]["name"] == ref["name"])
        for rule in role["rules"]:
            for group in rule["apiGroups"]:
                for resource in rule["resources"]:
                    names = tuple(rule.get("resourceNames", ()))
                    key = (ref["kind"], group, resource, DEFINITIONS if set(names) == DEFINITIONS else names)
                    found[key] = sorted({*found.get(key, ()), *rule["verbs"]})
    return found


def test_the_gate_may_make_one_ca_change_it_publish_it_and_report_faults():
    assert rights("modelgate", BLIND) == {
        ("Role", "", "secrets", ()): ["create"],
        ("Role", "", "secrets", ("modelgate-ca",)): ["get", "update", "watch"],
        ("Role", "events.k8s.io", "events", ()): ["create"],
        ("Role", "", "configmaps", ("modelgate-webhooks",)): ["get", "watch"],
        ("ClusterRole", "rbac.authorization.k8s.io", "clusterroles", ("modelgate",)): ["get"],
        **{
            ("ClusterRole", "admissionregistration.k8s.io", f"{kind}webhookconfigurations", NAMED_ALIKE): verbs
            for kind, verbs in dict.fromkeys(("mutating", "validating"), MADE_AGAIN).items()
        },
    }


def test_with_a_view_it_may_also_make_tokens_of_the_account_that_sees_and_of_no_other():
    tokens = ("Role", "", "serviceaccounts/token", ("modelgate-view",))
    assert rights("modelgate") == {**rights("modelgate", BLIND), tokens: ["create"]}


STRICTNESS = {
    ("ClusterRole", "modelgate.dev", "enforcements", ()): ["list", "watch"],
    ("ClusterRole", "modelgate.dev", "policyexceptions", ()): ["list", "watch"],
    ("ClusterRole", "", "namespaces", ()): ["list", "watch"],
}


def test_the_server_may_read_what_facts_read_and_nothing_else():
    plurals = {
        Kind(each["spec"]["group"], each["spec"]["names"]["kind"]): each["spec"]["names"]["plural"]
        for each in definitions()
    } | {
        Kind("", "Node"): "nodes",
        Kind("storage.k8s.io", "StorageClass"): "storageclasses",
        Kind("inference.llmkube.dev", "InferenceService"): "inferenceservices",
    }
    assert rights("modelgate-view") == {
        **{("ClusterRole", kind.group, plurals[kind], ()): ["get", "list", "watch"] for kind in WATCHED},
        ("ClusterRole", "apiextensions.k8s.io", "customresourcedefinitions", DEFINITIONS): ["get"],
        ("ClusterRole", "apiextensions.k8s.io", "customresourcedefinitions", ()): ["list", "watch"],
        ("ClusterRole", "", "configmaps", ("inferenceservice-config",)): ["get"],
        **{("ClusterRole", kind.group, f"{kind.kind.lower()}s", ()): ["get"] for kind in FETCHED - {CONFIG}},
        **STRICTNESS,
        ("Role", "events.k8s.io", "events", ()): ["create"],
    }
    assert CONFIG in FETCHED
    assert rights("modelgate-view", BLIND) == {}


def test_with_policies_the_server_may_also_ask_what_these_may_ask_and_nothing_else():
    usual = rights("modelgate-view")
    assert {key: verbs for key, verbs in rights("modelgate-view", POLICIES).items() if verbs != usual.get(key)} == {
        ("ClusterRole", "", "namespaces", ()): ["get", "list", "watch"],
        ("ClusterRole", "authorization.k8s.io", "subjectaccessreviews", ()): ["create"],
        ("ClusterRole", "rules.example", "limits", ()): ["get", "list"],
    }
    assert rights("modelgate", POLICIES) == rights("modelgate")


def test_another_name_of_the_ca_reaches_rights_and_arguments():
    sets = ('certs.secretName="theirs"',)
    assert rights("modelgate", *sets)["Role", "", "secrets", ("theirs",)] == ["get", "update", "watch"]
    assert f"--store=secret:{NAMESPACE}/theirs" in pods(*sets)["gate"]["initContainers"][0]["args"]


EVERY = 'reconciler.apis={"aim":true,"llmaz":true,"llmd":true,"llmkube":true,"ome":true}'
ALL = 'reconciler.namespaces=["*"]'
LLMKUBE = "reconciler.apis.llmkube=true"
ACTED = [
    each.plural for each in RULES.kinds() if each.group == "aim.silogen.ai" and outlet(RULES, each) is Outlet.APPLY
]
OME = ("basemodels", "benchmarkjobs", "clusterbasemodels")
OME_MADE = {
    "": ("serviceaccounts", "services"),
    "apps": ("deployments",),
    "autoscaling": ("horizontalpodautoscalers",),
    "keda.sh": ("scaledobjects",),
    "leaderworkerset.x-k8s.io": ("leaderworkersets",),
    "rbac.authorization.k8s.io": ("roles", "rolebindings"),
}
MADE = {
    "aim.silogen.ai": ("aimclusterservicetemplates", "aimmodelcaches", "aimservicetemplates"),
    "serving.kserve.io": ("clusterservingruntimes", "inferenceservices", "servingruntimes"),
    "gateway.networking.k8s.io": ("httproutes",),
}
REPORTS = {"openreports.io": ("reports", "clusterreports"), "wgpolicyk8s.io": ("policyreports", "clusterpolicyreports")}


@pytest.mark.parametrize("sets", [(), (KINDS,)])
def test_the_reconciler_may_judge_and_heal_every_kind_whatever_the_gate_guards(sets):
    granted = rights("modelgate-reconciler", *sets)
    for each in RULES.kinds():
        assert granted["ClusterRole", each.group, each.plural, ()] == ["get", "list", "patch", "watch"]


def test_the_reconciler_may_write_into_a_status_that_has_room_for_a_condition_and_into_no_other():
    granted = rights("modelgate-reconciler")
    verbs = {Outlet.APPLY: ["patch"], Outlet.REPLACE: ["update"], Outlet.NONE: None}
    for each in RULES.kinds():
        assert granted.get(("ClusterRole", each.group, f"{each.plural}/status", ())) == verbs[outlet(RULES, each)]
    assert rights("modelgate-reconciler", LLMKUBE)["ClusterRole", MODELS.group, "models/status", ()] == [
        "patch",
        "update",
    ]


def test_the_reconciler_reads_what_the_gate_reads_holds_one_lease_and_writes_events_and_reports():
    granted = rights("modelgate-reconciler")
    kinds = {(each.group, name) for each in RULES.kinds() for name in (each.plural, f"{each.plural}/status")}
    every, fixed = ["create", "delete", "get", "list", "patch", "watch"], ["create", "delete", "get", "list", "watch"]
    assert {key: verbs for key, verbs in granted.items() if key[1:3] not in kinds} == {
        **{key: verbs for key, verbs in rights("modelgate-view").items() if key[1:3] not in kinds and key[0] != "Role"},
        ("Role", "coordination.k8s.io", "leases", ()): ["create"],
        ("Role", "coordination.k8s.io", "leases", ("modelgate-reconciler",)): ["get", "list", "update", "watch"],
        ("ClusterRole", "", "configmaps", ("inferenceservice-config",)): ["get", "list", "watch"],
        ("ClusterRole", "", "events", ()): ["create"],
        **{("ClusterRole", group, name, ()): every for group, names in REPORTS.items() for name in names},
    }
    usual = rights("modelgate-reconciler")
    more = {key: verbs for key, verbs in rights("modelgate-reconciler", LLMKUBE).items() if usual.get(key) != verbs}
    scaling = rights("modelgate-reconciler", "reconciler.apis.llmd=true", ALL)
    assert {key: verbs for key, verbs in scaling.items() if usual.get(key) != verbs} == {
        ("ClusterRole", "llmd.ai", "variantautoscalings/status", ()): ["patch", "update"],
        ("ClusterRole", "apps", "deployments", ()): ["get", "list", "watch"],
        ("ClusterRole", "", "configmaps", ()): ["get"],
    }
    aim = rights("modelgate-reconciler", "reconciler.apis.aim=true", ALL)
    assert {key: verbs for key, verbs in aim.items() if usual.get(key) != verbs} == {
        **{("ClusterRole", "aim.silogen.ai", f"{name}/status", ()): ["patch", "update"] for name in ACTED},
        **{("ClusterRole", group, name, ()): every for group, names in MADE.items() for name in names},
        ("ClusterRole", "", "persistentvolumeclaims", ()): fixed,
        ("ClusterRole", "batch", "jobs", ()): fixed,
        ("ClusterRole", "", "pods", ()): ["list", "watch"],
        ("ClusterRole", "", "pods/log", ()): ["get"],
    }
    ome = rights("modelgate-reconciler", "reconciler.apis.ome=true", ALL)
    assert {key: verbs for key, verbs in ome.items() if usual.get(key) != verbs} == {
        **{("ClusterRole", "ome.io", f"{name}/status", ()): ["update"] for name in OME},
        ("ClusterRole", "batch", "jobs", ()): fixed,
        **{("ClusterRole", group, name, ()): every for group, names in OME_MADE.items() for name in names},
        ("ClusterRole", "", "pods", ()): ["get", "list", "watch"],
        ("ClusterRole", "", "configmaps", ("benchmarkjob-config",)): ["get"],
        ("Role", "", "configmaps", ()): ["list"],
    }
    assert {key[2] for key in more if key[1] != MODELS.group} == {
        "persistentvolumeclaims",
        "resourceclaims",
        "resourceclaimtemplates",
    }


def test_there_is_no_wildcard_and_no_verb_that_escalates_or_deletes_but_reports():
    for kind in ("Role", "ClusterRole"):
        for role in of_kind(kind):
            for rule in role["rules"]:
                assert "*" not in rule["apiGroups"] + rule["resources"] + rule["verbs"]
                assert not {"deletecollection", "escalate", "bind", "impersonate"} & set(rule["verbs"])
                assert "delete" not in rule["verbs"] or rule["apiGroups"][0] in REPORTS


def test_with_every_projection_there_is_no_wildcard_no_verb_that_escalates_and_no_secret():
    for (_, group, resource, _), verbs in rights("modelgate-reconciler", EVERY, ALL).items():
        assert "*" not in {group, resource, *verbs}
        assert not {"deletecollection", "escalate", "bind", "impersonate"} & set(verbs)
        assert resource not in {"secrets", "serviceaccounts/token", "pods/exec"}


def test_reports_of_nodes_are_read_in_omes_own_namespace():
    roles, bindings = of_kind("Role", EVERY, ALL), of_kind("RoleBinding", EVERY, ALL)
    (role,) = (each for each in roles if each["metadata"]["name"] == "modelgate-reconciler-models")
    (binding,) = (each for each in bindings if each["roleRef"]["name"] == role["metadata"]["name"])
    assert role["metadata"]["namespace"] == binding["metadata"]["namespace"] == "ome"


PLACES = ("kaiwo-system", "team-a", "team-b")
TEAMS = f"reconciler.namespaces={json.dumps(PLACES)}"
CLUSTER = "reconciler.clusterObjects=true"
HOMELESS = {
    *("nodes", "storageclasses", "customresourcedefinitions", "clusterreports", "clusterpolicyreports"),
    *("namespaces", "enforcements", "policyexceptions"),
    *("clusterservingruntimes", *(each.plural for each in RULES.kinds() if not each.namespaced)),
}
"""What has no namespace."""
NAMED = {("inferenceservice-config",), ("benchmarkjob-config",)}
"""The ConfigMaps that the ClusterRole grants by their names."""


def by_place(*sets):
    """What the reconciler may do, by namespace ("": in the cluster): (group, resource, names) → verbs."""
    found = {}
    for scope in ("Role", "ClusterRole"):
        roles = {(each["metadata"].get("namespace"), each["metadata"]["name"]): each for each in of_kind(scope, *sets)}
        for binding in of_kind(f"{scope}Binding", *sets):
            if binding["subjects"][0]["name"] == "modelgate-reconciler":
                place = binding["metadata"].get("namespace")
                granted = found.setdefault(place or "", {})
                for key, verbs in keyed(roles[place, binding["roleRef"]["name"]]["rules"]):
                    granted[key] = sorted({*granted.get(key, ()), *verbs})
    return found


def keyed(rules):
    for rule in rules:
        for group, resource in itertools.product(rule["apiGroups"], rule["resources"]):
            yield (group, resource, tuple(rule.get("resourceNames", ()))), rule["verbs"]


def homeless(key):
    return key[1].partition("/")[0] in HOMELESS or key[2] in NAMED


@pytest.mark.parametrize("apis", [(), (EVERY,)])
def test_with_a_list_of_namespaces_it_may_do_in_each_what_it_could_do_in_all_and_elsewhere_nothing(apis):
    everywhere, listed = by_place(*apis, ALL), by_place(*apis, TEAMS, CLUSTER)
    assert listed.keys() == {"", NAMESPACE, "default", *PLACES, *(("ome",) if apis else ())}
    assert listed["team-a"] == listed["team-b"] == listed["kaiwo-system"]
    assert {**listed[""], **listed["team-a"]} == everywhere[""]
    assert all(map(homeless, listed[""]))
    assert not any(map(homeless, listed["team-a"]))
    assert listed["default"] == {("", "events", ()): ["create"]}
    assert listed[NAMESPACE] == everywhere[NAMESPACE]


@pytest.mark.parametrize("apis", [(), (EVERY,)])
def test_a_list_of_namespaces_alone_gives_no_right_to_change_anything_elsewhere(apis):
    listed, whole = by_place(*apis, TEAMS), by_place(*apis, TEAMS, CLUSTER)
    assert listed.keys() == whole.keys() - {"default"}
    assert {verb for verbs in listed[""].values() for verb in verbs} == {"get", "list", "watch"}
    assert all(listed[place] == whole[place] for place in (*PLACES, NAMESPACE))


@pytest.mark.parametrize("api", ["aim", "llmd", "ome"])
def test_what_creates_pods_or_reads_config_maps_needs_a_word_about_where(api):
    done = run("template", "modelgate", str(CHART), f"--set=reconciler.apis.{api}=true")
    assert f"reconciler.apis.{api} " in done.stderr
    assert 'list their namespaces in reconciler.namespaces, or set it to ["*"] for all' in done.stderr


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("{*,a}", "list nothing else"),
        ("{team-a},reconciler.clusterObjects=true", "must include kaiwo-system"),
        ("{*},reconciler.clusterObjects=true", "needs a list in reconciler.namespaces"),
        ("{Team}", "does not match pattern"),
        ("{a,a}", "items at 0 and 1 are equal"),
    ],
)
def test_a_list_that_cannot_be_meant_is_refused(value, reason):
    sets = ("--set=reconciler.apis.aim=true", f"--set=reconciler.namespaces={value}")
    assert reason in run("template", "modelgate", str(CHART), *sets).stderr


def test_the_list_reaches_the_process():
    (container,) = pods(TEAMS)["reconciler"]["containers"]
    assert "--only-namespaces=kaiwo-system,team-a,team-b" in container["args"]
    assert "--cluster-objects" not in container["args"]
    assert "--cluster-objects" in pods(TEAMS, CLUSTER)["reconciler"]["containers"][0]["args"]
    assert not [each for each in pods(ALL)["reconciler"]["containers"][0]["args"] if "only-namespaces" in each]


def test_everything_with_a_namespace_is_in_that_of_the_release():
    scoped = {
        "ConfigMap",
        "ServiceAccount",
        "Role",
        "RoleBinding",
        "Service",
        "Deployment",
        "PodDisruptionBudget",
        "NetworkPolicy",
    }
    for each in rendered():
        assert each["metadata"].get("namespace") == (NAMESPACE if each["kind"] in scoped else None)


def test_without_the_reconciler_nothing_of_it_is_left():
    assert "reconciler" not in repr(rendered("reconciler.enabled=false"))


def test_with_nodes_both_may_read_what_decides_whether_a_pod_can_run_and_nothing_else():
    sets = ('gate.nodes="auto"', 'apis.aim={"enabled":false}')
    plain, found = (rights("modelgate-view", *given) for given in (sets[1:], sets))
    more = {key: verbs for key, verbs in found.items() if plain.get(key) != verbs}
    assert more == {
        ("ClusterRole", "", "nodes", ()): ["get", "list", "watch"],
        ("ClusterRole", "", "configmaps", ("cluster-autoscaler-status",)): ["get"],
        ("ClusterRole", "apiextensions.k8s.io", "customresourcedefinitions", ("nodepools.karpenter.sh",)): ["get"],
        **{("ClusterRole", "", kind, ()): ["list"] for kind in ("limitranges", "resourcequotas")},
        ("ClusterRole", "resource.k8s.io", "deviceclasses", ()): ["list"],
        ("ClusterRole", "node.k8s.io", "runtimeclasses", ()): ["get"],
        ("ClusterRole", "scheduling.k8s.io", "priorityclasses", ()): ["get"],
        ("ClusterRole", "storage.k8s.io", "storageclasses", ()): ["get"],
    }
    off = rights("modelgate-view", *sets, "gate.fit=false")
    assert off == plain
    for key in more:
        assert key in rights("modelgate-reconciler", *sets)
