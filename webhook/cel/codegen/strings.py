"""Generated forms of the string functions that rules use most."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from webhook.cel.codegen.code import CONTAINERS, Code, Unsupported
from webhook.cel.codegen.runtime import SHORT
from webhook.cel.codegen.writer import Writer
from webhook.cel.syntax.ast import Call, Expr
from webhook.cel.types import BOOL, INT
from webhook.cel.values.nodes import COMPOSITE

__all__ = ["affix", "contains", "matches", "size"]


def size(writer: Writer, arg: Expr) -> Code:
    """``len``: the values that have a length in Python are those that have a size in CEL."""
    code = writer.expr(arg)
    if code.maybe:
        raise Unsupported
    writer.cost += 1
    if code.node is not None and code.node.kind in COMPOSITE:
        return Code(f"len({writer.container(code, CONTAINERS[code.node.kind])})", INT)
    return Code(f"len({writer.value(code).text})", INT)


def affix(method: str) -> Callable[[Writer, Call, Sequence[Expr]], Code]:
    def write(writer: Writer, _expr: Call, args: Sequence[Expr]) -> Code:
        text, affix = (writer.value(writer.expr(arg)) for arg in args)
        if not affix.is_literal:
            affix = writer.named(affix)
            writer.meter(f"length({affix.text})")
        writer.cost += 1 + (len(affix.literal) if affix.is_literal else 0)
        return Code(f"{text.atom}.{method}({affix.text})", BOOL)

    return write


def contains(writer: Writer, _expr: Call, args: Sequence[Expr]) -> Code:
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


def matches(writer: Writer, _expr: Call, args: Sequence[Expr]) -> Code:
    pattern = writer.expr(args[1])
    if not pattern.is_literal:
        raise Unsupported
    text = writer.named(writer.value(writer.expr(args[0])))
    operators = math.ceil(len(pattern.literal) / 4)
    writer.cost += operators * (SHORT // 10 + 2)
    return Code(writer.match(pattern.literal, text.text), BOOL)
