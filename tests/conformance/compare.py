"""Compare our answers with the recorded ones; None means equal."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from webhook.schema import FieldError

_SELF_TYPE = re.compile(r"selfType[0-9]+")  # the API server names the type of self anew for every CRD


def to_first_syntax_error(text: str) -> str:
    """The text of a CEL failure without what ANTLR reports after its first syntax error: ours ends there."""
    start, mark, rest = text.partition("Syntax error: ")
    return start + mark + rest.partition("\nERROR: <input>:")[0] if mark else text


def differs(what: str, wanted: Any, got: Any) -> str | None:
    """JSON values, with 1 and 1.0 apart."""
    left, right = (json.dumps(value, sort_keys=True, ensure_ascii=False) for value in (wanted, got))
    return None if left == right else f"{what}\n        wanted {left}\n        got    {right}"


def errors_differ(wanted: Iterable[Mapping[str, Any]], got: Iterable[FieldError]) -> str | None:
    """As multisets of type and whole message (which begins with the field)."""
    texts = ((error["type"], error.get("message", error.get("error"))) for error in wanted)
    left = Counter((kind, to_first_syntax_error(_SELF_TYPE.sub("selfType#", text))) for kind, text in texts)
    right = Counter((error.type, to_first_syntax_error(str(error))) for error in got)
    return _sets(left, right)


def warnings_differ(wanted: Iterable[str], got: Iterable[str]) -> str | None:
    return _sets(Counter(wanted), Counter(got))


def _sets(left: Counter[Any], right: Counter[Any]) -> str | None:
    if left == right:
        return None
    lines = [f"wanted {item}" for item in (left - right).elements()]
    lines += [f"got    {item}" for item in (right - left).elements()]
    return "\n        ".join(["errors differ", *lines])


def first(*problems: str | bool | None) -> str | None:
    """The first difference of several."""
    return next((str(problem) for problem in problems if problem), None)
