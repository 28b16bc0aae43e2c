"""The cost of a call at run time, in the units of the API server's budget.

The tables are those of cel-go's ``interpreter/runtimecost.go`` and of Kubernetes'
``pkg/cel/library/cost.go``. Kubernetes' functions are charged by name, cel-go's by the overload
that the checker chose. If it could not choose (``dyn`` arguments), the call costs 1.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from typing import Any, Final

from webhook.cel.values.value import Opt

Cost = Callable[[tuple[Any, ...], Any], int]
"""The cost of a call from its arguments and its result."""

LIST_CREATE: Final = 10
MAP_CREATE: Final = 30
STRUCT_CREATE: Final = 40
STRING_FACTOR: Final = 0.1  # per character, to read a string once
REGEX_FACTOR: Final = 0.25  # per character of a pattern, whose operators are taken to be four characters long
AUTHORIZATION_CHECK: Final = 350_000  # allows two checks within the limit of one expression


def size_of(value: Any) -> int:
    """The number of elements or characters; 1 for a value without a size. An optional has the size of its value."""
    if isinstance(value, (str, bytes, list, dict)):
        return len(value)
    if value.__class__ is Opt:
        return size_of(value.value) if value.present else 1
    size = getattr(value, "cel_size", None)  # an IP address is as long as its bytes, a CIDR as those of its prefix
    return 1 if size is None else int(size)


def _traversal(length: float, factor: float = STRING_FACTOR) -> int:
    return math.ceil(length * factor)


def _first(args: tuple[Any, ...], _result: Any) -> int:
    return _traversal(size_of(args[0]))


def _first_twice(args: tuple[Any, ...], _result: Any) -> int:
    return _traversal(size_of(args[0]) * 2)


def _shorter(args: tuple[Any, ...], _result: Any) -> int:
    return _traversal(min(size_of(args[0]), size_of(args[1])))


def _regex(args: tuple[Any, ...], _result: Any) -> int:
    # The 1 keeps an expensive pattern from being free on an empty string.
    return _traversal(1 + size_of(args[0])) * _traversal(size_of(args[1]), REGEX_FACTOR)


def _format(args: tuple[Any, ...], _result: Any) -> int:
    return _traversal(1 + size_of(args[1])) * _traversal(args[0].max_regex_size, REGEX_FACTOR)


def bound(cost: Cost, first: Any) -> tuple[int, int, int] | None:
    """An upper bound by the length of one argument: its index, and the two numbers of ``(length // n + 2) * m``.

    ``first`` is the first argument if it is known, else None. The bound is None where only the cost itself tells.
    """
    if cost is _format:
        return None if first is None else (1, 10, _traversal(first.max_regex_size, REGEX_FACTOR))
    characters = _CHARACTERS.get(cost)
    return None if characters is None else (0, characters, 1)


_CHARACTERS: Final[Mapping[Cost, int]] = {_first: 10, _first_twice: 5}


def _selector(args: tuple[Any, ...], _result: Any) -> int:
    # The shortest requirement is two characters ("k,"); each makes a struct and a list.
    length = size_of(args[1])
    requirements = _traversal(length, 0.5)
    return LIST_CREATE + _traversal(length) + requirements * (LIST_CREATE + STRUCT_CREATE)


def _contains_cidr(args: tuple[Any, ...], result: Any) -> int:
    return _first_twice(args, result) + _traversal(size_of(args[0])) + 1


def _tree_size(value: Any, known: dict[int, int]) -> int:
    """The size of all members. ``known`` are those of lists and maps, which values may share."""
    if value.__class__ is str:
        return int(len(value if value.isascii() else value.encode(errors="surrogatepass")) * STRING_FACTOR)
    if value.__class__ is bytes:
        return int(len(value) * STRING_FACTOR)
    if not isinstance(value, (list, dict)):
        return 1
    found = known.get(id(value))
    if found is None:
        members = value if isinstance(value, list) else itertools.chain(*value.items())
        found = known[id(value)] = sum(_tree_size(member, known) for member in members)
    return found


def _sets(factor: int) -> Cost:
    return lambda args, _: 1 + factor * size_of(args[0]) * size_of(args[1])


def _new_list_of(size: int, factor: float = 1) -> int:
    return int(size * factor) + 1 + LIST_CREATE


def _flatten(args: tuple[Any, ...], _result: Any) -> int:
    return _new_list_of(size_of(args[0]), args[1] if len(args) == 2 and args[1] >= 0 else 1)


def _compared_with_itself(args: tuple[Any, ...], _result: Any) -> int:
    keys = args[-1]  # the keys to sort by: the list itself, except in sortBy
    size = len(keys)
    return _new_list_of(size * size, 2 + STRING_FACTOR if keys and keys[0].__class__ in (str, bytes) else 2)


def _equals(args: tuple[Any, ...], _result: Any) -> int:
    # A value of a Kubernetes library has a fixed cost, even if it has a size (as an IP address).
    return 1 if hasattr(args[0], "cel_type") else _shorter(args, _result)


_BY_FUNCTION: Final[dict[str, Cost]] = {
    "check": lambda _args, _result: AUTHORIZATION_CHECK,
    "_==_": _equals,
    "validate": _format,
    "join": lambda _args, result: _traversal(size_of(result) * 2),
    "ip.isCanonical": _first_twice,
    "containsIP": _first_twice,
    "containsCIDR": _contains_cidr,
    **dict.fromkeys(("fieldSelector", "labelSelector"), _selector),
    **dict.fromkeys(
        ("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf", "includes"), lambda args, _: _tree_size(args[0], {})
    ),
    **dict.fromkeys(("url", "lowerAscii", "upperAscii", "substring", "trim", "jsonpatch.escapeKey", "shown"), _first),
    **dict.fromkeys(("cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver", "ip"), _first),
    **dict.fromkeys(("replace", "split"), _first_twice),
    **dict.fromkeys(("find", "findAll"), _regex),
}

_BY_KUBERNETES_OVERLOAD: Final[dict[str, Cost]] = {
    "cidr_ip": lambda _args, _result: 1,
    "cidr_contains_ip_ip": _first_twice,
    "cidr_contains_ip_string": lambda args, result: _first_twice(args, result) + _traversal(size_of(args[1])),
    "cidr_contains_cidr": _contains_cidr,
    "cidr_contains_cidr_string": lambda args, result: _contains_cidr(args, result) + _traversal(size_of(args[1])),
}

_TIMES: Final = ("google.protobuf.Duration", "google.protobuf.Timestamp")
SORTED: Final = ("int", "uint", "double", "bool", *_TIMES, "string", "bytes")
"""The names, in ids of overloads, of the types by which lists are sorted."""

_BY_OVERLOAD: Final[dict[str, Cost]] = {
    **dict.fromkeys(("string_to_bytes", "bytes_to_string", "strings_quote", "string_format"), _first),
    **dict.fromkeys(("starts_with_string", "ends_with_string"), lambda args, _: _traversal(size_of(args[1]))),
    "in_list": lambda args, _: size_of(args[1]),
    **dict.fromkeys(
        (f"{op}_{of}" for op in ("less", "less_equals", "greater", "greater_equals") for of in ("string", "bytes")),
        _shorter,
    ),
    "equals": _shorter,
    "not_equals": _shorter,
    **dict.fromkeys(("add_string", "add_bytes"), lambda args, _: _traversal(size_of(args[0]) + size_of(args[1]))),
    "matches": _regex,
    "matches_string": _regex,
    "contains_string": lambda args, _: _traversal(size_of(args[0])) * _traversal(size_of(args[1])),
    **dict.fromkeys(("list_sets_contains_list", "list_sets_intersects_list"), _sets(1)),
    "list_sets_equivalent_list": _sets(2),
    **dict.fromkeys(("list_slice", "lists_range", "list_reverse"), lambda _, result: _new_list_of(size_of(result))),
    **dict.fromkeys(("list_flatten", "list_flatten_int"), _flatten),
    "list_distinct": _compared_with_itself,
    **{f"list_{of}_{what}": _compared_with_itself for what in ("sort", "sortByAssociatedKeys") for of in SORTED},
}


def call_cost(function: str, overload_id: str = "") -> Cost | None:
    """The function that computes the cost of a call; None for a cost of 1.

    ``overload_id`` is "" if the checker could not choose between several overloads.
    """
    return _BY_KUBERNETES_OVERLOAD.get(overload_id) or _BY_FUNCTION.get(function) or _BY_OVERLOAD.get(overload_id)
