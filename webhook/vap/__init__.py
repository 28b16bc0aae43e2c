"""Kubernetes' ValidatingAdmissionPolicy and MutatingAdmissionPolicy, with the API server's results and texts.

    policies = NativePolicies.load(documents)
    response = policies.mutate(request, context)
    response = policies.validate(request, context)

Policies look up everything outside of the request in an :class:`AdmissionContext`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from webhook.ground.later import later

if TYPE_CHECKING:
    from webhook.vap.attributes import CLUSTER_KINDS, Attributes, GroupVersionResource, resource_of_kind
    from webhook.vap.context import AdmissionContext, Equivalent, KindSchema, MemoryContext
    from webhook.vap.matching.selector import Selector
    from webhook.vap.models import LabelSelector, ParamKind
    from webhook.vap.mutating.mergetypes import builtin_schema, published, resolved
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

_MODULES: Final = {
    **dict.fromkeys(("CLUSTER_KINDS", "Attributes", "GroupVersionResource", "resource_of_kind"), "attributes"),
    **dict.fromkeys(("AdmissionContext", "Equivalent", "KindSchema", "MemoryContext"), "context"),
    "Selector": "matching.selector",
    **dict.fromkeys(("LabelSelector", "ParamKind"), "models"),
    **dict.fromkeys(("builtin_schema", "published", "resolved"), "mutating.mergetypes"),
    **dict.fromkeys(("NativePolicies", "is_native"), "policies"),
    **dict.fromkeys(("Denial", "PolicyResponse"), "response"),
}
"""The module of each name, which is loaded when the name is first used: most commands read no native policies."""

if not TYPE_CHECKING:
    __getattr__ = later(__name__, _MODULES)
