"""Policy documents: what a CRD cannot say about its kind, as data."""

from webhook.policy.compile import compile_policy
from webhook.policy.document import Action, PolicyDocument, Profile, parse_policy
from webhook.policy.evaluate import PolicyFault, Scope
from webhook.policy.path import Path
from webhook.policy.policy import DefaultRule, Expression, FactValue, Policy, ValidationRule

__all__ = [
    "Action",
    "DefaultRule",
    "Expression",
    "FactValue",
    "Path",
    "Policy",
    "PolicyDocument",
    "PolicyFault",
    "Profile",
    "Scope",
    "ValidationRule",
    "compile_policy",
    "parse_policy",
]
