"""Formats of single values in a pod: each returns the problems in apimachinery's words, [] for a valid value."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from math import inf
from typing import Any, Final

from webhook.golang.errors import GoError
from webhook.golang.names import dns_1123_label, dns_1123_subdomain, label_key, label_value
from webhook.golang.net import is_ip
from webhook.golang.netip import parse_address

_LIMIT: Final = 2**31 - 1
_UNDERSCORE: Final = r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_UNDERSCORE}(\.{_UNDERSCORE})*"
_is_underscored: Final = re.compile(_SUBDOMAIN).fullmatch
_is_config_key: Final = re.compile(r"[-._a-zA-Z0-9]+").fullmatch
_is_header: Final = re.compile(r"[-A-Za-z0-9]+").fullmatch
_is_port_name: Final = re.compile(r"[-a-z0-9]+").fullmatch
_has_letter: Final = re.compile("[a-z]").search
_IP: Final = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"


def between(low: int, high: int) -> str:
    """``InclusiveRangeError``."""
    return f"must be between {low} and {high}, inclusive"


def _range(low: int, high: float, why: str = "") -> Callable[[int], list[str]]:
    return lambda value: [] if low <= value <= high else [why or between(low, int(high))]


def _up_the_tree(value: str) -> list[str]:
    """``hasChDirPrefix``."""
    if value in (".", ".."):
        return [f"must not be '{value}'"]
    return ["must not start with '..'"] if value.startswith("..") else []


def _config_key(value: str) -> list[str]:
    problems = ["must be no more than 253 characters"] if len(value.encode(errors="replace")) > 253 else []
    if not _is_config_key(value):
        problems.append(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or "
            "'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
        )
    return problems + _up_the_tree(value)


def _env_name(value: str) -> list[str]:
    if value.isascii() and value.isprintable() and "=" not in value:
        return []
    return ["a valid environment variable name must consist only of printable ASCII characters other than '='"]


def _env_key(value: str) -> list[str]:
    return _env_name(value) if value else ["environment variable name must be non-empty"]


def _header(value: str) -> list[str]:
    if _is_header(value):
        return []
    fault = "a valid HTTP header must consist of alphanumeric characters or '-'"
    return [f"{fault} (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')"]


def _port_name(value: str) -> list[str]:
    problems = ["must be no more than 15 characters"] if len(value.encode(errors="replace")) > 15 else []
    if not _is_port_name(value):
        problems.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not _has_letter(value):
        problems.append("must contain at least one letter (a-z)")
    if "--" in value:
        problems.append("must not contain consecutive hyphens")
    if value.startswith("-") or value.endswith("-"):
        problems.append("must not begin or end with a hyphen")
    return problems


def _underscored(value: str) -> list[str]:
    problems = ["must be no more than 253 characters"] if len(value.encode(errors="replace")) > 253 else []
    if not _is_underscored(value):
        problems.append(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and "
            "must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
            f"'{_SUBDOMAIN}')"
        )
    return problems


def _prefix(value: str) -> list[str]:
    """A subdomain of which more may follow: a last "-" is allowed."""
    return dns_1123_subdomain(f"{value[:-2]}a" if len(value) > 1 and value.endswith("-") else value)


def _ip(value: str) -> list[str]:
    """``IsValidIPForLegacyField`` with ``StrictIPCIDRValidation``, which is on by default."""
    if not is_ip(value):
        return [_IP]
    try:
        return ["must not be an IPv4-mapped IPv6 address"] if parse_address(value).is_mapped else []
    except GoError:
        return ["must not have leading 0s"]


def no_backsteps(value: str) -> list[str]:
    return ["must not contain '..'"] if ".." in value.split("/") else []


def relative_path(value: str) -> list[str]:
    return (["must be a relative path"] if value.startswith("/") else []) + no_backsteps(value)


def local_path(value: str) -> list[str]:
    """``ValidateLocalNonReservedPath``."""
    reserved = value.startswith("..") and not value.startswith("../")
    return relative_path(value) + (["must not start with '..'"] if reserved else [])


FORMATS: Final[Mapping[str, tuple[type, Callable[[Any], list[str]]]]] = {
    "label": (str, dns_1123_label),
    "subdomain": (str, dns_1123_subdomain),
    "prefix": (str, _prefix),
    "search": (str, _underscored),
    "key": (str, label_key),
    "value": (str, label_value),
    "configKey": (str, _config_key),
    "envName": (str, _env_name),
    "envKey": (str, _env_key),
    "header": (str, _header),
    "portName": (str, _port_name),
    "ip": (str, _ip),
    "noBacksteps": (str, no_backsteps),
    "relativePath": (str, relative_path),
    "localPath": (str, local_path),
    "absolutePath": (str, lambda value: [] if value.startswith("/") else ["must be an absolute path"]),
    "noSlash": (str, lambda value: ["must not contain '/'"] if "/" in value else []),
    "id": (int, _range(0, _LIMIT)),
    "port": (int, _range(1, 65535)),
    "hostPort": (int, lambda value: _range(1, 65535)(value) if value else []),
    "lun": (int, _range(0, 255)),
    "deadline": (int, _range(1, _LIMIT)),
    "mode": (int, _range(0, 0o777, "must be a number between 0 and 0777 (octal), both inclusive")),
    "partition": (int, _range(0, 255, between(1, 255))),  # the text says 1, the rule allows 0
    "weight": (int, _range(1, 100, "must be in the range 1-100")),
    "natural": (int, _range(0, inf, "must be greater than or equal to 0")),
    "positive": (int, _range(1, inf, "must be greater than zero")),
    "aboveZero": (int, _range(1, inf, "must be greater than 0")),
    "one": (int, _range(0, 1, "must be 1")),  # 0 gets the default
}
"""By name: the type that JSON gives the value, and its problems."""
