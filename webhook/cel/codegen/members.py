"""Generated forms of constants, variables and members, present or optional, and of list literals."""

from __future__ import annotations

from collections.abc import Sequence

from webhook.cel.codegen.code import Code, Unsupported, class_of, is_not_of, is_of
from webhook.cel.codegen.writer import Writer, path_of_test
from webhook.cel.cost.runtime import MAP_CREATE
from webhook.cel.syntax.ast import Call, Const, Expr, Ident, ListExpr, MapExpr, Select
from webhook.cel.types import BOOL, Type
from webhook.cel.values.nodes import COMPOSITE, Node, node_of, unescape


def write_const(writer: Writer, expr: Const) -> Code:
    return writer.literal(expr.value, writer.type_of(expr))


def write_ident(writer: Writer, expr: Ident) -> Code:
    local = writer.locals.get(expr.name)
    writer.cost += 1
    if local is not None:
        return local
    reference = writer.checked.references.get(expr)
    if reference is not None and reference.value is not None:
        return Code(writer.constant(reference.value), writer.type_of(expr), is_name=True)
    return _variable(writer, reference.name if reference is not None else expr.name, writer.type_of(expr))


def _variable(writer: Writer, name: str, of: Type) -> Code:
    node = writer.nodes.get(name)
    if node is not None and of.kind == "optional":
        raise Unsupported
    local = writer.variables.get(name)
    if local is None:
        local = writer.variables[name] = writer.name(f"V[{name!r}]", block=writer.top)
    return Code(local, of, node, is_name=True)


def write_select(writer: Writer, expr: Select) -> Code:
    of = writer.type_of(expr)
    reference = writer.checked.references.get(expr)
    if reference is not None:
        if reference.value is not None:
            return Code(writer.constant(reference.value), of, is_name=True)
        writer.cost += 1
        return _variable(writer, reference.name, of)
    operand = _tested(writer, expr.operand) if expr.test_only else writer.expr(expr.operand)
    writer.cost += 2
    if operand.maybe:
        found = optional_member(writer, operand, expr.field, of)
        return Code(f"({found.text} is not {found.absent})", BOOL) if expr.test_only else found
    if operand.of.kind == "optional" or operand.is_literal:
        raise Unsupported
    return _presence(writer, expr, operand) if expr.test_only else member(writer, operand, expr.field, of)


def _tested(writer: Writer, expr: Expr) -> Code:
    """The value whose member is tested; of ``dyn(value)`` the declared object, whose schema tells what it can have."""
    if not isinstance(expr, Call) or expr.function != "dyn":
        return writer.expr(expr)
    code = writer.expr(expr.args[0])
    is_declared = code.node is not None and code.node.kind == "object" and not code.maybe
    writer.cost += 1
    return code if is_declared else writer.untyped(code)


def member(writer: Writer, operand: Code, field: str, of: Type) -> Code:
    """``operand.field``; raises if it does not exist."""
    child, name = (None, field) if operand.node is None else _declared_member(operand.node, field)
    shared = None if child is None else writer.shared(operand, name, child)
    if shared is not None:
        found = Code(shared, of, child, checked=True, is_name=True, absent="None")
        writer.require(found)
        return found
    parent = writer.local(operand)
    local = writer.names.get((parent, field))
    if local is None:  # only a dict has string keys, so its class needs no check
        local = writer.names[parent, field] = writer.name(f"{parent}[{name!r}]")
    return Code(local, of, child, is_name=True)


def _presence(writer: Writer, expr: Select, operand: Code) -> Code:
    """``has(operand.field)``; a test that is repeated is made once, in the slot of its operand."""
    field = expr.field
    if isinstance(expr.operand, Call) and _is_undeclared(operand.node, field):
        writer.container(operand, "dict")
        return Code("False", BOOL)
    shared = None if operand.node is None else _shared(writer, operand, field)
    if shared is not None:
        writer.found[expr] = ("present", shared), shared
        return Code(f"({shared} is not None)", BOOL)
    parent = writer.container(operand, "dict")
    locals_ = writer.tested.get((parent, field))
    if locals_ is None:
        value = writer.name()
        test = _presence_test(writer, operand, parent, field, value)
        if writer.tests[path_of_test(expr)] < 2 or not writer.has_slot(parent):
            if value in writer.checked_locals:
                writer.found[expr] = (parent, field), value
            return Code(f"({test})", BOOL)
        locals_ = writer.tested[parent, field] = writer.name(test, block=writer.slot(parent)), value
    tested, value = locals_
    if value in writer.checked_locals:
        writer.found[expr] = (parent, field), value
    return Code(tested, BOOL, is_name=True)


def _is_undeclared(node: Node | None, field: str) -> bool:
    name = unescape(field)
    return node is not None and node.kind == "object" and (name is None or node.field(name) is None)


def _shared(writer: Writer, operand: Code, field: str) -> str | None:
    assert operand.node is not None
    child, name = _declared_member(operand.node, field)
    return writer.shared(operand, name, child)


def _presence_test(writer: Writer, operand: Code, parent: str, field: str, local: str) -> str:
    """The test of a member's presence, which assigns the value to ``local`` if it also checks its class.

    A value that violates its schema is an error, not a presence; null under a property is absence.
    """
    if operand.node is None:
        return f"{field!r} in {parent}"
    child, name = _declared_member(operand.node, field)
    is_map = operand.node.kind == "map"
    wanted = class_of(child)
    value = f"{parent}[{name!r}]"
    if wanted is None or is_map:
        fits = f"{writer.constant(child.value)}({value}) is not A"
        if wanted is not None:
            fits = f"({is_of(value, wanted)} or {fits})"
        return f"{name!r} in {parent} and " + (fits if is_map else f"{value} is not None and {fits}")
    writer.checked_locals[local] = wanted
    return f"{name!r} in {parent} and ({is_of(f'({local} := {value})', wanted)} or absent({local}))"


def _declared_member(node: Node, field: str) -> tuple[Node, str]:
    """The schema of a member and its name in JSON."""
    if node.kind == "map":
        return node.items, field
    name = unescape(field) if node.kind == "object" else None
    child = None if name is None else node.field(name)
    if child is None or name is None:
        raise Unsupported
    return child, name


def optional_member(writer: Writer, operand: Code, field: str, of: Type) -> Code:
    """The member of a value that may be ABSENT, or ABSENT itself."""
    if operand.of.kind == "optional" and not operand.maybe:
        raise Unsupported
    node = operand.node
    if node is None:
        is_marked = not operand.maybe or operand.absent == "A"
        parent = writer.local(operand) if is_marked else writer.name(f"A if {operand.text} is None else {operand.text}")
        return Code(writer.name(f"find({parent}, {field!r})"), of, is_name=True, maybe=True)
    child, name = _declared_member(node, field)
    shared = writer.shared(operand, name, child)
    if shared is not None:
        is_composite = child.kind in COMPOSITE
        node = child if is_composite else None
        proven = not is_composite
        return Code(shared, of, node, checked=True, is_name=True, maybe=True, proven=proven, absent="None")
    if operand.maybe:
        found = writer.name(f"A if {operand.text} is {operand.absent} else {operand.text}.get({name!r}, A)")
    else:
        found = writer.name(f"{writer.container(operand, 'dict')}.get({name!r}, A)")
    _enter_optional(writer, found, child, is_null_absent=node.kind == "object")
    return Code(found, of, child if child.kind in COMPOSITE else None, checked=True, is_name=True, maybe=True)


def _enter_optional(writer: Writer, found: str, child: Node, *, is_null_absent: bool) -> None:
    if is_null_absent:
        writer.line(f"if {found} is None: {found} = A")
    wanted = class_of(child)
    if wanted is not None:
        writer.line(f"if {found} is not A and {is_not_of(found, wanted)}: raise E")
    else:
        writer.line(f"if {found} is not A: {found} = {writer.constant(child.value)}({found})")


def write_list(writer: Writer, expr: ListExpr) -> Code:
    codes = [writer.expr(element) for element in expr.elements]
    writer.cost += 10
    of = writer.type_of(expr)
    if expr.optional:
        return Code(
            f"[{', '.join(_element(writer, code, index in expr.optional) for index, code in enumerate(codes))}]", of
        )
    node = _common_map(codes)
    if node is not None:
        maps = ", ".join(writer.container(code, "dict") for code in codes)
        listed = node_of({"type": "array", "items": node.schema}, whole_floats=node.whole_floats)
        return Code(f"[{maps}]", of, listed, checked=True)
    elements = [writer.value(code) for code in codes]
    if all(element.is_literal for element in elements):
        return writer.literal([element.literal for element in elements], of)
    return Code(f"[{', '.join(writer.local(element) for element in elements)}]", of)


def _element(writer: Writer, code: Code, is_optional: bool) -> str:
    """An element of a list: none where an optional is absent."""
    if not is_optional:
        return writer.value(code).text
    if not code.maybe or not code.is_name:
        raise Unsupported
    value = code.text if code.node is None else writer.carried(code.text, code.node)
    return f"*([] if {code.text} is {code.absent} else [{value}])"


def _common_map(codes: Sequence[Code]) -> Node | None:
    """The schema of raw maps whose values look alike, so that a list of them can stay raw."""
    nodes = [code.node for code in codes if code.node is not None and code.node.kind == "map" and not code.maybe]
    if not nodes or len(nodes) < len(codes):
        return None
    items = {(node.items.kind, node.items.enter, node.items.nullable) for node in nodes}
    return nodes[0] if len(items) == 1 and nodes[0].items.kind == "scalar" else None


def write_map(writer: Writer, expr: MapExpr) -> Code:
    """The empty map; others have no generated form: rules rarely make one."""
    if expr.entries:
        raise Unsupported
    writer.cost += MAP_CREATE
    return writer.literal({}, writer.type_of(expr))


def unsupported(_writer: Writer, _expr: Expr) -> Code:
    """Objects have no generated form: rules rarely make one."""
    raise Unsupported
