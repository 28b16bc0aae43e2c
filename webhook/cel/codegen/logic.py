"""Generated forms of ``&&``, ``||``, ``!`` and ``?:``.

A form that needs statements of its own becomes a ladder of ``if``. No form absorbs an error:
after any error the interpreter decides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from webhook.cel.codegen.code import Block, Code, Unsupported
from webhook.cel.codegen.writer import Writer
from webhook.cel.syntax.ast import Call
from webhook.cel.types import BOOL


def logical(operator: str) -> Callable[[Writer, Call], Code]:
    """``and`` or ``or`` over all terms of a chain."""

    def write(writer: Writer, expr: Call) -> Code:
        ladder = _Ladder(writer, operator)
        outer = writer.block
        first, *others = expr.terms()
        ladder.add(writer.truth(first), [])
        # Only the following terms may reuse the members that a term reads: it may not have been evaluated.
        names = dict(writer.names)
        previous = first
        for term in others:
            writer.learn(previous, outcome=operator == "and")
            current, writer.block = writer.block, []
            text, block = writer.truth(term), writer.block
            writer.block = current
            ladder.add(text, block)
            previous = term
        code = ladder.finish()
        writer.block, writer.names = outer, names
        return code

    return write


class _Ladder:
    """The terms written so far: terms that are mere expressions are joined, terms with statements nest.

    The result is assigned beforehand and only changed by a later term, because CPython 3.11
    evaluates a comparison faster in a test that jumps than where its value is kept.
    """

    def __init__(self, writer: Writer, operator: str) -> None:
        self.writer = writer
        self.operator = operator
        self.result = ""
        self.pure: list[str] = []

    def add(self, text: str, block: Block) -> None:
        if any(block):
            if not self.result:
                self.result = self.writer.name()
                self.writer.line(f"{self.result} = {self.operator == 'or'}")
            test = self._joined() if self.operator == "and" else f"not ({self._joined()})"
            self.writer.block.append((f"if {test}:", block))
            self.writer.block = block
            self.pure = []
        self.pure.append(text)

    def finish(self) -> Code:
        if not self.result:
            return Code(f"({self._joined()})", BOOL)
        self.writer.line(f"{self.result} = {self._joined()}")
        return Code(self.result, BOOL, is_name=True)

    def _joined(self) -> str:
        return f" {self.operator} ".join(self.pure)


def negation(writer: Writer, expr: Call) -> Code:
    text = writer.truth(expr.args[0])
    writer.cost += 1
    return Code(f"(not {text})", BOOL)


def conditional(writer: Writer, expr: Call) -> Code:
    condition = writer.truth(expr.args[0])
    branches = []
    for arg, outcome in zip(expr.args[1:], (True, False), strict=True):
        with writer.inner() as block:
            writer.learn(expr.args[0], outcome=outcome)
            branches.append((block, _branch(writer, writer.expr(arg))))
    (then_block, then), (else_block, other) = branches
    if then.maybe is not other.maybe:
        raise Unsupported
    if then.absent != other.absent:
        then, other = _marked(then), _marked(other)
    of, maybe, proven, absent = writer.type_of(expr), then.maybe, then.proven and other.proven, then.absent
    if not any(then_block) and not any(else_block):
        return Code(f"({then.text} if {condition} else {other.text})", of, maybe=maybe, proven=proven, absent=absent)
    result = writer.name()
    writer.block.append((f"if {condition}:", [*then_block, f"{result} = {then.text}"]))
    writer.block.append(("else:", [*else_block, f"{result} = {other.text}"]))
    return Code(result, of, is_name=True, maybe=maybe, proven=proven, absent=absent)


def _marked(code: Code) -> Code:
    """The same value, ABSENT where it is absent."""
    if not code.maybe or code.absent == "A":
        return code
    return replace(code, text=f"(A if {code.text} is {code.absent} else {code.text})", is_name=False, absent="A")


def _branch(writer: Writer, code: Code) -> Code:
    """A CEL value, or an optional of one that is not wrapped."""
    return code if code.maybe and code.node is None else writer.value(code)
