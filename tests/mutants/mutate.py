"""The mutants of a module: for each small change of its syntax tree that a mistake might make, the changed tree.

A mutant removes or turns around one thing: a comparison, a condition, one part of several, a statement, a number. Texts
for readers, types and docstrings are left alone.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeGuard

MODULE = "<module>"
"""The name of the function of what a module does itself."""

_TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
_GENERIC = frozenset({"dict", "frozenset", "list", "set", "tuple", "Callable", "Collection", "Iterable", "Mapping"})
"""Types with parameters, which nothing reads while the program runs."""
_QUIET = frozenset({"log", "logging", "warnings", "traces"})
"""Objects whose calls only write to a log or a trace."""


@dataclass(frozen=True)
class Mutant:
    """One change of a module: in the function of this qualified name, at a line, from a text to another."""

    path: Path
    function: str
    line: int
    before: str
    after: str
    tree: Callable[[], ast.Module]
    again: int = 0

    @property
    def name(self) -> str:
        """What identifies it while lines move; ``again`` counts those before it that are written the same."""
        again = f" ({self.again + 1})" if self.again else ""
        return f"{self.path.as_posix()}:{self.function}: {self.before} -> {self.after}{again}"


Trail = list[tuple[str, int | None]]
Change = Callable[[Any], ast.AST]


def mutants(path: Path) -> Iterator[Mutant]:
    """All mutants of a module."""
    tree = ast.parse(path.read_text())
    written: Counter[tuple[str, str, str]] = Counter()
    for function, trail in _places(tree, MODULE, []):
        node = _at(tree, trail)
        for before, after, change in _changes(node):
            words = function, _short(before), _short(after)
            changed = partial(_changed, tree, trail, change)
            yield Mutant(path, words[0], node.lineno, *words[1:], changed, written[words])
            written[words] += 1


def _changed(tree: ast.Module, trail: Trail, change: Change) -> ast.Module:
    """A copy of the tree with the change."""
    changed = copy.deepcopy(tree)
    _replace(changed, trail, change(_at(changed, trail)))
    return ast.fix_missing_locations(changed)


def _places(node: ast.AST, function: str, trail: Trail) -> Iterator[tuple[str, Trail]]:
    """The trails to all statements and expressions that may be changed, and the function that each is in."""
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list", "bases"}:
            continue
        # What a function has as defaults, the statement around it evaluates.
        place = (function.rpartition(".")[0] or MODULE) if name == "args" and _is_function(node) else function
        for index, child in enumerate(value) if isinstance(value, list) else ((None, value),):
            if not isinstance(child, ast.AST) or _is_for_readers(child):
                continue
            within = [*trail, (name, index)]
            if isinstance(child, ast.stmt | ast.expr):
                yield place, within
            inner = place
            if _is_function(child) or isinstance(child, ast.ClassDef):
                inner = child.name if place == MODULE else f"{place}.{child.name}"
            yield from _places(child, inner, within)


def _is_function(node: ast.AST) -> TypeGuard[ast.FunctionDef | ast.AsyncFunctionDef]:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def _is_for_readers(node: ast.AST) -> bool:
    """A docstring, a type, what is logged, what only a type checker runs, or what a module offers."""
    if isinstance(node, ast.Assign):
        return any(isinstance(name, ast.Name) and name.id in {"__all__", "__slots__"} for name in node.targets)
    if isinstance(node, ast.Expr):
        value = node.value
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            return isinstance(value.func.value, ast.Name) and value.func.value.id in _QUIET
        return isinstance(value, ast.Constant)
    if isinstance(node, ast.If):
        return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        return node.value.id in _GENERIC
    return isinstance(node, ast.Import | ast.ImportFrom | ast.JoinedStr | ast.Assert)


def _changes(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST | str, Change]]:
    """What may be changed of a node itself: what it was, what it becomes, and the function that does it."""
    match node:
        case ast.Compare():
            yield from _compared(node)
        case ast.BoolOp():
            yield from _each_left_out(node, "values", at_least=2)
        case ast.UnaryOp(op=ast.Not()):
            yield node, node.operand, lambda it: it.operand
        case ast.BinOp() if type(node.op) in _OPERATORS and not _is_text(node.left) and not _is_text(node.right):
            changed = ast.BinOp(node.left, _OPERATORS[type(node.op)](), node.right)
            yield node, changed, lambda it: ast.BinOp(it.left, _OPERATORS[type(it.op)](), it.right)
        case ast.Constant(value=bool()):
            yield node, ast.Constant(not node.value), lambda it: ast.Constant(not it.value)
        case ast.Constant(value=int()):
            yield node, ast.Constant(node.value + 1), lambda it: ast.Constant(it.value + 1)
        case ast.Tuple(ctx=ast.Load()) | ast.List(ctx=ast.Load()) | ast.Set():
            yield from _each_left_out(node, "elts")
        case ast.Dict():
            yield from _each_entry_left_out(node)
        case ast.Call():
            yield from _each_left_out(node, "keywords")
        case ast.IfExp():
            yield node, node.body, lambda it: it.body
            yield node, node.orelse, lambda it: it.orelse
        case ast.If() | ast.While():
            if not isinstance(node.test, ast.Constant):
                yield node.test, ast.Constant(False), _with_test(False)
            if isinstance(node, ast.If):
                yield node.test, ast.Constant(True), _with_test(True)
        case ast.Return(value=ast.expr()):
            # Callers ask a constant such as False or "" only for its truth, and mypy reports those that do more.
            if not (isinstance(node.value, ast.Constant) and not node.value.value):
                yield node, "return None", lambda it: ast.copy_location(ast.Return(ast.Constant(None)), it)
        case ast.Expr() | ast.Raise() | ast.AugAssign() | ast.Delete():
            yield node, "pass", lambda it: ast.copy_location(ast.Pass(), it)
        case ast.Continue():
            yield node, "break", lambda it: ast.copy_location(ast.Break(), it)
        case ast.Break():
            yield node, "continue", lambda it: ast.copy_location(ast.Continue(), it)


def _compared(node: ast.Compare) -> Iterator[tuple[ast.AST, ast.AST, Change]]:
    for index, operator in enumerate(node.ops):
        other = _TURNED[type(operator)]

        def change(it: Any, index: int = index, other: type[ast.cmpop] = other) -> ast.AST:
            it.ops[index] = other()
            return it

        yield node, change(copy.deepcopy(node)), change


def _each_left_out(node: Any, field: str, at_least: int = 1) -> Iterator[tuple[ast.AST, ast.AST, Change]]:
    """The node without one of its parts."""
    parts = getattr(node, field)
    if len(parts) < at_least or any(isinstance(part, ast.Starred) for part in parts):
        return
    for index in range(len(parts)):

        def change(it: Any, index: int = index) -> ast.AST:
            rest = getattr(it, field)
            del rest[index]
            return rest[0] if isinstance(it, ast.BoolOp) and len(rest) == 1 else it

        after = change(copy.deepcopy(node))
        if isinstance(after, ast.Set) and not after.elts:
            continue  # it has no notation
        yield node, after, change


def _each_entry_left_out(node: ast.Dict) -> Iterator[tuple[ast.AST, ast.AST, Change]]:
    for index in range(len(node.keys)):

        def change(it: Any, index: int = index) -> ast.AST:
            del it.keys[index], it.values[index]
            return it

        yield node, change(copy.deepcopy(node)), change


def _with_test(value: bool) -> Change:
    def change(it: Any) -> ast.AST:
        it.test = ast.copy_location(ast.Constant(value), it.test)
        return it

    return change


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _at(tree: ast.AST, trail: Trail) -> Any:
    node: Any = tree
    for name, index in trail:
        node = getattr(node, name)
        node = node if index is None else node[index]
    return node


def _replace(tree: ast.AST, trail: Trail, new: ast.AST) -> None:
    *above, (name, index) = trail
    parent = _at(tree, above)
    if index is None:
        setattr(parent, name, new)
    else:
        getattr(parent, name)[index] = new


def _short(node: ast.AST | str) -> str:
    """One line of a node, at most 100 characters."""
    text = " ".join((node if isinstance(node, str) else ast.unparse(node)).split())
    return text if len(text) <= 100 else f"{text[:97]}..."
