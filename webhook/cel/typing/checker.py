"""The type checker: assigns a type to every part of an expression before evaluation.

The algorithm and the messages are those of cel-go's ``checker/checker.go``. The checker continues
after an error, so that one run reports all: a wrong part gets the type *error*, which fits everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from webhook.cel.errors import CompileFailure, Issue
from webhook.cel.syntax.ast import (
    Call,
    Comprehension,
    Const,
    Expr,
    Ident,
    ListExpr,
    MapEntry,
    MapExpr,
    Select,
    StructExpr,
    qualified_name,
)
from webhook.cel.types import BOOL, DYN, INT, Type, list_of, map_of, object_of, optional_of, param
from webhook.cel.typing.declarations import Declarations, Function, Reference, Signature, fields_of
from webhook.cel.typing.unify import ERROR, Bindings, format_signature, format_type, is_dyn, most_general, substitute
from webhook.cel.values.value import type_name, type_of_value

_ERROR_LIMIT = 100  # cel-go reports at most so many


@dataclass(frozen=True, slots=True)
class Checked:
    """An expression without type errors.

    ``types`` has the type of every node (type parameters are resolved, ``dyn`` where they
    stay open), ``references`` the meaning of identifiers, qualified selections and calls.
    """

    source: str
    expr: Expr
    types: Mapping[Expr, Type]
    references: Mapping[Expr, Reference]

    @property
    def result(self) -> Type:
        return self.types[self.expr]


def check(expr: Expr, declarations: Declarations, source: str = "") -> Checked:
    """Check the types of an expression; raises :class:`CompileFailure` with every type error."""
    checker = _Checker(declarations, source)
    checker.check(expr)
    if checker.issues:
        raise CompileFailure(source, checker.issues[:_ERROR_LIMIT])
    types = {node: checker.bindings.substitute(of, free_to_dyn=True) for node, of in checker.types.items()}
    return Checked(source, expr, types, checker.references)


class _Checker:
    def __init__(self, declarations: Declarations, source: str) -> None:
        self.declarations = declarations
        self.source = source
        self.types: dict[Expr, Type] = {}
        self.references: dict[Expr, Reference] = {}
        self.issues: list[Issue] = []
        self.effects: dict[Expr, tuple[int, int, int]] = {}  # first and last issue, new type variables
        self.bindings = Bindings()
        self.local: dict[str, Type] = {}
        self.disabled = declarations.disabled
        self.free_vars = 0

    def check(self, expr: Expr) -> Type:
        """The type of the expression, computed once; a macro that uses a node twice repeats its errors."""
        of = self.types.get(expr)
        if of is not None:
            self._repeat(expr)
            return of
        issues, free_vars = len(self.issues), self.free_vars
        of = self.types[expr] = self._CHECKS[type(expr)](self, expr)
        if len(self.issues) > issues or self.free_vars > free_vars:
            self.effects[expr] = issues, len(self.issues), self.free_vars - free_vars
        return of

    def _repeat(self, expr: Expr) -> None:
        """Repeat the effects of checking a node: cel-go copies such a node and checks the copy."""
        first, last, free_vars = self.effects.get(expr, (0, 0, 0))
        self.free_vars += free_vars
        if len(self.issues) < _ERROR_LIMIT:
            self.issues += self.issues[first:last]

    def report(self, expr: Expr | MapEntry, message: str) -> None:
        self.issues.append(Issue.at(self.source, expr.pos, message))

    def fresh(self) -> Type:
        self.free_vars += 1
        return param(f"_var{self.free_vars - 1}")

    def resolved(self, of: Type) -> Type:
        return self.bindings.substitute(of)

    # Names

    def _const(self, expr: Const) -> Type:
        return type_of_value(expr.value)

    def _ident(self, expr: Ident) -> Type:
        local = self.local.get(expr.name)
        if local is not None:
            self.references[expr] = Reference(expr.name)
            return local
        found = self.declarations.variable(expr.name)
        if found is None:
            return self._undeclared(expr, expr.name)
        self.references[expr] = found[1]
        return found[0]

    def _undeclared(self, expr: Expr, name: str) -> Type:
        self.report(expr, f"undeclared reference to '{name}' (in container '{self.declarations.container}')")
        return ERROR

    def _select(self, expr: Select) -> Type:
        name = qualified_name(expr)
        is_global = name is not None and name.split(".", 1)[0] not in self.local
        found = self.declarations.variable(name) if name and is_global else None
        if found is not None:
            self.references[expr] = found[1]
            return found[0]
        of = self._field(expr, expr.operand, expr.field, optional=False)
        return BOOL if expr.test_only else self.resolved(of)

    def _field(self, expr: Expr, operand: Expr, name: str, *, optional: bool) -> Type:
        target = self.resolved(self.check(operand))
        if target.kind == "optional":
            optional, target = True, target.params[0]
        of = self._member(expr, target, name)
        return optional_of(of) if optional else of

    def _member(self, expr: Expr, target: Type, name: str) -> Type:
        if target.kind == "map":
            return target.params[1]
        if target.kind == "object":
            return self._object_field(expr, target, name)
        if target.kind == "opaque" and target.name.startswith("kubernetes."):
            # in Go these are objects without declared fields
            self.report(expr, f"unexpected failed resolution of '{target.name}'")
            return ERROR
        if target.kind == "param":
            self.bindings.assign(DYN, target)
        elif not is_dyn(target) and target.kind != "error":
            self.report(expr, f"type '{format_type(target)}' does not support field selection")
        return DYN

    def _object_field(self, expr: Expr | MapEntry, target: Type, name: str) -> Type:
        fields = fields_of(target)
        of = fields.get(name)
        if of is None and self.declarations.keyword_fields:
            of = fields.get(f"__{name}__")
        if of is None:
            self.report(expr, f"undefined field '{name}'")
            return ERROR
        return of

    # Calls

    def _call(self, expr: Call) -> Type:
        if expr.function == "_?._":
            return self._optional_select(expr)
        for arg in expr.args:
            self.check(arg)
        if expr.target is None:
            function = self.declarations.function(expr.function)
            if function is None:
                return self._undeclared(expr, expr.function)
            return self._resolve(expr, function, function.free, expr.args)
        prefix = qualified_name(expr.target)
        function = self.declarations.function(f"{prefix}.{expr.function}") if prefix else None
        if function is not None:
            return self._resolve(expr, function, function.free, expr.args, namespaced=True)
        self.check(expr.target)
        function = self.declarations.function(expr.function)
        if function is None:
            return self._undeclared(expr, expr.function)
        return self._resolve(expr, function, function.member, (expr.target, *expr.args), member=True)

    def _optional_select(self, expr: Call) -> Type:
        operand, name = expr.args
        assert isinstance(name, Const)
        self.types[name] = type_of_value(name.value)
        self.references[expr] = Reference("_?._")
        return self.resolved(self._field(expr, operand, name.value, optional=True))

    def _resolve(
        self,
        expr: Call,
        function: Function,
        signatures: Sequence[Signature],
        args: Sequence[Expr],
        *,
        member: bool = False,
        namespaced: bool = False,
    ) -> Type:
        types = [self.types[arg] for arg in args]
        if function.name in ("_&&_", "_||_"):
            return self._logical(expr, function, args)
        matching: list[Signature] = []
        result: Type | None = None
        for signature in signatures:
            if signature.overload.id in self.disabled:
                continue
            expected, candidate = self._instance(signature)
            if self.bindings.assign_all(types, expected):
                matching.append(signature)
                result = self._joined_result(result, self.resolved(candidate))
        if result is None:
            found = [self.bindings.substitute(of, free_to_dyn=True) for of in types]
            applied = format_signature(found, member=member)
            self.report(expr, f"found no matching overload for '{function.name}' applied to '{applied}'")
            return ERROR
        overloads = tuple(signature.overload for signature in matching)
        self.references[expr] = Reference(function.name, overloads=overloads, namespaced=namespaced)
        return result

    def _joined_result(self, result: Type | None, candidate: Type) -> Type:
        if result is None:
            return candidate
        return result if is_dyn(result) or candidate == result else DYN

    def _instance(self, signature: Signature) -> tuple[Sequence[Type], Type]:
        """The overload's argument and result types, with fresh type parameters."""
        overload = signature.overload
        if not signature.params:
            return overload.args, overload.result
        renamed = {of: self.fresh() for of in signature.params}
        return [substitute(renamed, of) for of in overload.args], substitute(renamed, overload.result)

    def _logical(self, expr: Call, function: Function, args: Sequence[Expr]) -> Type:
        wrong = [arg for arg in args if not self._expect(arg, BOOL, self.types[arg], flipped=True)]
        if wrong:
            return ERROR
        overloads = tuple(signature.overload for signature in function.free)
        self.references[expr] = Reference(function.name, overloads=overloads)
        return BOOL

    def _expect(self, expr: Expr, expected: Type, found: Type, *, flipped: bool = False) -> bool:
        fits = self.bindings.assign(found, expected) if flipped else self.bindings.assign(expected, found)
        if not fits:
            self._mismatch(expr, expected, found)
        return fits

    def _mismatch(self, expr: Expr, expected: Type, found: Type) -> None:
        self.report(expr, f"expected type '{format_type(expected)}' but found '{format_type(found)}'")

    # Literals

    def _list(self, expr: ListExpr) -> Type:
        joined: Type | None = None
        for index, element in enumerate(expr.elements):
            of = self.check(element)
            if index in expr.optional:
                of = self._unwrapped(element, of)
            joined = self._join(joined, of)
        return list_of(joined or self.fresh())

    def _map(self, expr: MapExpr) -> Type:
        key_type: Type | None = None
        value_type: Type | None = None
        for entry in expr.entries:
            assert isinstance(entry.key, Expr)
            key_type = self._join(key_type, self.check(entry.key))
            value_type = self._join(value_type, self._entry_value(entry))
        if key_type is None or value_type is None:
            key_type, value_type = self.fresh(), self.fresh()
        return map_of(key_type, value_type)

    def _entry_value(self, entry: MapEntry) -> Type:
        of = self.check(entry.value)
        return self._unwrapped(entry.value, of) if entry.optional else of

    def _unwrapped(self, expr: Expr, of: Type) -> Type:
        """The inner type of a ``?`` element, whose value must be an optional."""
        if of.kind == "optional":
            return of.params[0]
        if not is_dyn(of):
            self._mismatch(expr, optional_of(of), of)
        return of

    def _join(self, previous: Type | None, current: Type) -> Type:
        if previous is None:
            return current
        return most_general(previous, current) if self.bindings.assign(previous, current) else DYN

    def _struct(self, expr: StructExpr) -> Type:
        message = self.declarations.message(expr.name)
        if message is not None:
            self.references[expr] = Reference(message.name, message.type)
            self._fields(expr, object_of(message.name, message.fields))
            return message.type
        found = self.declarations.type_named(expr.name)
        if found is None:
            return self._undeclared(expr, expr.name)
        of, self.references[expr] = found
        if of.kind not in {"object", "list", "null"}:  # cel-go finds out about these two when it plans
            self.report(expr, f"'{type_name(of)}' is not a message type")
            of = ERROR
        self._fields(expr, of)
        return of

    def _fields(self, expr: StructExpr, of: Type) -> None:
        for entry in expr.entries:
            assert isinstance(entry.key, str)
            value = self._entry_value(entry)
            expected = ERROR if of is ERROR else self._object_field(entry, of, entry.key)
            if not self.bindings.assign(expected, value):
                message = f"but provided type is '{format_type(value)}'"
                self.report(entry, f"expected type of field '{entry.key}' is '{format_type(expected)}' {message}")

    # Macros

    def _comprehension(self, expr: Comprehension) -> Type:
        of = self.resolved(self.check(expr.iter_range))
        accumulator = self.check(expr.accu_init)
        first, second = self._iteration_types(expr, of)
        outer = self.local
        scope = {**outer, expr.accu_var: accumulator}
        self.local = {**scope, expr.iter_var: first}
        if expr.iter_var2 is not None:
            self.local[expr.iter_var2] = second
        self.disabled = frozenset()  # cel-go's scopes do not inherit it
        self._expect(expr.loop_condition, BOOL, self.check(expr.loop_condition))
        self._expect(expr.loop_step, accumulator, self.check(expr.loop_step))
        self.local = scope
        result = self.check(expr.result)
        self.local = outer
        return self.resolved(result)

    def _iteration_types(self, expr: Comprehension, of: Type) -> tuple[Type, Type]:
        """The types of the one or two variables of a macro over a range of type ``of``."""
        if of.kind == "list":
            return (of.params[0], of.params[0]) if expr.iter_var2 is None else (INT, of.params[0])
        if of.kind == "map":
            return of.params[0], of.params[1]
        if is_dyn(of) or of.kind in ("error", "param"):
            self.bindings.assign(DYN, of)
            return DYN, DYN
        message = "cannot be range of a comprehension (must be list, map, or dynamic)"
        self.report(expr.iter_range, f"expression of type '{format_type(of)}' {message}")
        return ERROR, ERROR

    _CHECKS: ClassVar[Mapping[type[Expr], Callable[[_Checker, Any], Type]]] = {
        Const: _const,
        Ident: _ident,
        Select: _select,
        Call: _call,
        ListExpr: _list,
        MapExpr: _map,
        StructExpr: _struct,
        Comprehension: _comprehension,
    }
