"""Estimates for calls to libraries: the cost, and the size of the result.

cel-go's list and set libraries estimate by overload (``ext/lists.go`` at version 3,
``ext/sets.go``); they take precedence. Kubernetes' libraries, and cel-go's strings, are estimated
by function name (``apiserver/pkg/cel/library/cost.go``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from webhook.cel.cost.calls import CallEstimate, CallEstimator, Operand, Operands, pattern_cost, read_argument
from webhook.cel.cost.runtime import AUTHORIZATION_CHECK, LIST_CREATE, REGEX_FACTOR, STRING_FACTOR, STRUCT_CREATE
from webhook.cel.cost.sizes import MAX, UNKNOWN, Bounds, fixed, saturated
from webhook.cel.syntax.ast import Const

_ONE: Final = fixed(1)
_ADDRESS: Final = Bounds(4, 16)  # bytes of an IP address
_NAMED_FORMAT_PATTERN: Final = 128  # the longest pattern of a named format
_REQUIREMENT: Final = LIST_CREATE + STRUCT_CREATE  # one requirement of a selector


# Lists and sets of cel-go


def _int_of(operand: Operand, default: int) -> int:
    literal = operand.expr
    return max(0, literal.value) if isinstance(literal, Const) and type(literal.value) is int else default


def _new_list(factor: float, size: Bounds) -> CallEstimate:
    return CallEstimate(size.scaled(factor).plus(fixed(LIST_CREATE + 1)), size)


def _slice(_id: str, target: Operand | None, args: Operands) -> CallEstimate | None:
    if target is None or len(args) != 2:
        return None
    length = _int_of(args[1], target.known_size.max) - _int_of(args[0], 0)
    return _new_list(1, fixed(length % (MAX + 1)))


def _range(_id: str, _target: Operand | None, args: Operands) -> CallEstimate | None:
    return _new_list(1, fixed(_int_of(args[0], MAX)))


def _reverse(_id: str, target: Operand | None, _args: Operands) -> CallEstimate | None:
    return None if target is None else _new_list(1, target.known_size)


def _flatten(_id: str, target: Operand | None, args: Operands) -> CallEstimate | None:
    return None if target is None else _new_list(float(_int_of(args[0], MAX) if args else 1), target.known_size)


def _self_compare(operand: Operand, *, text: bool) -> CallEstimate:
    size = operand.known_size
    return _new_list(2 + STRING_FACTOR if text else 2, size.times(size))


def _distinct(_id: str, target: Operand | None, _args: Operands) -> CallEstimate | None:
    return None if target is None else _self_compare(target, text=False)


def _sort(overload: str, target: Operand | None, _args: Operands) -> CallEstimate | None:
    return None if target is None else _self_compare(target, text=overload in ("list_string_sort", "list_bytes_sort"))


def _sort_by(overload: str, _target: Operand | None, args: Operands) -> CallEstimate | None:
    text = overload.startswith(("list_string_", "list_bytes_"))
    return _self_compare(args[0], text=text)


def _sets(factor: float) -> CallEstimator:
    def estimate(_id: str, _target: Operand | None, args: Operands) -> CallEstimate | None:
        return CallEstimate(args[0].known_size.times(args[1].known_size).scaled(factor).plus(_ONE))

    return estimate


_SORTABLE: Final = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_SORTABLE_NAMES: Final = (*_SORTABLE, "google.protobuf.Duration", "google.protobuf.Timestamp")

EXTENSIONS: Final[Mapping[str, CallEstimator]] = {
    "list_slice": _slice,
    "lists_range": _range,
    "list_reverse": _reverse,
    "list_flatten": _flatten,
    "list_flatten_int": _flatten,
    "list_distinct": _distinct,
    **{f"list_{name}_sort": _sort for name in _SORTABLE_NAMES},
    **{f"list_{name}_sortByAssociatedKeys": _sort_by for name in _SORTABLE_NAMES},
    "list_sets_contains_list": _sets(1),
    "list_sets_intersects_list": _sets(1),
    "list_sets_equivalent_list": _sets(2),
}
"""By overload."""


# Kubernetes


def _constant(cost: int) -> CallEstimator:
    estimate = CallEstimate(fixed(cost))
    return lambda _id, _target, _args: estimate


def _selector(_id: str, _target: Operand | None, args: Operands) -> CallEstimate | None:
    length = args[0].known_size
    requirements = length.scaled(0.5).scaled(float(_REQUIREMENT))
    return CallEstimate(fixed(LIST_CREATE).plus(length.scaled(STRING_FACTOR)).plus(requirements))


def _list_scan(function: str) -> CallEstimator:
    def estimate(_id: str, target: Operand | None, _args: Operands) -> CallEstimate | None:
        if target is None:
            return None
        if not target.of.params:
            includes = function == "includes"
            return CallEstimate(target.known_size.times(_ONE) if includes else target.known_size.scaled(STRING_FACTOR))
        element = _ONE
        if target.of.params[0].kind in ("string", "bytes"):
            element = element.plus((target.items or UNKNOWN).scaled(STRING_FACTOR))
        return CallEstimate(target.known_size.times(element))

    return estimate


def _read(factor: float = STRING_FACTOR, *, keeps: bool = False) -> CallEstimator:
    """A function that reads its first argument or receiver; ``keeps`` if the result has the same length."""

    def estimate(_id: str, target: Operand | None, args: Operands) -> CallEstimate | None:
        size = (target or args[0]).known_size
        return CallEstimate(size.scaled(factor), size if keeps else None)

    return estimate


def _ip(overload: str, target: Operand | None, args: Operands) -> CallEstimate | None:
    return CallEstimate(_ONE) if overload == "cidr_ip" else read_argument(overload, target, args)


def _replace(_id: str, target: Operand | None, args: Operands) -> CallEstimate | None:
    if target is None or len(args) < 2:
        return None
    size, old, new = target.known_size, args[0].known_size, args[1].known_size
    most, kept_most = _replacements(size.max, old.min, replaced_grows=new.max > old.min)
    least, kept_least = _replacements(size.min, old.max, replaced_grows=old.max > new.min)
    result = Bounds(least, most).times(new).plus(Bounds(kept_least, kept_most))
    return CallEstimate(size.scaled(2 * STRING_FACTOR), result)


def _replacements(size: int, old: int, *, replaced_grows: bool) -> tuple[int, int]:
    """The number of replacements and the length of the rest, at one end of the bounds."""
    if old == 0:
        return saturated(size + 1), size
    return (math.ceil(float(size) / float(old)), 0) if replaced_grows else (0, size)


def _split(_id: str, target: Operand | None, args: Operands) -> CallEstimate | None:
    if target is None:
        return None
    limit = args[1].expr if len(args) > 1 else None
    most = limit.value % (MAX + 1) if isinstance(limit, Const) and type(limit.value) is int else target.known_size.max
    return CallEstimate(target.known_size.scaled(2 * STRING_FACTOR), Bounds(0, most))


def _join(_id: str, target: Operand | None, args: Operands) -> CallEstimate | None:
    if target is None:
        return None
    count = target.known_size
    size = count.times(target.items or UNKNOWN) if target.of.params else fixed(0)
    if args:
        size = size.plus(args[0].known_size.times(Bounds(max(0, count.min - 1), max(0, count.max - 1))))
    return CallEstimate(size.scaled(STRING_FACTOR), size)


def _find(_id: str, target: Operand | None, args: Operands) -> CallEstimate | None:
    if target is None or not args:
        return None
    return CallEstimate(pattern_cost(target.known_size, args[0].known_size), Bounds(0, target.known_size.max))


def _contains_ip(overload: str, _target: Operand | None, args: Operands) -> CallEstimate | None:
    cost = _ADDRESS.plus(_ADDRESS).scaled(STRING_FACTOR)
    if overload == "cidr_contains_ip_string":
        cost = cost.plus(args[0].known_size.scaled(STRING_FACTOR))
    return CallEstimate(cost)


def _contains_cidr(overload: str, _target: Operand | None, args: Operands) -> CallEstimate | None:
    cost = _ADDRESS.plus(_ADDRESS).scaled(STRING_FACTOR).plus(_ADDRESS.scaled(STRING_FACTOR)).plus(_ONE)
    if overload == "cidr_contains_cidr_string":
        cost = cost.plus(args[0].known_size.scaled(STRING_FACTOR))
    return CallEstimate(cost)


def _validate(_id: str, _target: Operand | None, args: Operands) -> CallEstimate | None:
    cost = args[0].known_size.scaled(STRING_FACTOR).scaled(_NAMED_FORMAT_PATTERN * REGEX_FACTOR)
    return CallEstimate(cost)


def _equals(_id: str, _target: Operand | None, args: Operands) -> CallEstimate | None:
    """Equality of library values, whose cost does not depend on a length."""
    left, right = args
    if left.of != right.of or left.of.kind not in ("opaque", "object"):
        return None
    match left.of.name:
        case "kubernetes.NamedFormat":
            return CallEstimate(Bounds(1, 64).scaled(STRING_FACTOR))
        case "kubernetes.URL":
            return CallEstimate(Bounds(1, 1 if right.size is None else right.size.max).scaled(STRING_FACTOR))
        case name if name in _CONSTANT_EQUALITY or name.startswith("kubernetes.authorization."):
            return CallEstimate(_ONE)
    return None


_CONSTANT_EQUALITY: Final = frozenset(["net.IP", "net.CIDR", "kubernetes.Quantity", "kubernetes.Semver"])
_UNIT_FUNCTIONS: Final = (
    "serviceAccount path group resource subresource namespace name allowed reason error errored masked prefixLength "
    "family isUnspecified isLoopback isLinkLocalMulticast isLinkLocalUnicast isGlobalUnicast format.named sign "
    "asInteger isInteger asApproximateFloat isGreaterThan isLessThan compareTo add sub major minor patch getScheme "
    "getHostname getHost getPort getEscapedPath getQuery"
)

KUBERNETES: Final[Mapping[str, CallEstimator]] = {
    "check": _constant(AUTHORIZATION_CHECK),
    **dict.fromkeys(_UNIT_FUNCTIONS.split(), _constant(1)),
    "fieldSelector": _selector,
    "labelSelector": _selector,
    **{name: _list_scan(name) for name in ("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf", "includes")},
    **dict.fromkeys(("url", "jsonpatch.escapeKey"), _read(keeps=True)),
    **dict.fromkeys(("lowerAscii", "upperAscii", "substring", "trim"), _read(keeps=True)),
    "replace": _replace,
    "split": _split,
    "join": _join,
    "find": _find,
    "findAll": _find,
    **dict.fromkeys(("cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver"), read_argument),
    "ip": _ip,
    "ip.isCanonical": _read(2 * STRING_FACTOR),
    "containsIP": _contains_ip,
    "containsCIDR": _contains_cidr,
    "validate": _validate,
    "_==_": _equals,
}
"""By function."""
