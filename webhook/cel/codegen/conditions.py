"""Write many conditions over one object into one function, for :mod:`webhook.cel.screen`.

Members and calls that conditions share are read and made once. Facts are asked in the order of the conditions, and
only where a condition is evaluated: which questions are asked is behaviour. Variables that read no facts are computed
beforehand; one that fails counts only where it is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from webhook.cel.codegen import members
from webhook.cel.codegen.blocks import assignments, is_in, join, may_raise
from webhook.cel.codegen.code import Block, Code, Unsupported, class_of
from webhook.cel.codegen.generate import FORMS, LIMIT
from webhook.cel.codegen.sharing import LOCAL, Later, SharingWriter
from webhook.cel.codegen.writer import Forms, Writer
from webhook.cel.errors import CelError
from webhook.cel.syntax.ast import Expr, Ident, Select
from webhook.cel.types import DYN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webhook.cel.program import Program
    from webhook.cel.typing.checker import Checked

__all__ = ["Condition", "ConditionsWriter", "Part"]

_FUNCTION: Final = """\
# V: the bindings. fact: computes a fact. b: what the call may still cost. bad: conditions that do not hold.
# maybe: conditions to evaluate by themselves.
# i: no interrupt. E: raised where only the interpreter is exact. A: an absent value. ...: a value not computed.
def make({parameters}):
 def run(V, fact):
  try:
   bad = []
   maybe = []
{body}
  except Exception: return None
  return bad, maybe, {bound}
 return run
"""


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


@dataclass(frozen=True, slots=True)
class Hoisted:
    """A variable that is computed beforehand.

    ``needs`` are the members that must be present, so that its value is there. ``at`` is the local whose slot computes
    it, None for a literal or a member. ``is_fallible``: its local is ``...`` where it could not be computed.
    """

    code: Code
    needs: tuple[str, ...]
    at: str | None = None
    is_fallible: bool = False


class Hoisting:
    """The variable that is being written: its block, the members without which it fails, and the variables it reads."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.needs: list[str] = []
        self.reads: list[Hoisted] = []


class ConditionsWriter(SharingWriter):
    """Writes all conditions into one function."""

    def __init__(self, trees: Mapping[int, Checked]) -> None:
        super().__init__(next(iter(trees.values())), _FORMS)
        self._trees = trees
        self._start: Block = []
        self.top.append(self._start)
        self._object = self.name("V['object']")
        self.depths[self._object] = 0
        self.named_roots = {"object": self._object}
        self._hoisted: dict[str, Hoisted] = {}
        self._hoisting: Hoisting | None = None
        self._facts: dict[str, str] = {}
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
        lines = self.lines()
        is_counted = self.charges or self.cost > limit
        if is_counted:
            lines = [f"   b = {limit - self.cost}", *lines, "   if b < 0: raise E"]
        if self.is_interruptible:
            lines.insert(0, "   i = None")
        return function.format(
            parameters=", ".join(f"k{index}" for index in range(len(self.constants))),
            body="\n".join(lines),
            bound=f"{limit} - b" if is_counted else self.cost,
        )

    # Variables

    def hoist(self, name: str, part: Part) -> None:
        """Compute a variable beforehand, unless it reads facts, directly or through another variable."""
        if part.facts:
            return
        self.touched = set()
        with self._undone_if_unsupported() as done:
            self._use(part)
            with self.inner() as block:
                hoisting = self._hoisting = Hoisting(block)
                code = self.expr(self.checked.expr)
                if not code.maybe and (code.node is None or code.node.kind == "scalar"):
                    code = self.value(code)
            done.append(True)
        self._hoisting = None
        if done and not self._reads_lazily:
            self._hoisted[name] = self._computed(code, block, hoisting)

    def _computed(self, code: Code, block: Block, hoisting: Hoisting) -> Hoisted:
        """Write what computes a variable, where all that it reads is there."""
        if code.is_literal or (not any(block) and code.text in self.depths):
            return Hoisted(code, tuple(hoisting.needs))
        at = max(hoisting.needs, key=self._level, default=self._object)
        while not self._can_be_at(at, hoisting):
            at = self.parents[at]
        tests = [f"if {need} is None: raise E" for need in hoisting.needs if not self.is_below(at, need)]
        local, is_placed = self._local(code, block)
        lines: Block = [*tests, *block, *([] if local == code.text else [f"{local} = {code.text}"])]
        is_fallible = may_raise(lines) or any(each.is_fallible for each in hoisting.reads)
        if is_fallible:
            lines = [("try:", lines), ("except Exception:", [f"{local} = ..."])]
        if not is_placed:
            slot: Block = [] if code.maybe else [self.slot(local)]
            lines += [Later(lambda: [(f"if {local} is not ...:", slot)] if any(slot) else [])] if is_fallible else slot
        self.slot(at).append(lines)
        if not code.maybe:
            self.depths[local] = 0
        self.parents[local] = at
        needs = () if at == self._object else (at,)
        return Hoisted(replace(code, text=local, is_name=True), needs, at, is_fallible)

    def _level(self, local: str) -> int:
        return 1 + self._level(self.parents[local]) if local in self.parents else 0

    def _can_be_at(self, at: str, hoisting: Hoisting) -> bool:
        """Whether all that a variable reads is set before the end of a slot."""
        members = all(self.is_below(each, at) or self.is_below(at, each) for each in self.touched)
        return members and all(each.at is None or self.is_below(each.at, at) for each in hoisting.reads)

    def _local(self, code: Code, block: Block) -> tuple[str, bool]:
        """The local of a variable, and whether its slot is written: that of its value, if only the variable has it."""
        changes = assignments(block, code.text) if LOCAL.fullmatch(code.text) else 0
        if changes and not is_in(block, self.slot(code.text)):
            return code.text, False
        if changes == 1:
            return code.text, True
        return self.name(), False

    def missing(self, local: str) -> None:
        if self._hoisting is not None and self.block is self._hoisting.block:
            self._hoisting.needs.append(local)
        else:
            super().missing(local)

    def variable(self, name: str, expr: Expr) -> Code:
        hoisted = self._hoisted.get(name) if self._direct else None
        if hoisted is None:
            self._reads_lazily = True
            self._is_plain = False
            return Code(self.name(f"V['variables'][{name!r}]"), self.type_of(expr), is_name=True)
        for need in hoisted.needs:
            self.require(Code(need, DYN, absent="None"))
        if hoisted.at is None:
            self.touched.add(hoisted.code.text)
        if self._hoisting is not None:
            self._hoisting.reads.append(hoisted)
        if hoisted.is_fallible and ("variables", name) not in self.names:
            self.line(f"if {hoisted.code.text} is ...: raise E")
            self.names["variables", name] = hoisted.code.text
        return hoisted.code

    # Facts

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
                join(self.block, block)
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
        self.block += [(f"if {node.text} is not None:", deferred)] if done else deferred

    def _at(self, index: int, condition: Condition, keys: tuple[str, ...], node: Code) -> None:
        """The condition at every node at a path below one."""
        start = node.text
        while keys and keys[0] != "*":
            node, keys = self._child(node, keys[0]), keys[1:]
        with self.inner() as block:
            self.names["present", node.text] = node.text
            if keys:
                self._looped(index, condition, keys[1:], node)
            else:
                self._tested(index, condition, node.text)
        self.block += block if node.text == start else [(f"if {node.text} is not None:", block)]

    def _child(self, parent: Code, key: str) -> Code:
        node = parent.node
        child = None
        if node is not None and node.kind in ("map", "object"):
            child = node.items if node.kind == "map" else node.field(key)
        if child is None:
            raise Unsupported
        wanted = class_of(child)
        return Code(self.member(parent.text, key, wanted), DYN, child, is_name=True)

    def _looped(self, index: int, condition: Condition, rest: tuple[str, ...], parent: Code) -> None:
        if parent.node is None or parent.node.kind not in ("list", "set", "maplist", "map"):
            raise Unsupported
        values = f"{parent.text}.values()" if parent.node.kind == "map" else parent.text
        item, outer_cost = self.name(), self.cost
        self.cost = 0
        self.loops += 1
        self.depths[item] = self.loops
        with self.inner() as block:
            block.append(f"if {item} is None: continue")
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
            self.depths[local] = 0
            self._start.append(f"{local} = ...")
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
