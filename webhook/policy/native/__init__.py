"""Kubernetes' own policies: ValidatingAdmissionPolicy and MutatingAdmissionPolicy, with the API server's verdicts.

    policies = NativePolicies.load(documents)
    verdict = policies.mutate(request, surroundings)
    verdict = policies.validate(request, surroundings)

What the policies may know of the cluster comes in as :class:`Surroundings`.
"""

from webhook.policy.native.attributes import Attributes, Resource, resource_of_kind
from webhook.policy.native.policies import NativePolicies, is_native
from webhook.policy.native.surroundings import Equivalent, KindSchema, MemorySurroundings, Surroundings
from webhook.policy.native.verdict import Denial, Verdict

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
