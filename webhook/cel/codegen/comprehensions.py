"""Generated loops: the macros over lists and maps, and what binds a name to a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from webhook.cel.codegen.code import Code, Unsupported
from webhook.cel.codegen.writer import Writer
from webhook.cel.syntax.ast import Call, Comprehension, Expr, ListExpr
from webhook.cel.types import BOOL, DYN, INT, STRING

Body = Callable[[Writer, Comprehension, str], int]
"""Writes the body of the loop, given the accumulator's name; returns the macro's own cost per element."""


def write_comprehension(writer: Writer, expr: Comprehension) -> Code:
    if isinstance(expr.iter_range, ListExpr) and not expr.iter_range.elements:
        return _bind(writer, expr)
    macro = _MACROS.get(expr.macro)
    if macro is None:
        raise Unsupported
    return _looped(writer, expr, _range(writer, expr.iter_range), *macro)


def _range(writer: Writer, expr: Expr) -> Code:
    """What a loop runs over. Objects that a filter has kept stay raw JSON: the loop reads them under their schema."""
    if isinstance(expr, Comprehension) and expr.macro == "filter" and expr.iter_var2 is None:
        source = _range(writer, expr.iter_range)
        node = source.node
        if node is not None and node.kind in ("list", "maplist") and node.items.kind == "object":
            kept = _looped(writer, expr, source, "[]", _keep)
            return Code(kept.text, kept.of, node, checked=True, is_name=True)
        return _looped(writer, expr, source, *_MACROS["filter"])
    return writer.expr(expr)


def _looped(writer: Writer, expr: Comprehension, source: Code, start: str, body: Body) -> Code:
    if source.maybe:
        raise Unsupported
    loop = _Loop(writer, expr, source)
    result = writer.name(start)
    outer_cost, writer.cost = writer.cost, 0
    outer_locals, writer.locals = writer.locals, {**writer.locals, **loop.variables}
    outer_calls, writer.calls = writer.calls, False
    writer.loops += 1
    with writer.inner() as block:
        block.extend(writer.slot(local) for local in loop.names)
        overhead = body(writer, expr, result)
    writer.loops -= 1
    if writer.calls:
        writer.is_interruptible = True
        block.insert(0, "if i is not None and i(): raise E")
    writer.calls = outer_calls
    writer.locals = outer_locals
    each, writer.cost = writer.cost + overhead, outer_cost + 8
    writer.meter(f"len({loop.values}) * {each}")
    if not writer.loops:
        writer.line("if b < 0: raise E")
    writer.block.append((loop.header, block))
    if expr.macro == "exists_one":
        return Code(f"({result} == 1)", BOOL)
    return Code(result, writer.type_of(expr), is_name=True)


def _bind(writer: Writer, expr: Comprehension) -> Code:
    """``optMap`` and similar macros: a name for a value that is evaluated once."""
    bound = writer.expr(expr.accu_init)
    if bound.maybe:
        raise Unsupported
    outer = writer.locals
    writer.locals = {**outer, expr.accu_var: bound if bound.is_name else _renamed(bound, writer.name(bound.text))}
    result = writer.expr(expr.result)
    writer.locals = outer
    return result


def _renamed(code: Code, name: str) -> Code:
    return Code(name, code.of, code.node, checked=code.checked, is_name=True, proven=code.proven)


class _Loop:
    """The header of a loop, the container it runs over, and its variables."""

    def __init__(self, writer: Writer, expr: Comprehension, source: Code) -> None:
        of = writer.type_of(expr.iter_range)
        kind = source.node.kind if source.node is not None else of.kind
        wanted = _RANGES.get(kind)
        if wanted is None or (wanted == "dict" and (of.kind != "map" or of.params[0].kind != "string")):
            raise Unsupported
        self.values = writer.container(source, wanted)
        first, second = writer.name(), writer.name()
        self.names = (first, second)
        item = source.node.items if source.node is not None else None
        element = Code(second, of.params[-1] if of.params else DYN, item, is_name=True)
        is_pair = expr.iter_var2 is not None
        if wanted == "list":
            self.variables = {expr.iter_var2 or expr.iter_var: element}
            if is_pair:
                self.variables[expr.iter_var] = Code(first, INT, is_name=True)
            self.header = f"for {f'{first}, ' if is_pair else ''}{second} in {_in_list(self.values, is_pair)}:"
        else:
            self.variables = {expr.iter_var: Code(first, STRING, is_name=True)}
            if expr.iter_var2 is not None:
                self.variables[expr.iter_var2] = element
            self.header = f"for {first}, {second} in {self.values}.items():"


def _in_list(values: str, is_pair: bool) -> str:
    return f"enumerate({values})" if is_pair else values


_RANGES: Final = {"list": "list", "set": "list", "maplist": "list", "dyn": "list", "map": "dict"}
"""The class of a range. A range of unknown type is taken for a list; if it is not one, the interpreter decides."""


def _tested(term: int, test: str, lines: tuple[str, ...], cost: int) -> Body:
    """A body that tests the predicate, which is a term of the step; ``lines`` are what is done then."""

    def body(writer: Writer, expr: Comprehension, result: str) -> int:
        assert isinstance(expr.loop_step, Call)
        header = test.format(writer.truth(expr.loop_step.args[term]))
        writer.block.append((header, [line.format(result) for line in lines]))
        return cost

    return body


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


def _keep(writer: Writer, expr: Comprehension, result: str) -> int:
    """As :func:`_collect` for a filter, with the items as they are."""
    step = expr.loop_step
    assert isinstance(step, Call)
    condition = writer.truth(step.args[0])
    item = writer.container(writer.locals[expr.iter_var], "dict")
    writer.block.append((f"if {condition}:", [f"{result}.append({item})"]))
    writer.cost += 1
    return 14


_MACROS: Final[dict[str, tuple[str, Body]]] = {
    "all": ("True", _tested(1, "if not {}:", ("{} = False", "break"), 4)),
    "exists": ("False", _tested(1, "if {}:", ("{} = True", "break"), 5)),
    "exists_one": ("0", _tested(0, "if {}:", ("{} += 1",), 3)),
    "map": ("[]", _collect),
    "filter": ("[]", _collect),
    "transformList": ("[]", _collect),
}
