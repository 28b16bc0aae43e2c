"""What some policies have beside the functions of Kubernetes' base environment.

Mutating policies have ``jsonpatch.escapeKey``. Modelgate's own policies have ``shown(x)``: a string, quoted and
shortened.
"""

from __future__ import annotations

from typing import Final

from webhook.cel.overload import Overload, free
from webhook.cel.types import STRING


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
