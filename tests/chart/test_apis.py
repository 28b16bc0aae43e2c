"""Each API can be left out: webhooks, rights, the view and the reconciler follow."""

import pytest

import reconciler.audit
from tests.chart.helm import APIS, CHART, containers, of_kind, pods, rendered, run, values, webhooks
from tests.chart.test_pods import parsed
from tests.chart.test_rights import rights
from tests.definitions import GROUPS, definitions
from webhook import catalog
from webhook.catalog import definition_names
from webhook.facts import WATCHED, watched
from webhook.facts.settings import DEFAULT_SETTINGS

SHIPPED = catalog.load()
MARKS = definition_names(SHIPPED)[1]
"""Definitions without rules here that tell releases of an operator apart."""


def only(*apis):
    """The values that leave out all other APIs."""
    return tuple(f"apis.{api}.enabled=false" for api in APIS if api not in apis)


def groups(rules):
    return {group for rule in rules for group in rule["apiGroups"]}


def test_every_api_has_a_switch_and_is_covered_unless_it_is_left_out():
    assert values()["apis"] == {api: {"enabled": True} for api in APIS}
    assert {each["spec"]["group"] for each in definitions()} == set(GROUPS.values())
    assert GROUPS.keys() == set(APIS)
    assert "--without" not in repr(rendered())


@pytest.mark.parametrize("api", APIS)
def test_webhooks_and_rights_follow_one_api(api):
    own, others = GROUPS[api], set(GROUPS.values()) - {GROUPS[api]}
    for webhook in webhooks(*only(api)):
        assert groups(webhook["rules"]) == {own}
    for account in ("modelgate-view", "modelgate-reconciler"):
        granted = rights(account, *only(api))
        assert not {key[1] for key in granted} & others
        assert own in {key[1] for key in granted} or api == "llmaz"  # no rule reads an OpenModel
        named = {name for key in granted for name in key[3] if key[2] == "customresourcedefinitions"}
        assert {name.partition(".")[2] for name in named - MARKS} == {own}
        assert named & MARKS == MARKS & SHIPPED.packs[api].table.rows.keys()
    every = [*only(api), "rbac.aggregate=true"]
    for role in of_kind("ClusterRole", *every):
        if "-kinds-" in role["metadata"]["name"]:
            assert groups(role["rules"]) == {own}


@pytest.mark.parametrize("api", APIS)
def test_gate_and_reconciler_are_told_what_they_do_not_cover(api):
    for component in ("gate", "reconciler"):
        server = next(each for each in containers(pods(*only(api))[component]) if each["name"] == component)
        assert set(parsed(server["args"]).without) == set(APIS) - {api}


def test_an_api_that_is_left_out_is_neither_read_nor_judged_nor_acted_for():
    without = {GROUPS["aim"], GROUPS["ome"]}
    of_aim_alone = {"", "storage.k8s.io"}
    assert {kind.group for kind in watched(without)} == {kind.group for kind in WATCHED} - without - of_aim_alone
    less = SHIPPED.without(without)
    assert {gvk.group for gvk in less.kinds} == set(GROUPS.values()) - without
    assert less.digest == SHIPPED.digest, "stamps stay valid"
    rules = reconciler.audit.load("standard", DEFAULT_SETTINGS, without=["aim", "ome"])
    assert {each.group for each in rules.kinds()} == set(GROUPS.values()) - without
    args = pods("apis.llmaz.enabled=false")["reconciler"]["containers"][0]["args"]
    assert parsed(args).apis == ()


def test_an_api_that_does_not_exist_is_refused_with_those_that_do():
    done = run("template", "modelgate", str(CHART), "--set=apis.llmkub.enabled=false")
    assert f"apis.llmkub: there is no such API; use {', '.join(APIS)}" in done.stderr


def test_without_any_api_there_is_nothing_to_guard():
    done = run("template", "modelgate", str(CHART), *(f"--set={each}" for each in only()))
    assert "no API is enabled: set apis.<name>.enabled=true" in done.stderr


def test_kinds_replace_those_of_the_apis_for_the_webhooks_only():
    kinds = 'kinds=[{"group":"ome.io","versions":["v1beta1"],"resources":["inferenceservices"]}]'
    for webhook in webhooks(kinds):
        assert groups(webhook["rules"]) == {"ome.io"}
    assert rights("modelgate-view", kinds) == rights("modelgate-view")
