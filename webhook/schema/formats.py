"""The string formats of CRD schemas, as kube-openapi's ``strfmt`` checks them: quirks included.

Each check takes a string and answers whether the API server accepts it. Where Go and RFC
differ (a URI of ``*``, ``2 days`` as a duration), Go wins.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from webhook.golang import strfmt
from webhook.golang.errors import readable
from webhook.golang.net import is_address, is_cidr, is_ipv4, is_ipv6, is_mac
from webhook.golang.regexp import matcher
from webhook.golang.strfmt import is_byte, is_date, is_datetime, is_uuid
from webhook.golang.url import parse_request_uri

_SINCE_1_34 = frozenset({"k8sshortname", "k8slongname"})
_NUMERIC = {"integer": ("int32", "int64"), "number": ("float", "double")}


def recognised(name: str, types: tuple[str, ...], version: tuple[int, int]) -> str:
    """``name`` if the API server checks it on a value of these types, else ""."""
    kind = types[0] if len(types) == 1 else ""
    if kind in ("", "string"):
        return name if known(name, version) else ""
    return name if name in _NUMERIC.get(kind, ()) else ""


def known(name: str, version: tuple[int, int]) -> bool:
    """Whether a string format exists at this Kubernetes minor; dashes do not count."""
    plain = name.replace("-", "")
    return plain in FORMATS and (version >= (1, 34) or plain not in _SINCE_1_34)


_UUID = r"(?i)^[0-9a-f]{{8}}-?[0-9a-f]{{4}}-?{version}-?{variant}-?[0-9a-f]{{12}}$"
_ANY, _VARIANT = "[0-9a-f]{4}", "[89ab][0-9a-f]{3}"
_CHANNEL = r"\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*"
_SHORT_NAME = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_RUNE = r"[a-zA-Z0-9\p{S}\p{L}]"
_CREDIT_CARD = (
    r"^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}"
    r"|(222[1-9]|22[3-9][0-9]|2[3-6][0-9]{2}|27[01][0-9]|2720)[0-9]{12}"
    r"|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}"
    r"|(?:2131|1800|35\d{3})\d{11}|6[27][0-9]{14})$"
)

_is_lone_host = matcher(rf"^{_RUNE}-?{_RUNE}*$")
_is_host_label = matcher(rf"^{_RUNE}([-a-zA-Z0-9\p{{S}}\p{{L}}]*{_RUNE})?$")
_is_top_domain = matcher(r"^[a-zA-Z\p{L}]{2}[a-zA-Z\p{L}]*$")
_is_credit_card = matcher(_CREDIT_CARD)
_is_isbn10 = matcher("^(?:[0-9]{9}X|[0-9]{10})$")
_is_isbn13 = matcher("^(?:[0-9]{13})$")
_is_ssn = matcher(r"^\d{3}[- ]?\d{2}[- ]?\d{4}$")
_is_short_name = matcher(f"^{_SHORT_NAME}$")
_is_long_name = matcher(rf"^{_SHORT_NAME}(\.{_SHORT_NAME})*$")
_GO_SPACES = re.compile(r"[ \t\n\f\r]+|-+")


def _hostname(text: str) -> bool:
    """Strfmt's pattern with its repetitions as lengths: one label without a dot, or labels and a top domain."""
    parts = text.split(".")
    if len(text.encode()) > 255 or any(len(part.encode()) > 63 for part in parts):
        return False
    if len(parts) == 1:
        return _is_lone_host(text)
    return _is_top_domain(parts[-1]) and all(map(_is_host_label, parts[:-1]))


def _isbn10(text: str) -> bool:
    digits = _GO_SPACES.sub("", text)
    if not _is_isbn10(digits):
        return False
    values = [10 if c == "X" else int(c) for c in digits]
    return sum(i * value for i, value in enumerate(values, 1)) % 11 == 0


def _isbn13(text: str) -> bool:
    digits = _GO_SPACES.sub("", text)
    if not _is_isbn13(digits):
        return False
    total = sum(int(c) * (3 if i % 2 else 1) for i, c in enumerate(digits[:12]))
    return int(digits[12]) == (10 - total % 10) % 10


def _credit_card(text: str) -> bool:
    digits = _GO_SPACES.sub("", text)
    if not _is_credit_card(digits):
        return False
    doubled = (2 * int(c) for c in digits[-2::-2])
    return (sum(d - 9 if d > 9 else d for d in doubled) + sum(int(c) for c in digits[::-2])) % 10 == 0


def _ssn(text: str) -> bool:
    return len(text) == 11 and _is_ssn(text)


def _bson(text: str) -> bool:
    return re.fullmatch("[0-9a-fA-F]{24}", text) is not None


FORMATS: Mapping[str, Callable[[str], Any]] = {
    "bsonobjectid": _bson,
    "uri": readable(parse_request_uri),
    "email": is_address,
    "hostname": _hostname,
    "ipv4": is_ipv4,
    "ipv6": is_ipv6,
    "cidr": is_cidr,
    "mac": is_mac,
    "uuid": is_uuid,
    "uuid3": matcher(_UUID.format(version="3[0-9a-f]{3}", variant=_ANY)),
    "uuid4": matcher(_UUID.format(version="4[0-9a-f]{3}", variant=_VARIANT)),
    "uuid5": matcher(_UUID.format(version="5[0-9a-f]{3}", variant=_VARIANT)),
    "isbn": lambda text: _isbn10(text) or _isbn13(text),
    "isbn10": _isbn10,
    "isbn13": _isbn13,
    "creditcard": _credit_card,
    "ssn": _ssn,
    "hexcolor": matcher("^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$"),
    "rgbcolor": matcher(rf"^rgb\({_CHANNEL},{_CHANNEL},{_CHANNEL}\)$"),
    "byte": is_byte,
    "password": lambda _: True,
    "date": is_date,
    "duration": readable(strfmt.parse_duration),
    "datetime": is_datetime,
    "k8sshortname": lambda text: len(text) <= 63 and _is_short_name(text),
    "k8slongname": lambda text: len(text) <= 253 and _is_long_name(text),
}
"""By normalised name (without dashes): ``date-time`` and ``datetime`` are one."""
