"""The scalars and keys of YAML as Go reads them (``go.yaml.in/yaml/v2`` below ``sigs.k8s.io/yaml``)."""

from __future__ import annotations

import base64
import math
import re
from contextlib import suppress
from typing import Any, Final

from webhook.golang import strconv
from webhook.golang.errors import GoError
from webhook.golang.json import settle
from webhook.golang.strconv import INT64, UINT64

_TAG: Final = "tag:yaml.org,2002:"
MERGE: Final = f"{_TAG}merge"
_RESOLVED: Final = frozenset(f"{_TAG}{name}" for name in ("str", "bool", "int", "float", "null", "timestamp"))
_TRUE: Final = ("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON")
_FALSE: Final = ("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF")
_WORDS: Final[dict[str, tuple[str, Any]]] = {
    **dict.fromkeys(_TRUE, ("bool", True)),
    **dict.fromkeys(_FALSE, ("bool", False)),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), ("null", None)),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), ("float", math.nan)),
    **{sign + text: ("float", math.inf) for text in (".inf", ".Inf", ".INF") for sign in ("", "+")},
    **{f"-{text}": ("float", -math.inf) for text in (".inf", ".Inf", ".INF")},
}
HINTS: Final = frozenset("yYnNtTfFoO~.+-0123456789<")
"""A scalar that begins otherwise is a text; ``<`` is that of a merge."""

_INT: Final = re.compile(r"([+-]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))", re.ASCII)
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_LONGEST: Final = 70
"""More characters than an integer of 64 bits has in any base, with its sign and prefix."""

_CLOCK: Final = r"([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:[.,][0-9]+)?"
_TIMESTAMP: Final = re.compile(
    rf"([0-9]{{4}})-([0-9]{{1,2}})-([0-9]{{1,2}})(?:[Tt]{_CLOCK}(?:Z|[+-][0-9]{{2}}:[0-9]{{2}})| {_CLOCK})?", re.ASCII
)


_INDENTED: Final = re.compile(r"[^\n]\n[ \t]")
"""A line of a folded text that is indented more than the one before it."""
_DAYS: Final = {month: 31 - (month in (4, 6, 9, 11)) - 3 * (month == 2) for month in range(1, 13)}


def scalar(text: str, tag: str | None, *, plain: bool) -> Any:
    """The value of a scalar: a text, a number (infinity and NaN, too), a boolean or None.

    ``tag`` is as libyaml gives it; ``plain`` scalars have neither quotes nor a tag.

    Raises:
        GoError: the tag does not fit the text.
    """
    if tag is None:
        if not plain or (text and text[0] not in HINTS):
            return text
        return _resolved(text)[1]
    if tag == f"{_TAG}binary":
        return _binary(text)
    if tag not in _RESOLVED or tag == f"{_TAG}str":
        return text
    return _tagged(text, tag.removeprefix(_TAG))


def _resolved(text: str) -> tuple[str, Any]:
    """The tag and the value of a text that has none."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] in "yYnNtTfFoO~":
        return "str", text
    if text[0] == ".":
        with suppress(GoError):
            return "float", strconv.parse_float(text)
        return "str", text
    return _numeric(text)


def _numeric(text: str) -> tuple[str, Any]:
    """A text that begins with a digit or a sign. Go ignores underscores at any place in a possible number."""
    digits = text.replace("_", "")
    if len(digits) <= _LONGEST and (found := _INT.fullmatch(digits)):
        value = _integer(found)
        if value in INT64 or (value in UINT64 and not found[1]):
            return "int", value
    if _FLOAT.fullmatch(digits) and math.isfinite(float(digits)):
        return "float", float(digits)
    return "str", text


def _integer(found: re.Match[str]) -> int:
    sign, hexadecimal, binary, octal, decimal = found.groups()
    base = 16 if hexadecimal else 2 if binary else 8 if octal else 10
    return int(sign + (hexadecimal or binary or octal or decimal), base)


def _tagged(text: str, wanted: str) -> Any:
    hint = not text or text[0] in HINTS
    found, value = _resolved(text) if hint else ("str", text)
    if wanted == "timestamp" and _is_timestamp(text):
        return text
    if found == "int" and wanted == "float" and value in INT64:
        return float(value)
    if found != wanted:
        raise GoError(f"cannot decode !!{found} `{text}` as a !!{wanted}")
    return value


def _is_timestamp(text: str) -> bool:
    """Whether go-yaml takes a text for a time, which it then leaves a text."""
    found = _TIMESTAMP.fullmatch(text)
    if found is None:
        return False
    year, month, day, *clock = (int(each or 0) for each in found.groups())
    days = 29 if month == 2 and (year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)) else _DAYS.get(month, 0)
    hour, minute, second = (max(clock[each], clock[each + 3]) for each in range(3))
    return 1 <= day <= days and hour < 24 and minute < 60 and second < 60


def kustomized(text: str, value: Any, tag: str | None, style: str, *, is_key: bool, in_flow: bool) -> str:
    """What to say of a scalar that kustomize (kyaml, on yaml.v3) reads otherwise than kubectl; "" if it does not."""
    if is_key:
        if text == "<<" or tag == MERGE:
            return f'kubectl reads "{text}" as a key, kustomize merges or drops it: remove it'
        if value.__class__ is bool and text.lower() not in {"true", "false"}:
            return f'kubectl reads the key {text} as "{key_text(value)}", kustomize as "{text}": put it in quotes'
    elif value.__class__ is bool and tag is None and text.lower() not in {"true", "false"}:
        word = key_text(value)
        return f'kubectl reads {text} as {word}, kustomize as the text "{text}": write {word}, or put it in quotes'
    elif value is None and in_flow and not text:
        return 'kubectl reads no value in {} or [] as null, kustomize as the text "": write null or ""'
    elif style == ">" and _INDENTED.search(text):
        return "kustomize adds an empty line above the indented lines of this folded text: use | instead of >"
    elif ((tag is None and not style) or tag == f"{_TAG}timestamp") and _is_timestamp(text):
        return f"kubectl reads {text} as text, kustomize writes it anew as a time: put it in quotes"
    return ""


def _binary(text: str) -> str:
    try:
        found = base64.b64decode(text.replace("\n", "").replace("\r", ""), validate=True)
    except ValueError:  # binascii.Error, or a character beyond ASCII
        raise GoError("!!binary value contains invalid base64 data") from None
    return _replaced(found)


def _replaced(found: bytes) -> str:
    """Bytes as ``encoding/json`` writes them: U+FFFD for each byte that is not UTF-8."""
    text = found.decode(errors="surrogateescape")
    return text if text.isascii() else "".join("\ufffd" if "\udc80" <= each <= "\udcff" else each for each in text)


def number(value: Any) -> Any:
    """A scalar as a value of JSON: whole floats and large integers as the API server sends them back.

    Raises:
        GoError: JSON does not have it: infinity, or not a number.
    """
    if value.__class__ is str:
        return value
    if value.__class__ is float and not math.isfinite(value):
        raise GoError(f"{_special(value)} is not a JSON number")
    return settle(value)


def _special(value: float) -> str:
    return ".nan" if math.isnan(value) else ".inf" if value > 0 else "-.inf"


def key_text(value: Any) -> str:
    """A scalar as the key that ``sigs.k8s.io/yaml`` makes of it: a float has the digits of a float32.

    Raises:
        GoError: it cannot be a key: null, or an integer beyond int64.
    """
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int() if value in INT64:
            return str(value)
        case float():
            text = strconv.shortest32(value)
            return {"NaN": ".nan", "+Inf": ".inf", "-Inf": "-.inf"}.get(text, text)
        case None:
            raise GoError("a key must be text, not null")
    raise GoError(f"a key must be text, not {value}")


def has_too_many_aliases(nodes: int, aliased: int) -> bool:
    """Whether go-yaml refuses a document for the part of its nodes that comes from aliases.

    Of more than 1,000 nodes, 99 % may come from them up to 400,000 nodes, 10 % from 4,000,000 on, and in between the
    part lies on the line.
    """
    if aliased <= 100 or nodes <= 1_000:
        return False
    return aliased / nodes > 0.99 - 0.89 * (min(max(nodes, 400_000), 4_000_000) - 400_000) / 3_600_000
