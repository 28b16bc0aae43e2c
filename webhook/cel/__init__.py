"""The Common Expression Language as Kubernetes has it: grammar, types, two backends, libraries, costs.

    env = Environment(variables={"x": types.INT})
    env.compile("x + 1").evaluate({"x": 2})

Other packages import the names below from here, and more from the modules that tests/test_faces.py lists. A name is
loaded when it is first used: an error or a type does not load the compiler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from webhook.ground.later import later

if TYPE_CHECKING:
    from webhook.cel import types
    from webhook.cel.codegen.runtime import GLOBALS
    from webhook.cel.environment import Environment
    from webhook.cel.errors import (
        BudgetExceeded,
        CelError,
        CompileFailure,
        FoldingFailure,
        GrammarUnavailable,
        Issue,
        ParseFailure,
        ResultFailure,
    )
    from webhook.cel.library.authorizer import Authorizer, Decision, Question, ResourceCheck
    from webhook.cel.library.strings import JSON_PATCH, SHOWN, shown_in_kubernetes
    from webhook.cel.library.texts import TEXTS
    from webhook.cel.limits import Steps
    from webhook.cel.program import MATCH_CONDITIONS_BUDGET, PER_CALL_LIMIT, RUNTIME_BUDGET, Budget, Program
    from webhook.cel.typing.schematypes import Declared, declare, type_of_schema
    from webhook.cel.versions import COMPATIBLE, LATEST, Version

__all__ = [
    "COMPATIBLE",
    "GLOBALS",
    "JSON_PATCH",
    "LATEST",
    "MATCH_CONDITIONS_BUDGET",
    "PER_CALL_LIMIT",
    "RUNTIME_BUDGET",
    "SHOWN",
    "TEXTS",
    "Authorizer",
    "Budget",
    "BudgetExceeded",
    "CelError",
    "CompileFailure",
    "Decision",
    "Declared",
    "Environment",
    "FoldingFailure",
    "GrammarUnavailable",
    "Issue",
    "ParseFailure",
    "Program",
    "Question",
    "ResourceCheck",
    "ResultFailure",
    "Steps",
    "Version",
    "declare",
    "shown_in_kubernetes",
    "type_of_schema",
    "types",
]

_MODULES: Final = {
    "types": "",
    **dict.fromkeys(("COMPATIBLE", "LATEST", "Version"), "versions"),
    "GLOBALS": "codegen.runtime",
    **dict.fromkeys(("JSON_PATCH", "SHOWN", "shown_in_kubernetes"), "library.strings"),
    "TEXTS": "library.texts",
    **dict.fromkeys(("Authorizer", "Decision", "Question", "ResourceCheck"), "library.authorizer"),
    **dict.fromkeys(("Declared", "declare", "type_of_schema"), "typing.schematypes"),
    "Environment": "environment",
    **dict.fromkeys(("MATCH_CONDITIONS_BUDGET", "PER_CALL_LIMIT", "RUNTIME_BUDGET", "Budget", "Program"), "program"),
    "Steps": "limits",
    **dict.fromkeys(
        (
            "BudgetExceeded",
            "CelError",
            "CompileFailure",
            "FoldingFailure",
            "GrammarUnavailable",
            "Issue",
            "ParseFailure",
            "ResultFailure",
        ),
        "errors",
    ),
}
"""The module of each name; "" for one that is a module itself."""

if not TYPE_CHECKING:  # so that mypy knows the names above and no others
    __getattr__ = later(__name__, _MODULES)
