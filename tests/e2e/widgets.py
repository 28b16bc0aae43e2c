"""A kind that only these tests know: our chart can guard it in a plane that others use at the same time."""

import json
from pathlib import Path

from tests.e2e.kubectl import Object

CHART = Path(__file__).parents[2] / "chart"
GROUP = "widgets.example"
GUARDED = "--set-json=kinds=" + json.dumps([{"group": GROUP, "versions": ["v1"], "resources": ["widgets"]}])


def definition() -> Object:
    """The CRD; anything goes in a spec."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    spec = {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]}
    metadata = {"name": f"widgets.{GROUP}"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": spec,
    }


def widget(name: str, **metadata: object) -> Object:
    return {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "metadata": {"name": name, **metadata}, "spec": {"size": 1}}
