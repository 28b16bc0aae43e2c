"""Closures for constants and for what cel-go calls attributes: variables, members, presence tests, optional members.

Reading a variable, or the members of a computed value, costs 1, and each member 1; a
presence test has no such base cost. An optional access costs its member only if it exists.
A static :class:`~webhook.cel.values.nodes.Node` makes the access typed; without one, the rules of
:mod:`webhook.cel.values.members` apply.
"""

from __future__ import annotations

from typing import Any

from webhook.cel.errors import CelError
from webhook.cel.interpreter.compiler import RESERVED, UNSET, Compiler, Frame, Run, Step, constant
from webhook.cel.syntax.ast import Call, Const, Expr, Ident, Select
from webhook.cel.typing.declarations import Reference
from webhook.cel.values import members
from webhook.cel.values.members import ABSENT
from webhook.cel.values.messages import MESSAGES
from webhook.cel.values.nodes import COMPOSITE, Node, unescape
from webhook.cel.values.value import NONE, Opt

_ATTRIBUTE_CALLS = frozenset({"_[_]", "_[?_]", "_?._", "_?_:_"})


def _is_attribute(expr: Expr) -> bool:
    return isinstance(expr, (Ident, Select)) or (isinstance(expr, Call) and expr.function in _ATTRIBUTE_CALLS)


def _operand(compiler: Compiler, expr: Expr, base: int) -> Step:
    step = compiler.compile(expr, base)
    if step.is_constant or not _is_attribute(expr):
        return _costing(step, base)
    return step


def _costing(step: Step, cost: int) -> Step:
    if not cost:
        return step
    run = step.run

    def costing(frame: Frame) -> Any:
        frame[0] += cost
        return run(frame)

    return Step(costing, step.node, step.optional)


def compile_const(_compiler: Compiler, expr: Const, _base: int) -> Step:
    return constant(expr.value)


def compile_ident(compiler: Compiler, expr: Ident, base: int) -> Step:
    local = compiler.locals.get(expr.name)
    if local is not None:
        return _costing(local.step, base)
    reference = compiler.reference(expr)
    if reference is not None and reference.value is not None:
        return _denoted(reference)
    return _global(compiler, expr, reference.name if reference is not None else expr.name, base)


def _denoted(reference: Reference) -> Step:
    """What a qualified name denotes. A message that becomes a value of another type is not a type at run time."""
    message = MESSAGES.get(reference.name)
    if message is not None and message.type.kind not in {"object", "timestamp", "duration"}:
        raise CelError(f"reference to undefined type: {message.name}")
    return constant(reference.value)


def _global(compiler: Compiler, expr: Expr, name: str, base: int) -> Step:
    """Read a variable of the program; raw JSON enters its schema here."""
    slot = compiler.globals.setdefault(name, RESERVED + len(compiler.globals))
    read = _slot_reader(name, slot, base)
    node = compiler.nodes.get(name)
    if node is None:
        return Step(read)
    is_optional = compiler.checked.types[expr].kind == "optional"

    def enter(frame: Frame) -> Any:
        value = read(frame)
        if value.__class__ is Opt:
            return Opt.of(node.value(value.value)) if value.present else value
        return node.value(value)

    return Step(enter, node if node.kind in COMPOSITE else None, is_optional)


def _slot_reader(name: str, slot: int, base: int) -> Run:

    def read(frame: Frame) -> Any:
        frame[0] += base
        value = frame[slot]
        if value is UNSET:
            raise CelError(f"no such attribute(s): {name}")
        return value

    return read


def compile_select(compiler: Compiler, expr: Select, base: int) -> Step:
    reference = compiler.reference(expr)
    if reference is not None and reference.value is not None:
        return _denoted(reference)
    if reference is not None:
        return _global(compiler, expr, reference.name, base)
    if expr.test_only:
        return _presence(compiler, expr, base)
    operand = _operand(compiler, expr.operand, base)
    child = _child(operand, expr.field)
    find = _finder(operand, expr.field)
    if operand.optional:
        return _into_optional(operand.run, find, child)
    if operand.node is not None and operand.node.kind == "object":
        return _field(operand.run, expr.field, child)
    return _member(operand, find, expr.field, child)


def _member(operand: Step, find: Any, field: str, child: Node | None) -> Step:
    run = operand.run
    is_optional = child is None

    def select(frame: Frame) -> Any:
        value = run(frame)
        if is_optional and value.__class__ is Opt:
            return _through(frame, value, find)
        frame[0] += 1
        found = find(value)
        if found is ABSENT:
            raise members.missing(value, field)
        return found

    return _typed(select, child)


def _through(frame: Frame, optional: Opt, find: Any) -> Opt:
    if not optional.present:
        return optional
    found = find(optional.value)
    if found is ABSENT:
        return NONE
    frame[0] += 1
    return Opt.of(found)


def _field(run: Run, field: str, child: Node | None) -> Step:
    """Read a declared property: null counts as absent, and the value enters its schema."""
    name = unescape(field)
    enter = child.enter if child is not None else None

    def select(frame: Frame) -> Any:
        value = run(frame)
        frame[0] += 1
        found = None if value is None else value.get(name)
        if found is None or enter is None:
            raise CelError(f"no such key: {field}")
        return enter(found)

    return _typed(select, child)


def _typed(run: Run, child: Node | None, *, optional: bool = False) -> Step:
    if child is not None and child.kind in COMPOSITE:
        return Step(run, child, optional)
    return Step(run)


def _into_optional(run: Run, find: Any, child: Node | None) -> Step:
    """Read a member of a value that may be an optional; the result is an optional."""

    def select(frame: Frame) -> Any:
        value = run(frame)
        return _through(frame, value if value.__class__ is Opt else Opt.of(value), find)

    return _typed(select, child, optional=True)


def _child(operand: Step, field: str) -> Node | None:
    """The schema of a member, or None if the schema of the operand is unknown."""
    node = operand.node
    if node is None:
        return None
    if node.kind == "object":
        name = unescape(field)
        return None if name is None else node.field(name)
    return node.items if node.kind == "map" else None


def _finder(operand: Step, field: str) -> Any:
    """A function that looks up a member by name: it returns the entered value, or ABSENT."""
    node = operand.node
    if node is None or node.kind not in ("object", "map"):
        return lambda value: members.find(value, field)
    if node.kind == "map":
        return _map_finder(node.items, field)
    name = unescape(field)
    child = None if name is None else node.field(name)

    def find(value: Any) -> Any:
        found = None if value is None else value.get(name)
        return ABSENT if found is None or child is None else child.enter(found)

    return find


def _map_finder(items: Node, key: str) -> Any:
    def find(value: Any) -> Any:
        if value is None or key not in value:
            return ABSENT
        return items.value(value[key])

    return find


def _presence(compiler: Compiler, expr: Select, base: int) -> Step:
    operand = _operand(compiler, expr.operand, 0)
    find = _finder(operand, expr.field)
    run = operand.run
    # cel-go refunds the base cost of the variable here; a conditional did not charge it.
    cost = 0 if base and _root_is_conditional(expr.operand) else 1

    def has(frame: Frame) -> bool:
        value = run(frame)
        if value.__class__ is Opt:
            if not value.present:
                return False
            value = value.value
        frame[0] += cost
        return find(value) is not ABSENT

    return Step(has)


def _root_is_conditional(expr: Expr) -> bool:
    while True:
        if isinstance(expr, Select) and not expr.test_only:
            expr = expr.operand
        elif isinstance(expr, Call) and expr.function in _ATTRIBUTE_CALLS:
            if expr.function == "_?_:_":
                return True
            expr = expr.args[0]
        else:
            return False


def compile_index(compiler: Compiler, expr: Call, base: int) -> Step:
    """``a[i]``, ``a[?i]`` and ``a.?b``."""
    operand = _operand(compiler, expr.args[0], base)
    is_optional = expr.function != "_[_]"
    key_expr = expr.args[1]
    if isinstance(key_expr, Const) and key_expr.value.__class__ is str:
        child = _child(operand, key_expr.value)
        find = _finder(operand, key_expr.value)
        if is_optional or operand.optional:
            return _into_optional(operand.run, find, child)
        return _member(operand, find, key_expr.value, child)
    key = compiler.compile(key_expr, 0)
    node = operand.node
    child = node.items if node is not None and node.kind in ("map", "list", "set", "maplist") else None
    find = members.find if child is None else _typed_item(child)
    if is_optional or operand.optional:
        return _index_optional(operand.run, key, find, child)
    return _index(operand.run, key, find, child)


def _typed_item(child: Node) -> Any:
    def find(value: Any, key: Any) -> Any:
        if value.__class__ is dict and key.__class__ is not str:
            raise CelError("no such overload")
        found = members.find(value, key)
        return found if found is ABSENT else child.value(found)

    return find


def _index(run: Run, key: Step, find: Any, child: Node | None) -> Step:
    read_key = key.value()

    def index(frame: Frame) -> Any:
        value = run(frame)
        if value.__class__ is Opt:
            return _index_through(frame, value, read_key, find)
        frame[0] += 1
        at = read_key(frame)
        found = find(value, at)
        if found is ABSENT:
            raise members.missing(value, at)
        return found

    return _typed(index, child)


def _index_optional(run: Run, key: Step, find: Any, child: Node | None) -> Step:
    read_key = key.value()

    def index(frame: Frame) -> Any:
        value = run(frame)
        return _index_through(frame, value if value.__class__ is Opt else Opt.of(value), read_key, find)

    return _typed(index, child, optional=True)


def _index_through(frame: Frame, optional: Opt, read_key: Run, find: Any) -> Opt:
    if not optional.present:
        return optional
    return _through(frame, optional, lambda value: find(value, read_key(frame)))
