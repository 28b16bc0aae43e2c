"""CustomResourceDefinitions of kinds that only tests have. Those of the checkout are in ``tests/definitions.py``."""

from __future__ import annotations

from typing import Any

import yaml

OPEN = "{type: object, x-kubernetes-preserve-unknown-fields: true}"
"""The schema of an open definition, as text."""
_HERE = "schema-as-text"


def spec_schema(**properties: Any) -> dict[str, Any]:
    """The schema of an object whose ``spec`` has these properties."""
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}


def crd(
    group: str, kind: str, schema: Any, *, version: str = "v1", scope: str = "Namespaced", **parts: Any
) -> dict[str, Any]:
    """The definition of a kind with one version. ``parts`` are further fields of it, such as ``subresources``."""
    singular = kind.lower()
    names = {"plural": f"{singular}s", "singular": singular, "kind": kind, "listKind": f"{kind}List"}
    served = {"name": version, "served": True, "storage": True, **parts, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{singular}s.{group}"},
        "spec": {"group": group, "scope": scope, "names": names, "versions": [served]},
    }


def crd_text(group: str, kind: str, schema: str = OPEN, **more: Any) -> str:
    """The same as YAML. ``schema`` is flow YAML, which stays as it is written; it is the end of the text."""
    return yaml.safe_dump(crd(group, kind, _HERE, **more), sort_keys=False).replace(_HERE, schema)
