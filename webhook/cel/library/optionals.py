"""Optional values: ``optional.of(x)``, ``x.?f``, ``orValue`` (cel-go's optional types, version 2)."""

from __future__ import annotations

from operator import attrgetter
from typing import Any, Final

from webhook.cel.errors import CelError
from webhook.cel.overload import Overload, free, member
from webhook.cel.types import BOOL, DYN, INT, STRING, list_of, map_of, optional_of, param
from webhook.cel.values.members import index, optional_index
from webhook.cel.values.natives import Empty, dereferenced
from webhook.cel.values.times import MIN_UNIX
from webhook.cel.values.value import NONE, Duration, Opt, Timestamp
from webhook.golang.time import SECOND


def of_non_zero(value: Any) -> Opt:
    return NONE if is_zero(value) else Opt.of(value)


def is_zero(value: Any) -> bool:
    """Whether a value is the zero of its type; Go's zero time is the year 1."""
    if value is None or (isinstance(value, (bool, int, float, str, bytes, list, dict)) and not value):
        return True
    if value.__class__ is Timestamp:
        return bool(value.ns == MIN_UNIX * SECOND)
    return value.__class__ is Empty or (value.__class__ is Duration and value.ns == 0)


def none() -> Opt:
    return NONE


def or_(optional: Any, other: Any) -> Any:
    """``a.or(b)``; the backends evaluate ``b`` only if ``a`` is empty."""
    return _opened(optional, optional, other)


def or_value(optional: Any, other: Any) -> Any:
    """``a.orValue(b)``; the backends evaluate ``b`` only if ``a`` is empty."""
    return _opened(optional, optional.value if optional.__class__ is Opt else None, other)


def _opened(optional: Any, value: Any, other: Any) -> Any:
    if optional.__class__ is not Opt:
        raise CelError("no such overload")
    return value if optional.present else other


def unwrap(optionals: list[Any]) -> list[Any]:
    for each in optionals:
        if each.__class__ is not Opt:
            raise CelError(f"value {each} is not optional")
    return [each.value for each in optionals if each.present]


def first(values: list[Any]) -> Opt:
    return Opt.of(values[0]) if values else NONE


def last(values: list[Any]) -> Opt:
    return Opt.of(values[-1]) if values else NONE


_K, _V = param("K"), param("V")
_OPTIONAL, _LIST, _MAP = optional_of(_V), list_of(_V), map_of(_K, _V)
_OPTIONALS: Final = list_of(_OPTIONAL)


def _operator(function: str, overload_id: str, *args: Any) -> Overload:
    impl = index if function == "_[_]" else optional_index
    return Overload(function, overload_id, args, _OPTIONAL, False, impl, raw=impl)


OPTIONALS: Final[tuple[Overload, ...]] = (
    free("optional.of", "optional_of", (_V,), _OPTIONAL, Opt.of),
    free("optional.ofNonZeroValue", "optional_ofNonZeroValue", (_V,), _OPTIONAL, of_non_zero),
    free("optional.none", "optional_none", (), _OPTIONAL, none),
    member("value", "optional_value", (_OPTIONAL,), _V, dereferenced),
    member("hasValue", "optional_hasValue", (_OPTIONAL,), BOOL, attrgetter("present")),
    Overload("or", "optional_or_optional", (_OPTIONAL, _OPTIONAL), _OPTIONAL, True, or_, strict=False, raw=or_),
    Overload("orValue", "optional_orValue_value", (_OPTIONAL, _V), _V, True, or_value, strict=False, raw=or_value),
    _operator("_?._", "select_optional_field", DYN, STRING),
    _operator("_[?_]", "list_optindex_optional_int", _LIST, INT),
    _operator("_[?_]", "optional_list_optindex_optional_int", optional_of(_LIST), INT),
    _operator("_[?_]", "map_optindex_optional_value", _MAP, _K),
    _operator("_[?_]", "optional_map_optindex_optional_value", optional_of(_MAP), _K),
    _operator("_[_]", "optional_list_index_int", optional_of(_LIST), INT),
    _operator("_[_]", "optional_map_index_value", optional_of(_MAP), _K),
    member("last", "list_last", (_LIST,), _OPTIONAL, last),
    member("first", "list_first", (_LIST,), _OPTIONAL, first),
    free("optional.unwrap", "optional_unwrap", (_OPTIONALS,), _LIST, unwrap),
    member("unwrapOpt", "optional_unwrapOpt", (_OPTIONALS,), _LIST, unwrap),
)

OPTIONAL_TYPES: Final = {"optional_type": optional_of(DYN)}
