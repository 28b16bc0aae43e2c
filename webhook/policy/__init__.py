"""Policy documents: what a CRD cannot state about its kind, as data.

``export`` and ``portable`` (native policies from a Policy) are modules of their own: no server loads them. The
compiler is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from webhook.ground.later import later
from webhook.policy.evaluate import PolicyFault, PolicyScope
from webhook.policy.expression import Expression
from webhook.policy.path import MISSING, Path
from webhook.policy.policy import (
    Action,
    DefaultRule,
    FactValue,
    Policy,
    Profile,
    Reference,
    ValidationRule,
    Withdrawn,
)
from webhook.policy.prepared import Functions, Prepared
from webhook.policy.reads import FACTS, OBJECT, SELF, Keys, Reads, any_meet, is_above
from webhook.policy.template import ChildRule, Frame, Merged, Source, TooManyError

if TYPE_CHECKING:
    from webhook.policy.compile import compile_policy
    from webhook.policy.dependence import Dependence, Open, Place, Rule
    from webhook.policy.document import PolicyDocument, Target, Validation, parse_policy, trusted_policy
    from webhook.policy.environments import Environments, Inputs, has_open_field, node_at
    from webhook.policy.order import defaults_in_force
    from webhook.policy.releases import DEFAULT_RELEASE, RELEASES, Release

__all__ = [
    "DEFAULT_RELEASE",
    "FACTS",
    "MISSING",
    "OBJECT",
    "RELEASES",
    "SELF",
    "Action",
    "ChildRule",
    "DefaultRule",
    "Dependence",
    "Environments",
    "Expression",
    "FactValue",
    "Frame",
    "Functions",
    "Inputs",
    "Keys",
    "Merged",
    "Open",
    "Path",
    "Place",
    "Policy",
    "PolicyDocument",
    "PolicyFault",
    "PolicyScope",
    "Prepared",
    "Profile",
    "Reads",
    "Reference",
    "Release",
    "Rule",
    "Source",
    "Target",
    "TooManyError",
    "Validation",
    "ValidationRule",
    "Withdrawn",
    "any_meet",
    "compile_policy",
    "defaults_in_force",
    "has_open_field",
    "is_above",
    "node_at",
    "parse_policy",
    "trusted_policy",
]

_LATER: Final = {
    "compile_policy": "compile",
    **dict.fromkeys(("Dependence", "Open", "Place", "Rule"), "dependence"),
    **dict.fromkeys(("PolicyDocument", "Target", "Validation", "parse_policy", "trusted_policy"), "document"),
    **dict.fromkeys(("Environments", "Inputs", "has_open_field", "node_at"), "environments"),
    "defaults_in_force": "order",
    **dict.fromkeys(("DEFAULT_RELEASE", "RELEASES", "Release"), "releases"),
}
"""Names that are loaded when they are first used, and their modules: compiled policies may come from a file."""

if not TYPE_CHECKING:
    __getattr__ = later(__name__, _LATER)
