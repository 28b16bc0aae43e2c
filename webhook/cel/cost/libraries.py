"""Estimates for calls to libraries: the cost, and the size of the result.

cel-go's list and set libraries estimate by overload (``ext/lists.go`` at version 3,
``ext/sets.go``); they take precedence. Kubernetes' libraries, and cel-go's strings, are estimated
by function name (``apiserver/pkg/cel/library/cost.go``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from webhook.cel.cost.calls import CallEstimate, CallEstimator, Operand, Operands, pattern_cost, reading
from webhook.cel.cost.runtime import (
    AUTHORIZATION_CHECK,
    LIST_CREATE,
    REGEX_FACTOR,
    SORTED,
    STRING_FACTOR,
    STRUCT_CREATE,
)
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


def _slice(_id: str, operands: Operands) -> CallEstimate:
    whole, start, end = operands
    length = _int_of(end, whole.known_size.max) - _int_of(start, 0)
    return _new_list(1, fixed(length % (MAX + 1)))


def _flatten(_id: str, operands: Operands) -> CallEstimate:
    whole, *depth = operands
    return _new_list(float(_int_of(depth[0], MAX) if depth else 1), whole.known_size)


def _self_compare(operand: Operand, *, text: bool) -> CallEstimate:
    size = operand.known_size
    return _new_list(2 + STRING_FACTOR if text else 2, size.times(size))


def _sort(overload: str, operands: Operands) -> CallEstimate:
    """Of a list, or by the keys, which are the last operand."""
    return _self_compare(operands[-1], text=overload.startswith(("list_string_", "list_bytes_")))


def _sets(factor: float) -> CallEstimator:
    def estimate(_id: str, operands: Operands) -> CallEstimate:
        return CallEstimate(operands[0].known_size.times(operands[1].known_size).scaled(factor).plus(_ONE))

    return estimate


EXTENSIONS: Final[Mapping[str, CallEstimator]] = {
    "list_slice": _slice,
    "lists_range": lambda _, operands: _new_list(1, fixed(_int_of(operands[0], MAX))),
    "list_reverse": lambda _, operands: _new_list(1, operands[0].known_size),
    "list_flatten": _flatten,
    "list_flatten_int": _flatten,
    "list_distinct": lambda _, operands: _self_compare(operands[0], text=False),
    **{f"list_{name}_{what}": _sort for what in ("sort", "sortByAssociatedKeys") for name in SORTED},
    "list_sets_contains_list": _sets(1),
    "list_sets_intersects_list": _sets(1),
    "list_sets_equivalent_list": _sets(2),
}
"""By overload."""


# Kubernetes


def _constant(cost: int) -> CallEstimator:
    estimate = CallEstimate(fixed(cost))
    return lambda _id, _operands: estimate


def _selector(_id: str, operands: Operands) -> CallEstimate:
    length = operands[1].known_size
    requirements = length.scaled(0.5).scaled(float(_REQUIREMENT))
    return CallEstimate(fixed(LIST_CREATE).plus(length.scaled(STRING_FACTOR)).plus(requirements))


def _list_scan(function: str) -> CallEstimator:
    def estimate(_id: str, operands: Operands) -> CallEstimate:
        whole = operands[0]
        if not whole.of.params:
            includes = function == "includes"
            return CallEstimate(whole.known_size.times(_ONE) if includes else whole.known_size.scaled(STRING_FACTOR))
        element = _ONE
        if whole.of.params[0].kind in ("string", "bytes"):
            element = element.plus((whole.items or UNKNOWN).scaled(STRING_FACTOR))
        return CallEstimate(whole.known_size.times(element))

    return estimate


def _replace(_id: str, operands: Operands) -> CallEstimate:
    size, old, new = (operand.known_size for operand in operands[:3])
    most, kept_most = _replacements(size.max, old.min, replaced_grows=new.max > old.min)
    least, kept_least = _replacements(size.min, old.max, replaced_grows=old.max > new.min)
    result = Bounds(least, most).times(new).plus(Bounds(kept_least, kept_most))
    return CallEstimate(size.scaled(2 * STRING_FACTOR), result)


def _replacements(size: int, old: int, *, replaced_grows: bool) -> tuple[int, int]:
    """The number of replacements and the length of the rest, at one end of the bounds."""
    if old == 0:
        return saturated(size + 1), size
    return (math.ceil(float(size) / float(old)), 0) if replaced_grows else (0, size)


def _split(_id: str, operands: Operands) -> CallEstimate:
    size, limit = operands[0].known_size, operands[2].expr if len(operands) > 2 else None
    most = limit.value % (MAX + 1) if isinstance(limit, Const) and type(limit.value) is int else size.max
    return CallEstimate(size.scaled(2 * STRING_FACTOR), Bounds(0, most))


def _join(_id: str, operands: Operands) -> CallEstimate:
    whole, *separators = operands
    count = whole.known_size
    size = count.times(whole.items or UNKNOWN) if whole.of.params else fixed(0)
    for separator in separators:
        size = size.plus(separator.known_size.times(Bounds(max(0, count.min - 1), max(0, count.max - 1))))
    return CallEstimate(size.scaled(STRING_FACTOR), size)


def _find(_id: str, operands: Operands) -> CallEstimate:
    text, pattern = operands[:2]
    return CallEstimate(pattern_cost(text, pattern), Bounds(0, text.known_size.max))


def _contains_ip(overload: str, operands: Operands) -> CallEstimate:
    cost = _ADDRESS.plus(_ADDRESS).scaled(STRING_FACTOR)
    if overload == "cidr_contains_ip_string":
        cost = cost.plus(operands[1].known_size.scaled(STRING_FACTOR))
    return CallEstimate(cost)


def _contains_cidr(overload: str, operands: Operands) -> CallEstimate:
    cost = _ADDRESS.plus(_ADDRESS).scaled(STRING_FACTOR).plus(_ADDRESS.scaled(STRING_FACTOR)).plus(_ONE)
    if overload == "cidr_contains_cidr_string":
        cost = cost.plus(operands[1].known_size.scaled(STRING_FACTOR))
    return CallEstimate(cost)


def _equals(_id: str, operands: Operands) -> CallEstimate | None:
    """Equality of library values, whose cost does not depend on a length."""
    left, right = operands
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
    **dict.fromkeys(
        ("url", "jsonpatch.escapeKey", "lowerAscii", "upperAscii", "substring", "trim"), reading(0, keeps=True)
    ),
    "replace": _replace,
    "split": _split,
    "join": _join,
    "find": _find,
    "findAll": _find,
    **dict.fromkeys(("cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver"), reading(0)),
    "ip": lambda overload, operands: CallEstimate(_ONE) if overload == "cidr_ip" else reading(0)(overload, operands),
    "ip.isCanonical": reading(0, 2 * STRING_FACTOR),
    "containsIP": _contains_ip,
    "containsCIDR": _contains_cidr,
    "validate": lambda _, operands: CallEstimate(
        operands[1].known_size.scaled(STRING_FACTOR).scaled(_NAMED_FORMAT_PATTERN * REGEX_FACTOR)
    ),
    "_==_": _equals,
}
"""By function."""
