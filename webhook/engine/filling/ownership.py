"""Who has written a leaf that the gate once filled in: the gate, or a user since.

A user may write the very value that the gate had filled in. The value is then the user's, and stays when its inputs
change. The object shows it in two ways:

metadata.managedFields     a manager that applies or changes a leaf owns it. What a webhook fills in belongs to no
                           manager: the API server computes the entries before it calls webhooks.
last-applied-configuration the file of ``kubectl apply``. It is needed, because kubectl sends no field that is stored
                           already with the same value, so that no manager owns it.

A replacement with the stored value shows nothing, and the leaf stays the gate's. See docs/decisions.md, record 46.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

import orjson

from webhook.admission import patch
from webhook.admission.stamp import ANNOTATION, Stamp, canonical
from webhook.engine.filling.items import ItemPlace, Step
from webhook.policy import MISSING, DefaultRule, Path, Withdrawn

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"

_STAMP: Final = Path(("metadata", "annotations", ANNOTATION))
_APPLIED: Final = Path(("metadata", "annotations", LAST_APPLIED))

Owner = tuple[str, str]
"""A manager and its operation, Apply or Update."""


class Ownership:
    """What earlier runs have filled in, and what users have written since, for one state of an object.

    Two stamps tell what was filled in. The stored one holds for a leaf that no user has written since. A stamp that
    came with the object holds as it is: the gate wrote it in an earlier call for this request (the API server calls a
    webhook again when a later one has changed the object), or it is part of a manifest that was exported from a
    cluster. An entry counts only while the object still holds its value, so an outdated record does no harm.
    """

    def __init__(self, obj: dict[str, Any], old: dict[str, Any] | None) -> None:
        self._obj, self._old = obj, old
        self._kept = old is not None and _STAMP.get(obj) == _STAMP.get(old)
        self._stored = {} if old is None else recorded_in(old)
        self._sent = {} if self._kept else recorded_in(obj)
        self._by_keys: dict[int, dict[bytes, Any]] = {}

    @classmethod
    def of(cls, obj: dict[str, Any], old: dict[str, Any] | None) -> Ownership | None:
        """None for a new object without a stamp: nothing was filled in."""
        return None if old is None and _STAMP.get(obj) is MISSING else cls(obj, old)

    def is_derived(self, rule: DefaultRule | Withdrawn, value: Any) -> bool:
        """Whether the value of a rule's leaf is one that the gate has filled in, and no user has written."""
        path = rule.path.text
        if is_recorded(self._sent, path, value):
            return True
        return is_recorded(self._stored, path, value) and not self._is_written(rule, value)

    def is_derived_at(self, rule: DefaultRule | Withdrawn, place: ItemPlace, value: Any) -> bool:
        """As :meth:`is_derived`, of the leaf of an item; False for an item that is not known."""
        if place.steps is None:
            return False
        if is_recorded(self._sent, place.text, value):
            return True
        if not is_recorded(self._stored, place.text, value):
            return False
        return not (self._owners(rule, place.steps) or self._is_applied(place.steps, place.text, value))

    def _is_written(self, rule: DefaultRule | Withdrawn, value: Any) -> bool:
        return bool(self._owners(rule, rule.path.keys)) or self._is_applied(rule.path.keys, rule.path.text, value)

    def _owners(self, rule: DefaultRule | Withdrawn, steps: Sequence[Step]) -> set[Owner]:
        """The managers that own the leaf or a part of it.

        A default that may replace a value leaves the replaced value's owner in place, so for such a leaf only owners
        count that the stored object does not have. An owner of the kept stamp, too, wrote an exported manifest.
        """
        owners = set(_owners(self._obj, steps))
        if owners and self._kept:
            owners -= set(_owners(self._obj, _STAMP.keys))
        if owners and self._old is not None and (rule.overwrites or rule.over is not MISSING):
            owners -= set(_owners(self._old, steps))
        return owners

    def _is_applied(self, steps: Sequence[Step], path: str, value: Any) -> bool:
        """Whether the file of ``kubectl apply`` holds the value, or a part of it, as the user's own."""
        text = _APPLIED.get(self._obj)
        if not isinstance(text, str) or str(steps[-1]) not in text:  # most files have no such field: not worth parsing
            return False
        applied = self._applied(steps)
        if applied is MISSING or applied is None:
            return False
        # A null in the file is a field that is absent, or has its default.
        if any(step.op != "add" and Path(step.keys).get(applied) is not None for step in patch.steps(applied, value)):
            return False
        return not is_recorded(recorded_in(self._file), path, value)

    def _applied(self, steps: Sequence[Step]) -> Any:
        """What the file has at a place, or MISSING."""
        node: Any = self._file
        for step in steps:
            if isinstance(step, dict):
                node = self._items(node, tuple(step)).get(canonical(step), MISSING)
            else:
                node = node.get(step, MISSING) if isinstance(node, dict) else MISSING
        return node

    def _items(self, listed: Any, names: tuple[str, ...]) -> dict[bytes, Any]:
        """The items of a list of the file by their keys, made once: there may be thousands of each."""
        if id(listed) not in self._by_keys:  # the file stays as long as this
            items = [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else ()
            self._by_keys[id(listed)] = {canonical({name: item.get(name) for name in names}): item for item in items}
        return self._by_keys[id(listed)]

    @cached_property
    def _file(self) -> dict[str, Any]:
        """The file of ``kubectl apply``; empty if it cannot be read, because users can write annotations."""
        try:
            file = orjson.loads(_APPLIED.get(self._obj))
        except ValueError:
            return {}
        return file if isinstance(file, dict) else {}


def recorded_in(obj: Mapping[str, Any]) -> dict[str, Any]:
    """What the stamp of an object records as filled in, by path."""
    stamp = Stamp.read(obj)
    return {} if stamp is None else stamp.defaulted


def is_recorded(record: Mapping[str, Any], path: str, value: Any) -> bool:
    """Whether a record has this value for a path."""
    return path in record and not patch.diff(value, record[path])


def _owners(obj: dict[str, Any], steps: Sequence[Step]) -> Iterator[Owner]:
    """The managers whose fields include the path or a field below it."""
    metadata = obj.get("metadata")
    entries = metadata.get("managedFields") if isinstance(metadata, dict) else None
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and _includes(entry.get("fieldsV1"), steps):
            yield str(entry.get("manager")), str(entry.get("operation"))


def _includes(fields: Any, steps: Sequence[Step]) -> bool:
    """Whether a set of fields (``FieldsV1``: nested objects with keys such as ``f:spec``) includes a path.

    Where the API server merges a list as a whole, who owns it owns its items.
    """
    for step in steps:
        if isinstance(step, dict) and fields == {}:
            return True
        key = f"k:{canonical(step).decode()}" if isinstance(step, dict) else f"f:{step}"
        fields = fields.get(key) if isinstance(fields, dict) else None
    return fields is not None
