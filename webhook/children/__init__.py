"""What an operator makes of an object, from its description; what the API server says of it, and of which field.

Objects of built-in kinds are judged here as well (:mod:`webhook.children.builtin`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from webhook.children.child import NOWHERE, Child, Failure, Origin, children_of
from webhook.ground.later import later

if TYPE_CHECKING:
    from webhook.children.builtin import (
        UNKNOWN,
        builtin_errors,
        completed,
        decode_builtin,
        defaulted,
        is_builtin,
        is_judged,
        name_rule,
    )
    from webhook.children.judge import (
        child_errors,
        defined_errors,
        judges_pods,
        kind_of,
        placed,
        pod_errors,
        pod_warnings,
        template_errors,
    )

__all__ = [
    "NOWHERE",
    "UNKNOWN",
    "Child",
    "Failure",
    "Origin",
    "builtin_errors",
    "child_errors",
    "children_of",
    "completed",
    "decode_builtin",
    "defaulted",
    "defined_errors",
    "is_builtin",
    "is_judged",
    "judges_pods",
    "kind_of",
    "name_rule",
    "placed",
    "pod_errors",
    "pod_warnings",
    "template_errors",
]

_BUILTIN: Final = (
    *("UNKNOWN", "builtin_errors", "completed", "decode_builtin", "defaulted", "is_builtin", "is_judged"),
    "name_rule",
)
_JUDGE: Final = (
    *("child_errors", "defined_errors", "judges_pods", "kind_of", "placed", "pod_errors", "pod_warnings"),
    "template_errors",
)

if not TYPE_CHECKING:  # the types of built-in kinds are loaded for the first child that is judged
    __getattr__ = later(__name__, {**dict.fromkeys(_BUILTIN, "builtin"), **dict.fromkeys(_JUDGE, "judge")})
