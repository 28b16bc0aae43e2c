"""Write expressions that read the variables and facts of a policy.

Facts are asked where an expression that names them is evaluated: which questions are asked is behaviour. Variables that
read no facts are computed beforehand, the others where they are first read; one that fails counts only there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from webhook.cel.codegen import members
from webhook.cel.codegen.code import Block, Code, Unsupported, assignments, is_in, may_raise
from webhook.cel.codegen.generate import FORMS
from webhook.cel.codegen.sharing import LOCAL, Later, SharingWriter
from webhook.cel.codegen.writer import Forms, Writer
from webhook.cel.errors import CelError
from webhook.cel.syntax.ast import Expr, Ident, Select
from webhook.cel.types import DYN

if TYPE_CHECKING:
    from webhook.cel.program import Program
    from webhook.cel.typing.checker import Checked


class Part(NamedTuple):
    """An expression, and the facts that its text names."""

    program: Program
    facts: tuple[str, ...]


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


class VariablesWriter(SharingWriter):
    """Writes parts over one object into one function."""

    def __init__(self, trees: Mapping[int, Checked]) -> None:
        super().__init__(next(iter(trees.values())), _FORMS)
        self._trees = trees
        self._start: Block = []
        self.top.append(self._start)
        self.root_object = self.name("V['object']")
        self.depths[self.root_object] = 0
        self.named_roots = {"object": self.root_object}
        self._hoisted: dict[str, Hoisted] = {}
        self._hoisting: Hoisting | None = None
        self._facts: dict[str, str] = {}
        self.late: dict[str, Part] = {}  # variables that are computed where they are first read
        self._late: dict[str, Code] = {}
        self._direct = True
        self._reads_lazily = False
        self._is_plain = True

    @property
    def is_plain(self) -> bool:
        """Whether the function reads nothing but the object."""
        return self._is_plain and not self._facts and not self.variables

    # Variables

    def hoist(self, name: str, part: Part) -> None:
        """Compute a variable beforehand, unless it reads facts, directly or through another variable."""
        self.late[name] = part
        if part.facts:
            return
        self.touched = set()
        with self.undone_if_unsupported() as done:
            self.use(part)
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
        at = max(hoisting.needs, key=self._level, default=self.root_object)
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
        needs = () if at == self.root_object else (at,)
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
            late = self._computed_here(name) if self._direct and name in self.late else None
            self._reads_lazily = True
            self._is_plain = False
            return late or Code(self.name(f"S.variable({name!r})"), self.type_of(expr), is_name=True)
        for need in hoisted.needs:
            self.require(Code(need, DYN, absent="None"))
        if hoisted.at is None and not hoisted.code.is_literal:
            self.touched.add(hoisted.code.text)
        if self._hoisting is not None:
            self._hoisting.reads.append(hoisted)
        if hoisted.is_fallible and ("variables", name) not in self.names:
            self.line(f"if {hoisted.code.text} is ...: raise E")
            self.names["variables", name] = hoisted.code.text
        return hoisted.code

    def _computed_here(self, name: str) -> Code | None:
        """Compute a variable here, unless it was computed before; None if it has no generated form."""
        if ("variables", name) in self.names:
            return self._late[name]
        reader, locals_ = (self.checked, self.functions, self.nodes), self.locals
        with self.undone_if_unsupported() as done:
            self.locals = {}
            with self.inner() as block:
                self.use(self.late[name])
                code = self.value(self.expr(self.checked.expr))
            done.append(True)
        (self.checked, self.functions, self.nodes), self.locals = reader, locals_
        if not done:
            return None
        if name not in self._late:
            local = self.name()
            self.depths[local] = 0
            self._start.append(f"{local} = ...")
            self._late[name] = replace(code, text=local, is_name=True)
        local = self._late[name].text
        self.block.append((f"if {local} is ...:", [*block, f"{local} = {code.text}", self.slot(local)]))
        self.names["variables", name] = local
        return self._late[name]

    # Facts

    def fact(self, name: str, expr: Expr) -> Code:
        """A fact that the expression names; it is there already."""
        return Code(self._facts[name], self.type_of(expr), self.nodes["facts"].field(name), is_name=True)

    def part_truth(self, part: Part) -> str:
        self.use(part)
        return self.truth(self.checked.expr)

    def use(self, part: Part) -> None:
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
        self.block.append((f"if {local} is ...:", [f"{local} = S.fact({name!r})", self.slot(local)]))
        self.names["facts", name] = local

    @contextmanager
    def undone_if_unsupported(self) -> Iterator[list[bool]]:
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
    assert isinstance(writer, VariablesWriter)
    local = None if expr.name in writer.locals else writer.named_roots.get(expr.name)
    if expr.name == "oldSelf" and local is None:
        raise Unsupported  # only an update has it
    if local is None:
        return members.write_ident(writer, expr)
    writer.cost += 1
    return Code(local, writer.type_of(expr), writer.nodes.get(expr.name), is_name=True)


def _select(writer: Writer, expr: Select) -> Code:
    assert isinstance(writer, VariablesWriter)
    root = expr.operand
    if not isinstance(root, Ident) or root.name not in ("variables", "facts") or root.name in writer.locals:
        return members.write_select(writer, expr)
    if expr.test_only:
        raise Unsupported
    writer.cost += 3
    return writer.variable(expr.field, expr) if root.name == "variables" else writer.fact(expr.field, expr)


_FORMS: Final[Forms] = {**FORMS, Ident: _ident, Select: _select}
