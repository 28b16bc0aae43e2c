"""Write many conditions over one object into one function, for :mod:`webhook.cel.screen`.

Members and calls that conditions share are read and made once. Facts are asked in the order of the conditions, and
only where a condition is evaluated: which questions are asked is behaviour. Variables that read no facts are computed
beforehand; one that fails counts only where it is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from webhook.cel.codegen import members
from webhook.cel.codegen.code import Block, Code, Unsupported, class_of, is_not_of, render
from webhook.cel.codegen.generate import FORMS, LIMIT
from webhook.cel.codegen.writer import Forms, Writer
from webhook.cel.errors import CelError
from webhook.cel.syntax.ast import Expr, Ident, Select
from webhook.cel.types import DYN
from webhook.golang.plainregexp import plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webhook.cel.program import Program
    from webhook.cel.typing.checker import Checked
    from webhook.cel.values.nodes import Node

__all__ = ["Condition", "ConditionsWriter", "Part"]

_FUNCTION: Final = """\
# V: the bindings. fact: computes a fact. b: what the call may still cost. bad: conditions that do not hold.
# maybe: conditions to evaluate by themselves.
# i: no interrupt. E: raised where only the interpreter is exact. A: an absent value. ...: a value not computed.
def make({parameters}):
 def run(V, fact):
  try:
   i = None
   bad = []
   maybe = []
   b = {left}
{body}
   if b < 0: raise E
  except Exception: return None
  return bad, maybe, {limit} - b
 return run
"""

_LOCAL: Final = re.compile(r"t\d+")
_CONSTANT: Final = re.compile(r"k\d+|-?\d+|'[^']*'|True|False")


class Part(NamedTuple):
    """An expression, and the facts that its text names."""

    program: Program
    facts: tuple[str, ...]


class Condition(NamedTuple):
    """A test of every node at a path (``*`` is every item or value); it applies where ``when`` is true.

    ``message`` is the text about a node that fails the test, if it is to be computed.
    """

    at: tuple[str, ...]
    when: Part | None
    test: Part
    message: Part | None = None


class _Root:
    """Where shared locals are set back: the start of the function, or of each turn of a loop.

    ``absent`` are members, ``unknown`` are results of calls that are not made yet.
    """

    __slots__ = ("absent", "depth", "unknown")

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.absent: list[str] = []
        self.unknown: list[str] = []

    def lines(self) -> Iterator[str]:
        for names, value in ((self.absent, "A"), (self.unknown, "...")):
            if names:
                yield f"{' = '.join(names)} = {value}"


class _Start(list[Any]):
    """The block at a root; its lines are known when all is written."""

    def __init__(self, root: _Root) -> None:
        super().__init__()
        self._root = root

    def __iter__(self) -> Iterator[Any]:
        return self._root.lines()


class ConditionsWriter(Writer):
    """Writes all conditions into one function.

    Members of declared objects are read once: each is a local for the whole function, set in the slot of its parent.
    ``_roots`` are the locals that may have such members, with what they belong to.
    """

    def __init__(self, trees: Mapping[int, Checked]) -> None:
        super().__init__(next(iter(trees.values())), {}, {}, _FORMS)
        self._trees = trees
        self._root = _Root(0)
        self.top.append(_Start(self._root))
        self._object = self.name("V['object']", block=self.top)
        self.named_roots = {"object": self._object}
        self._roots = {self._object: self._root}
        self._members: dict[tuple[str, str], str] = {}
        self._results: dict[tuple[str, ...], str] = {}
        self._hoisted: dict[str, Code] = {}
        self._facts: dict[str, str] = {}
        self._fallible: set[str] = set()
        self._direct = True
        self._reads_lazily = False
        self._is_plain = True

    @classmethod
    def of(cls, parts: Iterable[Part]) -> Self:
        """A writer that can use these parts."""
        return cls({id(part): part.program.evaluate_exactly.origin.check() for part in parts})

    @property
    def is_plain(self) -> bool:
        """Whether the function reads nothing but the object."""
        return self._is_plain and not self._facts and not self.variables

    def text(self, function: str = _FUNCTION, limit: int = LIMIT) -> str:
        """The source: what was written as the body of a function, which may cost so much."""
        lines: list[str] = []
        render(self.block, 3, lines)
        return function.format(
            parameters=", ".join(f"k{index}" for index in range(len(self.constants))),
            body="\n".join(lines),
            left=limit - self.cost,
            limit=limit,
        )

    # What the conditions share

    def shared(self, operand: Code, name: str, child: Node) -> str | None:
        wanted = class_of(child)
        if wanted is None or operand.node is None or operand.node.kind != "object" or operand.text not in self._roots:
            return None
        return self._member(operand.text, name, wanted)

    def _member(self, parent: str, name: str, wanted: str | None) -> str:
        """The local of a member; ABSENT where it or its parent is null or absent."""
        if (parent, name) not in self._members:
            local = self._members[parent, name] = self.name()
            root = self._roots[local] = self._roots[parent]
            root.absent.append(local)
            lines: Block = [f"{local} = {parent}.get({name!r})", (f"if {local} is None:", [f"{local} = A"])]
            if wanted is not None:
                lines.append((f"elif {is_not_of(local, wanted)}:", ["raise E"]))
            self.slot(parent).extend([*lines, ("else:", [self.slot(local)])])
        return self._members[parent, name]

    def call(self, function: str, args: Sequence[str]) -> str:
        """A call of a pure function, made once for the same arguments."""
        text = super().call(function, args)
        names = [arg for arg in args if _LOCAL.fullmatch(arg)]
        if not names or not all(arg in self._roots or _CONSTANT.fullmatch(arg) for arg in args):
            return text
        if (function, *args) not in self._results:
            result = self._results[function, *args] = self.name()
            root = self._roots[result] = max((self._roots[name] for name in names), key=lambda root: root.depth)
            root.unknown.append(result)
        result = self._results[function, *args]
        return f"({result} if {result} is not ... else ({result} := {text}))"

    def match(self, pattern: str, text: str) -> str:
        exact, simple = super().match(pattern, text), plain(pattern)
        if simple is None:
            return exact
        return f"({self.call(self.constant(simple), [text])} if {self.call('is_ascii', [text])} else {exact})"

    def hoist(self, name: str, part: Part) -> None:
        """Compute a variable beforehand, unless it reads facts, directly or through another variable."""
        if part.facts:
            return
        with self._undone_if_unsupported() as done:
            self._use(part)
            with self.inner() as block:
                code = self.expr(self.checked.expr)
                if not code.maybe and (code.node is None or code.node.kind == "scalar"):
                    code = self.value(code)
            done.append(True)
        if not done or self._reads_lazily:
            return
        if not code.is_literal and (any(block) or code.text not in self._roots):
            local = self.name()
            self.top.append(("try:", [*block, f"{local} = {code.text}"]))
            self.top.append(("except Exception:", [f"{local} = ..."]))
            if not code.maybe:
                self.top.append((f"if {local} is not ...:", [self.slot(local)]))
            self._roots[local] = self._root
            code = replace(code, text=local, is_name=True)
            self._fallible.add(name)
        self._hoisted[name] = code

    def variable(self, name: str, expr: Expr) -> Code:
        hoisted = self._hoisted.get(name) if self._direct else None
        if hoisted is None:
            self._reads_lazily = True
            self._is_plain = False
            return Code(self.name(f"V['variables'][{name!r}]"), self.type_of(expr), is_name=True)
        if name in self._fallible and ("variables", name) not in self.names:
            self.line(f"if {hoisted.text} is ...: raise E")
            self.names["variables", name] = hoisted.text
        return hoisted

    def fact(self, name: str, expr: Expr) -> Code:
        """A fact that the expression names; it is there already."""
        return Code(self._facts[name], self.type_of(expr), self.nodes["facts"].field(name), is_name=True)

    def assign(self, local: str, when: Part | None, part: Part) -> None:
        """Set a local to the value of a part, where a condition is true."""
        applies = None if when is None else self._truth(when)
        with self.inner() as block:
            if when is not None:
                self.learn(self.checked.expr, outcome=True)
            self._use(part)
            self.line(f"{local} = {self.value(self.expr(self.checked.expr)).text}")
        self.block += block if applies is None else [(f"if {applies}:", block)]

    # Conditions

    def condition(self, index: int, condition: Condition) -> bool:
        """Write one; False if it has no generated form."""
        first = condition.when or condition.test
        if not condition.at:
            self._use(first)  # evaluated whatever the object is: its facts are there from now on
        for direct in (True, False):
            self._direct = direct
            with self._undone_if_unsupported() as done, self.inner() as block:
                node = condition.test.program.evaluate_exactly.origin.nodes["object"]
                self._at(index, condition, condition.at, Code(self._object, DYN, node, is_name=True))
                done.append(True)
            if done:
                self.block += block
                return True
        return False

    def defer(self, index: int, condition: Condition) -> None:
        """Leave a condition to its own evaluation, unless there is nothing at its path."""
        deferred: Block = [f"maybe.append({index})"]
        with self._undone_if_unsupported() as done:
            node = Code(self._object, DYN, condition.test.program.evaluate_exactly.origin.nodes["object"], is_name=True)
            for key in takewhile("*".__ne__, condition.at):
                node = self._child(node, key)
            done.append(True)
        self.block += [(f"if {node.text} is not A:", deferred)] if done else deferred

    def _at(self, index: int, condition: Condition, keys: tuple[str, ...], node: Code) -> None:
        """The condition at every node at a path below one."""
        start = node.text
        while keys and keys[0] != "*":
            node, keys = self._child(node, keys[0]), keys[1:]
        with self.inner() as block:
            if keys:
                self._looped(index, condition, keys[1:], node)
            else:
                self._tested(index, condition, node.text)
        self.block += block if node.text == start else [(f"if {node.text} is not A:", block)]

    def _child(self, parent: Code, key: str) -> Code:
        node = parent.node
        child = None
        if node is not None and node.kind in ("map", "object"):
            child = node.items if node.kind == "map" else node.field(key)
        if child is None:
            raise Unsupported
        wanted = class_of(child)
        return Code(self._member(parent.text, key, wanted), DYN, child, is_name=True)

    def _looped(self, index: int, condition: Condition, rest: tuple[str, ...], parent: Code) -> None:
        if parent.node is None or parent.node.kind not in ("list", "set", "maplist", "map"):
            raise Unsupported
        values = f"{parent.text}.values()" if parent.node.kind == "map" else parent.text
        item, outer_cost = self.name(), self.cost
        self.cost = 0
        self.loops += 1
        root = self._roots[item] = _Root(self.loops)
        with self.inner() as block:
            block += [_Start(root), f"if {item} is None: continue"]
            if parent.node.items.kind == "object":
                block.append(f"if {item}.__class__ is not dict: raise E")
            block.append(self.slot(item))
            self._at(index, condition, rest, Code(item, DYN, parent.node.items, is_name=True))
        self.loops -= 1
        each, self.cost = self.cost, outer_cost
        self.meter(f"len({parent.text}) * {each + 1}")
        if not self.loops:
            self.line("if b < 0: raise E")
        self.block.append((f"for {item} in {values}:", block))

    def _tested(self, index: int, condition: Condition, node: str) -> None:
        self.named_roots["self"] = node
        if condition.when is None:
            test = self._truth(condition.test)
            self.block.append((f"if not {test}:", self._failed(index, condition)))
            return
        applies = self._truth(condition.when)
        with self.inner() as block:
            self.learn(self.checked.expr, outcome=True)
            test = self._truth(condition.test)
            block.append((f"if not {test}:", self._failed(index, condition)))
        self.block.append((f"if {applies}:", block))

    def _failed(self, index: int, condition: Condition) -> Block:
        """What is done where a condition does not hold. A message about one of many nodes is not computed here."""
        if self.loops:
            return [f"bad.append(({index}, None))", "break"]
        if condition.message is not None:
            with self._undone_if_unsupported() as done, self.inner() as block:
                self._use(condition.message)
                block.append(f"bad.append(({index}, {self.value(self.expr(self.checked.expr)).text}))")
                done.append(True)
            if done:
                return block
        return [f"bad.append(({index}, None))"]

    def _truth(self, part: Part) -> str:
        self._use(part)
        return self.truth(self.checked.expr)

    def _use(self, part: Part) -> None:
        """Write a part from now on; its facts are computed before it, as a single evaluation does."""
        origin = part.program.evaluate_exactly.origin
        self.checked, self.functions, self.nodes = self._trees[id(part)], origin.functions, origin.nodes
        self._reads_lazily = False
        for name in part.facts:
            if ("facts", name) not in self.names:
                self._ask(name)

    def _ask(self, name: str) -> None:
        """Compute a fact here, unless it was computed before."""
        if name not in self._facts:
            local = self._facts[name] = self.name()
            self._roots[local] = self._root
            self._root.unknown.append(local)
            node = self.nodes["facts"].field(name)
            if node is not None and node.kind == "object":
                self.slot(local).append(f"if {local}.__class__ is not dict: raise E")
        local = self._facts[name]
        self.block.append((f"if {local} is ...:", [f"{local} = fact({name!r})", self.slot(local)]))
        self.names["facts", name] = local

    @contextmanager
    def _undone_if_unsupported(self) -> Iterator[list[bool]]:
        """What could not be written leaves no trace that counts: the list then stays empty."""
        cost, metered, loops, block, names = self.cost, self.is_metered, self.loops, self.block, self.names
        done: list[bool] = []
        try:
            yield done
        except (CelError, Unsupported, RecursionError):
            self.cost, self.is_metered, self.loops = cost, metered, loops
            self.block, self.names = block, names
            self.locals = {}
            done.clear()


def _ident(writer: Writer, expr: Ident) -> Code:
    assert isinstance(writer, ConditionsWriter)
    local = None if expr.name in writer.locals else writer.named_roots.get(expr.name)
    if expr.name == "oldSelf":
        raise Unsupported  # only an update has it
    if local is None:
        return members.write_ident(writer, expr)
    writer.cost += 1
    return Code(local, writer.type_of(expr), writer.nodes.get(expr.name), is_name=True)


def _select(writer: Writer, expr: Select) -> Code:
    assert isinstance(writer, ConditionsWriter)
    root = expr.operand
    if not isinstance(root, Ident) or root.name not in ("variables", "facts") or root.name in writer.locals:
        return members.write_select(writer, expr)
    if expr.test_only:
        raise Unsupported
    writer.cost += 3
    return writer.variable(expr.field, expr) if root.name == "variables" else writer.fact(expr.field, expr)


_FORMS: Final[Forms] = {**FORMS, Ident: _ident, Select: _select}
