"""For each of the nineteen kinds an object that no rule refuses, beside what it refers to, and a bad one."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from tests.e2e.kinds import KINDS, Row
from tests.e2e.kubectl import Object

MARK = "example.com/refused-by-the-new-policy"

POLICY = f"""
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {{name: marked}}
spec:
  matchConstraints:
    resourceRules:
    - apiGroups: ["*"]
      apiVersions: ["*"]
      operations: [CREATE]
      resources: ["*"]
  validations:
  - expression: "!('{MARK}' in object.metadata.?labels.orValue({{}}))"
    message: a new rule refuses this
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {{name: marked}}
spec: {{policyName: marked, validationActions: [Deny]}}
"""


def _of(kind: str) -> Row:
    return next(row for row in KINDS if row.kind == kind)


def referred() -> Iterator[Object]:
    """What the good objects refer to."""
    yield _of("ClusterBaseModel").object("llama-3-1-8b-instruct")
    yield _of("AIMImage").object("llama")
    yield _of("AIMClusterImage").object("llama")
    yield _of("AIMServiceTemplate").object("llama-latency")


def good(row: Row) -> Object:
    """An object with a mark, by which a policy can refuse it."""
    return _alone(row.object(f"good-{row.kind.lower()}", labels={MARK: "yes"}), "good")


def bad(row: Row) -> Object:
    return _alone(row.object(f"bad-{row.kind.lower()}", row.bad), "bad")


def _alone(obj: Object, name: str) -> Object:
    """With a model format of its own: runtimes must not compete."""
    changed: dict[str, Any] = deepcopy(obj)
    for each in changed["spec"].get("supportedModelFormats", ()):
        each["modelFormat"]["name"] = f"{name}-{obj['kind'].lower()}"
    if obj["kind"] == "AIMModelCache":
        changed["spec"]["sourceUri"] += f"-{name}"
    return changed
