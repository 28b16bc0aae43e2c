"""Built-in kinds: unknown fields, wrong types and nulls, as the API server's decoder reads them."""

from copy import deepcopy
from typing import Any

import pytest

from webhook.admission.decision import GroupVersionKind
from webhook.children import decode_builtin, is_builtin

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
