"""How a webhook configuration differs from what its release says it has to be, by field, and who changed it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from certs.publish import FIELD_MANAGER

_OTHERS: Final = "caBundle"
"""The field that ``modelgate certs`` or cert-manager sets, and the release does not."""
_MOST: Final = 3
"""Differences in one sentence; an Event has room for 1,024 characters."""

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class ChangedField:
    """One field.

    Attributes:
        path: ``("webhooks", 0, "rules", 2, "operations")``.
        operation: the JSON patch operation that ends it.
        manager: who wrote the field last, by the API server's record; "" if it does not say, as of a removed field.
    """

    path: Path
    operation: dict[str, Any]
    manager: str

    @property
    def field(self) -> str:
        """``webhooks[0].rules[2].operations``."""
        return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.path)[1:]

    def __str__(self) -> str:
        return f"{self.field} changed{f' by {self.manager}' if self.manager else ''}"


def differences(wanted: Mapping[str, Any], live: Mapping[str, Any]) -> list[ChangedField]:
    """The differences of the webhooks, in an order in which their operations are one JSON patch.

    ``wanted`` is the text of the release as JSON, ``live`` the object with its ``metadata``.
    """
    own = {webhook["name"]: webhook for webhook in wanted["webhooks"]}
    places = {webhook["name"]: place for place, webhook in enumerate(live.get("webhooks") or ())}
    changes = [
        change
        for name, webhook in own.items()
        for change in (
            _changes(webhook, live["webhooks"][places[name]], ("webhooks", places[name]))
            if name in places
            else [(("webhooks",), _operation("add", ("webhooks", "-"), webhook))]
        )
    ]
    foreign = sorted((place for name, place in places.items() if name not in own), reverse=True)
    changes += [(("webhooks", place), _operation("remove", ("webhooks", place))) for place in foreign]
    return [ChangedField(path, operation, _manager(live, path)) for path, operation in changes]


def sentence(fields: Sequence[ChangedField]) -> str:
    """The first of them: ``webhooks[0].rules[2].operations changed by kubectl-patch, and 4 more``."""
    more = f", and {len(fields) - _MOST} more" if len(fields) > _MOST else ""
    return ", ".join(map(str, fields[:_MOST])) + more


def _changes(wanted: Any, live: Any, path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """What is empty is as what is absent: the API server drops it."""
    if isinstance(wanted, dict) and isinstance(live, dict) and wanted and live:
        for key in sorted({*wanted, *live} - {_OTHERS}):
            yield from _changes(wanted.get(key), live.get(key), (*path, key))
    elif _are_alike(wanted, live):
        for place, (one, other) in enumerate(zip(wanted, live, strict=True)):
            yield from _changes(one, other, (*path, place))
    elif _given(wanted) != _given(live):
        verb = "remove" if _given(wanted) is None else "add" if live is None else "replace"
        yield path, _operation(verb, path, wanted)


def _are_alike(wanted: Any, live: Any) -> bool:
    """Whether these are two lists of objects to be compared one by one."""
    lists = isinstance(wanted, list) and isinstance(live, list) and len(wanted) == len(live)
    return lists and all(isinstance(item, dict) for item in (*wanted, *live))


def _given(value: Any) -> Any:
    return None if value in ({}, []) else value


def _operation(verb: str, path: Path, value: Any = None) -> dict[str, Any]:
    operation = {"op": verb, "path": "".join(f"/{step}" for step in path)}
    return operation if verb == "remove" else {**operation, "value": value}


def _manager(live: Mapping[str, Any], path: Path) -> str:
    """The last writer among those that own the field, or the whole of which it is a part."""
    entries = live.get("metadata", {}).get("managedFields") or ()
    others = (entry for entry in entries if entry.get("manager") != FIELD_MANAGER)
    owners = [entry for entry in others if _owns(entry.get("fieldsV1") or {}, live, path)]
    last: Mapping[str, Any] = max(owners, key=lambda entry: str(entry.get("time", "")), default={})
    return str(last.get("manager", ""))


def _owns(fields: Mapping[str, Any], live: Any, path: Path) -> bool:
    for step in path:
        live = live[step] if isinstance(step, int) else (live or {}).get(step)
        named = json.dumps({"name": live.get("name")}, separators=(",", ":")) if isinstance(live, dict) else ""
        key = f"k:{named}" if isinstance(step, int) else f"f:{step}"
        if key not in fields:
            return False
        fields = fields[key]
        if not fields:  # a list or map that is owned as a whole
            return True
    return True
