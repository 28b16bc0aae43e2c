"""The attributes of a request that policies match and read (``admission.Attributes``), and cluster-scoped kinds."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from webhook.admission import GroupVersionKind, Request


class GroupVersionResource(NamedTuple):
    """A resource as URLs name it: ``GroupVersionResource("apps", "v1", "deployments")``."""

    group: str
    version: str
    name: str


def resource_of_kind(kind: GroupVersionKind) -> GroupVersionResource:
    """The resource of a kind, guessed from the name of the kind (``meta.UnsafeGuessKindToResource``)."""
    name = kind.kind.lower()
    if name.endswith("endpoints"):
        plural = name
    elif name.endswith("s"):
        plural = f"{name}es"
    elif name.endswith("y"):
        plural = f"{name[:-1]}ies"
    else:
        plural = f"{name}s"
    return GroupVersionResource(kind.group, kind.version, plural)


def resource_of(request: Request) -> GroupVersionResource:
    """The resource that a request is about."""
    kind = request.kind
    return GroupVersionResource(*(request.resource_api or (kind.group, kind.version)), request.resource)


@dataclass(frozen=True, slots=True)
class Attributes:
    """One request. If the object is a namespace, ``namespace`` is its name. ``user`` is the ``userInfo`` of the review,
    ``options`` those of the operation, such as CreateOptions.
    """

    kind: GroupVersionKind
    resource: GroupVersionResource
    operation: str
    object: dict[str, Any] | None
    old_object: dict[str, Any] | None = None
    name: str = ""
    namespace: str = ""
    subresource: str = ""
    dry_run: bool = False
    user: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] | None = None

    @classmethod
    def of(cls, request: Request) -> Attributes:
        """The attributes of an admission request."""
        kind = request.kind
        return cls(
            kind,
            resource_of(request),
            request.operation,
            request.object,
            request.old_object,
            request.name,
            request.namespace,
            request.subresource,
            request.dry_run,
            request.user,
            request.options,
        )

    @property
    def namespace_of_object(self) -> str:
        """The namespace that contains the object; "" for a namespace, whose requests carry its own name."""
        return "" if self.kind == GroupVersionKind("", "v1", "Namespace") else self.namespace

    @property
    def placed(self) -> dict[str, Any]:
        """The object in its namespace, which it may leave out; of a deletion, the stored one."""
        obj = self.object or self.old_object or {}
        metadata = obj.get("metadata")
        if not self.namespace_of_object or not isinstance(metadata, dict) or metadata.get("namespace"):
            return obj
        return {**obj, "metadata": {**metadata, "namespace": self.namespace}}

    def converted(self, kind: GroupVersionKind) -> Attributes:
        """The objects in another version of their kind: only apiVersion and kind change (conversion strategy None)."""
        if kind == self.kind:
            return self
        return replace(self, object=_renamed(self.object, kind), old_object=_renamed(self.old_object, kind))


def _renamed(obj: dict[str, Any] | None, kind: GroupVersionKind) -> dict[str, Any] | None:
    if obj is None:
        return None
    return {**obj, "apiVersion": kind.api_version, "kind": kind.kind}


_CLUSTER_KINDS = {
    "": "ComponentStatus Namespace Node PersistentVolume",
    "admissionregistration.k8s.io": "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding "
    "MutatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding "
    "ValidatingWebhookConfiguration",
    "apiextensions.k8s.io": "CustomResourceDefinition",
    "apiregistration.k8s.io": "APIService",
    "authentication.k8s.io": "SelfSubjectReview TokenReview",
    "authorization.k8s.io": "SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview",
    "certificates.k8s.io": "CertificateSigningRequest ClusterTrustBundle",
    "flowcontrol.apiserver.k8s.io": "FlowSchema PriorityLevelConfiguration",
    "networking.k8s.io": "IPAddress IngressClass ServiceCIDR",
    "node.k8s.io": "RuntimeClass",
    "rbac.authorization.k8s.io": "ClusterRole ClusterRoleBinding",
    "resource.k8s.io": "DeviceClass DeviceTaintRule ResourceSlice",
    "scheduling.k8s.io": "PriorityClass",
    "storage.k8s.io": "CSIDriver CSINode StorageClass VolumeAttachment VolumeAttributesClass",
}
CLUSTER_KINDS = frozenset((group, kind) for group, kinds in _CLUSTER_KINDS.items() for kind in kinds.split())
"""The cluster-scoped built-in kinds, for use without a cluster (``kubectl api-resources`` lists them)."""
