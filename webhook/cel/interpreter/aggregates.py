"""Closures that make lists, maps and objects, at once or entry by entry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from webhook.cel.cost import runtime as costs
from webhook.cel.errors import CelError
from webhook.cel.interpreter.compiler import COST, RESERVED, Compiler, Frame, MakeObject, Run, Step, constant
from webhook.cel.library.listext import insert_all_into, insert_into
from webhook.cel.overload import no_overload
from webhook.cel.syntax.ast import Expr, ListExpr, MapEntry, MapExpr, StructExpr
from webhook.cel.types import Type
from webhook.cel.values.members import key_text
from webhook.cel.values.messages import MESSAGES
from webhook.cel.values.value import Opt, map_key, type_name


def compile_list(compiler: Compiler, expr: ListExpr, _base: int) -> Step:
    steps = [compiler.compile(element) for element in expr.elements]
    if all(step.is_constant for step in steps) and not expr.optional:
        return constant([step.constant for step in steps])
    elements = [step.value() for step in steps]
    return Step(_optional_list(elements, expr.optional) if expr.optional else _plain_list(elements))


def _plain_list(elements: Sequence[Run]) -> Run:
    def make(frame: Frame) -> list[Any]:
        frame[0] += costs.LIST_CREATE
        return [element(frame) for element in elements]

    return make


def _optional_list(elements: Sequence[Run], optional: frozenset[int]) -> Run:
    """A list some of whose elements are optional: ``[a, ?b]``; ``optional`` are their positions."""

    def make(frame: Frame) -> list[Any]:
        frame[0] += costs.LIST_CREATE
        made = []
        for position, element in enumerate(elements):
            value = element(frame)
            if position in optional:
                if value.__class__ is not Opt:
                    raise CelError(f"cannot initialize optional list element from non-optional value {key_text(value)}")
                if not value.present:
                    continue
                value = value.value
            made.append(value)
        return made

    return make


def compile_map(compiler: Compiler, expr: MapExpr, _base: int) -> Step:
    keys = [compiler.compile(entry.key) for entry in expr.entries if isinstance(entry.key, Expr)]
    values = [compiler.compile(entry.value) for entry in expr.entries]
    run = _map([key.value() for key in keys], [value.value() for value in values], expr.entries)
    if all(step.is_constant for step in (*keys, *values)) and not any(entry.optional for entry in expr.entries):
        return constant(run([0] * RESERVED))
    return Step(run)


def _map(keys: Sequence[Run], values: Sequence[Run], entries: Sequence[MapEntry]) -> Run:
    parts = [(key, value, entry.optional) for key, value, entry in zip(keys, values, entries, strict=True)]

    def make(frame: Frame) -> dict[Any, Any]:
        frame[0] += costs.MAP_CREATE
        made: dict[Any, Any] = {}
        for read_key, read_value, optional in parts:
            key = read_key(frame)
            _store(made, map_key(key), read_value(frame), key_text(key) if optional else None)
        return made

    return make


def compile_struct(compiler: Compiler, expr: StructExpr, _base: int) -> Step:
    values = [compiler.value(entry.value) for entry in expr.entries]
    of = compiler.checked.types[expr]
    message = MESSAGES.get(compiler.checked.references[expr].name)
    if message is None and of.kind != "object":
        raise CelError(f"unknown type: {type_name(of)}")
    make: MakeObject = compiler.make if message is None else lambda _type, fields: message.make(fields)
    return Step(_struct(make, of, values, expr.entries))


def _struct(make_object: MakeObject, of: Type, values: Sequence[Run], entries: Sequence[MapEntry]) -> Run:
    parts = [(entry.key, value, entry.optional) for entry, value in zip(entries, values, strict=True)]

    def make(frame: Frame) -> Any:
        frame[0] += costs.STRUCT_CREATE
        made: dict[str, Any] = {}
        for key, read_value, optional in parts:
            assert isinstance(key, str)
            _store(made, key, read_value(frame), key if optional else None)
        return make_object(of, made)

    return make


def _store(made: dict[Any, Any], key: Any, value: Any, optional: str | None) -> None:
    """Put an entry; ``optional`` is the name of a ``?`` entry, whose value is an optional."""
    if optional is not None:
        if value.__class__ is not Opt:
            raise CelError(f"cannot initialize optional entry '{optional}' from non-optional value {key_text(value)}")
        if not value.present:
            made.pop(key, None)
            return
        value = value.value
    made[key] = value


def insertion(parts: list[Run]) -> Callable[[Frame, dict[Any, Any]], None]:
    """A call of ``cel.@mapInsert`` on a map that may grow in place; ``parts`` are key and value, or a map."""
    if len(parts) == 2:
        read_key, read_value = parts

        def insert(frame: Frame, built: dict[Any, Any]) -> None:
            key = read_key(frame)
            frame[COST] += 1  # also if the value is an error
            insert_into(built, key, read_value(frame))

        return insert

    (read_entries,) = parts

    def insert_entries(frame: Frame, built: dict[Any, Any]) -> None:
        frame[COST] += 1
        entries = read_entries(frame)
        if not isinstance(entries, dict):
            raise no_overload("cel.@mapInsert", (built, entries))
        insert_all_into(built, entries)

    return insert_entries
