"""Kubernetes' ValidatingAdmissionPolicy and MutatingAdmissionPolicy, with the API server's results and texts.

    policies = NativePolicies.load(documents)
    response = policies.mutate(request, context)
    response = policies.validate(request, context)

Policies look up everything outside of the request in an :class:`AdmissionContext`.
"""

from webhook.vap.attributes import Attributes, GroupVersionResource, resource_of_kind
from webhook.vap.context import CLUSTER_KINDS, AdmissionContext, Equivalent, KindSchema, MemoryContext
from webhook.vap.matching.selector import Selector
from webhook.vap.models import LabelSelector, ParamKind
from webhook.vap.mutating.mergetypes import builtin_schema, resolved
from webhook.vap.mutating.published import published
from webhook.vap.policies import NativePolicies, is_native
from webhook.vap.response import Denial, PolicyResponse

__all__ = [
    "CLUSTER_KINDS",
    "AdmissionContext",
    "Attributes",
    "Denial",
    "Equivalent",
    "GroupVersionResource",
    "KindSchema",
    "LabelSelector",
    "MemoryContext",
    "NativePolicies",
    "ParamKind",
    "PolicyResponse",
    "Selector",
    "builtin_schema",
    "is_native",
    "published",
    "resolved",
    "resource_of_kind",
]
