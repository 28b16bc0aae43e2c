"""Each verb of each role is needed: `modelgate doctor`, which knows what the programs do, misses it when it is gone."""

from copy import deepcopy

import pytest

from tests.chart.helm import POLICIES, rendered
from tests.chart.world import NOW, RULES
from webhook.cli.doctor.checks import rights
from webhook.cli.doctor.snapshot import Installation, Snapshot

DEFAULT = ()
ACTING = (
    'reconciler.apis={"aim":true,"llmaz":true,"llmd":true,"llmkube":true,"ome":true}',
    'reconciler.namespaces=["*"]',
)
ROLES = [
    ("Role", "modelgate"),
    ("Role", "modelgate-view"),
    ("Role", "modelgate-reconciler"),
    ("ClusterRole", "modelgate"),
    ("ClusterRole", "modelgate-view"),
    ("ClusterRole", "modelgate-reconciler"),
]


def found(objects):
    """The findings about rights."""
    (installation,) = Installation.all_of(Snapshot(objects, NOW), None)
    return list(rights.check(installation, RULES.catalog))


def without_one(role, sets):
    """The objects without one verb on one resource, for each of them that no other rule of the role grants as well."""
    objects = rendered(*sets)
    number = next(i for i, each in enumerate(objects) if (each["kind"], each["metadata"]["name"]) == role)
    rules = [
        {**rule, "resources": [resource], "verbs": [verb]}
        for rule in objects[number]["rules"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        if rule["apiGroups"] != ["rules.example"]  # what the params of users' policies need is theirs to say
    ]
    for removed in rules:
        rest = [rule for rule in rules if rule != removed]
        if not any(_includes(rule, removed) for rule in rest):
            changed = deepcopy(objects[number])
            changed["rules"] = rest
            yield removed, [*objects[:number], changed, *objects[number + 1 :]]


def _includes(rule, other):
    same = all(rule[key] == other[key] for key in ("apiGroups", "resources", "verbs"))
    return same and "resourceNames" not in rule


@pytest.mark.parametrize("sets", [DEFAULT, ACTING, (POLICIES,)], ids=["default", "acting", "policies"])
@pytest.mark.parametrize("role", ROLES, ids=lambda role: f"{role[0]}-{role[1]}")
def test_without_a_verb_something_cannot_work(role, sets):
    removed = list(without_one(role, sets))
    assert removed
    for rule, objects in removed:
        missing = [each.message for each in found(objects) if each.code == "right-missing"]
        assert missing, f"nothing needs {rule}"
        assert any(rule["verbs"][0] in each and rule["resources"][0] in each for each in missing), rule


@pytest.mark.parametrize("sets", [DEFAULT, ACTING, (POLICIES,)], ids=["default", "acting", "policies"])
def test_with_all_verbs_nothing_is_missing(sets):
    assert found(rendered(*sets)) == []
