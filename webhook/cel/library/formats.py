"""The named formats of Kubernetes' CEL: ``format.dns1123Label().validate('my-name')``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from webhook.cel import types
from webhook.cel.overload import Overload, free, member
from webhook.cel.types import STRING, Type, list_of, optional_of
from webhook.cel.values.value import NONE, Opaque, Opt
from webhook.golang import time as timelayout
from webhook.golang.errors import GoError
from webhook.golang.url import parse_request_uri

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FORMATS", "NAMED_FORMATS", "NamedFormat"]

_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_1035: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
_KEY: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE: Final = f"({_KEY})?"
_UUID: Final = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE | re.ASCII)
_BASE64: Final = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})")
_CLOCK: Final = re.compile(r"(\d\d):(\d\d):(\d\d)(?:.\d+)?(?:z|[+-]\d\d:\d\d)", re.ASCII)
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


@dataclass(frozen=True, slots=True, eq=False)
class NamedFormat(Opaque):
    """A check of a string; ``max_regex_size`` is the length of a pattern that would cost as much."""

    name: str
    check: Callable[[str], list[str]]
    max_regex_size: int

    cel_type: ClassVar[Type] = types.opaque("kubernetes.NamedFormat")

    def cel_equal(self, other: object) -> bool | None:
        return self.name == other.name if isinstance(other, NamedFormat) else None

    def __str__(self) -> str:
        return self.name


def _syntax(sentence: str, pattern: str, *examples: str) -> str:
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{sentence} (e.g. {shown}regex used for validation is '{pattern}')"


def _limited(text: str, limit: int, unit: str) -> list[str]:
    return [f"must be no more than {limit} {unit}"] if len(text.encode(errors="replace")) > limit else []


_DNS_LABEL: Final = _syntax(
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character",
    _LABEL,
    "my-name",
    "123-abc",
)
_DNS_SUBDOMAIN: Final = _syntax(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character",
    _SUBDOMAIN,
    "example.com",
)
_DNS_1035: Final = _syntax(
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
    "character, and end with an alphanumeric character",
    _LABEL_1035,
    "my-name",
    "abc-123",
)
_LABEL_KEY: Final = _syntax(
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
    _KEY,
    "MyName",
    "my.name",
    "123-abc",
)
_LABEL_VALUE: Final = _syntax(
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character",
    _VALUE,
    "MyValue",
    "my_value",
    "12345",
)


def dns_label(text: str) -> list[str]:
    problems = _limited(text, 63, "characters")
    if re.fullmatch(_LABEL, text):
        return problems
    return [*problems, "must not contain dots" if re.fullmatch(_SUBDOMAIN, text) else _DNS_LABEL]


def dns_subdomain(text: str, unit: str = "characters") -> list[str]:
    fault = [] if re.fullmatch(_SUBDOMAIN, text) else [_DNS_SUBDOMAIN]
    return _limited(text, 253, unit) + fault


def dns_1035_label(text: str) -> list[str]:
    fault = [] if re.fullmatch(_LABEL_1035, text) else [_DNS_1035]
    return _limited(text, 63, "characters") + fault


def qualified_name(text: str) -> list[str]:
    """A name, or a DNS subdomain, ``/`` and a name."""
    parts = text.split("/")
    if len(parts) > 2:
        optional = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a valid label key {_LABEL_KEY} {optional}"]
    problems: list[str] = []
    if len(parts) == 2:
        problems = ["must be non-empty"] if not parts[0] else dns_subdomain(parts[0], "bytes")
    name = parts[-1]
    faults = ["must be non-empty"] if not name else _limited(name, 63, "bytes")
    if not re.fullmatch(_KEY, name):
        faults.append(_LABEL_KEY)
    return [f"prefix part {problem}" for problem in problems] + [f"name part {fault}" for fault in faults]


def label_value(text: str) -> list[str]:
    fault = [] if re.fullmatch(_VALUE, text) else [_LABEL_VALUE]
    return _limited(text, 63, "bytes") + fault


def _prefix_of(check: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """The check of a ``generateName``: a dash may end it, and takes the byte before it with it (as upstream)."""

    def check_prefix(text: str) -> list[str]:
        if len(text.encode(errors="replace")) > 1 and text.endswith("-"):
            before = text[-2]
            text = text[:-2] + ("" if before.isascii() else "\ufffd") + "a"
        return check(text)

    return check_prefix


def uri(text: str) -> list[str]:
    try:
        parse_request_uri(text)
    except GoError as error:
        return [error.message]
    return []


def _is_date(text: str) -> bool:
    return _DATE.fullmatch(text) is not None and not timelayout.fault(text, timelayout.DATE)


def _is_datetime(text: str) -> bool:
    parts = text.lower().split("t")
    if len(parts) < 2 or not _is_date(parts[0]):
        return False
    clock = _CLOCK.fullmatch(parts[1])
    return clock is not None and clock[1] <= "23" and clock[2] <= "59" and clock[3] <= "59"


def _said(fault: str, holds: Callable[[str], object]) -> Callable[[str], list[str]]:
    return lambda text: [] if holds(text) else [fault]


NAMED_FORMATS: Final[dict[str, NamedFormat]] = {
    "dns1123Label": NamedFormat("DNS1123Label", dns_label, 30),
    "dns1123Subdomain": NamedFormat("DNS1123Subdomain", dns_subdomain, 60),
    "dns1035Label": NamedFormat("DNS1035Label", dns_1035_label, 30),
    "qualifiedName": NamedFormat("QualifiedName", qualified_name, 60),
    "dns1123LabelPrefix": NamedFormat("DNS1123LabelPrefix", _prefix_of(dns_label), 30),
    "dns1123SubdomainPrefix": NamedFormat("DNS1123SubdomainPrefix", _prefix_of(dns_subdomain), 60),
    "dns1035LabelPrefix": NamedFormat("DNS1035LabelPrefix", _prefix_of(dns_1035_label), 30),
    "labelValue": NamedFormat("LabelValue", label_value, 40),
    "uri": NamedFormat("URI", uri, 1103),
    "uuid": NamedFormat("uuid", _said("does not match the UUID format", _UUID.fullmatch), 70),
    "byte": NamedFormat("byte", _said("invalid base64", _BASE64.fullmatch), 84),
    "date": NamedFormat("date", _said("invalid date", _is_date), 71),
    "datetime": NamedFormat("datetime", _said("invalid datetime", _is_datetime), 71),
}


def named(name: str) -> Opt:
    found = NAMED_FORMATS.get(name)
    return NONE if found is None else Opt.of(found)


def validate(named_format: NamedFormat, text: str) -> Opt:
    """None if the text has the format, else what is wrong with it."""
    problems = named_format.check(text)
    return Opt.of(problems) if problems else NONE


_F: Final = NamedFormat.cel_type


def _constant(value: NamedFormat) -> Callable[[], NamedFormat]:
    return lambda: value


FORMATS: Final[tuple[Overload, ...]] = (
    member("validate", "format-validate", (_F, STRING), optional_of(list_of(STRING)), validate),
    free("format.named", "format-named", (STRING,), optional_of(_F), named),
    *(free(f"format.{name}", f"format.{name}", (), _F, _constant(each)) for name, each in NAMED_FORMATS.items()),
)
