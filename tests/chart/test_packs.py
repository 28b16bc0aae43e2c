"""Folders of APIs of one's own: the volume, the webhooks and the rights follow the values."""

import pytest

from tests.chart.helm import CHART, pods, run, webhooks
from tests.chart.test_rights import rights
from tests.chart.world import NOW, World
from tests.cli.test_references import POLICY, pack_at
from webhook import catalog
from webhook.cli.doctor.checks.rights import check as rights_check
from webhook.cli.doctor.snapshot import Installation, Snapshot

PACKS = (
    'packs.volume={"configMap":{"name":"acme","items":[{"key":"pack.yaml","path":"acme/pack.yaml"}]}}',
    'packs.kinds=[{"group":"acme.example.com","versions":["v1"],"resources":["queues","widgets"],"cluster":["queues"]}]',
    'packs.reads=[{"group":"acme.example.com","resources":["queues"]},{"group":"","resources":["configmaps"]}]',
)
BOTH = (*PACKS, 'policies.configMap="mine"')


def test_gate_and_reconciler_mount_them_and_load_them():
    for sets in (PACKS, BOTH):
        found = pods(*sets)
        for component in ("gate", "reconciler"):
            pod = found[component]
            server = next(each for each in pod["containers"] if each["name"] == component)
            assert "--policies=/packs" in server["args"]
            mounts = {each["name"]: each["mountPath"] for each in server["volumeMounts"]}
            assert mounts["packs"] == "/packs"
            assert ("policies" in mounts) is (sets is BOTH)
            (volume,) = (each for each in pod["volumes"] if each["name"] == "packs")
            assert volume["configMap"]["name"] == "acme"


def test_without_them_nothing_names_them():
    for pod in pods().values():
        assert "packs" not in repr(pod)


def test_the_webhooks_are_called_for_their_kinds_too():
    for webhook in webhooks(*PACKS):
        assert {"acme.example.com", "ome.io"} <= {group for rule in webhook["rules"] for group in rule["apiGroups"]}


def test_the_gate_may_get_what_they_read_and_their_definitions():
    usual, found = rights("modelgate-view"), rights("modelgate-view", *PACKS)
    more = {key: verbs for key, verbs in found.items() if usual.get(key) != verbs}
    named = [key for key in more if key[2] == "customresourcedefinitions"]
    defined = {"queues.acme.example.com", "widgets.acme.example.com"}
    assert [defined <= set(key[3]) and more.pop(key) == ["get"] for key in named] == [True]
    assert more == {
        ("ClusterRole", "acme.example.com", "queues", ()): ["get"],
        ("ClusterRole", "", "configmaps", ()): ["get"],
    }


def test_it_may_list_only_those_that_are_to_be_listed():
    queues, pods = LISTED.removesuffix("]"), '{"group":"","resources":["pods"]}]'
    found = rights("modelgate-view", f"{queues},{pods}")
    assert found["ClusterRole", "acme.example.com", "queues", ()] == ["get", "list"]
    assert found["ClusterRole", "", "pods", ()] == ["get"]


def test_the_gate_may_get_the_definition_of_a_kind_that_is_only_read():
    found = rights("modelgate-view", PACKS[2])
    (names,) = (key[3] for key in found if key[2] == "customresourcedefinitions" and key[3])
    assert "queues.acme.example.com" in names
    assert not any(name.startswith("configmaps") for name in names)


@pytest.mark.parametrize("reach", ["*", "team-a"])
def test_the_reconciler_may_get_what_they_read(reach):
    found = rights("modelgate-reconciler", *PACKS, f'reconciler.namespaces=["{reach}"]')
    assert found["ClusterRole", "", "configmaps", ()] == ["get"]
    assert "get" in found["ClusterRole", "acme.example.com", "queues", ()]


def test_the_reconciler_judges_them():
    found = rights("modelgate-reconciler", *PACKS, 'reconciler.namespaces=["*"]')
    assert "watch" in found["ClusterRole", "acme.example.com", "widgets", ()]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ('packs.kinds=[{"group":"apps","versions":["v1"],"resources":["deployments"]}]', "/packs/kinds/0/group"),
        (
            'packs.kinds=[{"group":"networking.k8s.io","versions":["v1"],"resources":["ingresses"]}]',
            "packs.kinds: networking.k8s.io is a group of the API server itself, not of custom resources",
        ),
        (
            'kinds=[{"group":"coordination.k8s.io","versions":["v1"],"resources":["leases"]}]',
            "kinds: coordination.k8s.io is a group of the API server itself, not of custom resources",
        ),
        ('packs.reads=[{"group":"","resources":["secrets"]}]', "packs.reads: secrets cannot be read"),
        ('packs.volume={"configMap":{"name":"a"},"emptyDir":{}}', "packs"),
    ],
)
def test_a_group_of_kubernetes_secrets_and_two_volumes_are_refused(value, said):
    done = run("template", "modelgate", str(CHART), "--set-json", value)
    assert done.returncode == 1
    assert said in done.stderr


def test_a_group_of_the_community_is_one_of_custom_resources():
    group = "inference.networking.k8s.io"
    kinds = f'packs.kinds=[{{"group":"{group}","versions":["v1"],"resources":["inferencepools"]}}]'
    assert all(
        group in {each for rule in webhook["rules"] for each in rule["apiGroups"]} for webhook in webhooks(kinds)
    )


LISTED = 'packs.reads=[{"group":"acme.example.com","resources":["queues"],"list":true}]'


@pytest.mark.parametrize(
    ("sets", "missing"),
    [
        (PACKS, ["it may not list queues.acme.example.com for facts.queue of Widget: set packs.reads of the chart"]),
        ((*PACKS[:2], LISTED), []),
    ],
)
def test_the_doctor_asks_for_the_right_to_list_what_references_look_for(sets, missing, tmp_path):
    policy = POLICY.replace("path: spec.queue\n", "labels: {speed: fast}\n")
    loaded, world = catalog.load(packs=[pack_at(tmp_path, policy)]), World(*sets)
    (found,) = Installation.all_of(Snapshot(world.objects, NOW, world), None)
    assert [each.message for each in rights_check(found, loaded)] == missing


@pytest.mark.parametrize(
    ("sets", "missing"),
    [
        (PACKS, []),
        (PACKS[:2], ["it may not get queues.acme.example.com for facts.queue of Widget: set packs.reads of the chart"]),
    ],
)
def test_the_doctor_asks_for_the_rights_that_references_need(sets, missing, tmp_path):
    loaded, world = catalog.load(packs=[pack_at(tmp_path)]), World(*sets)
    (found,) = Installation.all_of(Snapshot(world.objects, NOW, world), None)
    assert [each.message for each in rights_check(found, loaded)] == missing
