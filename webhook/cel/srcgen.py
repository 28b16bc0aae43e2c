"""The fast backend: an expression as one generated Python function over native JSON.

The function is *optimistic*: every form that is emitted either has CEL's value or raises,
and whatever it raises, the closures evaluate the expression again and decide. So nothing here
absorbs errors or words messages. Costs are bounded, not counted: constants are summed when the
source is written, loops and long strings are subtracted from an allowance ``b`` as they are met.
An evaluation whose bound fits its budget would have fitted exactly.

No text of the user's gets into the source: literals are written by ``repr``, names are our own.
A value read from under a schema is checked where its class matters, once on each path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from webhook.cel import srcfold, srcops
from webhook.cel.access import COMPOSITE, Node, unescape
from webhook.cel.ast import Call, Comprehension, Const, Expr, Ident, ListExpr, MapExpr, Select, StructExpr
from webhook.cel.srcbase import CLASSES, CONTAINERS, Block, Code, Unsupported, render
from webhook.cel.srcrt import GLOBALS
from webhook.cel.types import BOOL, DYN, Type

if TYPE_CHECKING:
    from webhook.cel.checker import Checked
    from webhook.cel.declarations import Function

__all__ = ["Fast", "Writer", "generate"]

_STATIC_LIMIT: Final = 1_000_000  # a bound beyond the limit of a call allows nothing


@dataclass(frozen=True, slots=True)
class Fast:
    """A generated function.

    ``bound`` is the most an evaluation can cost, for a function of the bindings alone; with
    None the function also takes an allowance and returns its value with what is left of it.
    """

    run: Callable[..., Any]
    bound: int | None


class Writer:
    """Writes the function of one expression."""

    def __init__(self, checked: Checked, functions: Mapping[str, Function], nodes: Mapping[str, Node]) -> None:
        self.checked = checked
        self.functions = functions
        self.nodes = nodes
        self.block: Block = []
        self.cost = 0
        self.is_metered = False
        self.constants: list[Any] = []
        self.names: dict[tuple[str, str], str] = {}  # (parent, member) → the local that holds it
        self.facts: set[str] = set()  # locals whose class was checked on the way here
        self.tested: dict[Expr, str] = {}  # presence tests, and the locals whose class they check
        self.locals: dict[str, Code] = {}
        self._count = 0

    # Writing

    def line(self, text: str) -> None:
        self.block.append(text)

    def name(self, text: str | None = None) -> str:
        """A new local; assigned, if there is a text."""
        self._count += 1
        local = f"t{self._count}"
        if text is not None:
            self.line(f"{local} = {text}")
        return local

    def local(self, code: Code) -> str:
        """The code as something that may be repeated."""
        return code.text if code.is_name else self.name(code.text)

    def constant(self, value: Any) -> str:
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
        outer, names, facts = self.block, self.names, self.facts
        self.block, self.names, self.facts = [], dict(names), set(facts)
        try:
            yield self.block
        finally:
            self.block, self.names, self.facts = outer, names, facts

    def meter(self, amount: str) -> None:
        """Subtract a cost that is known only at run time."""
        self.is_metered = True
        self.line(f"b -= {amount}")

    # Expressions

    def expr(self, expr: Expr) -> Code:
        return _WRITERS[type(expr)](self, expr)

    def type_of(self, expr: Expr) -> Type:
        return self.checked.types.get(expr, DYN)

    def value(self, code: Code) -> Code:
        """The code as a CEL value: raw JSON checked or converted."""
        node = code.node
        if code.maybe:
            inner = (
                code.text if node is None else f"A if {code.text} is A else carried({code.text}, {self.constant(node)})"
            )
            return Code(f"optional({inner})", code.of)
        if node is None:
            return code
        if node.kind in COMPOSITE:
            return Code(f"carried({code.text}, {self.constant(node)})", code.of)
        wanted = CLASSES.get(node.enter)
        local = self.local(code)
        if wanted is None:
            return Code(f"{self.constant(node.enter)}({local})", code.of)
        if not code.checked and local not in self.facts:
            self.line(f"if {local}.__class__ is not {wanted}: raise E")
            self.facts.add(local)
        return Code(local, code.of, is_name=True)

    def truth(self, expr: Expr) -> str:
        """An expression that is a Python bool for sure."""
        code = self.value(self.expr(expr))
        return code.text if code.of.kind == "bool" else f"boolean({code.text})"

    def container(self, code: Code, wanted: str) -> str:
        """The name of a raw dict or list whose class was checked."""
        local = self.local(code)
        if not code.checked and local not in self.facts:
            self.line(f"if {local}.__class__ is not {wanted}: raise E")
            self.facts.add(local)
        return local

    def learn(self, expr: Expr, *, outcome: bool) -> None:
        """Note what must be true once an expression has an outcome: ``has(a.b)`` checks a.b."""
        if isinstance(expr, Call) and expr.function == "!_":
            self.learn(expr.args[0], outcome=not outcome)
        elif isinstance(expr, Call) and expr.function == ("_&&_" if outcome else "_||_"):
            for arg in expr.args:
                self.learn(arg, outcome=outcome)
        elif outcome and expr in self.tested:
            self.facts.add(self.tested[expr])

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
        local = self.names.get(("", name))
        if local is None:
            local = self.names["", name] = self.name(f"V[{name!r}]")
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
            found = srcops.optional_member(self, operand, expr.field, self.type_of(expr))
            return Code(f"({found.text} is not A)", BOOL) if expr.test_only else found
        if operand.of.kind == "optional" or operand.is_literal:
            raise Unsupported
        if expr.test_only:
            return self._has(expr, operand)
        return self.member(operand, expr.field, self.type_of(expr))

    def member(self, operand: Code, field: str, of: Type) -> Code:
        """``operand.field``, raising where it is not there."""
        node = operand.node
        if node is not None and node.kind == "object":
            local, child = self.field(operand, node, field)
            return Code(local, of, child, is_name=True)
        if node is not None and node.kind == "map":
            parent = self.container(operand, "dict")
            return Code(self._remembered(parent, field, f"{parent}[{field!r}]"), of, node.items, is_name=True)
        if node is not None:
            raise Unsupported
        parent = self.local(operand)
        return Code(self._remembered(parent, field, f"{parent}[{field!r}]"), of, is_name=True)

    def field(self, operand: Code, node: Node, field: str) -> tuple[str, Node]:
        """The local of a declared property (None if absent), and its schema."""
        name = unescape(field)
        child = None if name is None else node.field(name)
        if child is None:
            raise Unsupported
        parent = self.container(operand, "dict")
        return self._remembered(parent, field, f"{parent}.get({name!r})"), child

    def _remembered(self, parent: str, field: str, text: str) -> str:
        known = self.names.get((parent, field))
        if known is None:
            known = self.names[parent, field] = self.name(text)
        return known

    def _has(self, expr: Select, operand: Code) -> Code:
        node, field = operand.node, expr.field
        if node is None or node.kind == "map":
            parent = self.container(operand, "dict")
            test = f"{field!r} in {parent}"
            if node is not None:  # a value that does not fit its schema is an error, not a presence
                test += f" and {self.constant(node.items.value)}({parent}[{field!r}]) is not A"
            return Code(f"({test})", BOOL)
        if node.kind != "object":
            raise Unsupported
        local, child = self.field(operand, node, field)
        wanted = CLASSES.get(child.enter) or CONTAINERS.get(child.kind)
        if local in self.facts:
            return Code(f"({local} is not None)", BOOL)
        if wanted is None:
            return Code(f"({local} is not None and {self.constant(child.enter)}({local}) is not A)", BOOL)
        self.tested[expr] = local
        return Code(f"({local} is not None and ({local}.__class__ is {wanted} or fail()))", BOOL)

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

    def _map(self, expr: MapExpr) -> Code:
        raise Unsupported

    def _struct(self, expr: StructExpr) -> Code:
        raise Unsupported


_WRITERS: Final[Mapping[type[Expr], Callable[[Writer, Any], Code]]] = {
    Const: Writer._const,
    Ident: Writer._ident,
    Select: Writer._select,
    Call: Writer._call,
    ListExpr: Writer._list,
    MapExpr: Writer._map,
    StructExpr: Writer._struct,
    Comprehension: Writer._comprehension,
}

_WRITTEN: Final = frozenset({str, int, bool, type(None)})


def generate(checked: Checked, functions: Mapping[str, Function], nodes: Mapping[str, Node]) -> Fast | None:
    """The function of an expression, or None for one that only the closures can do."""
    writer = Writer(checked, functions, nodes)
    try:
        result = writer.value(writer.expr(checked.expr))
        writer.line(f"return {result.text}, b" if writer.is_metered else f"return {result.text}")
        source = _source(writer)
        make = _compiled(source)
    except (Unsupported, RecursionError, SyntaxError, MemoryError):
        return None
    if not writer.is_metered and writer.cost > _STATIC_LIMIT:
        return None
    return Fast(make(*writer.constants), None if writer.is_metered else writer.cost)


def _source(writer: Writer) -> str:
    arguments = ", ".join(f"k{index}" for index in range(len(writer.constants)))
    lines = [f"def make({arguments}):", f" def run(V{', b' if writer.is_metered else ''}):"]
    if writer.is_metered:
        lines.append(f"  b -= {writer.cost}")
    render(writer.block, 2, lines)
    lines.append(" return run")
    return "\n".join(lines)


def _compiled(source: str) -> Callable[..., Callable[..., Any]]:
    scope: dict[str, Any] = {}
    exec(compile(source, "<cel>", "exec"), GLOBALS, scope)  # noqa: S102 - our own text, see above
    make: Callable[..., Callable[..., Any]] = scope["make"]
    return make
