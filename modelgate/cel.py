"""The Common Expression Language as Kubernetes has it: types from a schema, libraries, costs and error texts.

>>> schema = {"type": "object", "properties": {"replicas": {"type": "integer"}}}
>>> compile("self.replicas < 5", schema).evaluate({"self": {"replicas": 3}})
True

:class:`Environment` has more: several variables, functions, versions of Kubernetes. :class:`KubernetesRunner` is a
runner for cel-python's ``celpy.Environment``, and imports it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from webhook.cel import Budget, BudgetExceeded, CelError, CompileFailure, Environment, Program, types
from webhook.cel.overload import member

if TYPE_CHECKING:
    from webhook.cel.runner import KubernetesEnvironment, KubernetesRunner

__all__ = [
    "Budget",
    "BudgetExceeded",
    "CelError",
    "CompileFailure",
    "Environment",
    "KubernetesEnvironment",
    "KubernetesRunner",
    "Program",
    "compile",
    "member",
    "types",
]


def compile(expression: str, schema: Mapping[str, Any], name: str = "self") -> Program:  # noqa: A001 - CEL's own word
    """The program of an expression over one value of JSON, which is of an OpenAPI schema as a CRD has it.

    Raises:
        CompileFailure: syntax or types; its text has the position, and all errors of types.
        TypeError: the expression is no text, or the schema no mapping.
    """
    if not isinstance(expression, str):
        raise TypeError(f"the expression must be a text (str), not {type(expression).__name__}")
    if not isinstance(schema, Mapping):
        raise TypeError(f"the schema must be a mapping, as in a CRD, not {type(schema).__name__}")
    return Environment().with_schema(name, schema).compile(expression)


for _error in (BudgetExceeded, CelError, CompileFailure):
    _error.__module__ = __name__  # as it is imported, and so as it is printed


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in {"KubernetesEnvironment", "KubernetesRunner"}:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from webhook.cel import runner  # noqa: PLC0415 - cel-python takes a third of a second

        return getattr(runner, name)
