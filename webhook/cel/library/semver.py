"""The semantic versions of Kubernetes' CEL (the rules and texts of blang/semver)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Final

from webhook.cel import types
from webhook.cel.errors import CelError
from webhook.cel.overload import Overload, free, member
from webhook.cel.types import BOOL, INT, STRING, Type
from webhook.cel.values.value import UINT_MAX, Opaque
from webhook.golang.strconv import quote

_DIGITS: Final = re.compile(r"[0-9]*")
_IDENTIFIER: Final = re.compile(r"[0-9A-Za-z-]*")
_LONGEST: Final = 21  # one more than 64 bits need

Identifier = int | str


@dataclass(frozen=True, slots=True, eq=False)
class Semver(Opaque):
    """major.minor.patch, the identifiers of a pre-release, and build metadata, which does not affect the order."""

    numbers: tuple[int, int, int]
    pre: tuple[Identifier, ...] = ()
    build: tuple[str, ...] = ()

    cel_type: ClassVar[Type] = types.opaque("kubernetes.Semver")

    def cel_equal(self, other: object) -> bool | None:
        return self.compare(other) == 0 if isinstance(other, Semver) else None

    def compare(self, other: Semver) -> int:
        mine, theirs = self._key(), other._key()
        return (mine > theirs) - (mine < theirs)

    def _key(self) -> tuple[object, ...]:
        # A release comes after its pre-releases; numbers before words; fewer identifiers before more.
        pre = tuple((0, each, "") if isinstance(each, int) else (1, 0, each) for each in self.pre)
        return (self.numbers, not self.pre, pre)

    def __str__(self) -> str:
        pre = f"-{'.'.join(map(str, self.pre))}" if self.pre else ""
        build = f"+{'.'.join(self.build)}" if self.build else ""
        return f"{'.'.join(map(str, self.numbers))}{pre}{build}"


def _uint(digits: str) -> int:
    if not digits:
        raise CelError('strconv.ParseUint: parsing "": invalid syntax')
    if len(digits) > _LONGEST or int(digits) > UINT_MAX:
        raise CelError(f'strconv.ParseUint: parsing "{digits}": value out of range')
    return int(digits)


def _component(name: str, digits: str) -> int:
    if not _DIGITS.fullmatch(digits):
        raise CelError(f"Invalid character(s) found in {name.lower()} number {quote(digits)}")
    if len(digits) > 1 and digits[0] == "0":
        raise CelError(f"{name} number must not contain leading zeroes {quote(digits)}")
    return _uint(digits)


def _pre_release(text: str) -> Identifier:
    if not text:
        raise CelError("Prerelease is empty")
    if _DIGITS.fullmatch(text):
        if len(text) > 1 and text[0] == "0":
            raise CelError(f"Numeric PreRelease version must not contain leading zeroes {quote(text)}")
        return _uint(text)
    if not _IDENTIFIER.fullmatch(text):
        raise CelError(f"Invalid character(s) found in prerelease {quote(text)}")
    return text


def _build(text: str) -> str:
    if not text:
        raise CelError("Build meta data is empty")
    if not _IDENTIFIER.fullmatch(text):
        raise CelError(f"Invalid character(s) found in build meta data {quote(text)}")
    return text


def parse(text: str) -> Semver:
    if not text:
        raise CelError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise CelError("No Major.Minor.Patch elements found")
    major, minor = _component("Major", parts[0]), _component("Minor", parts[1])
    rest, plus, build = parts[2].partition("+")
    patch_text, dash, pre = rest.partition("-")
    patch = _component("Patch", patch_text)
    identifiers = tuple(map(_pre_release, pre.split("."))) if dash else ()
    return Semver((major, minor, patch), identifiers, tuple(map(_build, build.split("."))) if plus else ())


def _normalized(text: str) -> str:
    """Without a leading "v" and leading zeros, and with three numbers."""
    parts = text.removeprefix("v").split(".", 2)
    for i, part in enumerate(parts):
        if len(part.encode()) > 1:  # Go counts bytes
            stripped = part.lstrip("0")
            parts[i] = stripped if "0" <= stripped[:1] <= "9" else "0" + stripped
    if len(parts) < 3:
        if "+" in parts[-1] or "-" in parts[-1]:
            raise CelError("short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return ".".join(parts)


def to_semver(text: str, normalize: bool = False) -> Semver:
    return parse(_normalized(text) if normalize else text)


def is_semver(text: str, normalize: bool = False) -> bool:
    try:
        to_semver(text, normalize)
    except CelError:
        return False
    return True


def _int64(value: int) -> int:
    # Go keeps the number unsigned and turns it into an int as it is.
    return value - 2**64 if value >= 2**63 else value


def _number(place: int) -> Callable[[Semver], int]:
    return lambda version: _int64(version.numbers[place])


_V: Final = Semver.cel_type

SEMVER: Final[tuple[Overload, ...]] = (
    free("semver", "string_to_semver", (STRING,), _V, to_semver),
    free("semver", "string_bool_to_semver", (STRING, BOOL), _V, to_semver),
    free("isSemver", "is_semver_string", (STRING,), BOOL, is_semver),
    free("isSemver", "is_semver_string_bool", (STRING, BOOL), BOOL, is_semver),
    member("isGreaterThan", "semver_is_greater_than", (_V, _V), BOOL, lambda a, b: a.compare(b) > 0),
    member("isLessThan", "semver_is_less_than", (_V, _V), BOOL, lambda a, b: a.compare(b) < 0),
    member("compareTo", "semver_compare_to", (_V, _V), INT, Semver.compare),
    member("major", "semver_major", (_V,), INT, _number(0)),
    member("minor", "semver_minor", (_V,), INT, _number(1)),
    member("patch", "semver_patch", (_V,), INT, _number(2)),
)
