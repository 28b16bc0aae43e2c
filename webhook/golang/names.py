"""Kubernetes' rules for names: DNS labels and subdomains, label keys and values, path segments.

Each function returns what is wrong, in apimachinery's words (``api/validate/content``); [] if nothing is.
"""

from __future__ import annotations

import re

__all__ = [
    "dns_1035_label",
    "dns_1123_label",
    "dns_1123_subdomain",
    "label_key",
    "label_value",
    "path_segment",
]

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_KEY = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = f"({_KEY})?"
_is_label = re.compile(_LABEL).fullmatch
_is_label_1035 = re.compile(_LABEL_1035).fullmatch
_is_subdomain = re.compile(_SUBDOMAIN).fullmatch
_is_key = re.compile(_KEY).fullmatch
_is_value = re.compile(_VALUE).fullmatch


def _syntax(sentence: str, pattern: str, *examples: str) -> str:
    shown = "".join(f"'{example}', " if i == 0 else f" or '{example}', " for i, example in enumerate(examples))
    return f"{sentence} (e.g. {shown}regex used for validation is '{pattern}')"


def _too_long(value: str, limit: int) -> list[str]:
    return [f"must be no more than {limit} bytes"] if len(value.encode()) > limit else []


def dns_1123_label(value: str) -> list[str]:
    problems = _too_long(value, 63)
    if _is_label(value):
        return problems
    if _is_subdomain(value):
        return [*problems, "must not contain dots"]
    sentence = (
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
        "and must start and end with an alphanumeric character"
    )
    return [*problems, _syntax(sentence, _LABEL, "my-name", "123-abc")]


def dns_1123_subdomain(value: str) -> list[str]:
    problems = _too_long(value, 253)
    if _is_subdomain(value):
        return problems
    sentence = (
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
        "and must start and end with an alphanumeric character"
    )
    return [*problems, _syntax(sentence, _SUBDOMAIN, "example.com")]


def dns_1035_label(value: str) -> list[str]:
    problems = _too_long(value, 63)
    if _is_label_1035(value):
        return problems
    sentence = (
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
        "character, and end with an alphanumeric character"
    )
    return [*problems, _syntax(sentence, _LABEL_1035, "my-name", "abc-123")]


_KEY_SENTENCE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)


def label_key(value: str) -> list[str]:
    """A qualified name: a name, or a DNS subdomain, ``/`` and a name."""
    syntax = _syntax(_KEY_SENTENCE, _KEY, "MyName", "my.name", "123-abc")
    parts = value.split("/")
    if len(parts) > 2:
        return [f"a valid label key {syntax} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"]
    problems: list[str] = []
    if len(parts) == 2:
        problems = ["must be non-empty"] if not parts[0] else dns_1123_subdomain(parts[0])
    name = parts[-1]
    problems = [f"prefix part {problem}" for problem in problems]
    own = ["must be non-empty"] if not name else _too_long(name, 63)
    if not _is_key(name):
        own.append(syntax)
    return problems + [f"name part {problem}" for problem in own]


def label_value(value: str) -> list[str]:
    problems = _too_long(value, 63)
    if _is_value(value):
        return problems
    sentence = (
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
        "and must start and end with an alphanumeric character"
    )
    return [*problems, _syntax(sentence, _VALUE, "MyValue", "my_value", "12345")]


def path_segment(value: str) -> list[str]:
    if value in (".", ".."):
        return [f"may not be '{value}'"]
    return [f"may not contain '{char}'" for char in "/%" if char in value]
