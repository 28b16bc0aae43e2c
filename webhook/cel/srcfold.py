"""Generated loops: the macros over lists and maps, and what binds a name to a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from webhook.cel.ast import Call, Comprehension, ListExpr
from webhook.cel.srcbase import Code, Unsupported
from webhook.cel.types import BOOL, INT, STRING

if TYPE_CHECKING:
    from webhook.cel.srcgen import Writer

__all__ = ["write_fold"]

Body = Callable[["Writer", Comprehension, str], int]
"""Writes what is done for each element, ``result`` being the accumulator; its value is the cost of the macro itself."""


def write_fold(writer: Writer, expr: Comprehension) -> Code:
    if isinstance(expr.iter_range, ListExpr) and not expr.iter_range.elements:
        return _bind(writer, expr)
    macro = _MACROS.get(expr.macro)
    if macro is None:
        raise Unsupported
    start, body = macro
    source = writer.expr(expr.iter_range)
    if source.maybe:
        raise Unsupported
    header, values, scope = _enter_loop(writer, expr, source)
    result = writer.name(start)
    outer_cost, writer.cost = writer.cost, 0
    outer_locals, writer.locals = writer.locals, scope
    with writer.inner() as block:
        overhead = body(writer, expr, result)
    writer.locals = outer_locals
    each, writer.cost = writer.cost + overhead, outer_cost + 4
    writer.meter(f"len({values}) * {each}")
    writer.line("if b < 0: raise E")
    writer.block.append((header, block))
    of = writer.type_of(expr)
    if expr.macro == "exists_one":
        return Code(f"({result} == 1)", BOOL)
    return Code(result, of, is_name=True)


def _bind(writer: Writer, expr: Comprehension) -> Code:
    """``optMap`` and its like: a name for a value, evaluated once."""
    bound = writer.expr(expr.accu_init)
    if bound.maybe:
        raise Unsupported
    outer = writer.locals
    writer.locals = {**outer, expr.accu_var: bound if bound.is_name else _renamed(bound, writer.name(bound.text))}
    result = writer.expr(expr.result)
    writer.locals = outer
    return result


def _renamed(code: Code, name: str) -> Code:
    return Code(name, code.of, code.node, checked=code.checked, is_name=True)


def _enter_loop(writer: Writer, expr: Comprehension, source: Code) -> tuple[str, str, dict[str, Code]]:
    """The header of the loop, the name of what it runs over, and the variables of its body."""
    first, second = writer.name(), writer.name()
    node = source.node
    of = writer.type_of(expr.iter_range)
    kind = node.kind if node is not None else of.kind
    if kind in ("list", "set", "maplist"):
        wanted = "list"
    elif kind == "map":
        wanted = "dict"
    else:
        raise Unsupported
    values = writer.container(source, wanted)
    scope = dict(writer.locals)
    element_type = of.params[-1] if of.params else of
    item = node.items if node is not None else None
    if wanted == "list":
        holder = expr.iter_var2 or expr.iter_var
        scope[holder] = Code(second, element_type, item, is_name=True)
        if expr.iter_var2 is not None:
            scope[expr.iter_var] = Code(first, INT, is_name=True)
            header = f"for {first}, {second} in enumerate({values}):"
        else:
            header = f"for {second} in {values}:"
    else:
        if of.kind != "map" or of.params[0].kind != "string":
            raise Unsupported
        scope[expr.iter_var] = Code(first, STRING, is_name=True)
        if expr.iter_var2 is not None:
            scope[expr.iter_var2] = Code(second, element_type, item, is_name=True)
            header = f"for {first}, {second} in {values}.items():"
        else:
            header = f"for {first} in {values}:"
    return header, values, scope


def _all(writer: Writer, expr: Comprehension, result: str) -> int:
    assert isinstance(expr.loop_step, Call)
    text = writer.truth(expr.loop_step.args[1])
    writer.block.append((f"if not {text}:", [f"{result} = False", "break"]))
    return 4


def _exists(writer: Writer, expr: Comprehension, result: str) -> int:
    assert isinstance(expr.loop_step, Call)
    text = writer.truth(expr.loop_step.args[1])
    writer.block.append((f"if {text}:", [f"{result} = True", "break"]))
    return 5


def _exists_one(writer: Writer, expr: Comprehension, result: str) -> int:
    assert isinstance(expr.loop_step, Call)
    text = writer.truth(expr.loop_step.args[0])
    writer.block.append((f"if {text}:", [f"{result} += 1"]))
    return 3


def _collect(writer: Writer, expr: Comprehension, result: str) -> int:
    step = expr.loop_step
    assert isinstance(step, Call)
    if step.function == "_?_:_":
        condition = writer.truth(step.args[0])
        writer.block.append((f"if not {condition}:", ["continue"]))
        writer.learn(step.args[0], outcome=True)
        step = step.args[1]
    assert isinstance(step, Call)
    added = step.args[1]
    if not isinstance(added, ListExpr) or len(added.elements) != 1 or added.optional:
        raise Unsupported
    item = writer.value(writer.expr(added.elements[0]))
    writer.line(f"{result}.append({item.text})")
    return 14


_MACROS: Final[dict[str, tuple[str, Body]]] = {
    "all": ("True", _all),
    "exists": ("False", _exists),
    "exists_one": ("0", _exists_one),
    "map": ("[]", _collect),
    "filter": ("[]", _collect),
    "transformList": ("[]", _collect),
}
