"""Write many conditions over one object into one function, for :mod:`webhook.cel.batch`.

Members, calls and variables that conditions share are read, made and computed once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import takewhile
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from webhook.cel.codegen.code import Block, Code, Unsupported, class_of, join
from webhook.cel.codegen.generate import LIMIT
from webhook.cel.codegen.variables import Part, VariablesWriter
from webhook.cel.types import DYN

if TYPE_CHECKING:
    from webhook.cel.typing.checker import Checked
    from webhook.cel.values.nodes import Node

_HEAD: Final = """\
# V: the bindings. S: computes facts and variables. b: what the call may still cost. k0, k1, ...: constants.
# i: no interrupt. E: raised where only the interpreter is exact. A: an absent value. ...: a value not computed.
"""

_SCREEN: Final = f"""\
{_HEAD}\
# bad: conditions that do not hold or are to be evaluated by themselves.
def run(V, S):
  try:
   bad = []
{{body}}
  except Exception: return None
  return bad, {{bound}}
"""

_FORMULA: Final = f"""\
{_HEAD}\
# r: the value; A where it does not apply, ... where there is no answer.
def run(V, S):
  try:
   r = A
{{body}}
  except Exception: return ...
  return r
"""


class Condition(NamedTuple):
    """A test of every node at a path (``*`` is every item or value); it applies where ``when`` is true.

    ``message`` is the text about a node that fails the test, if it is to be computed. ``transition``: it reads
    ``oldSelf``, and applies only where the stored object has such a node.
    """

    at: tuple[str, ...]
    when: Part | None
    test: Part
    message: Part | None = None
    transition: bool = False


class ConditionsWriter(VariablesWriter):
    """Writes all conditions into one function."""

    def __init__(self, trees: Mapping[int, Checked], root: Node | None) -> None:
        super().__init__(trees)
        self._root = Code(self.root_object, DYN, root, is_name=True)
        self._old = ""
        self._stored = ""  # oldSelf of the condition that is being written

    @classmethod
    def of(cls, parts: Iterable[Part], root: Node | None) -> Self:
        """A writer that can use these parts, over objects of a schema."""
        return cls({id(part): part.program.evaluate_exactly.origin.check() for part in parts}, root)

    def screen(self) -> str:
        """The source of the function of the conditions that were written."""
        return self._text(_SCREEN, LIMIT)

    def formula(self, limit: int) -> str:
        """The source of the function of the value that was assigned, which may cost so much."""
        return self._text(_FORMULA, limit)

    def _text(self, function: str, limit: int) -> str:
        lines, is_counted = self.lines(), self.charges or self.cost > limit
        if is_counted:
            lines = [f"b = {limit - self.cost}", *lines, "if b < 0: raise E"]
        if self.is_interruptible:
            lines = ["i = None", *lines]
        return function.format(
            body="\n".join(f"   {line}" for line in lines), bound=f"{limit} - b" if is_counted else self.cost
        )

    def assign(self, when: Part | None, part: Part) -> None:
        """Set the result to the value of a part, where a condition is true."""
        applies = None if when is None else self.part_truth(when)
        with self.inner() as block:
            if when is not None:
                self.learn(self.checked.expr, outcome=True)
            self.use(part)
            self.line(f"r = {self.value(self.expr(self.checked.expr)).text}")
        self.block += block if applies is None else [(f"if {applies}:", block)]

    # Conditions

    def condition(self, index: int, condition: Condition) -> bool:
        """Write one; False if it has no generated form."""
        first = condition.when or condition.test
        if not condition.at and not condition.transition:
            self.use(first)  # evaluated whatever the object is: its facts are there from now on
        for direct in (True, False):
            self._direct = direct
            with self.undone_if_unsupported() as done, self.inner() as block:
                self._stored = self._stored_node(condition) if condition.transition else ""
                self._at(index, condition, condition.at, self._root)
                done.append(True)
            if done:
                join(self.block, block)
                return True
        return False

    def defer(self, index: int, condition: Condition) -> None:
        """Leave a condition to its own evaluation, unless there is nothing at its path."""
        deferred: Block = [f"bad.append(({index}, False, None))"]
        with self.undone_if_unsupported() as done:
            node = self._root
            for key in takewhile("*".__ne__, condition.at):
                node = self._child(node, key)
            done.append(True)
        self.block += [(f"if {node.text} is not None:", deferred)] if done else deferred

    def _stored_node(self, condition: Condition) -> str:
        """The local of the stored node at the path of a condition."""
        if "*" in condition.at:
            raise Unsupported
        if not self._old:
            self._old = self.root("V['oldObject']", self.top)
        stored = Code(self._old, DYN, self._root.node, is_name=True)
        for key in condition.at:
            stored = self._child(stored, key)
        return stored.text

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
        with self.inner() as block:
            if self._stored:
                self.names["present", self._stored] = self._stored
            self._tested_there(index, condition, node)
        self.block += [(f"if {self._stored} is not None:", block)] if self._stored else block

    def _tested_there(self, index: int, condition: Condition, node: str) -> None:
        self.named_roots = {"object": self.root_object, "self": node}
        if self._stored:
            self.named_roots["oldSelf"] = self._stored
        if condition.when is None:
            test = self.part_truth(condition.test)
            self.block.append((f"if not {test}:", self._failed(index, condition)))
            return
        applies = self.part_truth(condition.when)
        with self.inner() as block:
            self.learn(self.checked.expr, outcome=True)
            test = self.part_truth(condition.test)
            block.append((f"if not {test}:", self._failed(index, condition)))
        self.block.append((f"if {applies}:", block))

    def _failed(self, index: int, condition: Condition) -> Block:
        """What is done where a condition does not hold. A message about one of many nodes is not computed here."""
        if self.loops:
            return [f"bad.append(({index}, False, None))", "break"]
        if condition.message is not None:
            with self.undone_if_unsupported() as done, self.inner() as block:
                self.use(condition.message)
                block.append(f"bad.append(({index}, True, {self.value(self.expr(self.checked.expr)).text}))")
                done.append(True)
            if done:
                return block
        return [f"bad.append(({index}, True, None))"]
