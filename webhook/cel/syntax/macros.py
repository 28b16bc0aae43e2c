"""The macros of CEL: calls that the parser expands.

``all``, ``exists``, ``exists_one``, ``map``, ``filter``, ``has``; with optionals ``optMap`` and
``optFlatMap``; the two-variable forms with ``transformList``, ``transformMap`` and
``transformMapEntry``; ``sortBy`` of the list library. The expansions are those of cel-go
(``parser/macro.go``, ``ext/comprehensions.go``, ``cel/library.go``, ``ext/lists.go``), so
that costs and errors are the same. Where cel-go copies an expression, this parser uses the same
node twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from webhook.cel.syntax.ast import Call, Comprehension, Const, Expr, Ident, ListExpr, MapExpr, Select

ACCUMULATOR = "@result"  # cannot be written in an expression, so no variable hides it
UNUSED = "#unused"
_RESERVED = (ACCUMULATOR, "__result__")


class MacroError(Exception):
    """A macro has invalid arguments; ``pos`` is the position of the argument."""

    def __init__(self, pos: int, message: str) -> None:
        super().__init__(message)
        self.pos = pos


Expander = Callable[[int, Expr | None, tuple[Expr, ...]], Expr]
Macros = Mapping[tuple[str, int, bool], Expander]  # by name, number of arguments, whether it has a receiver


def _accu(pos: int) -> Ident:
    return Ident(pos, ACCUMULATOR)


def _call(pos: int, function: str, *args: Expr) -> Call:
    return Call(pos, function, None, args)


def _variable(arg: Expr, message: str) -> str:
    if not isinstance(arg, Ident):
        raise MacroError(arg.pos, message)
    if arg.name in _RESERVED:
        raise MacroError(arg.pos, "iteration variable overwrites accumulator variable")
    return arg.name


def _variables(args: tuple[Expr, ...]) -> tuple[str, str]:
    first, second = (_variable(arg, "argument must be a simple name") for arg in args[:2])
    if first == second:
        raise MacroError(args[1].pos, f"duplicate variable name: {first}")
    return first, second


def _has(pos: int, _target: Expr | None, args: tuple[Expr, ...]) -> Expr:
    (arg,) = args
    if not isinstance(arg, Select):
        raise MacroError(arg.pos, "invalid argument to has() macro")
    return Select(pos, arg.operand, arg.field, test_only=True)


def _fold(pos: int, target: Expr | None, names: tuple[str, str | None], macro: str, parts: tuple[Expr, ...]) -> Expr:
    assert target is not None
    init, condition, step, result = parts
    return Comprehension(pos, target, names[0], names[1], ACCUMULATOR, init, condition, step, result, macro)


def _all_parts(pos: int, body: Expr) -> tuple[Expr, ...]:
    condition = _call(pos, "@not_strictly_false", _accu(pos))
    return Const(pos, True), condition, _call(pos, "_&&_", _accu(pos), body), _accu(pos)


def _exists_parts(pos: int, body: Expr) -> tuple[Expr, ...]:
    condition = _call(pos, "@not_strictly_false", _call(pos, "!_", _accu(pos)))
    return Const(pos, False), condition, _call(pos, "_||_", _accu(pos), body), _accu(pos)


def _exists_one_parts(pos: int, body: Expr) -> tuple[Expr, ...]:
    step = _call(pos, "_?_:_", body, _call(pos, "_+_", _accu(pos), Const(pos, 1)), _accu(pos))
    return Const(pos, 0), Const(pos, True), step, _call(pos, "_==_", _accu(pos), Const(pos, 1))


def _collect_parts(pos: int, item: Expr, condition: Expr | None) -> tuple[Expr, ...]:
    step = _call(pos, "_+_", _accu(pos), ListExpr(pos, (item,)))
    return _filtered(pos, ListExpr(pos, ()), step, condition)


def _insert_parts(pos: int, entry: tuple[Expr, ...], condition: Expr | None) -> tuple[Expr, ...]:
    return _filtered(pos, MapExpr(pos, ()), _call(pos, "cel.@mapInsert", _accu(pos), *entry), condition)


def _filtered(pos: int, init: Expr, step: Expr, condition: Expr | None) -> tuple[Expr, ...]:
    if condition is not None:
        step = _call(pos, "_?_:_", condition, step, _accu(pos))
    return init, Const(pos, True), step, _accu(pos)


def _quantifier(name: str, parts: Callable[[int, Expr], tuple[Expr, ...]], *, pairs: bool = False) -> Expander:
    def expand(pos: int, target: Expr | None, args: tuple[Expr, ...]) -> Expr:
        names = _variables(args) if pairs else (_variable(args[0], "argument must be a simple name"), None)
        return _fold(pos, target, names, name, parts(pos, args[-1]))

    return expand


def _map(pos: int, target: Expr | None, args: tuple[Expr, ...]) -> Expr:
    variable = _variable(args[0], "argument is not an identifier")
    condition = args[1] if len(args) == 3 else None
    return _fold(pos, target, (variable, None), "map", _collect_parts(pos, args[-1], condition))


def _filter(pos: int, target: Expr | None, args: tuple[Expr, ...]) -> Expr:
    variable = _variable(args[0], "argument is not an identifier")
    return _fold(pos, target, (variable, None), "filter", _collect_parts(pos, args[0], args[1]))


def _transform_list(pos: int, target: Expr | None, args: tuple[Expr, ...]) -> Expr:
    condition = args[2] if len(args) == 4 else None
    return _fold(pos, target, _variables(args), "transformList", _collect_parts(pos, args[-1], condition))


def _transform_map(pos: int, target: Expr | None, args: tuple[Expr, ...]) -> Expr:
    names = _variables(args)
    condition = args[2] if len(args) == 4 else None
    entry = (Ident(pos, names[0]), args[-1])
    return _fold(pos, target, names, "transformMap", _insert_parts(pos, entry, condition))


def _transform_map_entry(pos: int, target: Expr | None, args: tuple[Expr, ...]) -> Expr:
    condition = args[2] if len(args) == 4 else None
    parts = _insert_parts(pos, (args[-1],), condition)
    return _fold(pos, target, _variables(args), "transformMapEntry", parts)


def _bind(pos: int, name: str, value: Expr, body: Expr, macro: str) -> Expr:
    """``body`` with ``name`` bound to ``value``: a fold over an empty list."""
    return Comprehension(
        pos, ListExpr(pos, ()), UNUSED, None, name, value, Const(pos, False), Ident(pos, name), body, macro
    )


def _optional_map(name: str) -> Expander:
    def expand(pos: int, target: Expr | None, args: tuple[Expr, ...]) -> Expr:
        if not isinstance(args[0], Ident):
            raise MacroError(args[0].pos, f"{name}() variable name must be a simple identifier")
        body = _bind(pos, args[0].name, Call(pos, "value", target, ()), args[1], name)
        then = body if name == "optFlatMap" else _call(pos, "optional.of", body)
        return _call(pos, "_?_:_", Call(pos, "hasValue", target, ()), then, _call(pos, "optional.none"))

    return expand


def _sort_by(pos: int, target: Expr | None, args: tuple[Expr, ...]) -> Expr:
    if not isinstance(target, (ListExpr, Select, Ident, Comprehension, Call)):
        place = target.pos if target is not None else pos
        message = "sortBy can only be applied to a list, identifier, comprehension, call or select expression"
        raise MacroError(place, message)
    name = "@__sortBy_input__"
    keys = _map(pos, Ident(pos, name), args)
    return _bind(pos, name, target, Call(pos, "@sortByAssociatedKeys", Ident(pos, name), (keys,)), "sortBy")


_EXISTS_ONE = _quantifier("exists_one", _exists_one_parts)
_EXISTS_ONE2 = _quantifier("exists_one", _exists_one_parts, pairs=True)

STANDARD: Macros = {
    ("has", 1, False): _has,
    ("all", 2, True): _quantifier("all", _all_parts),
    ("exists", 2, True): _quantifier("exists", _exists_parts),
    ("exists_one", 2, True): _EXISTS_ONE,
    ("existsOne", 2, True): _EXISTS_ONE,
    ("map", 2, True): _map,
    ("map", 3, True): _map,
    ("filter", 2, True): _filter,
}
OPTIONAL: Macros = {
    ("optMap", 2, True): _optional_map("optMap"),
    ("optFlatMap", 2, True): _optional_map("optFlatMap"),
}
TWO_VARIABLE: Macros = {
    ("all", 3, True): _quantifier("all", _all_parts, pairs=True),
    ("exists", 3, True): _quantifier("exists", _exists_parts, pairs=True),
    ("exists_one", 3, True): _EXISTS_ONE2,
    ("existsOne", 3, True): _EXISTS_ONE2,
    ("transformList", 3, True): _transform_list,
    ("transformList", 4, True): _transform_list,
    ("transformMap", 3, True): _transform_map,
    ("transformMap", 4, True): _transform_map,
    ("transformMapEntry", 3, True): _transform_map_entry,
    ("transformMapEntry", 4, True): _transform_map_entry,
}
LISTS: Macros = {("sortBy", 2, True): _sort_by}


def macros(*groups: Macros) -> Macros:
    """Merge groups of macros into one table."""
    return MappingProxyType({key: expander for group in groups for key, expander in group.items()})
