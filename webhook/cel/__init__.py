"""The Common Expression Language as Kubernetes has it: grammar, types, two backends, libraries, costs.

    env = Environment(variables={"x": types.INT})
    env.compile("x + 1").evaluate({"x": 2})

Other packages import the names below from here, and more from the modules that tests/test_faces.py lists. A name is
loaded when it is first used: an error or a type does not load the compiler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from webhook.ground.later import later

if TYPE_CHECKING:
    from webhook.cel import types
    from webhook.cel.codegen.runtime import GLOBALS
    from webhook.cel.environment import Environment
    from webhook.cel.errors import (
        BudgetExceeded,
        CelError,
        CompileFailure,
        GrammarUnavailable,
        Issue,
        ResultFailure,
    )
    from webhook.cel.library.authorizer import Authorizer, Decision, Question, ResourceCheck
    from webhook.cel.library.strings import JSON_PATCH, SHOWN, shown_in_kubernetes
    from webhook.cel.library.texts import TEXTS
    from webhook.cel.limits import Steps
    from webhook.cel.program import MATCH_CONDITIONS_BUDGET, RUNTIME_BUDGET, Budget, Program
    from webhook.cel.typing.schematypes import Declared, declare, type_of_schema
    from webhook.cel.versions import COMPATIBLE, LATEST, Version

if not TYPE_CHECKING:
    __getattr__ = later(__name__)
