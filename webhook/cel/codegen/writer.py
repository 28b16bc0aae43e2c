"""Writes the statements of a generated function: names, variables, members; the calls are written elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Final

from webhook.cel.codegen import calls as srcops
from webhook.cel.codegen import comprehensions as srcfold
from webhook.cel.codegen import optionals as srcoptional
from webhook.cel.codegen.code import CLASSES, CONTAINERS, Block, Code, Unsupported, children, is_not_of, is_of
from webhook.cel.syntax.ast import Call, Comprehension, Const, Expr, Ident, ListExpr, MapExpr, Select, StructExpr
from webhook.cel.types import BOOL, DYN, Type
from webhook.cel.values.nodes import COMPOSITE, Node, unescape

if TYPE_CHECKING:
    from webhook.cel.typing.checker import Checked
    from webhook.cel.typing.declarations import Function

__all__ = ["Writer"]


class Writer:
    """Writes the function of one expression.

    Every local has a *slot*, a block right after its definition, for what is better done once
    and there: checking its class, or a presence test that is made several times. What a slot
    holds cannot change an outcome, it can only raise too early, and then the closures decide.
    """

    def __init__(self, checked: Checked, functions: Mapping[str, Function], nodes: Mapping[str, Node]) -> None:
        self.checked = checked
        self.functions = functions
        self.nodes = nodes
        self.block: Block = []
        self.cost = 0
        self.is_metered = False
        self.loops = 0  # around what is being written
        self.calls = False  # whether what is being written calls functions, whose time no cost may tell
        self.is_interruptible = False
        self.constants: list[Any] = []
        self.locals: dict[str, Code] = {}
        self.names: dict[tuple[str, str], str] = {}  # (parent, member) → the local that holds it
        self._found: dict[Expr, tuple[tuple[str, str], str]] = {}  # presence tests that assign what they find
        self._checked: set[str] = set()  # locals whose class is checked where they are assigned, or in their slot
        self._slots: dict[str, Block] = {}
        self._variables: dict[str, str] = {}
        self._tested: dict[tuple[str, str], tuple[str, str]] = {}  # (parent, member) → the test's and the value's local
        self._count = 0
        self._tests_of = Counter(_tests(checked.expr))
        self._top: Block = []
        self.block.append(self._top)

    # Writing

    def line(self, text: str) -> None:
        self.block.append(text)

    def name(self, text: str | None = None, *, block: Block | None = None) -> str:
        """A new local; assigned, if there is a text."""
        local = f"t{self._count}"
        self._count += 1
        if text is not None:
            (self.block if block is None else block).extend((f"{local} = {text}", self.slot(local)))
        return local

    def slot(self, local: str) -> Block:
        """The block after a local's definition, for whoever writes the definition."""
        return self._slots.setdefault(local, [])

    def local(self, code: Code) -> str:
        """The code as something that may be repeated."""
        return code.text if code.is_name else self.name(code.text)

    def named(self, code: Code) -> Code:
        """The same under a name, of a CEL value."""
        return code if code.is_name else Code(self.name(code.text), code.of, is_name=True)

    def constant(self, value: Any) -> str:
        self.calls = self.calls or callable(value)
        for index, known in enumerate(self.constants):
            if known is value:
                return f"k{index}"
        self.constants.append(value)
        return f"k{len(self.constants) - 1}"

    def literal(self, value: Any, of: Type) -> Code:
        text = repr(value) if value.__class__ in _WRITTEN else self.constant(value)
        return Code(text, of, is_name=True, is_literal=True, literal=value)

    @contextmanager
    def inner(self) -> Iterator[Block]:
        """A block of its own; what is read or learned in it is forgotten after it."""
        outer, names = self.block, self.names
        self.block, self.names = [], dict(names)
        try:
            yield self.block
        finally:
            self.block, self.names = outer, names

    def meter(self, amount: str) -> None:
        """Subtract a cost that is known only at run time."""
        self.is_metered = True
        self.line(f"b -= {amount}")
        if self.loops:
            self.line("if b < 0: raise E")

    def carried(self, text: str, node: Node) -> str:
        """Raw JSON as a value that remembers its schema."""
        self.calls = True
        return f"carried({text}, {self.constant(node)})"

    # Expressions

    def expr(self, expr: Expr) -> Code:
        return self._WRITERS[type(expr)](self, expr)

    def type_of(self, expr: Expr) -> Type:
        return self.checked.types.get(expr, DYN)

    def value(self, code: Code) -> Code:
        """The code as a CEL value: raw JSON checked or converted."""
        node, text = code.node, code.text
        if code.maybe:
            carried = "" if node is None else f"A if {text} is A else {self.carried(text, node)}"
            return Code(f"optional({carried or text})", code.of)
        if node is None:
            return code
        if node.kind in COMPOSITE:
            return Code(self.carried(text, node), code.of)
        wanted = CLASSES.get(node.enter)
        if wanted is None:
            return Code(f"{self.constant(node.enter)}({text})", code.of)
        return Code(self.container(code, wanted), code.of, is_name=True)

    def truth(self, expr: Expr) -> str:
        """An expression that is a Python bool for sure."""
        code = self.value(self.expr(expr))
        if code.of.kind == "bool":
            return code.text
        local = self.local(code)
        return f"boolean({local})" if code.is_literal else f"({local} is True or ({local} is not False and fail()))"

    def container(self, code: Code, wanted: str) -> str:
        """The name of raw JSON whose class is checked."""
        if code.is_literal:
            if type(code.literal).__name__ not in wanted:
                raise Unsupported
            return code.text
        local = self.local(code)
        if not code.checked and local not in self._checked:
            if local not in self._slots:
                raise Unsupported
            self._slots[local].append(f"if {is_not_of(local, wanted)}: raise E")
            self._checked.add(local)
        return local

    def learn(self, expr: Expr, *, outcome: bool) -> None:
        """Note what must be true once an expression has an outcome: after ``has(a.b)`` it is there."""
        if isinstance(expr, Call) and expr.function == "!_":
            self.learn(expr.args[0], outcome=not outcome)
        elif isinstance(expr, Call) and expr.function == ("_&&_" if outcome else "_||_"):
            for arg in expr.args:
                self.learn(arg, outcome=outcome)
        elif outcome and expr in self._found:
            member, local = self._found[expr]
            self.names.setdefault(member, local)

    def _const(self, expr: Const) -> Code:
        return self.literal(expr.value, self.type_of(expr))

    def _ident(self, expr: Ident) -> Code:
        known = self.locals.get(expr.name)
        self.cost += 1
        if known is not None:
            return known
        reference = self.checked.references.get(expr)
        if reference is not None and reference.value is not None:
            return Code(self.constant(reference.value), self.type_of(expr), is_name=True)
        return self._variable(reference.name if reference is not None else expr.name, self.type_of(expr))

    def _variable(self, name: str, of: Type) -> Code:
        node = self.nodes.get(name)
        if node is not None and of.kind == "optional":
            raise Unsupported
        local = self._variables.get(name)
        if local is None:
            local = self._variables[name] = self.name(f"V[{name!r}]", block=self._top)
        return Code(local, of, node, is_name=True)

    def _select(self, expr: Select) -> Code:
        reference = self.checked.references.get(expr)
        if reference is not None:
            if reference.value is not None:
                return Code(self.constant(reference.value), self.type_of(expr), is_name=True)
            self.cost += 1
            return self._variable(reference.name, self.type_of(expr))
        operand = self.expr(expr.operand)
        self.cost += 2
        if operand.maybe:
            found = srcoptional.optional_member(self, operand, expr.field, self.type_of(expr))
            return Code(f"({found.text} is not A)", BOOL) if expr.test_only else found
        if operand.of.kind == "optional" or operand.is_literal:
            raise Unsupported
        return self._has(expr, operand) if expr.test_only else self.member(operand, expr.field, self.type_of(expr))

    def member(self, operand: Code, field: str, of: Type) -> Code:
        """``operand.field``, raising where it is not there."""
        child, name = (None, field) if operand.node is None else member_of(operand.node, field)
        parent = self.local(operand)
        known = self.names.get((parent, field))
        if known is None:  # only a dict has string keys, so its class needs no check
            known = self.names[parent, field] = self.name(f"{parent}[{name!r}]")
        return Code(known, of, child, is_name=True)

    def _has(self, expr: Select, operand: Code) -> Code:
        field = expr.field
        parent = self.container(operand, "dict")
        known = self._tested.get((parent, field))
        if known is None:
            value = self.name()
            test = self._test(operand, parent, field, value)
            if self._tests_of[_test_path(expr)] < 2 or parent not in self._slots:
                if value in self._checked:
                    self._found[expr] = (parent, field), value
                return Code(f"({test})", BOOL)
            known = self._tested[parent, field] = self.name(test, block=self._slots[parent]), value
        if known[1] in self._checked:
            self._found[expr] = (parent, field), known[1]
        return Code(known[0], BOOL, is_name=True)

    def _test(self, operand: Code, parent: str, field: str, local: str) -> str:
        """The test of a member's presence, which assigns what it finds to ``local`` if it checks the class, too.

        A value that does not fit its schema is an error and no presence; null under a property is absence.
        """
        if operand.node is None:
            return f"{field!r} in {parent}"
        child, name = member_of(operand.node, field)
        is_map = operand.node.kind == "map"
        wanted = CLASSES.get(child.enter) or CONTAINERS.get(child.kind)
        value = f"{parent}[{name!r}]"
        if wanted is None or is_map:
            fits = f"{self.constant(child.value)}({value}) is not A"
            if wanted is not None:
                fits = f"({is_of(value, wanted)} or {fits})"
            return f"{name!r} in {parent} and " + (fits if is_map else f"{value} is not None and {fits}")
        self._checked.add(local)
        return f"{name!r} in {parent} and ({is_of(f'({local} := {value})', wanted)} or absent({local}))"

    def _call(self, expr: Call) -> Code:
        return srcops.write_call(self, expr)

    def _comprehension(self, expr: Comprehension) -> Code:
        return srcfold.write_fold(self, expr)

    def _list(self, expr: ListExpr) -> Code:
        if expr.optional:
            raise Unsupported
        elements = [self.value(self.expr(element)) for element in expr.elements]
        self.cost += 10
        of = self.type_of(expr)
        if all(element.is_literal for element in elements):
            return self.literal([element.literal for element in elements], of)
        return Code(f"[{', '.join(self.local(element) for element in elements)}]", of)

    def _unsupported(self, _expr: Expr) -> Code:
        raise Unsupported

    _WRITERS: ClassVar[Mapping[type[Expr], Callable[[Writer, Any], Code]]] = {
        Const: _const,
        Ident: _ident,
        Select: _select,
        Call: _call,
        ListExpr: _list,
        MapExpr: _unsupported,
        StructExpr: _unsupported,
        Comprehension: _comprehension,
    }


_WRITTEN: Final = frozenset({str, int, bool, type(None)})


def member_of(node: Node, field: str) -> tuple[Node, str]:
    """The schema and the real name of a member."""
    if node.kind == "map":
        return node.items, field
    name = unescape(field) if node.kind == "object" else None
    child = None if name is None else node.field(name)
    if child is None or name is None:
        raise Unsupported
    return child, name


def _tests(expr: Expr) -> Iterator[str]:
    """The paths of all presence tests."""
    pending: list[Any] = [expr]
    while pending:
        one = pending.pop()
        if isinstance(one, Select) and one.test_only:
            yield _test_path(one)
        pending += children(one)


def _test_path(expr: Expr) -> str:
    names = []
    while isinstance(expr, Select):
        names.append(expr.field)
        expr = expr.operand
    return ".".join((expr.name, *reversed(names))) if isinstance(expr, Ident) else ""
