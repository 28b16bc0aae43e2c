"""Policy documents: what a CRD cannot state about its kind, as data.

``export`` and ``portable`` (native policies from a Policy) are modules of their own: no server loads them. The
compiler is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from webhook.ground.later import later
from webhook.policy.evaluate import PolicyFault, PolicyScope
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
from webhook.policy.prepared import Prepared
from webhook.policy.reads import FACTS, OBJECT, SELF, Expression, Keys, Reads, any_meet, is_above
from webhook.policy.template import Built, ChildRule, Computed, Frame, Leaf, Merged, Source, TooManyError

if TYPE_CHECKING:
    from webhook.policy.compile import compile_policy
    from webhook.policy.dependence import Dependence, Open, Place, Rule
    from webhook.policy.document import PolicyDocument, Validation, parse_policy, trusted_policy
    from webhook.policy.environments import Environments, Inputs, has_open_field, node_at
    from webhook.policy.order import defaults_in_force
    from webhook.policy.releases import DEFAULT_RELEASE, RELEASES, Release

if not TYPE_CHECKING:  # compiled policies may come from a file
    __getattr__ = later(__name__)
