"""What several expressions of one function share: members of the object, results of calls, facts about texts.

Each member is a local for the whole function, read in the *slot* of its parent (:class:`Writer`), so only where the
parent is there; None where it is null or absent. What is shared, and where it is computed, is decided here;
``conditions`` and ``variables`` write what is done with it. Generated code raises ``E`` where only the interpreter can
answer.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, Any, Final

from webhook.cel.codegen.code import Block, Code, class_of, is_not_of, render
from webhook.cel.codegen.writer import Forms, Writer

if TYPE_CHECKING:
    from webhook.cel.typing.checker import Checked
    from webhook.cel.values.nodes import Node

LOCAL: Final = re.compile(r"t\d+")
_CONSTANT: Final = re.compile(r"k\d+|-?\d+|'[^']*'|True|False")
_RESULT: Final = re.compile(r"\x00(t\d+)\x00")
"""A result of a call; what is written for it depends on how often it is read. No literal's ``repr`` contains NUL."""


class Later(list[Any]):
    """A block whose lines are known when all is written."""

    def __init__(self, lines: Callable[[], Iterable[Any]]) -> None:
        super().__init__()
        self._lines = lines

    def __iter__(self) -> Iterator[Any]:
        return iter(self._lines())


class SharingWriter(Writer):
    """Shares the members of declared objects and the results of pure functions of them.

    ``depths`` are the locals that may have such members, with the number of loops around their definition. ``parents``
    are the locals whose slots define them.
    """

    def __init__(self, checked: Checked, forms: Forms) -> None:
        super().__init__(checked, {}, {}, forms)
        self.depths: dict[str, int] = {}
        self.parents: dict[str, str] = {}
        self.touched: set[str] = set()
        self._children: dict[str, list[str]] = {}
        self._members: dict[tuple[str, str], str] = {}
        self._classes: dict[str, str | None] = {}
        self._results: dict[tuple[str, ...], str] = {}
        self._calls: dict[str, str] = {}
        self._repeated: set[str] = set()
        self._uses: Counter[str] = Counter()
        self._lengths: dict[str, Fraction] = {}

    @property
    def charges(self) -> bool:
        """Whether some costs depend on the values."""
        return self.is_metered or bool(self._lengths)

    def lines(self) -> list[str]:
        """The lines of the function."""
        for _ in range(2):  # the second time it is known how often each result is read
            lines: list[str] = []
            render(self.block, 0, lines)
            self._uses = Counter(_RESULT.findall("\n".join(lines)))
        return [_RESULT.sub(lambda match: self._result(match[1]), line) for line in lines]

    # Members

    def shared(self, operand: Code, name: str, child: Node) -> str | None:
        wanted = class_of(child)
        if wanted is None or operand.node is None or operand.node.kind != "object" or operand.text not in self.depths:
            return None
        return self.member(operand.text, name, wanted)

    def member(self, parent: str, name: str, wanted: str | None) -> str:
        """The local of a member."""
        local = self._members.get((parent, name))
        if local is None:
            local = self._members[parent, name] = self.name()
            self.depths[local], self.parents[local], self._classes[local] = self.depths[parent], parent, wanted
            self._children.setdefault(parent, []).append(local)
            present: Block = [self.slot(local)]
            if wanted is not None:
                self.checked_locals[local] = wanted
                present.insert(0, f"if {is_not_of(local, wanted)}: raise E")
            absent = Later(lambda: self._absent(local))
            read = f"{local} = {parent}.get({name!r})"
            self.slot(parent).extend([read, Later(lambda: self._present(local, present)), absent])
        self.touched.add(local)
        return local

    def root(self, text: str, block: Block) -> str:
        """The local of an object that may be None."""
        local = self.name()
        self.depths[local] = 0
        absent = Later(lambda: self._absent(local))
        block += [f"{local} = {text}", (f"if {local} is not None:", [self.slot(local)]), absent]
        return local

    def _present(self, local: str, block: Block) -> Block:
        return [(f"if {local} is not None:", block)] if any(block) else []

    def _absent(self, local: str) -> Block:
        """What is set where a member is absent: those of it."""
        names = list(self._below(local))
        return [("else:", [f"{' = '.join(names)} = None"])] if names else []

    def _below(self, local: str) -> Iterator[str]:
        for child in self._children.get(local, ()):
            yield child
            yield from self._below(child)

    def is_below(self, local: str, other: str) -> bool:
        """Whether a local is another, or defined where that is present."""
        while local != other and local in self.parents:
            local = self.parents[local]
        return local == other

    def require(self, code: Code) -> None:
        if code.text not in self.parents or code.absent != "None":
            super().require(code)
        elif not self.is_present(code.text):
            self.names["present", code.text] = code.text
            self.missing(code.text)

    def is_present(self, local: str) -> bool:
        """Whether a member is known to be present, as it is where one of its members is."""
        return any(kind == "present" and self.is_below(known, local) for kind, known in self.names)

    def missing(self, local: str) -> None:
        """Raise where a member is absent."""
        self.line(f"if {local} is None: raise E")

    # Calls

    def call(self, function: str, args: Sequence[str]) -> str:
        """A call of a pure function, made once for the same arguments."""
        names = [arg for arg in args if LOCAL.fullmatch(arg)]
        if not names or not all(arg in self.depths or _CONSTANT.fullmatch(arg) for arg in args):
            return super().call(function, args)
        inner = max(names, key=self.depths.__getitem__)
        result = self._results.get((function, *args))
        if result is None:
            result = self._results[function, *args] = self.name()
            self._calls[result] = super().call(function, args)
            self.slot(inner).append(Later(lambda: [f"{result} = ..."] if self._is_kept(result) else []))
        if self.loops > self.depths[inner]:
            self._repeated.add(result)
        return f"\0{result}\0"

    def _is_kept(self, result: str) -> bool:
        return self._uses[result] > 1 or (result in self._repeated and self._uses[result] > 0)

    def _result(self, result: str) -> str:
        text = self._calls[result]
        if not self._is_kept(result):
            return text
        return f"({result} if {result} is not ... else ({result} := {text}))"

    # Texts

    def meter_length(self, text: str, characters: int, times: int) -> None:
        if self._classes.get(text) != "str" or self.depths[text] != self.loops:
            super().meter_length(text, characters, times)
            return
        # charged once, where the text is read, for all that is done with it
        if text not in self._lengths:
            self._lengths[text] = Fraction(0)
            self.slot(text).append(Later(lambda: [f"b -= len({text}){_times(ceil(self._lengths[text]))}"]))
            if self.loops:
                self.slot(text).append("if b < 0: raise E")
        self._lengths[text] += Fraction(times, characters)
        self.cost += 2 * times


def _times(factor: int) -> str:
    return "" if factor == 1 else f" * {factor}"
