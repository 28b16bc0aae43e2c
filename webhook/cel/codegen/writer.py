"""The state of one generated function: its statements, local names, constants and cost.

The form of each kind of expression is written by a function of its own module, found in a table
(:data:`webhook.cel.codegen.generate.FORMS`). Those modules import this one, never the reverse.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from webhook.cel.codegen.code import CLASSES, Block, Code, Unsupported, is_not_of
from webhook.cel.codegen.runtime import matching
from webhook.cel.syntax.ast import Call, Expr, Ident, Select
from webhook.cel.types import DYN, Type
from webhook.cel.values.nodes import COMPOSITE, Node
from webhook.golang.errors import GoError

if TYPE_CHECKING:
    from webhook.cel.typing.checker import Checked
    from webhook.cel.typing.declarations import Function


class Writer:
    """Writes the function of one expression.

    Every local has a *slot*: a block right after its definition, for statements that need to run
    only once, such as a check of its class or a presence test that is repeated. A statement in a
    slot cannot change an outcome. It can only raise too early; then the interpreter decides.
    """

    def __init__(
        self, checked: Checked, functions: Mapping[str, Function], nodes: Mapping[str, Node], forms: Forms
    ) -> None:
        self.checked = checked
        self.functions = functions
        self.nodes = nodes
        self.block: Block = []
        self.cost = 0
        self.is_metered = False
        self.loops = 0  # how many loops enclose the current position
        self.calls = False  # whether the current loop calls functions, which may take longer than their cost says
        self.is_interruptible = False
        self.constants: list[Any] = []
        self.locals: dict[str, Code] = {}
        self.variables: dict[str, str] = {}  # variable → the local that holds it
        self.names: dict[tuple[str, str], str] = {}  # (parent, member) → the local that holds it
        self.found: dict[Expr, tuple[tuple[str, str], str]] = {}  # presence tests that assign the value they find
        self.tested: dict[tuple[str, str], tuple[str, str]] = {}  # (parent, member) → the locals of test and value
        self.tests = Counter(_paths_of_tests(checked.expr))  # how often each member's presence is tested
        self.checked_locals: dict[str, str] = {}  # their class is checked at their definition or in their slot
        self.top: Block = []  # before everything else
        self.block.append(self.top)
        self._slots: dict[str, Block] = {}
        self.count = 0
        self._forms = forms

    # Writing

    def line(self, text: str) -> None:
        self.block.append(text)

    def name(self, text: str | None = None, *, block: Block | None = None) -> str:
        """A new local, assigned if there is a text."""
        local = f"t{self.count}"
        self.count += 1
        if text is not None:
            (self.block if block is None else block).extend((f"{local} = {text}", self.slot(local)))
        return local

    def slot(self, local: str) -> Block:
        """The block after a local's definition; the caller puts it there."""
        return self._slots.setdefault(local, [])

    def has_slot(self, local: str) -> bool:
        return local in self._slots

    def local(self, code: Code) -> str:
        """A text with the code's value that may be repeated."""
        return code.text if code.is_name else self.name(code.text)

    def named(self, code: Code) -> Code:
        """The same CEL value under a name."""
        return code if code.is_name else Code(self.name(code.text), code.of, is_name=True, proven=code.proven)

    def constant(self, value: Any) -> str:
        """The name of an object that the function is made with."""
        self.calls = self.calls or callable(value)
        for index, constant in enumerate(self.constants):
            if constant is value:
                return f"k{index}"
        self.constants.append(value)
        return f"k{len(self.constants) - 1}"

    def literal(self, value: Any, of: Type) -> Code:
        text = repr(value) if value.__class__ in _WRITTEN else self.constant(value)
        return Code(text, of, is_name=True, is_literal=True, literal=value, proven=True)

    @contextmanager
    def inner(self) -> Iterator[Block]:
        """Write into a block of its own; members read or learned there are unknown after it."""
        outer, names = self.block, self.names
        self.block, self.names = [], dict(names)
        try:
            yield self.block
        finally:
            self.block, self.names = outer, names

    def meter(self, amount: str) -> None:
        """Subtract a cost that depends on the values."""
        self.is_metered = True
        self.line(f"b -= {amount}")
        if self.loops:
            self.line("if b < 0: raise E")

    def carried(self, text: str, node: Node) -> str:
        """Wrap raw JSON in a value that remembers its schema."""
        self.calls = True
        return f"carried({text}, {self.constant(node)})"

    def match(self, pattern: str, text: str) -> str:
        """Whether a short text has a match."""
        try:
            test = matching(pattern)
        except GoError:
            raise Unsupported from None  # only an evaluation may report it
        return self.call(self.constant(test), [text])

    def meter_length(self, text: str, characters: int, times: int) -> None:
        """Subtract a cost for so many characters of a text, begun ones too, so many times."""
        self.meter(f"len({text})" if characters == times == 1 else f"(len({text}) // {characters} + 2) * {times}")

    def require(self, code: Code) -> None:
        """Raise where an optional, which has a name, is absent."""
        self.line(f"if {code.text} is {code.absent}: raise E")

    # What several expressions of one function may share

    def shared(self, operand: Code, name: str, child: Node) -> str | None:
        """The local that holds a member of a declared object for the whole function, None where it is null or absent.

        None if the member is to be read where it is needed, as in the function of a single expression.
        """
        del operand, name, child
        return None

    def call(self, function: str, args: Sequence[str]) -> str:
        """A call of a pure function."""
        return f"{function}({', '.join(args)})"

    # Expressions

    def expr(self, expr: Expr) -> Code:
        return self._forms[type(expr)](self, expr)

    def type_of(self, expr: Expr) -> Type:
        return self.checked.types.get(expr, DYN)

    def value(self, code: Code) -> Code:
        """The code as a CEL value: raw JSON checked or converted."""
        node, text = code.node, code.text
        if code.maybe:
            found = text if node is None else self.carried(text, node)
            is_marked = node is None and code.absent == "A"
            return Code(f"optional({text if is_marked else f'A if {text} is {code.absent} else {found}'})", code.of)
        if node is None:
            return code
        if node.kind in COMPOSITE:
            return Code(self.carried(text, node), code.of)
        wanted = CLASSES.get(node.enter)
        if wanted is None:
            return Code(f"{self.constant(node.enter)}({text})", code.of)
        return Code(self.container(code, wanted), code.of, is_name=True, proven=True)

    def untyped(self, code: Code) -> Code:
        """The value of ``dyn``."""
        code = self.value(code)
        # a literal gets a name, too: Python warns of 1['a']
        return Code(self.name(code.text) if code.is_literal else self.local(code), DYN, is_name=True)

    def truth(self, expr: Expr) -> str:
        """An expression whose value is a Python bool."""
        code = self.value(self.expr(expr))
        if code.of.kind == "bool":
            return code.text
        local = self.local(code)
        return f"boolean({local})" if code.is_literal else f"({local} is True or ({local} is not False and fail()))"

    def container(self, code: Code, wanted: str) -> str:
        """The name of raw JSON, its class checked once."""
        if code.is_literal:
            if type(code.literal).__name__ not in wanted:
                raise Unsupported
            return code.text
        local = self.local(code)
        if not code.checked and self.checked_locals.get(local) != wanted:
            if not self.has_slot(local):
                raise Unsupported
            self._slots[local].append(f"if {is_not_of(local, wanted)}: raise E")
            self.checked_locals[local] = wanted
        return local

    def learn(self, expr: Expr, *, outcome: bool) -> None:
        """Note what follows from the outcome of an expression: once ``has(a.b)`` is true, ``a.b`` exists."""
        if isinstance(expr, Call) and expr.function == "!_":
            self.learn(expr.args[0], outcome=not outcome)
        elif isinstance(expr, Call) and expr.function == ("_&&_" if outcome else "_||_"):
            for arg in expr.args:
                self.learn(arg, outcome=outcome)
        elif outcome and expr in self.found:
            member, local = self.found[expr]
            self.names.setdefault(member, local)


_WRITTEN: Final = frozenset({str, int, bool, type(None)})


Form = Callable[[Writer, Any], Code]
"""Writes one kind of expression."""

Forms = Mapping[type[Expr], Form]


def _paths_of_tests(expr: Expr) -> Iterator[str]:
    """The paths of all presence tests."""
    pending = [expr]
    while pending:
        part = pending.pop()
        if isinstance(part, Select) and part.test_only:
            yield path_of_test(part)
        pending += part.children


def path_of_test(expr: Expr) -> str:
    """``a.b.c`` for ``has(a.b.c)``; "" if the root is not a variable."""
    names = []
    while isinstance(expr, Select):
        names.append(expr.field)
        expr = expr.operand
    return ".".join((expr.name, *reversed(names))) if isinstance(expr, Ident) else ""
