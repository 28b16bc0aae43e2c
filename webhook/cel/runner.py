"""cel-python's API on this engine.

:class:`KubernetesRunner` is a runner for ``celpy.Environment``. It has the types, the libraries,
the cost limits and the generated code of Kubernetes' CEL:

>>> import celpy
>>> schema = {"type": "object", "properties": {"replicas": {"type": "integer"}}}
>>> env = celpy.Environment(annotations={"self": schema}, runner_class=KubernetesRunner)
>>> runner = env.program(env.compile("self.replicas < 5"))
>>> runner.evaluate({"self": {"replicas": 3}})
BoolType(True)

``celpy.Environment`` compiles with cel-python's parser, which refuses some of Kubernetes' syntax
(optionals, quoted fields, trailing commas). :class:`KubernetesEnvironment` compiles with ours.

This module imports cel-python, which takes a third of a second. The gate does not import it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, ClassVar, Final

import celpy
from celpy import celtypes
from celpy.celparser import CELParseError, CELParser
from celpy.evaluation import CELEvalError, CELUnsupportedError, TranspilerTree
from lark import Tree

from webhook.cel.environment import Environment
from webhook.cel.errors import CelError, CompileFailure
from webhook.cel.limits import DEEP_RECURSION
from webhook.cel.syntax.ast import Ident
from webhook.cel.syntax.parser import parse
from webhook.cel.syntax.spelling import spelled
from webhook.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    UINT,
    Type,
    list_of,
    map_of,
)
from webhook.cel.values.value import Duration, Timestamp, UInt, from_map_key, map_key

if TYPE_CHECKING:
    from celpy.evaluation import CELFunction, Context

    from webhook.cel.program import Budget, Program

__all__ = ["KubernetesEnvironment", "KubernetesParser", "KubernetesRunner", "KubernetesTree"]

_TYPES: Final[Mapping[Any, Type]] = {
    celtypes.BoolType: BOOL,
    celtypes.BytesType: BYTES,
    celtypes.DoubleType: DOUBLE,
    celtypes.DurationType: DURATION,
    celtypes.IntType: INT,
    celtypes.ListType: list_of(DYN),
    celtypes.MapType: map_of(DYN, DYN),
    celtypes.NullType: NULL,
    celtypes.StringType: STRING,
    celtypes.TimestampType: TIMESTAMP,
    celtypes.UintType: UINT,
}


class KubernetesTree(Tree[Any]):
    """What :class:`KubernetesParser` returns: the parsed expression and its source."""

    def __init__(self, source: str) -> None:
        super().__init__("expr", [parse(source)])
        self.source = source


class KubernetesParser(CELParser):
    """A parser of Kubernetes' CEL, for ``celpy.Environment.cel_parser``.

    cel-python has one parser in a process, made for the runner class of the first environment.
    This one is separate, so no environment affects another.
    """

    def __init__(self) -> None:
        """Do not call the superclass, which makes cel-python's parser."""

    def parse(self, text: str) -> Tree[Any]:
        """The tree of an expression.

        Raises:
            celpy.CELParseError: it is not CEL; the text is cel-go's.
        """
        self.text = text
        try:
            return KubernetesTree(text)
        except CompileFailure as failure:
            raise _parse_error(failure) from None


class KubernetesRunner(celpy.Runner):
    """A program of this engine, made from a tree of cel-python's parser or of :class:`KubernetesParser`.

    The environment's annotations type the variables. An annotation is an OpenAPI schema, one of
    ``celpy.celtypes`` or a :class:`webhook.cel.types.Type`; a variable without one is dynamic.
    ``kubernetes`` is the version of the language; a subclass may have another.

    Raises:
        celpy.CELParseError: the expression is not Kubernetes' CEL, or its types are wrong.
        celpy.evaluation.CELUnsupportedError: functions or a package are given, which Kubernetes' CEL does not have.
    """

    kubernetes: ClassVar[Environment] = Environment()
    # cel-python makes its one parser for the first environment's class; both of its own runners work on these trees
    tree_node_class: type = TranspilerTree

    def __init__(
        self, environment: celpy.Environment, ast: Tree[Any], functions: dict[str, CELFunction] | None = None
    ) -> None:
        super().__init__(environment, ast, functions)
        if functions or environment.package:
            raise CELUnsupportedError("KubernetesRunner supports neither functions nor a package", line=1, column=1)
        with DEEP_RECURSION:
            self.source: str = ast.source if isinstance(ast, KubernetesTree) else spelled(ast)
            self.program: Program = self._compiled()

    def evaluate(self, context: Context, budget: Budget | None = None) -> celtypes.Value:
        """The value of the expression, as one of cel-python's.

        The context has a value for each variable: decoded JSON, which is used as it is, or one
        of cel-python's. The evaluation spends its cost from the budget.

        Raises:
            celpy.CELEvalError: the evaluation failed, or cost too much.
        """
        try:
            bindings = {name: from_celpy(value) for name, value in context.items()}
            value = self.program.evaluate(bindings, budget)
        except CelError as error:
            raise CELEvalError(error.message) from None
        found: celtypes.Value = to_celpy(value)
        return found

    def _compiled(self) -> Program:
        try:
            return self._typed().compile(self.source)
        except CompileFailure as failure:
            raise _parse_error(failure) from None

    def _typed(self) -> Environment:
        """The environment with all variables of the expression."""
        env = self.kubernetes
        types = env.declarations().constants
        for name in {node.name.removeprefix(".") for node in parse(self.source).walk() if isinstance(node, Ident)}:
            if name not in types:
                env = _annotated(env, name, self.environment.annotations.get(name))
        return env


class KubernetesEnvironment(celpy.Environment):
    """``celpy.Environment`` with Kubernetes' syntax, whatever environments the process has besides."""

    def __init__(
        self,
        package: str | None = None,
        annotations: Mapping[str, Any] | None = None,
        runner_class: type[celpy.Runner] = KubernetesRunner,
    ) -> None:
        super().__init__(package, dict(annotations or {}), runner_class)
        self.cel_parser = KubernetesParser()


def _annotated(env: Environment, name: str, annotation: Any) -> Environment:
    if isinstance(annotation, Mapping):
        return env.with_schema(name, annotation)
    return env.extend({name: annotation if isinstance(annotation, Type) else _TYPES.get(annotation, DYN)})


def _parse_error(failure: CompileFailure) -> CELParseError:
    first = failure.issues[0]
    return CELParseError(str(failure), line=first.line, column=first.column + 1)


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def from_celpy(value: Any) -> Any:
    """The native value of one of cel-python's; a native value, such as decoded JSON, is returned as it is.

    Raises:
        CelError: cel-python's value has no native counterpart (a function, a type).
    """
    convert = _NATIVE.get(value.__class__)
    if convert is not None:
        return convert(value)
    if value.__class__.__module__ == celtypes.__name__:
        raise CelError(f"unsupported value of type {value.__class__.__name__}")
    return value


def to_celpy(value: Any) -> Any:
    """The value as cel-python's runners return it.

    A fraction of a microsecond is lost, because cel-python's times are Python's. Optionals,
    types and what Kubernetes' libraries add (quantities, addresses …) are returned as they are.
    """
    convert = _CELPY.get(value.__class__)
    if convert is not None:
        return convert(value)
    if isinstance(value, list):
        return celtypes.ListType([to_celpy(item) for item in value])
    if isinstance(value, dict):
        return celtypes.MapType({to_celpy(from_map_key(key)): to_celpy(item) for key, item in value.items()})
    return value


def _map(value: celtypes.MapType) -> dict[Any, Any]:
    return {map_key(from_celpy(key)): from_celpy(item) for key, item in value.items()}


def _timestamp(value: datetime) -> Timestamp:
    offset = value.utcoffset() or timedelta()
    return Timestamp((value - _EPOCH) // _MICROSECOND * 1000, int(offset.total_seconds()))


_NATIVE: Final[dict[type, Callable[[Any], Any]]] = {
    celtypes.BoolType: bool,
    celtypes.IntType: int,
    celtypes.UintType: UInt,
    celtypes.DoubleType: float,
    celtypes.StringType: str,
    celtypes.BytesType: bytes,
    celtypes.NullType: lambda _: None,
    celtypes.ListType: lambda value: [from_celpy(item) for item in value],
    celtypes.MapType: _map,
    celtypes.MessageType: _map,
    celtypes.TimestampType: _timestamp,
    celtypes.DurationType: lambda value: Duration(value // _MICROSECOND * 1000),
}
_CELPY: Final[dict[type, Callable[[Any], Any]]] = {
    bool: celtypes.BoolType,
    int: celtypes.IntType,
    UInt: celtypes.UintType,
    float: celtypes.DoubleType,
    str: celtypes.StringType,
    bytes: celtypes.BytesType,
    Timestamp: lambda value: celtypes.TimestampType(_EPOCH + timedelta(microseconds=value.ns // 1000)),
    Duration: lambda value: celtypes.DurationType(timedelta(microseconds=value.ns // 1000)),
}
