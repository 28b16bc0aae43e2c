"""The named formats of Kubernetes' CEL: ``format.dns1123Label().validate('my-name')``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Final

from webhook.cel import types
from webhook.cel.overload import Overload, free, member
from webhook.cel.types import STRING, Type, list_of, optional_of
from webhook.cel.values.value import NONE, Opaque, Opt
from webhook.golang.errors import GoError
from webhook.golang.names import dns_1035_label, dns_1123_label, dns_1123_subdomain, label_key, label_value
from webhook.golang.strfmt import is_byte, is_date, is_datetime, is_uuid
from webhook.golang.url import parse_request_uri


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


def _prefix_of(check: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """The check of a ``generateName``: a dash may end it; upstream replaces the dash and the byte before it."""

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


def _said(fault: str, holds: Callable[[str], object]) -> Callable[[str], list[str]]:
    return lambda text: [] if holds(text) else [fault]


NAMED_FORMATS: Final[dict[str, NamedFormat]] = {
    "dns1123Label": NamedFormat("DNS1123Label", dns_1123_label, 30),
    "dns1123Subdomain": NamedFormat("DNS1123Subdomain", dns_1123_subdomain, 60),
    "dns1035Label": NamedFormat("DNS1035Label", dns_1035_label, 30),
    "qualifiedName": NamedFormat("QualifiedName", label_key, 60),
    "dns1123LabelPrefix": NamedFormat("DNS1123LabelPrefix", _prefix_of(dns_1123_label), 30),
    "dns1123SubdomainPrefix": NamedFormat("DNS1123SubdomainPrefix", _prefix_of(dns_1123_subdomain), 60),
    "dns1035LabelPrefix": NamedFormat("DNS1035LabelPrefix", _prefix_of(dns_1035_label), 30),
    "labelValue": NamedFormat("LabelValue", label_value, 40),
    "uri": NamedFormat("URI", uri, 1103),
    "uuid": NamedFormat("uuid", _said("does not match the UUID format", is_uuid), 70),
    "byte": NamedFormat("byte", _said("invalid base64", is_byte), 84),
    "date": NamedFormat("date", _said("invalid date", is_date), 71),
    "datetime": NamedFormat("datetime", _said("invalid datetime", is_datetime), 71),
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
