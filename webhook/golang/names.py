"""Kubernetes' rules for names: DNS labels and subdomains, label keys and values, path segments.

Each function returns the problems in apimachinery's words, [] for a valid value. For a value that is too long,
``util/validation`` says "characters"; ``api/validate/content``, which checks label keys and values, says "bytes"
(Kubernetes 1.36 and 1.37). Both count bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

_LONGEST_BASE: Final = 58
_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_LABEL_1035: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_KEY: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE: Final = f"({_KEY})?"
_is_label: Final = re.compile(_LABEL).fullmatch
_is_label_1035: Final = re.compile(_LABEL_1035).fullmatch
_is_subdomain: Final = re.compile(_SUBDOMAIN).fullmatch
_is_key: Final = re.compile(_KEY).fullmatch
_is_qualified: Final = re.compile(f"({_SUBDOMAIN}/)?{_KEY}").fullmatch
_is_value: Final = re.compile(_VALUE).fullmatch


def _syntax(sentence: str, pattern: str, *examples: str) -> str:
    """``RegexError``, with its two spaces before "or"."""
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{sentence} (e.g. {shown}regex used for validation is '{pattern}')"


_NOT_A_LABEL: Final = _syntax(
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character",
    _LABEL,
    "my-name",
    "123-abc",
)
_NOT_A_SUBDOMAIN: Final = _syntax(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character",
    _SUBDOMAIN,
    "example.com",
)
_NOT_A_1035_LABEL: Final = _syntax(
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
    "character, and end with an alphanumeric character",
    _LABEL_1035,
    "my-name",
    "abc-123",
)
_NOT_A_KEY: Final = _syntax(
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
    _KEY,
    "MyName",
    "my.name",
    "123-abc",
)
_NOT_A_VALUE: Final = _syntax(
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character",
    _VALUE,
    "MyValue",
    "my_value",
    "12345",
)


def _check(value: str, limit: int, unit: str, fits: Callable[[str], object], fault: str) -> list[str]:
    if len(value) <= limit and fits(value):  # so it is ASCII
        return []
    too_long = len(value.encode(errors="replace")) > limit
    length = [f"must be no more than {limit} {unit}"] if too_long else []
    return length if fits(value) else [*length, fault]


def dns_1123_label(value: str) -> list[str]:
    if len(value) <= 63 and _is_label(value):
        return []
    fault = "must not contain dots" if _is_subdomain(value) else _NOT_A_LABEL
    return _check(value, 63, "characters", _is_label, fault)


def dns_1123_subdomain(value: str) -> list[str]:
    return _check(value, 253, "characters", _is_subdomain, _NOT_A_SUBDOMAIN)


def dns_1035_label(value: str) -> list[str]:
    return _check(value, 63, "characters", _is_label_1035, _NOT_A_1035_LABEL)


def label_key(value: str) -> list[str]:
    """A qualified name: a name, optionally after a DNS subdomain and ``/``."""
    if len(value) <= 63 and _is_qualified(value):
        return []
    *prefixes, name = value.split("/")
    if len(prefixes) > 1:
        optional = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a valid label key {_NOT_A_KEY} {optional}"]
    problems = [f"prefix part {problem}" for prefix in prefixes for problem in _key_prefix(prefix)]
    own = _check(name, 63, "bytes", _is_key, _NOT_A_KEY)
    if not name:
        own = ["must be non-empty", *own]
    return problems + [f"name part {problem}" for problem in own]


def _key_prefix(value: str) -> list[str]:
    return _check(value, 253, "bytes", _is_subdomain, _NOT_A_SUBDOMAIN) if value else ["must be non-empty"]


def label_value(value: str) -> list[str]:
    return _check(value, 63, "bytes", _is_value, _NOT_A_VALUE)


def generated_name(base: str, suffix: str = "xxxxx") -> str:
    """The name that is generated of ``generateName``; the suffix stands for what is random (names/generate.go)."""
    return base[:_LONGEST_BASE] + suffix


def with_generated_name(obj: dict[str, Any], suffix: str = "xxxxx") -> dict[str, Any]:
    """The object with the name that the API server generates where it has none; itself if it does not ask for one."""
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict) or metadata.get("name"):
        return obj
    prefix = metadata.get("generateName")
    if not isinstance(prefix, str) or not prefix:
        return obj
    return {**obj, "metadata": {**metadata, "name": generated_name(prefix, suffix)}}


def path_segment(value: str) -> list[str]:
    if value in (".", ".."):
        return [f"may not be '{value}'"]
    return [f"may not contain '{char}'" for char in "/%" if char in value]
