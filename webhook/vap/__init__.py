"""Kubernetes' own policies: ValidatingAdmissionPolicy and MutatingAdmissionPolicy, with the API server's verdicts.

    policies = NativePolicies.load(documents)
    verdict = policies.mutate(request, surroundings)
    verdict = policies.validate(request, surroundings)

What the policies may know of the cluster comes in as :class:`Surroundings`.
"""

from webhook.vap.attributes import Attributes, Resource, resource_of_kind
from webhook.vap.context import Equivalent, KindSchema, MemorySurroundings, Surroundings
from webhook.vap.policies import NativePolicies, is_native
from webhook.vap.verdict import Denial, Verdict

__all__ = [
    "Attributes",
    "Denial",
    "Equivalent",
    "KindSchema",
    "MemorySurroundings",
    "NativePolicies",
    "Resource",
    "Surroundings",
    "Verdict",
    "is_native",
    "resource_of_kind",
]
