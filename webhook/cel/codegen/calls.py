"""Generated forms of calls: tables of those with a form of their own; all others call their implementation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from webhook.cel.codegen import logic, operators, optionals
from webhook.cel.codegen.code import CONTAINERS, Code, Unsupported
from webhook.cel.codegen.runtime import SHORT
from webhook.cel.codegen.writer import Form, Writer
from webhook.cel.cost import runtime as costs
from webhook.cel.errors import CelError
from webhook.cel.library import operators as library
from webhook.cel.library.formats import NamedFormat
from webhook.cel.syntax.ast import Call, Expr
from webhook.cel.types import BOOL, INT, STRING
from webhook.cel.values.nodes import COMPOSITE


def write_call(writer: Writer, expr: Call) -> Code:
    operator = _OPERATORS.get(expr.function)
    if operator is not None:
        return operator(writer, expr)
    reference = writer.checked.references.get(expr)
    if reference is None or not reference.overloads:
        raise Unsupported
    args = reference.arguments(expr)
    if reference.name == "size":
        return _size(writer, args[0])
    function = _FUNCTIONS.get(reference.overloads[0].id) if len(reference.overloads) == 1 else None
    if function is not None:
        return function(writer, expr, args)
    return _function(writer, expr, args)


def _function(writer: Writer, expr: Call, args: Sequence[Expr]) -> Code:
    """A call of the function's implementation, unguarded where the types of the arguments are proven.

    The cost is computed where it is not 1.
    """
    reference = writer.checked.references[expr]
    overloads = reference.overloads
    values = [writer.value(writer.expr(arg)) for arg in args]
    if len(overloads) == 1:
        chosen, cost = overloads[0], overloads[0].cost
        is_proven = all(value.proven and not value.of.is_open for value in values)
        impl = chosen.raw if is_proven and chosen.raw is not None else chosen.impl
    else:
        impl, cost = writer.functions[reference.name].dispatched()
    if all(value.is_literal for value in values):
        return _folded(writer, expr, impl, cost, [value.literal for value in values])
    function, of = writer.constant(impl), writer.type_of(expr)
    is_known = len(overloads) == 1 and not of.is_open
    if cost is None:
        writer.cost += 1
        return Code(writer.call(function, [value.text for value in values]), of, proven=is_known)
    names = [writer.local(value) for value in values]
    result = writer.name(writer.call(function, names))
    _meter(writer, cost, values, names, result)
    return Code(result, of, is_name=True, proven=is_known)


def _meter(writer: Writer, cost: costs.Cost, values: Sequence[Code], names: Sequence[str], result: str) -> None:
    """Subtract the cost of a call, or a bound that depends on the length of one text."""
    bound = costs.bound(cost, values[0].literal)
    if bound is not None and values[bound[0]].proven and values[bound[0]].of == STRING:
        argument, characters, times = bound
        writer.meter_length(names[argument], characters, times)
    else:
        writer.meter(f"{writer.constant(cost)}(({', '.join(names)},), {result})")


def _folded(writer: Writer, expr: Call, impl: Callable[..., Any], cost: costs.Cost | None, args: Sequence[Any]) -> Code:
    """A call whose arguments are all literals, evaluated now."""
    try:
        result = impl(*args)
    except CelError:
        return Code("fail()", writer.type_of(expr))
    writer.cost += 1 if cost is None else cost(tuple(args), result)
    return writer.literal(result, writer.type_of(expr))


def _validated(writer: Writer, expr: Call, args: Sequence[Expr]) -> Code:
    """``format.x().validate(text)``: the problems, or ABSENT without one."""
    form, cost = writer.value(writer.expr(args[0])), writer.checked.references[expr].overloads[0].cost
    if not isinstance(form.literal, NamedFormat) or cost is None:
        return _function(writer, expr, args)
    text = writer.named(writer.value(writer.expr(args[1])))
    problems = writer.name(f"{writer.call(writer.constant(form.literal.check), [text.text])} or A")
    _meter(writer, cost, [form, text], [form.text, text.text], problems)
    return Code(problems, writer.type_of(expr), is_name=True, maybe=True)


def _dyn(writer: Writer, _expr: Call, args: Sequence[Expr]) -> Code:
    writer.cost += 1
    return writer.untyped(writer.expr(args[0]))


def _size(writer: Writer, arg: Expr) -> Code:
    """``len``: the values that have a length in Python are those that have a size in CEL."""
    code = writer.expr(arg)
    if code.maybe:
        raise Unsupported
    writer.cost += 1
    if code.node is not None and code.node.kind in COMPOSITE:
        return Code(f"len({writer.container(code, CONTAINERS[code.node.kind])})", INT)
    return Code(f"len({writer.value(code).text})", INT)


def _affix(method: str) -> Callable[[Writer, Call, Sequence[Expr]], Code]:
    def write(writer: Writer, _expr: Call, args: Sequence[Expr]) -> Code:
        text, affix = (writer.value(writer.expr(arg)) for arg in args)
        if not affix.is_literal:
            affix = writer.named(affix)
            writer.meter(f"length({affix.text})")
        writer.cost += 1 + (len(affix.literal) if affix.is_literal else 0)
        return Code(f"{text.atom}.{method}({affix.text})", BOOL)

    return write


def _contains(writer: Writer, _expr: Call, args: Sequence[Expr]) -> Code:
    text, part = (writer.named(writer.value(writer.expr(arg))) for arg in args)
    _meter_product(writer, text, part)
    if text.of.kind == "string" and part.of.kind == "string":
        return Code(f"({part.text} in {text.text})", BOOL)
    if not part.is_literal:
        raise Unsupported
    return Code(f"({text.text}.find({part.text}) >= 0)", BOOL)


def _meter_product(writer: Writer, text: Code, part: Code) -> None:
    """A tenth of one length times a tenth of the other."""
    if part.is_literal and len(part.literal) <= 100:
        tenth = math.ceil(len(part.literal) / 10)  # so tenth * ceil(n / 10) <= n + tenth
        writer.cost += tenth
        writer.meter_length(text.text, 1, 1)
    else:
        writer.meter(f"(len({text.text}) // 10 + 1) * (len({part.text}) // 10 + 1)")


def _matches(writer: Writer, _expr: Call, args: Sequence[Expr]) -> Code:
    pattern = writer.expr(args[1])
    if not pattern.is_literal:
        raise Unsupported
    text = writer.named(writer.value(writer.expr(args[0])))
    operators = math.ceil(len(pattern.literal) / 4)
    writer.cost += operators * (SHORT // 10 + 2)
    return Code(writer.match(pattern.literal, text.text), BOOL)


_FUNCTIONS: Final[dict[str, Callable[[Writer, Call, Sequence[Expr]], Code]]] = {
    "starts_with_string": _affix("startswith"),
    "ends_with_string": _affix("endswith"),
    "contains_string": _contains,
    "matches": _matches,
    "matches_string": _matches,
    "optional_hasValue": optionals.has_value,
    "optional_of": optionals.of,
    "optional_none": optionals.none,
    "optional_value": optionals.value,
    "optional_orValue_value": optionals.or_value,
    "to_dyn": _dyn,
    "format-validate": _validated,
}
"""By overload id, for calls that have only one overload."""

_OPERATORS: Final[dict[str, Form]] = {
    "_&&_": logic.logical("and"),
    "_||_": logic.logical("or"),
    "_?_:_": logic.conditional,
    "!_": logic.negation,
    "_==_": operators.equality(negated=False),
    "_!=_": operators.equality(negated=True),
    "_<_": operators.comparison("<", library.less),
    "_<=_": operators.comparison("<=", library.less_equal),
    "_>_": operators.comparison(">", library.greater),
    "_>=_": operators.comparison(">=", library.greater_equal),
    "_+_": operators.arithmetic("+", library.add),
    "_-_": operators.arithmetic("-", library.subtract),
    "_*_": operators.arithmetic("*", library.multiply),
    "@in": operators.membership,
    "_[_]": optionals.index,
    "_?._": optionals.optional_select,
    "_[?_]": optionals.optional_select,
}
"""By function, for operators."""
