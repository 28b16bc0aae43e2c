"""Built-in kinds: unknown fields, wrong types and nulls, as the API server's decoder reads them."""

from copy import deepcopy
from typing import Any

import pytest

from webhook.admission.decision import GroupVersionKind
from webhook.children import builtin_errors, completed, decode_builtin, defaulted, is_builtin, is_judged, name_rule
from webhook.children.builtin import template_of

KIND = GroupVersionKind("apps", "v1", "Deployment")
GOOD: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {
        "replicas": 2,
        "strategy": {"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 1}},
        "selector": {"matchLabels": {"a": "b"}},
        "template": {
            "spec": {
                "containers": [{"name": "a", "image": "i", "resources": {"limits": {"cpu": 0.5, "memory": "1Gi"}}}]
            }
        },
    },
}


def changed(value: Any, *path: str | int) -> dict[str, Any]:
    obj = deepcopy(GOOD)
    *parents, last = path
    node: Any = obj
    for key in parents:
        node = node[key]
    node[last] = value
    return obj


@pytest.mark.parametrize(
    ("obj", "field", "message"),
    [
        (changed("2", "spec", "replicas"), "spec.replicas", 'Invalid value: "2": must be of type integer'),
        (changed(2**31, "spec", "replicas"), "spec.replicas", "Invalid value: 2147483648: must be of type integer"),
        (changed(True, "spec", "replicas"), "spec.replicas", "Invalid value: true: must be of type integer"),
        (changed([], "spec", "template"), "spec.template", "Invalid value: must be of type object"),
        (changed({}, "spec", "template", "spec", "containers"), "spec.template.spec.containers", "of type array"),
        (changed(1, "spec", "template", "spec", "nodeSelctor"), "spec.template.spec.nodeSelctor", "unknown field"),
        (changed(5, "spec", "selector", "matchLabels", "a"), "spec.selector.matchLabels[a]", "must be of type string"),
        (changed(1.5, "spec", "strategy", "rollingUpdate", "maxSurge"), "spec.strategy.rollingUpdate.maxSurge", "int"),
        (changed(1, "sepc"), "sepc", "unknown field"),
        (changed("a", "spec"), "spec", "must be of type object"),
    ],
)
def test_a_wrong_field_is_named(obj: dict[str, Any], field: str, message: str) -> None:
    (error,) = decode_builtin(KIND, obj)[1]
    assert error.field == field
    assert message in error.body()


def test_what_the_api_server_reads_has_no_cause_and_loses_its_nulls() -> None:
    assert decode_builtin(KIND, GOOD) == (GOOD, [])
    obj = changed(None, "spec", "template", "spec", "nodeSelector")
    assert decode_builtin(KIND, obj) == (GOOD, [])
    assert is_builtin(KIND)


def test_another_kind_is_left_alone() -> None:
    unknown = GroupVersionKind("example.com", "v1", "Widget")
    assert not is_builtin(unknown)
    assert decode_builtin(unknown, {"a": None}) == ({"a": None}, [])


def is_fine(value: Any, *path: str | int) -> bool:
    return decode_builtin(KIND, changed(value, *path))[1] == []


QUANTITY = ("spec", "template", "spec", "containers", 0, "resources", "limits", "cpu")


@pytest.mark.parametrize(
    ("value", "fits"),
    [("1", True), (" 1 ", True), (1, True), (0.5, True), (True, False), ("one", False), ([], False), ({}, False)],
)
def test_a_quantity_is_a_number_or_its_text(value: Any, fits: bool) -> None:
    assert is_fine(value, *QUANTITY) == fits


@pytest.mark.parametrize(
    ("path", "least", "most"),
    [
        (("spec", "replicas"), -(2**31), 2**31 - 1),
        (("spec", "template", "spec", "terminationGracePeriodSeconds"), -(2**63), 2**63 - 1),
    ],
)
def test_an_integer_has_its_bits(path: tuple[str, ...], least: int, most: int) -> None:
    fits = [is_fine(value, *path) for value in (least - 1, least, most, most + 1, 1.0, True, "1")]
    assert fits == [False, True, True, False, False, False, False]


@pytest.mark.parametrize(("value", "fits"), [(True, True), (False, True), (1, False), ("true", False)])
def test_a_boolean_is_not_a_number(value: Any, fits: bool) -> None:
    assert is_fine(value, "spec", "paused") == fits


@pytest.mark.parametrize(("value", "fits"), [(1, True), ("1", True), (True, False), (1.5, False), ([], False)])
def test_an_integer_or_a_text_is_neither_a_boolean_nor_a_fraction(value: Any, fits: bool) -> None:
    assert is_fine(value, "spec", "strategy", "rollingUpdate", "maxSurge") == fits


@pytest.mark.parametrize(
    ("value", "fits"), [("Zm9v", True), ("Zm\r\n9v", True), ("Zm9", False), ("Zm 9v", False), (1, False)]
)
def test_bytes_are_base64_and_line_breaks_do_not_count(value: Any, fits: bool) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "data": {"k": value}}
    errors = decode_builtin(GroupVersionKind("", "v1", "Secret"), secret)[1]
    assert [error.field for error in errors] == ([] if fits else ["data[k]"])


def test_the_value_of_a_wrong_type_is_shown_unless_it_is_large() -> None:
    (number,) = decode_builtin(KIND, changed(1, "spec", "paused"))[1]
    (whole,) = decode_builtin(KIND, changed([1], "spec", "paused"))[1]
    assert (number.body(), whole.body()) == (
        "Invalid value: 1: must be of type boolean",
        "Invalid value: must be of type boolean",
    )


def test_metadata_is_decoded_apart_and_stays() -> None:
    obj = {**GOOD, "metadata": {"name": None, "nothing": 1}}
    assert decode_builtin(KIND, obj) == (obj, [])


def test_a_null_in_a_map_or_a_list_stays() -> None:
    of_map, of_list = ({"a": None}, "nodeSelector"), ([None], "tolerations")
    for value, name in (of_map, of_list):
        obj = changed(value, "spec", "template", "spec", name)
        assert decode_builtin(KIND, obj) == (obj, [])


POD = {"containers": [{"name": "a", "image": "i"}]}


def workload(kind: str, pod: Any, version: str = "apps/v1") -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {}, "spec": {"template": {"spec": pod}}}


@pytest.mark.parametrize(
    ("obj", "judged"),
    [
        (workload("Deployment", POD), True),
        *((workload(kind, POD), True) for kind in ("DaemonSet", "ReplicaSet", "StatefulSet")),
        *((workload(kind, {}), False) for kind in ("DaemonSet", "ReplicaSet", "StatefulSet")),
        (workload("Job", POD, "batch/v1"), True),
        (workload("Deployment", POD, "apps/v1beta1"), False),
        ({"apiVersion": "v1", "kind": "Pod", "spec": POD}, True),
        ({"apiVersion": "v1", "kind": "Pod", "spec": {}}, False),
        ({"apiVersion": "batch/v1", "kind": "CronJob", "spec": {}}, False),
        (
            {
                "apiVersion": "batch/v1",
                "kind": "CronJob",
                "spec": {"jobTemplate": {"spec": {"template": {"spec": POD}}}},
            },
            True,
        ),
        ({"apiVersion": "v1", "kind": "ConfigMap"}, True),
        ({"apiVersion": "example.com/v1", "kind": "Widget"}, False),
        (workload("Deployment", {}), False),
        (workload("Deployment", {"containers": []}), False),
        (workload("Deployment", {"containers": None}), False),
        (workload("Deployment", {"containers": "none"}), True),
        (workload("Deployment", {"containers": 1}), True),
        (workload("Deployment", {"containers": [{"name": "a"}]}), False),
        (workload("Deployment", {"containers": [{"name": "a", "image": ""}]}), False),
        (workload("Deployment", {"containers": [*POD["containers"], {"name": "b"}]}), False),
        (workload("Deployment", {"containers": [*POD["containers"], "b"]}), True),
        (workload("Deployment", "none"), False),
        ({"apiVersion": "apps/v1", "kind": "Deployment", "spec": "none"}, False),
    ],
)
def test_an_object_is_judged_if_it_is_whole(obj: dict[str, Any], judged: bool) -> None:
    assert is_judged(obj) == judged


def test_the_template_of_pods_is_found_by_the_kind() -> None:
    cron = {"kind": "CronJob", "spec": {"jobTemplate": {"spec": {"template": {"spec": POD}}}}}
    assert template_of(cron) == ("spec.jobTemplate.spec.template", {"spec": POD})
    assert template_of(workload("Job", POD)) == ("spec.template", {"spec": POD})
    assert template_of({"kind": "Job", "spec": {"template": 1}}) == ("spec.template", None)
    assert template_of({"kind": "Pod", "spec": POD}) == ("", None)
    assert template_of({"kind": "ConfigMap"}) == ("", None)


def test_a_name_has_the_rule_of_its_kind() -> None:
    service, deployment, widget = (
        name_rule(GroupVersionKind(*kind)) for kind in (("", "v1", "Service"), KIND, ("example.com", "v1", "Widget"))
    )
    assert service("a.b") != []
    assert deployment("a.b") == widget("a.b") == widget("A b") == []
    assert deployment("A b") != []
    assert widget("a/b") != []


def test_an_object_is_validated_with_its_defaults_and_one_of_an_unknown_kind_is_not() -> None:
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "spec": {"a": 1}}
    assert defaulted(widget) is widget
    assert builtin_errors(widget) == []
    assert defaulted(GOOD)["spec"]["template"]["spec"]["restartPolicy"] == "Always"
    assert completed(GOOD)["spec"]["template"]["spec"]["restartPolicy"] == "Always"


def test_what_may_not_change_is_compared_with_what_is_stored_but_for_a_job() -> None:
    stored = changed({"labels": {"a": "b"}, "spec": POD}, "spec", "template")
    other = {**stored, "spec": {**stored["spec"], "selector": {"matchLabels": {"a": "b", "c": "d"}}}}
    other["spec"]["template"] = {"labels": {}, "metadata": {"labels": {"a": "b", "c": "d"}}, "spec": POD}
    stored["spec"]["template"] = {"metadata": {"labels": {"a": "b"}}, "spec": POD}
    assert builtin_errors(stored) == []
    assert [error.field for error in builtin_errors(other, stored)] == ["spec.selector"]
    ports = {"ports": [{"port": 80, "nodePort": 30_000}]}
    before, after = (
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {**ports, "type": type_}}
        for type_ in ("NodePort", "ClusterIP")
    )
    assert builtin_errors(after) != []
    assert builtin_errors(after, before) == [], "the port that was allocated goes with the type"
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {"template": {"spec": POD}}}
    job["spec"]["template"]["spec"] = {**POD, "restartPolicy": "Never"}
    assert builtin_errors(job, completed(job)) == [], "it is given its selector and labels anew"


@pytest.mark.parametrize(
    ("schema", "fits"),
    [
        ({"maximum": 1.5}, True),
        ({"maximum": 1}, True),
        ({"maximum": "1"}, False),
        ({"maximum": True}, False),
        ({"default": {"a": 1}}, True),  # its type is left open
        ({"default": None}, True),
    ],
)
def test_a_number_may_be_a_fraction_and_a_value_of_any_type_fits(schema: dict[str, Any], fits: bool) -> None:
    versions = [{"name": "v1", "schema": {"openAPIV3Schema": schema}}]
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "spec": {"versions": versions},
    }
    kind = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
    assert (not decode_builtin(kind, definition)[1]) is fits


def test_an_object_without_fields_may_have_any() -> None:
    versions = [{"name": "v1", "subresources": {"status": {"a": 1}}}]
    definition = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    kind = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
    assert decode_builtin(kind, {**definition, "spec": {"versions": versions}})[1] == []
