"""The Common Expression Language as Kubernetes has it: grammar, types, two backends, libraries, costs.

    env = Environment(variables={"x": types.INT})
    env.compile("x + 1").evaluate({"x": 2})

Other packages import the names below from here, and types from :mod:`webhook.cel.types`. A name is
loaded when it is first used: an error or a type does not load the compiler.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from webhook.cel import types
    from webhook.cel.environment import Environment
    from webhook.cel.errors import (
        BudgetExceeded,
        CelError,
        CompileFailure,
        FoldingFailure,
        Issue,
        ParseFailure,
        ResultFailure,
    )
    from webhook.cel.program import MATCH_CONDITIONS_BUDGET, PER_CALL_LIMIT, RUNTIME_BUDGET, Budget, Program
    from webhook.cel.versions import COMPATIBLE, LATEST

__all__ = [
    "COMPATIBLE",
    "LATEST",
    "MATCH_CONDITIONS_BUDGET",
    "PER_CALL_LIMIT",
    "RUNTIME_BUDGET",
    "Budget",
    "BudgetExceeded",
    "CelError",
    "CompileFailure",
    "Environment",
    "FoldingFailure",
    "Issue",
    "ParseFailure",
    "Program",
    "ResultFailure",
    "types",
]

_MODULES: Final = {
    "COMPATIBLE": "versions",
    "LATEST": "versions",
    "MATCH_CONDITIONS_BUDGET": "program",
    "PER_CALL_LIMIT": "program",
    "RUNTIME_BUDGET": "program",
    "Budget": "program",
    "Environment": "environment",
    "Program": "program",
    **dict.fromkeys(
        ("BudgetExceeded", "CelError", "CompileFailure", "FoldingFailure", "Issue", "ParseFailure", "ResultFailure"),
        "errors",
    ),
}
"""The module of each name that is not a module itself."""

if not TYPE_CHECKING:  # so that mypy knows the names above and no others

    def __getattr__(name: str) -> Any:
        module = _MODULES.get(name)
        if module is None and name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = import_module(f"{__name__}.{module or name}")
        value = globals()[name] = found if module is None else getattr(found, name)
        return value
