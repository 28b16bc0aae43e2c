"""Kubernetes' own policies: ValidatingAdmissionPolicy and MutatingAdmissionPolicy, with the API server's verdicts.

    policies = NativePolicies.load(documents)
    response = policies.mutate(request, context)
    response = policies.validate(request, context)

What the policies may know of the cluster comes in as :class:`AdmissionContext`.
"""

from webhook.vap.attributes import Attributes, GroupVersionResource, resource_of_kind
from webhook.vap.context import AdmissionContext, Equivalent, KindSchema, MemoryContext
from webhook.vap.policies import NativePolicies, is_native
from webhook.vap.response import Denial, PolicyResponse

__all__ = [
    "AdmissionContext",
    "Attributes",
    "Denial",
    "Equivalent",
    "GroupVersionResource",
    "KindSchema",
    "MemoryContext",
    "NativePolicies",
    "PolicyResponse",
    "is_native",
    "resource_of_kind",
]
