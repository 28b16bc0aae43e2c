"""Generated forms of calls: logic, comparison, arithmetic, strings, members by index, optionals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from webhook.cel import calls, costs, operators
from webhook.cel.access import COMPOSITE, Node, unescape
from webhook.cel.ast import Call, Const, Expr
from webhook.cel.errors import CelError
from webhook.cel.members import member
from webhook.cel.overload import dispatcher
from webhook.cel.regex import compiled
from webhook.cel.srcbase import CLASSES, CONTAINERS, Code, Unsupported
from webhook.cel.types import BOOL, DYN, INT, Type

if TYPE_CHECKING:
    from webhook.cel.srcgen import Writer

__all__ = ["optional_member", "write_call"]

_SCALARS: Final = frozenset({"string", "int", "bool", "bytes"})
_INT_RANGE: Final = "-9223372036854775808 <= {0} <= 9223372036854775807"


def write_call(writer: Writer, expr: Call) -> Code:
    special = _SPECIAL.get(expr.function)
    if special is not None:
        return special(writer, expr)
    reference = writer.checked.references.get(expr)
    if reference is None or not reference.overloads:
        raise Unsupported
    args = expr.args if expr.target is None or reference.namespaced else (expr.target, *expr.args)
    own = _FUNCTIONS.get(reference.overloads[0].id) if len(reference.overloads) == 1 else None
    if own is not None:
        return own(writer, expr, args)
    return _function(writer, expr, args)


def _function(writer: Writer, expr: Call, args: Sequence[Expr]) -> Code:
    """Any function: its implementation is called, and its cost computed where it is not 1."""
    reference = writer.checked.references[expr]
    overloads = reference.overloads
    values = [writer.value(writer.expr(arg)) for arg in args]
    if len(overloads) == 1:
        chosen, cost = overloads[0], overloads[0].cost
        is_open = any(calls.is_open(value.of) for value in values)
        impl = chosen.impl if is_open or chosen.raw is None else chosen.raw
    else:
        declared = writer.functions[reference.name]
        impl = dispatcher([signature.overload for signature in (*declared.free, *declared.member)])
        cost = costs.call_cost(reference.name)
    if all(value.is_literal for value in values):
        return _folded(writer, expr, impl, cost, [value.literal for value in values])
    function = writer.constant(impl)
    if cost is None:
        writer.cost += 1
        return Code(f"{function}({', '.join(value.text for value in values)})", writer.type_of(expr))
    names = [writer.local(value) for value in values]
    result = writer.name(f"{function}({', '.join(names)})")
    writer.meter(f"{writer.constant(cost)}(({', '.join(names)},), {result})")
    return Code(result, writer.type_of(expr), is_name=True)


def _folded(writer: Writer, expr: Call, impl: Callable[..., Any], cost: costs.Cost | None, args: Sequence[Any]) -> Code:
    """A call with nothing but literals: its value is the same whenever it is computed."""
    try:
        result = impl(*args)
    except CelError:
        return Code("fail()", writer.type_of(expr))
    writer.cost += 1 if cost is None else cost(tuple(args), result)
    return writer.literal(result, writer.type_of(expr))


# Logic


def _logical(operator: str) -> Callable[[Writer, Call], Code]:
    is_and = operator == "and"

    def write(writer: Writer, expr: Call) -> Code:
        terms = calls.chain(expr)
        outer = writer.block
        pure = [writer.truth(terms[0])]
        result = ""
        # What a term reads is known to the terms after it, and to nobody else: it may not have been evaluated.
        names, facts = dict(writer.names), set(writer.facts)
        writer.learn(terms[0], outcome=is_and)
        for term in terms[1:]:
            block: list[Any] = []
            current, writer.block = writer.block, block
            text = writer.truth(term)
            writer.block = current
            if block:
                joined = f" {operator} ".join(pure)
                result = result or writer.name()
                writer.line(f"{result} = {joined}")
                inner: list[Any] = block
                writer.block.append((f"if {result}:" if is_and else f"if not {result}:", inner))
                writer.block = inner
                pure = [text]
            else:
                pure.append(text)
            writer.learn(term, outcome=is_and)
        joined = f" {operator} ".join(pure)
        if result:
            writer.line(f"{result} = {joined}")
        writer.block, writer.names, writer.facts = outer, names, facts
        return Code(result, BOOL, is_name=True) if result else Code(f"({joined})", BOOL)

    return write


def _not(writer: Writer, expr: Call) -> Code:
    text = writer.truth(expr.args[0])
    writer.cost += 1
    return Code(f"(not {text})", BOOL)


def _conditional(writer: Writer, expr: Call) -> Code:
    condition = writer.truth(expr.args[0])
    branches = []
    for arg, outcome in zip(expr.args[1:], (True, False), strict=True):
        with writer.inner() as block:
            writer.learn(expr.args[0], outcome=outcome)
            branches.append((block, writer.value(writer.expr(arg))))
    (then_block, then), (else_block, other) = branches
    of = writer.type_of(expr)
    if not then_block and not else_block:
        return Code(f"({then.text} if {condition} else {other.text})", of)
    result = writer.name()
    writer.block.append((f"if {condition}:", [*then_block, f"{result} = {then.text}"]))
    writer.block.append(("else:", [*else_block, f"{result} = {other.text}"]))
    return Code(result, of, is_name=True)


# Comparison


def _equality(negated: bool) -> Callable[[Writer, Call], Code]:
    def write(writer: Writer, expr: Call) -> Code:
        first, second = (writer.expr(arg) for arg in expr.args)
        is_composite = any(code.node is not None and code.node.kind in COMPOSITE for code in (first, second))
        first, second = writer.value(first), writer.value(second)
        text = None if is_composite else _plain_equality(writer, first, second, negated)
        if text is None:
            first, second = _named(writer, first), _named(writer, second)
            _meter_shorter(writer, first, second)
            text = f"{'not ' if negated else ''}equal({first.text}, {second.text})"
        else:
            _meter_shorter(writer, first, second)
        return Code(f"({text})", BOOL)

    return write


def _named(writer: Writer, code: Code) -> Code:
    return code if code.is_name else Code(writer.name(code.text), code.of, is_name=True)


def _plain_equality(writer: Writer, first: Code, second: Code, negated: bool) -> str | None:
    """Python's own comparison, where it is CEL's."""
    operator = "!=" if negated else "=="
    if second.is_literal is False and first.is_literal:
        first, second = second, first
    kinds = (first.of.kind, second.of.kind)
    if second.is_literal and (second.literal is None or second.literal.__class__ is bool):
        plain = first.is_name and not first.is_literal
        return f"{first.text} {'is not' if negated else 'is'} {second.text}" if plain else None
    if kinds[0] == kinds[1] and (kinds[0] in _SCALARS or kinds[0] == "double"):
        return f"{first.text} {operator} {second.text}"
    if not second.is_literal or first.of.kind != "dyn" or not first.is_name:
        return None
    if second.literal.__class__ is str:
        return f"{first.text} {operator} {second.text}"
    if second.literal.__class__ is int:
        clash = second.literal in (0, 1)
        text = f"{first.text} == {second.text}" + (f" and {first.text}.__class__ is not bool" if clash else "")
        return f"not ({text})" if negated else text
    return None


def _meter_shorter(writer: Writer, first: Code, second: Code) -> None:
    """The cost of comparing: a tenth of the shorter operand."""
    for code in (first, second):
        if code.is_literal and code.literal.__class__ in (str, bytes, list):
            writer.cost += max(1, math.ceil(len(code.literal) / 10))
            return
    writer.cost += 1
    scalar = ("int", "uint", "bool", "double", "null", "timestamp", "duration", "type", "opaque")
    if any(code.of.kind in scalar or (code.is_literal and code.literal is None) for code in (first, second)):
        return
    shown = first if first.is_name else second
    if shown.is_name:
        writer.meter(f"length({shown.text})")
    else:
        raise Unsupported


def _comparison(operator: str, exact: Callable[[Any, Any], bool]) -> Callable[[Writer, Call], Code]:
    def write(writer: Writer, expr: Call) -> Code:
        first, second = (writer.value(writer.expr(arg)) for arg in expr.args)
        kinds = (first.of.kind, second.of.kind)
        reference = writer.checked.references[expr]
        if len(reference.overloads) == 1 and reference.overloads[0].cost is not None:
            first, second = _named(writer, first), _named(writer, second)
            _meter_shorter(writer, first, second)
        else:
            writer.cost += 1
        if kinds in (("int", "int"), ("string", "string")):
            return Code(f"({first.text} {operator} {second.text})", BOOL)
        helper = writer.constant(exact)
        if kinds == ("dyn", "int") and second.is_literal:
            local = writer.local(first)
            plain = f"{local} {operator} {second.text} if {local}.__class__ is int"
            return Code(f"({plain} else {helper}({local}, {second.text}))", BOOL)
        return Code(f"{helper}({first.text}, {second.text})", BOOL)

    return write


# Arithmetic


def _arithmetic(operator: str, exact: Callable[[Any, Any], Any]) -> Callable[[Writer, Call], Code]:
    def write(writer: Writer, expr: Call) -> Code:
        first, second = (writer.value(writer.expr(arg)) for arg in expr.args)
        kinds = (first.of.kind, second.of.kind)
        of = writer.type_of(expr)
        writer.cost += 1
        if kinds == ("int", "int") and operator in ("+", "-", "*"):
            result = writer.name(f"{first.text} {operator} {second.text}")
            writer.line(f"if not {_INT_RANGE.format(result)}: raise E")
            return Code(result, of, is_name=True)
        if kinds == ("double", "double") and operator in ("+", "-", "*"):
            return Code(f"({first.text} {operator} {second.text})", of)
        if operator == "+" and "int" not in kinds and "double" not in kinds:
            first, second = _named(writer, first), _named(writer, second)
            writer.meter(f"length({first.text}) + length({second.text})")
            if kinds == ("string", "string"):
                return Code(f"({first.text} + {second.text})", of)
        return Code(f"{writer.constant(exact)}({first.text}, {second.text})", of)

    return write


def _membership(writer: Writer, expr: Call) -> Code:
    element = writer.value(writer.expr(expr.args[0]))
    container = writer.expr(expr.args[1])
    if container.is_literal:
        writer.cost += len(container.literal)
        return _in_literal(writer, element, container.literal)
    element = _named(writer, element)
    node = container.node
    if node is not None and node.kind == "map" and element.of.kind == "string":
        parent = writer.container(container, "dict")
        writer.cost += 1
        fits = f"{writer.constant(node.items.value)}({parent}[{element.text}]) is not A"
        return Code(f"({element.text} in {parent} and {fits})", BOOL)
    if (
        node is not None
        and node.kind == "list"
        and element.of.kind == "string"
        and CLASSES.get(node.items.enter) == "str"
    ):
        parent = writer.container(container, "list")
        writer.meter(f"len({parent}) + 1")
        return Code(f"({element.text} in {parent} or strings({parent}))", BOOL)
    if node is not None:
        raise Unsupported
    container = _named(writer, writer.value(container))
    writer.meter(f"length({container.text}) + 1")
    return Code(f"contains({element.text}, {container.text})", BOOL)


def _in_literal(writer: Writer, element: Code, values: list[Any]) -> Code:
    if not values or not all(value.__class__ is str for value in values):
        if element.of.kind != "int" or not all(value.__class__ is int for value in values):
            raise Unsupported
    if len(values) == 1:
        return Code(f"({element.text} == {values[0]!r})", BOOL)
    # A dict or list on the left cannot be hashed, which the closures then report as "not in".
    return Code(f"({element.text} in {writer.constant(frozenset(values))})", BOOL)


# Strings


def _size(writer: Writer, _expr: Call, args: Sequence[Expr]) -> Code:
    code = writer.expr(args[0])
    writer.cost += 1
    if code.node is not None and code.node.kind in COMPOSITE:
        return Code(f"len({writer.container(code, CONTAINERS[code.node.kind])})", INT)
    return Code(f"len({writer.value(code).text})", INT)


def _affix(method: str) -> Callable[[Writer, Call, Sequence[Expr]], Code]:
    def write(writer: Writer, _expr: Call, args: Sequence[Expr]) -> Code:
        text, affix = (writer.value(writer.expr(arg)) for arg in args)
        if not affix.is_literal:
            affix = _named(writer, affix)
            writer.meter(f"length({affix.text})")
        writer.cost += 1 + (len(affix.literal) if affix.is_literal else 0)
        return Code(f"{_atom(text)}.{method}({affix.text})", BOOL)

    return write


def _atom(code: Code) -> str:
    return code.text if code.is_name else f"({code.text})"


def _contains(writer: Writer, _expr: Call, args: Sequence[Expr]) -> Code:
    text, part = (_named(writer, writer.value(writer.expr(arg))) for arg in args)
    writer.meter(f"(len({text.text}) // 10 + 1) * (len({part.text}) // 10 + 1)")
    if text.of.kind == "string" and part.of.kind == "string":
        return Code(f"({part.text} in {text.text})", BOOL)
    return Code(f"({text.text}.find({part.text}) >= 0)", BOOL) if part.is_literal else _refuse()


def _refuse() -> Code:
    raise Unsupported


def _matches(writer: Writer, expr: Call, args: Sequence[Expr]) -> Code:
    pattern = writer.expr(args[1])
    if not pattern.is_literal:
        return _function(writer, expr, args)
    text = _named(writer, writer.value(writer.expr(args[0])))
    search = writer.constant(compiled(pattern.literal))
    writer.meter(f"(len({text.text}) // 10 + 2) * {math.ceil(len(pattern.literal) / 4)}")
    return Code(f"({search}({text.text}.encode(), 0) is not None)", BOOL)


# Members by index, and optionals


def _index(writer: Writer, expr: Call) -> Code:
    operand = writer.expr(expr.args[0])
    if operand.maybe or operand.of.kind == "optional" or operand.is_literal:
        raise Unsupported
    key_expr = expr.args[1]
    if isinstance(key_expr, Const) and key_expr.value.__class__ is str:
        writer.cost += 2
        return writer.member(operand, key_expr.value, writer.type_of(expr))
    key = writer.value(writer.expr(key_expr))
    writer.cost += 2
    of = writer.type_of(expr)
    node = operand.node
    if node is not None and node.kind == "map" and key.of.kind == "string":
        return Code(writer.name(f"{writer.container(operand, 'dict')}[{key.text}]"), of, node.items, is_name=True)
    if node is not None and node.kind in ("list", "set", "maplist") and key.of.kind == "int":
        parent, at = writer.container(operand, "list"), writer.local(key)
        return Code(writer.name(f"{parent}[{at}] if {at} >= 0 else fail()"), of, node.items, is_name=True)
    if node is not None:
        raise Unsupported
    text = f"{writer.constant(member)}({_named(writer, operand).text}, {key.text})"
    return Code(writer.name(text), of, is_name=True)


def _optional_select(writer: Writer, expr: Call) -> Code:
    key = expr.args[1]
    if not isinstance(key, Const) or key.value.__class__ is not str:
        raise Unsupported
    operand = writer.expr(expr.args[0])
    writer.cost += 2
    return optional_member(writer, operand, key.value, writer.type_of(expr))


def optional_member(writer: Writer, operand: Code, field: str, of: Type) -> Code:
    """The member of something that may be ABSENT, or ABSENT itself."""
    if operand.of.kind == "optional" and not operand.maybe:
        raise Unsupported
    node = operand.node
    if node is None:
        parent = writer.local(operand)
        return Code(writer.name(f"find({parent}, {field!r})"), of, is_name=True, maybe=True)
    if node.kind == "object":
        name = unescape(field)
        child = None if name is None else node.field(name)
    else:
        name, child = field, node.items if node.kind == "map" else None
    if child is None:
        raise Unsupported
    if operand.maybe:
        found = writer.name(f"A if {operand.text} is A else {operand.text}.get({name!r}, A)")
    else:
        found = writer.name(f"{writer.container(operand, 'dict')}.get({name!r}, A)")
    _enter_optional(writer, found, child, is_null_absent=node.kind == "object")
    return Code(found, of, child if child.kind in COMPOSITE else None, checked=True, is_name=True, maybe=True)


def _enter_optional(writer: Writer, found: str, child: Node, *, is_null_absent: bool) -> None:
    if is_null_absent:
        writer.line(f"if {found} is None: {found} = A")
    wanted = CLASSES.get(child.enter) or CONTAINERS.get(child.kind)
    if wanted is not None:
        writer.line(f"if {found} is not A and {found}.__class__ is not {wanted}: raise E")
    else:
        writer.line(f"if {found} is not A: {found} = {writer.constant(child.value)}({found})")


def _maybe(writer: Writer, expr: Expr) -> Code:
    code = writer.expr(expr)
    if not code.maybe:
        raise Unsupported
    return code


def _has_value(writer: Writer, expr: Call, args: Sequence[Expr]) -> Code:
    code = writer.expr(args[0])
    writer.cost += 1
    if not code.maybe:
        return Code(f"{_atom(code)}.present", BOOL)
    return Code(f"({code.text} is not A)", BOOL)


def _value(writer: Writer, expr: Call, args: Sequence[Expr]) -> Code:
    code = _maybe(writer, args[0])
    writer.cost += 1
    writer.line(f"if {code.text} is A: raise E")
    return Code(code.text, writer.type_of(expr), code.node, checked=code.checked, is_name=True)


def _or_value(writer: Writer, expr: Call, args: Sequence[Expr]) -> Code:
    code = _maybe(writer, args[0])
    with writer.inner() as block:
        other = writer.expr(args[1])
        is_empty = other.is_literal and other.literal in ([], {})
        node = code.node if code.node is other.node or is_empty else None
        if node is None:
            other = writer.value(other)
    of = writer.type_of(expr)
    if node is None and code.node is not None:
        code = Code(f"({code.text} if {code.text} is A else carried({code.text}, {writer.constant(code.node)}))", of)
        code = _named(writer, code)
    if not block:
        chosen = writer.name(f"{other.text} if {code.text} is A else {code.text}")
    else:
        chosen = writer.name(code.text)
        writer.block.append((f"if {chosen} is A:", [*block, f"{chosen} = {other.text}"]))
    return Code(chosen, of, node, checked=node is not None and (is_empty or other.checked), is_name=True)


def _dyn(writer: Writer, _expr: Call, args: Sequence[Expr]) -> Code:
    writer.cost += 1
    code = writer.value(writer.expr(args[0]))
    return Code(writer.local(code), DYN, is_name=True)


_FUNCTIONS: Final[dict[str, Callable[[Writer, Call, Sequence[Expr]], Code]]] = {
    **dict.fromkeys(("size_string", "size_list", "size_map", "string_size", "list_size", "map_size"), _size),
    "starts_with_string": _affix("startswith"),
    "ends_with_string": _affix("endswith"),
    "contains_string": _contains,
    "matches": _matches,
    "matches_string": _matches,
    "optional_hasValue": _has_value,
    "optional_value": _value,
    "optional_orValue_value": _or_value,
    "to_dyn": _dyn,
}

_SPECIAL: Final[dict[str, Callable[[Writer, Call], Code]]] = {
    "_&&_": _logical("and"),
    "_||_": _logical("or"),
    "_?_:_": _conditional,
    "!_": _not,
    "_==_": _equality(negated=False),
    "_!=_": _equality(negated=True),
    "_<_": _comparison("<", operators.less),
    "_<=_": _comparison("<=", operators.less_equal),
    "_>_": _comparison(">", operators.greater),
    "_>=_": _comparison(">=", operators.greater_equal),
    "_+_": _arithmetic("+", operators.add),
    "_-_": _arithmetic("-", operators.subtract),
    "_*_": _arithmetic("*", operators.multiply),
    "@in": _membership,
    "_[_]": _index,
    "_?._": _optional_select,
    "_[?_]": _optional_select,
}
