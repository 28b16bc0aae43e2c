"""Unification: which types are assignable, and the types of type parameters.

The rules of cel-go's ``checker/types.go``: a parameter takes the first type it meets and
grows to a more general one; ``dyn`` fits everywhere; ``null`` fits objects, opaque types,
timestamps and durations.
"""

from __future__ import annotations

from collections.abc import Sequence

from webhook.cel.types import DYN, Type

ERROR = Type("error")
_NULLABLE = frozenset({"opaque", "optional", "object", "any", "duration", "timestamp"})
_PARAMETRIC = frozenset({"opaque", "optional", "list", "map", "type"})


def is_dyn(of: Type) -> bool:
    return of.kind in ("dyn", "any")


def _is_wild(of: Type) -> bool:
    return of.kind in ("dyn", "any", "error")


class Bindings:
    """The types that are bound to type parameters."""

    __slots__ = ("_bound", "_trail")

    def __init__(self) -> None:
        self._bound: dict[Type, Type] = {}
        self._trail: list[tuple[Type, Type | None]] = []  # earlier bindings, to undo an attempt

    def assign(self, expected: Type, found: Type) -> bool:
        """Whether the type found is assignable; if so, binds parameters, otherwise changes nothing."""
        return self.assign_all((expected,), (found,))

    def assign_all(self, expected: Sequence[Type], found: Sequence[Type]) -> bool:
        """The same for two lists of types, which must have the same length."""
        self._trail.clear()
        if self._fit_all(expected, found):
            return True
        for parameter, before in reversed(self._trail):
            if before is None:
                del self._bound[parameter]
            else:
                self._bound[parameter] = before
        return False

    def substitute(self, of: Type, *, free_to_dyn: bool = False) -> Type:
        """``of`` with its bound parameters replaced; unbound parameters may become ``dyn``."""
        return substitute(self._bound, of, free_to_dyn=free_to_dyn)

    def _fit(self, one: Type, other: Type) -> bool:
        if one.kind != "param" and other.kind != "param" and one == other:
            return True
        if other.kind == "param":
            valid, bound = self._bind(one, other)
            if valid or bound:
                return valid
        if one.kind == "param":
            return self._bind(other, one)[0]
        if _is_wild(one) or _is_wild(other):
            return True
        if one.kind == "null" or other.kind == "null":
            typed = other if one.kind == "null" else one
            return typed.nullable or typed.kind in _NULLABLE or typed.kind == "null"
        if one.kind != other.kind:
            return False
        if one.kind == "type":
            return True
        return one.name == other.name and self._fit_all(one.params, other.params)

    def _fit_all(self, ones: Sequence[Type], others: Sequence[Type]) -> bool:
        return len(ones) == len(others) and all(map(self._fit, ones, others))

    def _bind(self, to: Type, parameter: Type) -> tuple[bool, bool]:
        """Bind ``parameter`` to ``to``; returns whether that is possible, and whether it was bound before."""
        if to == parameter:
            return True, True
        bound = self._bound.get(parameter)
        if bound is None:
            if self._occurs(parameter, to):
                return False, False
            self._set(parameter, to)
            return True, False
        if to == bound:
            return True, True
        if not self._fit(to, bound):
            return False, True
        general = most_general(to, bound)
        if not self._occurs(parameter, general):
            self._set(parameter, general)
        return True, True

    def _set(self, parameter: Type, to: Type) -> None:
        self._trail.append((parameter, self._bound.get(parameter)))
        self._bound[parameter] = to

    def _occurs(self, parameter: Type, within: Type) -> bool:
        if parameter == within:
            return True
        if within.kind == "param":
            bound = self._bound.get(within)
            return bound is not None and self._occurs(parameter, bound)
        return any(self._occurs(parameter, inner) for inner in within.params)


def substitute(bound: dict[Type, Type], of: Type, *, free_to_dyn: bool = False) -> Type:
    """``of`` with every bound parameter replaced, repeatedly."""
    while of.kind == "param" and of in bound:
        of = bound[of]
    if of.kind == "param":
        return DYN if free_to_dyn else of
    if of.kind not in _PARAMETRIC or not of.params:
        return of
    return Type(of.kind, tuple(substitute(bound, inner, free_to_dyn=free_to_dyn) for inner in of.params), of.name)


def most_general(one: Type, other: Type) -> Type:
    return one if _less_specific(one, other) else other


def _less_specific(one: Type, other: Type) -> bool:
    if is_dyn(one) or one.kind == "param":
        return True
    if is_dyn(other) or other.kind == "param" or one.kind != other.kind:
        return False
    if one.kind == "type":
        return True
    same = one.name == other.name and len(one.params) == len(other.params)
    return same and all(map(_less_specific, one.params, other.params))


def equivalent(one: Type, other: Type) -> bool:
    """Whether two types are equal except for type parameters."""
    if one.kind == "param" or other.kind == "param":
        return True
    same = one.kind == other.kind and one.name == other.name and len(one.params) == len(other.params)
    return same and all(map(equivalent, one.params, other.params))


def format_type(of: Type) -> str:
    """A type as cel-go's error messages print it."""
    if of.kind == "error":
        return "!error!"
    if of.nullable:
        return f"wrapper({of.kind})"
    name = "optional_type" if of.kind == "optional" else of.name or of.kind
    return f"{name}({', '.join(map(format_type, of.params))})" if of.params else name


def format_signature(args: Sequence[Type], *, member: bool) -> str:
    """Argument types as cel-go prints a call: ``(int, double)``, ``string.(int)``."""
    receiver = f"{format_type(args[0])}." if member else ""
    return f"{receiver}({', '.join(map(format_type, args[member:]))})"
