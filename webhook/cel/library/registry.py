"""Which functions an expression may call: the libraries of Kubernetes, by its minor version.

The table is that of ``apiserver/pkg/cel/environment/base.go``. An expression that is being
written may use what the compatibility version has; one that is already stored may use all.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from webhook.cel.library.authorizer import AUTHORIZER, SELECTORS
from webhook.cel.library.formats import FORMATS
from webhook.cel.library.ip import CIDR_TYPES, CIDRS, IP_TYPES, IPS
from webhook.cel.library.listext import LIST_EXTENSION, SETS, TWO_VARIABLES
from webhook.cel.library.lists import INCLUDES, LISTS
from webhook.cel.library.optionals import OPTIONAL_TYPES, OPTIONALS
from webhook.cel.library.quantity import QUANTITY
from webhook.cel.library.regex import REGEX
from webhook.cel.library.semver import SEMVER
from webhook.cel.library.standard import STANDARD, TYPE_NAMES
from webhook.cel.library.strings import STRINGS_0, STRINGS_2
from webhook.cel.library.urls import URLS
from webhook.cel.versions import LATEST, Version

if TYPE_CHECKING:
    from webhook.cel.overload import Overload
    from webhook.cel.types import Type


class Library(NamedTuple):
    """One row of the table: what comes with a version, and the version that takes it away again."""

    name: str
    since: Version
    overloads: tuple[Overload, ...] = ()
    types: Mapping[str, Type] = MappingProxyType({})
    until: Version | None = None


LIBRARIES: Final[tuple[Library, ...]] = (
    Library("standard", (1, 0), STANDARD, TYPE_NAMES),
    Library("urls", (1, 0), URLS),
    Library("regex", (1, 0), REGEX),
    Library("lists", (1, 0), LISTS),
    Library("authorizer", (1, 27), AUTHORIZER),
    Library("optionals", (1, 28), OPTIONALS, OPTIONAL_TYPES),
    Library("quantity", (1, 28), QUANTITY),
    Library("strings", (1, 0), STRINGS_0, until=(1, 29)),
    Library("strings.2", (1, 29), STRINGS_2),
    Library("sets", (1, 29), SETS),
    Library("ip", (1, 30), IPS, IP_TYPES),
    Library("cidr", (1, 30), CIDRS, CIDR_TYPES),
    Library("format", (1, 31), FORMATS),
    Library("authorizer.selectors", (1, 31), SELECTORS),
    Library("two-variable comprehensions", (1, 32), TWO_VARIABLES),
    Library("semver", (1, 33), SEMVER),
    Library("lists.extension", (1, 34), LIST_EXTENSION),
    Library("lists.1", (1, 37), INCLUDES),
)


@lru_cache
def _libraries(version: Version, *, stored: bool) -> tuple[Library, ...]:
    at = max(version, LATEST) if stored else version
    return tuple(row for row in LIBRARIES if row.since <= at and (row.until is None or at < row.until))


@lru_cache
def overloads(version: Version, *, stored: bool = True) -> Mapping[str, tuple[Overload, ...]]:
    """By function name, every overload in the order of declaration."""
    by_name: dict[str, tuple[Overload, ...]] = {}
    for library in _libraries(version, stored=stored):
        for overload in library.overloads:
            by_name[overload.function] = (*by_name.get(overload.function, ()), overload)
    return MappingProxyType(by_name)


@lru_cache
def constants(version: Version, *, stored: bool = True) -> Mapping[str, Type]:
    """By name, what the type names of the language and of its libraries denote (``int``, ``net.IP``)."""
    libraries = _libraries(version, stored=stored)
    return MappingProxyType({name: of for library in libraries for name, of in library.types.items()})
