"""Kubernetes' validation of pods: its tables, bad input, and parts that another part completes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conformance.runner import load_ops, load_skips, run_file
from tests.laws import examples
from tests.shared import shared
from webhook.ground.fieldpath import ROOT
from webhook.kubernetes import template_warnings, validate, warned
from webhook.kubernetes.judge import DATA

TABLES = ("hand", "generated", "upstream", "jobs", "parts")
MAIN = {"name": "main", "image": "a"}
AT = ROOT.child("a").index(0)
WRONG = (None, 0, -1, 1.5, "", "x", [], [None], [[]], ["x"], {}, {"x": None}, True, 10**30, "\ud800")


@pytest.mark.parametrize("name", TABLES)
def test_every_row_is_answered_as_kubernetes_answers_it(name):
    outcomes = run_file(shared("corpora", "pods", f"{name}.json"), load_ops(), load_skips())
    assert [o.message for o in outcomes if o.state in ("failed", "missing")] == []
    assert sum(o.state == "skipped" for o in outcomes) <= len(outcomes) // 20


def _texts(kind, value, **options):
    return [str(error) for error in validate(kind, value, **options)]


def test_a_part_is_silent_about_what_only_the_whole_shows():
    container = {"volumeMounts": [{"name": "v", "mountPath": "/a"}], "resources": {"requests": {"nvidia.com/gpu": 1}}}
    assert _texts("Container", container, part=True) == []
    assert len(_texts("Container", container)) == 4


def test_a_part_says_what_is_present_and_wrong():
    container = {"ports": [{"containerPort": 0}], "imagePullPolicy": "Sometimes"}
    policies = 'supported values: "Always", "IfNotPresent", "Never"'
    assert sorted(_texts("Container", container, path=ROOT.child("spec", "runner"), part=True)) == [
        f'spec.runner.imagePullPolicy: Unsupported value: "Sometimes": {policies}',
        "spec.runner.ports[0].containerPort: Required value",
    ]


def test_a_placeholder_is_unknown():
    spec = {"hostname": "{{.Name}}", "subdomain": "A_b"}
    assert [error.field for error in validate("PodSpec", spec, part=True, templates=True)] == ["subdomain"]


def test_the_owner_decides_on_the_restart_policy():
    spec = {"restartPolicy": "Never"}
    assert [error.field for error in validate("PodSpec", spec, part=True)] == ["restartPolicy"]
    assert validate("PodSpec", spec, part=True, owner="job") == []


@pytest.mark.parametrize("kind", sorted(DATA["types"]))
def test_a_value_of_a_wrong_type_does_not_fail(kind):
    fields = [*DATA["types"][kind], *DATA["types"]["PodSpec"], "volumes", "containers", "limits", "x"]
    for field in fields:
        for value in WRONG:
            validate(kind, {field: value}, AT)
            validate(kind, {field: [{field: value}]}, AT, part=True)
            validate(kind, {field: {field: value}}, AT, part=True)


NAMES = sorted(
    {name for fields in DATA["types"].values() for name in fields} | {"volumes", "containers", "limits", "a/b"}
)
VALUES = st.recursive(
    st.sampled_from(WRONG),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.sampled_from(NAMES), below, max_size=5),
    max_leaves=40,
)


@given(st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=8))
@settings(max_examples=examples(2000), deadline=None)
def test_a_random_template_is_judged_and_its_part_says_nothing_more(spec):
    template = {"spec": spec | {"containers": [spec]}, "metadata": spec}
    whole = set(_texts("PodTemplateSpec", template))
    assert set(_texts("PodTemplateSpec", template, part=True)) <= whole
    list(template_warnings(template, ROOT))


def test_an_enormous_list_is_judged_in_time_that_grows_with_it():
    many = [{"name": f"v{i}"} for i in range(20_000)]
    assert _texts("PodSpec", {"volumes": many, "containers": [MAIN]}) == []


def test_what_two_keys_of_a_mount_say_is_judged():
    """A mount of two keys is usually a name and a path."""
    mount = {"name": "v", "mountPropagation": "Up"}
    fields = [error.field for error in validate("Container", {"volumeMounts": [mount]}, part=True)]
    assert fields == ["volumeMounts[0].mountPath", "volumeMounts.mountPropagation"]


def test_a_null_quantity_is_zero():
    resources = {"limits": {"memory": None}, "requests": {"memory": "1Gi"}}
    (error,) = validate("ResourceRequirements", resources, part=True)
    assert error.detail == "must be less than or equal to memory limit of 0"


def test_without_a_server_that_a_policy_needs_dns_is_not_judged_further():
    spec = {"dnsPolicy": "None", "dnsConfig": {"searches": ["_"]}, "containers": [MAIN]}
    assert [error.field for error in validate("PodSpec", spec)] == ["dnsConfig.nameservers"]


def test_a_whole_float_is_an_integer():
    assert _texts("PodSpec", {"activeDeadlineSeconds": -1.0}) == _texts("PodSpec", {"activeDeadlineSeconds": -1})


@pytest.mark.parametrize("amount", ["9" * 400, "1e300", "-" + "9" * 90 + "m", "1E", "0.000000000001", "9" * 60 + ".5"])
def test_an_enormous_quantity_does_not_fail(amount):
    amounts = dict.fromkeys(("memory", "nvidia.com/gpu", "hugepages-2Mi", "cpu"), amount)
    resources = {"limits": {**amounts, f"hugepages-{amount}": 1}, "requests": amounts}
    validate("ResourceRequirements", resources)
    spec = {"resources": resources, "overhead": resources["limits"], "containers": [MAIN | {"resources": resources}]}
    validate("PodSpec", spec | {"initContainers": spec["containers"]})
    list(template_warnings({"spec": spec}, ROOT))


def test_a_warning_of_resources_has_the_place_that_the_definition_gives_them():
    path = ROOT.child("spec", "podResources")
    (warning,) = warned("ResourceRequirements", {"limits": {"memory": "0.5"}}, path)
    assert warning[0] == "spec.podResources.limits[memory]"


def test_a_source_of_variables_that_is_not_in_a_list_has_the_place_of_its_parent():
    (error,) = validate("EnvFromSource", {}, ROOT.child("spec", "source"))
    assert error.field == "spec"


@pytest.mark.parametrize(
    "names", [["A", "B"], ["A", "="], ["", "B"], ["A=B"], ["A", "é"], ["A", "\n"], ["=", ""], [""]]
)
def test_the_names_of_variables_are_judged_together_as_each_by_itself(names):
    variables = [{"name": name, "value": "x"} for name in names]
    for more in ([], [{"name": "C", "valueFrom": {}}], [{"name": "C", "valueFrom": {"fieldRef": {}}}], [{}], [None]):
        alone = [
            text
            for index, each in enumerate([*variables, *more])
            for text in _texts("EnvVar", each or {}, path=ROOT.child("env").index(index))
        ]
        assert _texts("Container", {"name": "a", "image": "b", "env": [*variables, *more]}) == alone
