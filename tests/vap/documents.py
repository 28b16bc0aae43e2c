"""Short constructors for complete native documents."""

from typing import Any

import yaml

from webhook.admission.decision import GroupVersionKind, Request
from webhook.manifests.documents import Document, parse
from webhook.vap import MemoryContext, NativePolicies, PolicyResponse

WIDGET = GroupVersionKind("example.com", "v1", "Widget")
RULES = [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}]


def policy(name: str, *, mutating: bool = False, **spec: Any) -> dict[str, Any]:
    spec.setdefault("matchConstraints", {"resourceRules": RULES})
    if mutating:
        spec.setdefault("reinvocationPolicy", "Never")
    return _document("MutatingAdmissionPolicy" if mutating else "ValidatingAdmissionPolicy", name, spec)


def binding(name: str, *, mutating: bool = False, **spec: Any) -> dict[str, Any]:
    spec = {"policyName": name, **spec}
    if not mutating:
        spec.setdefault("validationActions", ["Deny"])
    if "paramRef" in spec:
        spec["paramRef"] = {"parameterNotFoundAction": "Deny", **spec["paramRef"]}
    return _document("MutatingAdmissionPolicyBinding" if mutating else "ValidatingAdmissionPolicyBinding", name, spec)


def _document(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def documents(*values: dict[str, Any]) -> list[Document]:
    return parse(yaml.safe_dump_all(values, sort_keys=False), "policies.yaml")


def load(*values: dict[str, Any]) -> NativePolicies:
    return NativePolicies.load(documents(*values))


def widget(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "w", "namespace": "team", "labels": {"tier": "gold"}},
        "spec": spec,
    }


def request(obj: dict[str, Any] | None, old: dict[str, Any] | None = None, **more: Any) -> Request:
    operation = "DELETE" if obj is None else "CREATE" if old is None else "UPDATE"
    more = {"resource": "widgets", "operation": operation, "name": "w", "namespace": "team", **more}
    return Request(kind=WIDGET, object=obj, old_object=old, **more)


def validate(
    policies: NativePolicies, obj: dict[str, Any] | None, *objects: dict[str, Any], **more: Any
) -> PolicyResponse:
    return policies.validate(request(obj, **more), MemoryContext(objects))
