"""Selectors of labels, numbers and percentages, names, addresses: what several built-in kinds ask of their fields."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from typing import Any, Final

from webhook.golang.errors import GoError
from webhook.golang.net import is_cidr
from webhook.golang.strconv import atoi
from webhook.ground.fieldpath import FieldPath
from webhook.kubernetes.formats import FORMATS
from webhook.kubernetes.judge import Judge, walk
from webhook.kubernetes.values import Json, field, number, structs, text, texts
from webhook.schema.fielderror import invalid, required

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_CIDR: Final = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
_PERCENT: Final = re.compile(r"[0-9]+%", re.ASCII).fullmatch
_PERCENT_FAULT: Final = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for "
    "validation is '[0-9]+%')"
)


def check_natural(judge: Judge, value: Json, keys: Iterable[str], at: FieldPath) -> None:
    """``ValidateNonnegativeField`` of these fields, where they are there."""
    for key in keys:
        count = number(value, key)
        if count is not None and count < 0:
            judge.add(invalid(at.child(key), count, "must be greater than or equal to 0"))


def check_selector(judge: Judge, selector: Json, at: FieldPath) -> bool:
    """``ValidateLabelSelector``; whether it can be used."""
    before = len(judge.errors)
    walk(judge, "LabelSelector", selector, at)
    return len(judge.errors) == before


def is_empty(selector: Json) -> bool:
    return not selector.get("matchLabels") and not selector.get("matchExpressions")


def selects(selector: Json | None, labels: Json) -> bool:
    """Whether a valid selector selects these labels; None selects nothing."""
    if selector is None:
        return False
    if any(labels.get(key) != value for key, value in (field(selector, "matchLabels") or {}).items()):
        return False
    return all(_meets(labels, requirement) for _, requirement in structs(selector, "matchExpressions"))


def _meets(labels: Json, requirement: Json) -> bool:
    key, operator, values = text(requirement, "key"), text(requirement, "operator"), texts(requirement, "values")
    if operator in ("In", "NotIn"):
        return (labels.get(key) in values) == (operator == "In")
    return (key in labels) == (operator == "Exists")


def check_share(judge: Judge, value: Any, at: FieldPath) -> None:
    """``ValidatePositiveIntOrPercent``."""
    if isinstance(value, str):
        if not _PERCENT(value):
            judge.add(invalid(at, value, _PERCENT_FAULT))
    elif isinstance(value, int) and value < 0:
        judge.add(invalid(at, value, "must be greater than or equal to 0"))


def share(value: Any) -> int:
    """A number, or that of a percentage or a text (``IntValue``); 0 for what is neither."""
    if not isinstance(value, str):
        return value if isinstance(value, int) else 0
    try:
        return atoi(value.removesuffix("%") if _PERCENT(value) else value)
    except GoError:
        return 0


def check_part(judge: Judge, value: Any, at: FieldPath) -> None:
    """``IsNotMoreThan100Percent``."""
    if isinstance(value, str) and _PERCENT(value) and share(value) > 100:
        judge.add(invalid(at, value, "must not be greater than 100%"))


def check_labels_of_template(judge: Judge, selector: Json | None, template: Json, at: FieldPath) -> None:
    """The labels of a template must be those that its owner selects."""
    labels = field(field(template, "metadata") or {}, "labels") or {}
    if (selector is None or not is_empty(selector)) and not selects(selector, labels):
        why = "`selector` does not match template `labels`"
        judge.add(invalid(at.child("metadata", "labels"), labels, why))


def path_segment_problems(name: str) -> list[str]:
    """``pathvalidation.IsValidPathSegmentName``."""
    if name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{sign}'" for sign in ("/", "%") if sign in name]


def check_reference(judge: Judge, value: Json, keys: Iterable[str], at: FieldPath) -> None:
    """Names in a reference: each is required, and may be a part of a path."""
    for key in keys:
        name = text(value, key)
        if not name:
            judge.add(required(at.child(key)))
        judge.add_invalid(path_segment_problems(name) if name else [], name, at, key)


def check_address(judge: Judge, text: str, at: FieldPath) -> bool:
    """Add what is wrong with an address; whether it is one."""
    problems = FORMATS["ip"][1](text)
    judge.add_invalid(problems, text, at)
    return not problems


def check_cidr(judge: Judge, text: str, at: FieldPath) -> None:
    """``ValidateCIDRForLegacyField`` with strict parsing, as for new values."""
    judge.add_invalid(cidr_problems(text), text, at)


def cidr_problems(text: str) -> list[str]:
    """What is wrong with a network."""
    if not is_cidr(text):
        return [_CIDR]
    address, _, size = text.partition("/")
    problems = []
    if "." in address and ":" in address:
        problems.append("must not have an IPv4-mapped IPv6 address")
    plain = ".".join(part.lstrip("0") or "0" for part in address.split(".")) if ":" not in address else address
    if plain != address or (len(size) > 1 and size.startswith("0")):
        problems.append("must not have leading 0s in IP or prefix length")
    if not problems and network_of(text) is None:
        problems.append("must not have bits set beyond the prefix length")
    return problems


def network_of(text: str, *, strict: bool = True) -> Network | None:
    """The network; None if it cannot be read, or, if ``strict``, has bits beyond its prefix."""
    if "/" not in text:
        return None
    try:
        return ipaddress.ip_network(text, strict)
    except ValueError:
        return None
