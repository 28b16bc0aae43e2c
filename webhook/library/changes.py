"""What the gate and the API server change in an object that a user writes, leaf by leaf, each with the reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from webhook.admission import Default, patch
from webhook.ground.fieldpath import field_path

__all__ = ["Change", "changes"]

_SCHEMA: Final = "default of the CRD's schema"


@dataclass(frozen=True, slots=True)
class Change:
    """``operation`` is ``add``, ``replace`` or ``remove``; ``code`` is "" for what the schema does."""

    operation: str
    path: str
    value: Any
    reason: str
    code: str = ""


def changes(written: Mapping[str, Any], stored: Mapping[str, Any], defaults: Sequence[Default]) -> list[Change]:
    """The changes outside of metadata, which only gets the stamp."""
    reasons = {each.path: each for each in defaults}
    found = []
    for operation, keys, new in patch.steps(_body(written), _body(stored)):
        for leaf, value in _leaves(keys, new):
            found.append(_change(operation, field_path(leaf), value, reasons))
    return found


def _body(obj: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in obj.items() if key not in {"metadata", "status"}}


def _leaves(keys: Sequence[str | int], value: Any) -> Iterator[tuple[Sequence[str | int], Any]]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _leaves([*keys, key], item)
    else:
        yield keys, value


def _change(operation: str, path: str, value: Any, reasons: Mapping[str, Default]) -> Change:
    default = reasons.get(path)
    if operation == "remove":
        because = default.because if default else "null counts as absent"
        return Change(operation, path, None, because, default.code if default else "")
    if default is None or not default.code:
        return Change(operation, path, value, _SCHEMA)
    return Change(operation, path, value, default.because, default.code)
