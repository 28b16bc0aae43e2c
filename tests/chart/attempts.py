"""What a stolen token of the gate's account tries with webhook configurations: each field that the API has."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, Final

Object = dict[str, Any]

OTHER_CONDITION: Final = [{"name": "not-just-losing-finalizers", "expression": "false"}]
"""Under the name of the chart's own condition."""

FIELDS: Final[Mapping[str, Any]] = {
    "name": "other.modelgate.dev",
    "clientConfig.url": "https://evil.example/",
    "clientConfig.service.name": "evil",
    "clientConfig.service.namespace": "default",
    "clientConfig.service.path": "/healthz",
    "clientConfig.service.port": 9440,
    "rules": [
        {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"], "scope": "*"}
    ],
    "rules.apiGroups": ["none.example"],
    "rules.apiVersions": ["v0"],
    "rules.resources": ["nothing"],
    "rules.operations": ["DELETE"],
    "rules.scope": "Cluster",
    "failurePolicy": {"Fail": "Ignore", "Ignore": "Fail"},
    "matchPolicy": "Exact",
    "matchConditions": OTHER_CONDITION,
    "namespaceSelector": {"matchLabels": {"never": "x"}},
    "objectSelector": {"matchLabels": {"never": "x"}},
    "sideEffects": "NoneOnDryRun",
    "timeoutSeconds": 30,
    "admissionReviewVersions": ["v1", "v1beta1"],
    "reinvocationPolicy": {"IfNeeded": "Never"},
}
"""Another value of each field of a webhook; a dictionary of texts: by the value that it has."""

METADATA: Final[Mapping[str, Any]] = {
    "labels": {"app.kubernetes.io/name": "other"},
    "annotations": {"cert-manager.io/inject-ca-from": "default/evil"},
    "finalizers": ["evil.example/wait"],
    "ownerReferences": [{"apiVersion": "v1", "kind": "Namespace", "name": "default", "uid": "1"}],
}
"""Another value of each field of the metadata that the API server does not write itself."""


def with_field(configuration: Object, field: str) -> Object | None:
    """The configuration with another value in one field; None where it has no such field."""
    changed = deepcopy(configuration)
    if field in METADATA:
        changed["metadata"][field] = METADATA[field]
        return changed
    (webhook,) = changed["webhooks"]
    if field == "clientConfig.url":
        webhook["clientConfig"] = {"url": FIELDS[field]}
        return changed
    *path, last = field.split(".")
    places = [webhook]
    for step in path:
        places = [inner for place in places for inner in _inside(place, step)]
    for place in places:
        value = FIELDS[field]
        texts = isinstance(value, dict) and all(isinstance(each, str) for each in value.values())
        place[last] = value[place[last]] if texts and last in place else value
    fits = bool(places) and (last != "reinvocationPolicy" or last in webhook)
    return changed if fits else None


def _inside(place: Object, step: str) -> list[Object]:
    inner = place.get(step) or []
    return inner if isinstance(inner, list) else [inner]


def without_a_webhook(configuration: Object) -> Object:
    return {**configuration, "webhooks": []}


def with_another_webhook(configuration: Object) -> Object:
    more = {**deepcopy(configuration["webhooks"][0]), "name": "other.modelgate.dev"}
    return {**configuration, "webhooks": [*configuration["webhooks"], more]}
