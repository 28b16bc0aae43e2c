"""Kubernetes' ValidatingAdmissionPolicy and MutatingAdmissionPolicy, with the API server's results and texts.

    policies = NativePolicies.load(documents)
    response = policies.mutate(request, context)
    response = policies.validate(request, context)

Policies look up everything outside of the request in an :class:`AdmissionContext`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from webhook.ground.later import later

if TYPE_CHECKING:
    from webhook.vap.attributes import CLUSTER_KINDS, Attributes, GroupVersionResource, resource_of_kind
    from webhook.vap.context import AdmissionContext, Equivalent, KindSchema, MemoryContext
    from webhook.vap.matching.selector import Selector
    from webhook.vap.models import LabelSelector, ParamKind
    from webhook.vap.mutating.mergetypes import builtin_schema, published, resolved
    from webhook.vap.policies import NativePolicies, is_native
    from webhook.vap.response import PolicyResponse

if not TYPE_CHECKING:  # most commands read no native policies
    __getattr__ = later(__name__)
