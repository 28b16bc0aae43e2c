"""Generated forms of calls: a table of those that have one, and the call of an implementation for the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from webhook.cel.codegen import logic as srclogic
from webhook.cel.codegen import operators as srcoperators
from webhook.cel.codegen import optionals as srcoptional
from webhook.cel.codegen import strings as srcstrings
from webhook.cel.codegen.code import Code, Unsupported
from webhook.cel.cost import runtime as costs
from webhook.cel.errors import CelError
from webhook.cel.interpreter import calls
from webhook.cel.library import operators
from webhook.cel.overload import dispatcher
from webhook.cel.syntax.ast import Call, Expr
from webhook.cel.types import DYN

if TYPE_CHECKING:
    from webhook.cel.codegen.writer import Writer

__all__ = ["write_call"]


def write_call(writer: Writer, expr: Call) -> Code:
    special = _SPECIAL.get(expr.function)
    if special is not None:
        return special(writer, expr)
    reference = writer.checked.references.get(expr)
    if reference is None or not reference.overloads:
        raise Unsupported
    args = expr.args if expr.target is None or reference.namespaced else (expr.target, *expr.args)
    if reference.name == "size":
        return srcstrings.size(writer, args[0])
    own = _FUNCTIONS.get(reference.overloads[0].id) if len(reference.overloads) == 1 else None
    if own is not None:
        return own(writer, expr, args)
    return _function(writer, expr, args)


def _function(writer: Writer, expr: Call, args: Sequence[Expr]) -> Code:
    """Any function: its implementation is called, and its cost computed where it is not 1."""
    reference = writer.checked.references[expr]
    overloads = reference.overloads
    values = [writer.value(writer.expr(arg)) for arg in args]
    if len(overloads) == 1:
        chosen, cost = overloads[0], overloads[0].cost
        is_open = any(calls.is_open(value.of) for value in values)
        impl = chosen.impl if is_open or chosen.raw is None else chosen.raw
    else:
        declared = writer.functions[reference.name]
        impl = dispatcher([signature.overload for signature in (*declared.free, *declared.member)])
        cost = costs.call_cost(reference.name)
    if all(value.is_literal for value in values):
        return _folded(writer, expr, impl, cost, [value.literal for value in values])
    function = writer.constant(impl)
    if cost is None:
        writer.cost += 1
        return Code(f"{function}({', '.join(value.text for value in values)})", writer.type_of(expr))
    names = [writer.local(value) for value in values]
    result = writer.name(f"{function}({', '.join(names)})")
    writer.meter(f"{writer.constant(cost)}(({', '.join(names)},), {result})")
    return Code(result, writer.type_of(expr), is_name=True)


def _folded(writer: Writer, expr: Call, impl: Callable[..., Any], cost: costs.Cost | None, args: Sequence[Any]) -> Code:
    """A call with nothing but literals: its value is the same whenever it is computed."""
    try:
        result = impl(*args)
    except CelError:
        return Code("fail()", writer.type_of(expr))
    writer.cost += 1 if cost is None else cost(tuple(args), result)
    return writer.literal(result, writer.type_of(expr))


def _dyn(writer: Writer, _expr: Call, args: Sequence[Expr]) -> Code:
    writer.cost += 1
    code = writer.value(writer.expr(args[0]))
    # a literal gets a name, too: Python warns of 1['a']
    return Code(writer.name(code.text) if code.is_literal else writer.local(code), DYN, is_name=True)


_FUNCTIONS: Final[dict[str, Callable[[Writer, Call, Sequence[Expr]], Code]]] = {
    "starts_with_string": srcstrings.affix("startswith"),
    "ends_with_string": srcstrings.affix("endswith"),
    "contains_string": srcstrings.contains,
    "matches": srcstrings.matches,
    "matches_string": srcstrings.matches,
    "optional_hasValue": srcoptional.has_value,
    "optional_of": srcoptional.of,
    "optional_none": srcoptional.none,
    "optional_value": srcoptional.value,
    "optional_orValue_value": srcoptional.or_value,
    "to_dyn": _dyn,
}
"""By overload, for calls that have but one."""

_SPECIAL: Final[dict[str, Callable[[Writer, Call], Code]]] = {
    "_&&_": srclogic.logical("and"),
    "_||_": srclogic.logical("or"),
    "_?_:_": srclogic.conditional,
    "!_": srclogic.negation,
    "_==_": srcoperators.equality(negated=False),
    "_!=_": srcoperators.equality(negated=True),
    "_<_": srcoperators.comparison("<", operators.less),
    "_<=_": srcoperators.comparison("<=", operators.less_equal),
    "_>_": srcoperators.comparison(">", operators.greater),
    "_>=_": srcoperators.comparison(">=", operators.greater_equal),
    "_+_": srcoperators.arithmetic("+", operators.add),
    "_-_": srcoperators.arithmetic("-", operators.subtract),
    "_*_": srcoperators.arithmetic("*", operators.multiply),
    "@in": srcoperators.membership,
    "_[_]": srcoptional.index,
    "_?._": srcoptional.optional_select,
    "_[?_]": srcoptional.optional_select,
}
"""By function, for operators."""
