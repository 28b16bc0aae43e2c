"""Policy documents: what a CRD cannot state about its kind, as data.

``export`` and ``portable`` (native policies from a Policy) are modules of their own: no server loads them.
"""

from webhook.policy.compile import compile_applicable, compile_policy
from webhook.policy.document import Action, PolicyDocument, Profile, Target, Validation, parse_policy
from webhook.policy.evaluate import PolicyFault, PolicyScope
from webhook.policy.path import MISSING, Path, field_path
from webhook.policy.policy import DefaultRule, Expression, FactValue, Policy, ValidationRule
from webhook.policy.reads import FACTS, OBJECT, SELF, Reads

__all__ = [
    "FACTS",
    "MISSING",
    "OBJECT",
    "SELF",
    "Action",
    "DefaultRule",
    "Expression",
    "FactValue",
    "Path",
    "Policy",
    "PolicyDocument",
    "PolicyFault",
    "PolicyScope",
    "Profile",
    "Reads",
    "Target",
    "Validation",
    "ValidationRule",
    "compile_applicable",
    "compile_policy",
    "field_path",
    "parse_policy",
]
