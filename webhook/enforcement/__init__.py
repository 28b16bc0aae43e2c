"""Enforcement by degrees: how strict each rule is for each object, by policies that only administrators write.

    policies = [Policy.read(obj) for obj in objects]
    degrees = Degrees.of(policies, namespaces, now)
    degrees.place(api, kind, namespace, name).policy(code)

It is pure: the time is an argument, and what is in force at another time is another value.
"""

from webhook.enforcement.degrees import LABEL, Degrees, Place
from webhook.enforcement.memory import PolicyMemory
from webhook.enforcement.policy import ENFORCEMENT, EXCEPTION, GROUP, Action, Policy
from webhook.enforcement.remarks import Remark, Vocabulary, contradictions, remarks_on

__all__ = [
    "ENFORCEMENT",
    "EXCEPTION",
    "GROUP",
    "LABEL",
    "Action",
    "Degrees",
    "Place",
    "Policy",
    "PolicyMemory",
    "Remark",
    "Vocabulary",
    "contradictions",
    "remarks_on",
]
