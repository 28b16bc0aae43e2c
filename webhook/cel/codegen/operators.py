"""Generated forms of comparison, arithmetic and membership: Python's own operators where they agree with CEL's."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from webhook.cel.codegen.code import CLASSES, Code, Unsupported, is_of
from webhook.cel.codegen.writer import Writer
from webhook.cel.syntax.ast import Call
from webhook.cel.types import BOOL
from webhook.cel.values import scalars
from webhook.cel.values.nodes import COMPOSITE

_SCALARS: Final = frozenset({"string", "int", "bool", "bytes"})
_LITERALS: Final = frozenset({str, int, bool})
_INT_RANGE: Final = "-9223372036854775808 <= {0} <= 9223372036854775807"


def equality(negated: bool) -> Callable[[Writer, Call], Code]:
    def write(writer: Writer, expr: Call) -> Code:
        first, second = (writer.expr(arg) for arg in expr.args)
        is_composite = any(code.node is not None and code.node.kind in COMPOSITE for code in (first, second))
        first, second = writer.value(first), writer.value(second)
        text = None if is_composite else _plain_equality(first, second, negated)
        if text is None:
            first, second = writer.named(first), writer.named(second)
            _meter_shorter(writer, first, second)
            writer.calls = True
            text = f"{'not ' if negated else ''}equal({first.text}, {second.text})"
        else:
            _meter_shorter(writer, first, second)
        return Code(f"({text})", BOOL)

    return write


def _plain_equality(first: Code, second: Code, negated: bool) -> str | None:
    """Python's own comparison, where it agrees with CEL's."""
    operator = "!=" if negated else "=="
    if second.is_literal is False and first.is_literal:
        first, second = second, first
    kinds = (first.of.kind, second.of.kind)
    if second.is_literal and second.literal is None:
        plain = first.is_name and not first.is_literal
        return f"{first.text} {'is not' if negated else 'is'} None" if plain else None
    if kinds[0] == kinds[1] and (kinds[0] in _SCALARS or kinds[0] == "double"):
        return f"{first.text} {operator} {second.text}"
    if second.is_literal and second.literal.__class__ in _LITERALS and kinds[0] == "dyn" and first.is_name:
        # comparing a set of the API server, or a library value, with a string is an error, not false
        exact = f"{'not ' if negated else ''}equal({first.text}, {second.text})"
        is_same_class = is_of(first.text, second.literal.__class__.__name__)
        return f"{first.text} {operator} {second.text} if {is_same_class} else {exact}"
    return None


def _meter_shorter(writer: Writer, first: Code, second: Code) -> None:
    """The cost of comparing: a tenth of the shorter operand."""
    for code in (first, second):
        if code.is_literal and code.literal.__class__ in (str, bytes, list):
            writer.cost += max(1, math.ceil(len(code.literal) / 10))
            return
    writer.cost += 1
    scalar = ("int", "uint", "bool", "double", "null", "timestamp", "duration", "type", "opaque")
    if any(code.of.kind in scalar or (code.is_literal and code.literal is None) for code in (first, second)):
        return
    sized = first if first.is_name else second
    if sized.is_name:
        writer.meter(f"{'len' if sized.proven and sized.of.kind == 'string' else 'length'}({sized.text})")
    else:
        raise Unsupported


def comparison(operator: str, exact: Callable[[Any, Any], bool]) -> Callable[[Writer, Call], Code]:
    def write(writer: Writer, expr: Call) -> Code:
        first, second = (writer.value(writer.expr(arg)) for arg in expr.args)
        kinds = (first.of.kind, second.of.kind)
        reference = writer.checked.references[expr]
        if len(reference.overloads) == 1 and reference.overloads[0].cost is not None:
            first, second = writer.named(first), writer.named(second)
            _meter_shorter(writer, first, second)
        else:
            writer.cost += 1
        if kinds in (("int", "int"), ("string", "string"), ("double", "double")):
            return Code(f"({first.text} {operator} {second.text})", BOOL)
        helper = writer.constant(exact)
        if kinds == ("dyn", "dyn") and first.is_name and second.is_name:
            are_ints = f"{first.text}.__class__ is {second.text}.__class__ is int"
            plain = f"{first.text} {operator} {second.text} if {are_ints}"
            return Code(f"({plain} else {helper}({first.text}, {second.text}))", BOOL)
        if kinds == ("dyn", "int") and second.is_literal:
            local = writer.local(first)
            plain = f"{local} {operator} {second.text} if {local}.__class__ is int"
            return Code(f"({plain} else {helper}({local}, {second.text}))", BOOL)
        return Code(f"{helper}({first.text}, {second.text})", BOOL)

    return write


def arithmetic(operator: str, exact: Callable[[Any, Any], Any]) -> Callable[[Writer, Call], Code]:
    def write(writer: Writer, expr: Call) -> Code:
        first, second = (writer.value(writer.expr(arg)) for arg in expr.args)
        kinds = (first.of.kind, second.of.kind)
        of = writer.type_of(expr)
        writer.cost += 1
        if kinds == ("int", "int") and operator in ("+", "-", "*"):
            result = writer.name(f"{first.text} {operator} {second.text}")
            writer.line(f"if not {_INT_RANGE.format(result)}: raise E")
            return Code(result, of, is_name=True)
        if kinds == ("double", "double") and operator in ("+", "-", "*"):
            return Code(f"({first.text} {operator} {second.text})", of)
        if operator == "+" and first.is_literal and second.is_literal and kinds == ("string", "string"):
            writer.cost += len(first.literal) + len(second.literal)
            return writer.literal(first.literal + second.literal, of)
        if operator == "+" and "int" not in kinds and "double" not in kinds:
            first, second = writer.named(first), writer.named(second)
            if kinds == ("string", "string"):
                lengths = [f"len({code.text})" for code in (first, second) if not code.is_literal]
                writer.cost += sum(len(code.literal) for code in (first, second) if code.is_literal)
                writer.meter(" + ".join(lengths))
                return Code(f"({first.text} + {second.text})", of)
            writer.meter(f"length({first.text}) + length({second.text})")
        return Code(f"{writer.constant(exact)}({first.text}, {second.text})", of)

    return write


def membership(writer: Writer, expr: Call) -> Code:
    element = writer.value(writer.expr(expr.args[0]))
    container = writer.expr(expr.args[1])
    if container.is_literal:
        writer.cost += len(container.literal)
        return _in_literal(writer, element, container.literal)
    element = writer.named(element)
    node = container.node
    if node is not None and node.kind == "map" and element.of.kind == "string":
        parent = writer.container(container, "dict")
        writer.cost += 1
        value = f"{parent}[{element.text}]"
        wanted = CLASSES.get(node.items.enter)
        fits = f"{writer.constant(node.items.value)}({value}) is not A"
        fits = fits if wanted is None else f"({is_of(value, wanted)} or {fits})"
        return Code(f"({element.text} in {parent} and {fits})", BOOL)
    is_of_strings = node is not None and node.kind in ("list", "set") and node.items.enter is scalars.text
    if is_of_strings and element.of.kind == "string":
        parent = writer.container(container, "list")
        writer.meter(f"len({parent}) + 1")
        return Code(f"({element.text} in {parent} or strings({parent}))", BOOL)
    container = writer.named(writer.value(container))
    if len(writer.checked.references[expr].overloads) == 1:
        writer.meter(f"length({container.text}) + 1")
    else:
        writer.cost += 1
    writer.calls = True
    found = f"contains({element.text}, {container.text})"
    if element.is_literal and element.literal.__class__ is str and not container.is_literal:
        found = f"{element.text} in {container.text} if {container.text}.__class__ is dict else {found}"
    return Code(f"({found})", BOOL)


def _in_literal(writer: Writer, element: Code, values: list[Any]) -> Code:
    if not values or not _can_be_hashed(element, values):
        raise Unsupported
    if len(values) == 1:
        return Code(f"({element.text} == {values[0]!r})", BOOL)
    # A dict or list on the left cannot be hashed; that raises, and the interpreter answers false.
    return Code(f"({element.text} in {writer.constant(frozenset(values))})", BOOL)


def _can_be_hashed(element: Code, values: list[Any]) -> bool:
    """Whether a Python set has CEL's equality: for strings always, for ints unless a bool is among them."""
    if all(value.__class__ is str for value in values):
        return True
    return element.of.kind == "int" and all(value.__class__ is int for value in values)
