"""What an operator makes of an object, from its description; what the API server says of it, and of which field.

Objects of built-in kinds are judged here as well (:mod:`webhook.children.builtin`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from webhook.children.child import Child, Failure, Origin, are_none, children_of
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
        placed,
        pod_errors,
        pod_warnings,
        template_errors,
    )

if not TYPE_CHECKING:  # the first child that is judged needs built-in types
    __getattr__ = later(__name__)
