"""Generated forms of members by index and of optionals, which stay unwrapped as long as possible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from webhook.cel.codegen.code import Code, Unsupported
from webhook.cel.codegen.members import member, optional_member
from webhook.cel.codegen.writer import Writer
from webhook.cel.syntax.ast import Call, Const, Expr
from webhook.cel.types import BOOL, STRING, list_of
from webhook.cel.values import members

STRINGS: Final = list_of(STRING)


def index(writer: Writer, expr: Call) -> Code:
    operand = writer.expr(expr.args[0])
    if operand.maybe or operand.of.kind == "optional" or operand.is_literal:
        raise Unsupported
    key_expr = expr.args[1]
    if isinstance(key_expr, Const) and key_expr.value.__class__ is str:
        writer.cost += 2
        return member(writer, operand, key_expr.value, writer.type_of(expr))
    key = writer.value(writer.expr(key_expr))
    writer.cost += 2
    of = writer.type_of(expr)
    node = operand.node
    if node is not None and node.kind == "map" and key.of.kind == "string":
        return Code(writer.name(f"{writer.container(operand, 'dict')}[{key.text}]"), of, node.items, is_name=True)
    if node is not None and node.kind in ("list", "set", "maplist") and key.of.kind == "int":
        parent, at = writer.container(operand, "list"), writer.local(key)
        return Code(writer.name(f"{parent}[{at}] if {at} >= 0 else fail()"), of, node.items, is_name=True)
    if node is not None:
        raise Unsupported
    if operand.proven and operand.of == STRINGS and key.is_literal and key.literal >= 0:
        return Code(writer.name(f"{writer.named(operand).text}[{key.text}]"), STRING, is_name=True, proven=True)
    text = f"{writer.constant(members.member)}({writer.named(operand).text}, {key.text})"
    return Code(writer.name(text), of, is_name=True)


def optional_select(writer: Writer, expr: Call) -> Code:
    key = expr.args[1]
    if not isinstance(key, Const) or key.value.__class__ is not str:
        raise Unsupported
    operand = writer.expr(expr.args[0])
    writer.cost += 2
    return optional_member(writer, operand, key.value, writer.type_of(expr))


def _maybe(writer: Writer, expr: Expr) -> Code:
    code = writer.expr(expr)
    if not code.maybe:
        raise Unsupported
    return code


def has_value(writer: Writer, _expr: Call, args: Sequence[Expr]) -> Code:
    code = writer.expr(args[0])
    writer.cost += 1
    if not code.maybe:
        return Code(f"{code.atom}.present", BOOL)
    return Code(f"({code.text} is not {code.absent})", BOOL)


def value(writer: Writer, expr: Call, args: Sequence[Expr]) -> Code:
    code = _maybe(writer, args[0])
    writer.cost += 1
    if not code.is_name:
        code = replace(code, text=writer.name(code.text), is_name=True)
    writer.require(code)
    return Code(code.text, writer.type_of(expr), code.node, checked=code.checked, is_name=True, proven=code.proven)


def of(writer: Writer, expr: Call, args: Sequence[Expr]) -> Code:
    """``optional.of(x)``"""
    code = writer.value(writer.expr(args[0]))
    writer.cost += 1
    return Code(writer.name(code.text), writer.type_of(expr), is_name=True, maybe=True)


def none(writer: Writer, expr: Call, _args: Sequence[Expr]) -> Code:
    """``optional.none()``"""
    writer.cost += 1
    return Code("A", writer.type_of(expr), is_name=True, maybe=True)


def or_value(writer: Writer, expr: Call, args: Sequence[Expr]) -> Code:
    code = _maybe(writer, args[0])
    if not code.is_name:
        code = replace(code, text=writer.name(code.text), is_name=True)
    with writer.inner() as block:
        other = writer.expr(args[1])
        is_empty = other.is_literal and other.literal in ([], {})
        node = code.node if code.node is other.node or is_empty else None
        if node is None:
            other = writer.value(other)
    of = writer.type_of(expr)
    if node is None and code.node is not None:
        code = Code(f"(A if {code.text} is {code.absent} else {writer.carried(code.text, code.node)})", of)
        code = writer.named(code)
    if not any(block):
        chosen = writer.name(f"{other.text} if {code.text} is {code.absent} else {code.text}")
    else:
        chosen = writer.name(code.text)
        writer.block.append((f"if {chosen} is {code.absent}:", [*block, f"{chosen} = {other.text}"]))
    checked = node is not None and (is_empty or other.checked)
    return Code(chosen, of, node, checked=checked, is_name=True, proven=code.proven and other.proven)
