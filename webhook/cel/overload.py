"""One signature of a function: the checker resolves calls to it, and the backends run it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from webhook.cel.cost.runtime import Cost, call_cost
from webhook.cel.errors import CelError
from webhook.cel.types import Type
from webhook.cel.values.value import Duration, Opt, Timestamp, UInt, type_name, type_of_value

__all__ = ["Cost", "Overload", "dispatcher", "free", "member", "no_overload"]


@dataclass(frozen=True, slots=True)
class Overload:
    """A function's signature and implementation.

    ``function`` is an operator (``_+_``), a name (``size``) or a dotted name (``sets.contains``,
    which has no receiver). ``id`` is cel-go's or Kubernetes' overload id. ``args`` holds the
    receiver first when ``member``. ``impl`` takes native values and returns one, or raises
    ``CelError``. It checks its arguments, as cel-go does: a ``dyn`` argument may hold any value.
    ``raw`` is the same function without these checks, for arguments that are proven to have its types.
    ``cost`` None means 1. An overload that is not ``strict`` is also called with errors as arguments.
    """

    function: str
    id: str
    args: tuple[Type, ...]
    result: Type
    member: bool
    impl: Callable[..., Any]
    cost: Cost | None = None
    strict: bool = True
    raw: Callable[..., Any] | None = None

    def accepts(self, values: Sequence[Any]) -> bool:
        """Whether it takes these values; of a list or a map, only the first element is examined."""
        return len(values) == len(self.args) and all(map(_assignable, self.args, values))


def free(function: str, id: str, args: Sequence[Type], result: Type, impl: Callable[..., Any]) -> Overload:  # noqa: A002
    """An overload called as ``function(args…)``; ``impl`` may trust the types of its arguments."""
    return _overload(function, id, tuple(args), result, impl, is_member=False)


def member(function: str, id: str, args: Sequence[Type], result: Type, impl: Callable[..., Any]) -> Overload:  # noqa: A002
    """An overload called as ``args[0].function(args[1:]…)``; ``impl`` may trust the types of its arguments."""
    return _overload(function, id, tuple(args), result, impl, is_member=True)


def _overload(
    function: str, overload_id: str, args: tuple[Type, ...], result: Type, raw: Callable[..., Any], *, is_member: bool
) -> Overload:
    impl = _guarded(function, args, raw)
    return Overload(function, overload_id, args, result, is_member, impl, call_cost(function, overload_id), raw=raw)


_CLASSES: Final[dict[str, type]] = {
    "bool": bool,
    "int": int,
    "uint": UInt,
    "double": float,
    "string": str,
    "bytes": bytes,
    "timestamp": Timestamp,
    "duration": Duration,
    "optional": Opt,
}
"""The kinds of types whose values have one class; other kinds need :func:`_assignable`."""


def _guarded(function: str, args: tuple[Type, ...], raw: Callable[..., Any]) -> Callable[..., Any]:
    if all(of.kind in ("dyn", "param") for of in args):
        return raw
    classes = [_CLASSES.get(of.kind) for of in args]
    if len(args) == 1:
        return _guarded_unary(function, args[0], classes[0], raw)
    if len(args) == 2:
        return _guarded_binary(function, args, classes, raw)

    def guarded(*values: Any) -> Any:
        if len(values) == len(args) and all(map(_assignable, args, values)):
            return raw(*values)
        raise no_overload(function, values)

    return guarded


def _guarded_unary(function: str, of: Type, expected: type | None, raw: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def guarded(value: Any) -> Any:
        if value.__class__ is expected or _assignable(of, value):
            return raw(value)
        raise no_overload(function, (value,))

    return guarded


def _guarded_binary(
    function: str, args: tuple[Type, ...], classes: Sequence[type | None], raw: Callable[[Any, Any], Any]
) -> Callable[[Any, Any], Any]:
    (first, second), (first_class, second_class) = args, classes

    def guarded(a: Any, b: Any) -> Any:
        if (a.__class__ is first_class or _assignable(first, a)) and (
            b.__class__ is second_class or _assignable(second, b)
        ):
            return raw(a, b)
        raise no_overload(function, (a, b))

    return guarded


def _assignable(of: Type, value: Any) -> bool:
    if of.kind in ("dyn", "param", "any"):
        return True
    if type_name(of) != type_name(type_of_value(value)):
        return False
    if of.kind == "list":
        return not value or _assignable(of.params[0], value[0])
    if of.kind == "map" and value:
        key, item = next(iter(value.items()))
        return _assignable(of.params[0], key) and _assignable(of.params[1], item)
    return True


def no_overload(function: str, values: Sequence[Any]) -> CelError:
    """The error of a call whose arguments fit no signature."""
    signature = ", ".join(type_name(type_of_value(value)) for value in values)
    return CelError(f"no such overload: {function}({signature})")


def dispatcher(overloads: Sequence[Overload]) -> Callable[..., Any]:
    """The implementation of a call whose overload is unknown until run time: the first that accepts the values.

    ``overloads`` are all overloads of the function, in the order of their declaration.
    """
    first = overloads[0]
    if all(overload.impl is first.impl for overload in overloads):
        return first.impl

    by_class = _by_class(overloads)

    def dispatch(*values: Any) -> Any:
        if len(values) == 1 and (chosen := by_class.get(values[0].__class__)) is not None:
            return chosen(values[0])
        for overload in overloads:
            if overload.accepts(values):
                return (overload.raw or overload.impl)(*values)
        raise no_overload(first.function, values)

    return dispatch


def _by_class(overloads: Sequence[Overload]) -> Mapping[type, Callable[[Any], Any]]:
    """What the first overload that accepts a single value of a class does, as long as classes tell which it is."""
    by_class = dict[type, Callable[[Any], Any]]()
    for overload in overloads:
        if len(overload.args) == 1:
            expected = _CLASSES.get(overload.args[0].kind)
            if expected is None:
                break
            by_class.setdefault(expected, overload.raw or overload.impl)
    return by_class
