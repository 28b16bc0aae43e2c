"""cel-go's string extension, in the versions Kubernetes uses: 0 until 1.28, 2 since 1.29.

Indices count code points. There is no ``reverse``: it came with version 3. Some policies have one more function:
mutating ones ``jsonpatch.escapeKey``, and Modelgate's own ``shown(x)``, a string, quoted and shortened.
"""

from __future__ import annotations

from typing import Final

from webhook.cel.errors import CelError
from webhook.cel.library.stringformat import format_string
from webhook.cel.limits import LIST_LIMIT, STRING_LIMIT, within
from webhook.cel.overload import Overload, free, member
from webhook.cel.types import DYN, INT, STRING, list_of
from webhook.cel.values.members import go_value
from webhook.golang.strconv import SPACE

_LOWER: Final = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}
_UPPER: Final = {lower: lower - 32 for lower in range(ord("a"), ord("z") + 1)}
_QUOTED: Final = str.maketrans(
    {
        "\a": "\\a",
        "\b": "\\b",
        "\f": "\\f",
        "\n": "\\n",
        "\r": "\\r",
        "\t": "\\t",
        "\v": "\\v",
        "\\": "\\\\",
        '"': '\\"',
    }
)


def _out_of_range(position: int) -> CelError:
    return CelError(f"index out of range: {position}")


def char_at(text: str, position: int) -> str:
    if not 0 <= position <= len(text):
        raise _out_of_range(position)
    return text[position : position + 1]


def index_of(text: str, part: str, offset: int = 0) -> int:
    if offset < 0:
        raise _out_of_range(offset)
    if not part:
        return min(offset, len(text))
    return text.find(part, offset)


def last_index_of(text: str, part: str) -> int:
    """Not by ``rfind``, which takes the product of both lengths where a text nearly matches everywhere."""
    found = text[::-1].find(part[::-1])
    return -1 if found < 0 else len(text) - len(part) - found


def last_index_of_from(text: str, part: str, offset: int) -> int:
    if offset < 0:
        raise _out_of_range(offset)
    if not part:
        return min(offset, len(text))
    return last_index_of(text[: offset + len(part)], part) if offset < len(text) else -1


def lower_ascii(text: str) -> str:
    return text.translate(_LOWER)


def upper_ascii(text: str) -> str:
    return text.translate(_UPPER)


def replace(text: str, old: str, new: str, limit: int = -1) -> str:
    count = text.count(old) if limit < 0 else min(text.count(old), limit)
    within(len(text) + count * (len(new) - len(old)), STRING_LIMIT)
    return text.replace(old, new, limit)


def split(text: str, separator: str, limit: int = -1) -> list[str]:
    """As Go's ``SplitN``: an empty separator splits between code points, a limit of 0 gives nothing."""
    if limit == 0:
        return []
    within(text.count(separator) if limit < 0 else min(limit, len(text)), LIST_LIMIT)
    if separator:
        return text.split(separator, limit - 1 if limit > 0 else -1)
    if limit < 0 or limit >= len(text):
        return list(text)
    return [*text[: limit - 1], text[limit - 1 :]]


def substring(text: str, start: int) -> str:
    if not 0 <= start <= len(text):
        raise _out_of_range(start)
    return text[start:]


def substring_range(text: str, start: int, end: int) -> str:
    if start > end:
        raise CelError(f"invalid substring range. start: {start}, end: {end}")
    if not 0 <= start <= len(text):
        raise _out_of_range(start)
    if end > len(text):
        raise _out_of_range(end)
    return text[start:end]


def trim(text: str) -> str:
    return text.strip(SPACE)


def join(parts: list[str], separator: str = "") -> str:
    for part in parts:
        if part.__class__ is not str:
            raise CelError(f"join: invalid input: {go_value(part)}")
    within(sum(map(len, parts)) + len(separator) * len(parts), STRING_LIMIT)
    return separator.join(parts)


def quote(text: str) -> str:
    """The text as a literal of CEL."""
    return f'"{text.translate(_QUOTED)}"'


_TEXTS: Final = list_of(STRING)

STRINGS_0: Final[tuple[Overload, ...]] = (
    member("charAt", "string_char_at_int", (STRING, INT), STRING, char_at),
    member("indexOf", "string_index_of_string", (STRING, STRING), INT, index_of),
    member("indexOf", "string_index_of_string_int", (STRING, STRING, INT), INT, index_of),
    member("lastIndexOf", "string_last_index_of_string", (STRING, STRING), INT, last_index_of),
    member("lastIndexOf", "string_last_index_of_string_int", (STRING, STRING, INT), INT, last_index_of_from),
    member("lowerAscii", "string_lower_ascii", (STRING,), STRING, lower_ascii),
    member("replace", "string_replace_string_string", (STRING, STRING, STRING), STRING, replace),
    member("replace", "string_replace_string_string_int", (STRING, STRING, STRING, INT), STRING, replace),
    member("split", "string_split_string", (STRING, STRING), _TEXTS, split),
    member("split", "string_split_string_int", (STRING, STRING, INT), _TEXTS, split),
    member("substring", "string_substring_int", (STRING, INT), STRING, substring),
    member("substring", "string_substring_int_int", (STRING, INT, INT), STRING, substring_range),
    member("trim", "string_trim", (STRING,), STRING, trim),
    member("upperAscii", "string_upper_ascii", (STRING,), STRING, upper_ascii),
    member("join", "list_join", (_TEXTS,), STRING, join),
    member("join", "list_join_string", (_TEXTS, STRING), STRING, join),
)

STRINGS_2: Final[tuple[Overload, ...]] = (
    *STRINGS_0,
    member("format", "string_format", (STRING, list_of(DYN)), STRING, format_string),
    free("strings.quote", "strings_quote", (STRING,), STRING, quote),
)


def escape_key(key: str) -> str:
    """A key as a segment of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


JSON_PATCH: Final[tuple[Overload, ...]] = (
    free("jsonpatch.escapeKey", "string_jsonpatch_escapeKey_string", (STRING,), STRING, escape_key),
)


LENGTH: Final = 80
"""Characters of a value that a message shows. Names of one label and label values, at most 63, stay whole. The API
server may cut a warning to 256 characters (``WARNING_LENGTH`` of ``webhook/admission/status.py``): two thirds of them
are left for the field, what is wrong, and what to use."""


def shown(text: str) -> str:
    return f'"{text[:LENGTH]}…"' if len(text) > LENGTH else f'"{text}"'


def shown_in_kubernetes(argument: str, *, repeatable: bool) -> str:
    """``shown(argument)`` in Kubernetes' CEL. An argument that is not ``repeatable`` is evaluated only once."""
    name = argument if repeatable else "text"
    quoted = f"'\"' + ({name}.size() > {LENGTH} ? {name}.substring(0, {LENGTH}) + '…' : {name}) + '\"'"
    return f"({quoted})" if repeatable else f"[{argument}].map(text, {quoted})[0]"


SHOWN: Final[tuple[Overload, ...]] = (free("shown", "modelgate_shown_string", (STRING,), STRING, shown),)
