"""Bodies of reviews as other programs might write them: odd envelopes, odd values, odd spellings, and large ones."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from webhook.admission import Request
from webhook.serve.gate.judgement import is_large

__all__ = ["Body", "body_of"]

VALUES: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, -0.0, 1.0, 1e2, 1.5, -1, 2**31, 2**63 - 1, 2**63, 2**64, 1e308, [], {}, [None], {"": None}),
    *("", " ", "0", "\0", "\U0001f600", "\u00e9", "e\u0301", "\u202e", "a" * 300, "null", "1e2", "../..", "${x}"),
)
"""What a part of a document is replaced by."""

LITERALS: Final = (
    *("1.0", "1e2", "1E+2", "-0", "-0.0", "1e-400", "1e400", "18446744073709551616", "-9223372036854775809", "0.1e1"),
    *('"\\u0061"', '"\\ud800"', '"\\udc00\\ud800"', '"\\u0000"', '"\\/"', "NaN", "01", '{"a":1,"a":2}', "[1,]", "{}"),
)
"""What is written instead of a value: other spellings, and texts that are not JSON."""

NAMES: Final = (
    *("subResource", "dryRun", "options", "apiVersion", "kind", "metadata", "spec", "status", "annotations", "name"),
    *("uid", "namespace", "requestKind", "requestResource", "userInfo", "Name", "deletionTimestamp", "generateName"),
)
"""Fields that are added where they do not belong."""

METADATA: Final[tuple[dict[str, Any], ...]] = (
    {"generateName": "x-"},
    {"labels": {"a": "b"}},
    {"annotations": {"modelgate.dev/normalised": "{}"}},
    {"annotations": {"list": "a,b,c,b", "modelgate.dev/normalised": '{"catalog":"x","spec":""}'}},
    {"annotations": None},
    {"annotations": {"list": ",".join(map(str, range(40)))}},
    {"annotations": {"a": 1}},
    {"finalizers": ["x"]},
    {"deletionTimestamp": "2026-01-01T00:00:00Z"},
    {"managedFields": [{"manager": "m", "operation": "Apply", "fieldsV1": {"f:spec": {"f:format": {}}}}]},
)

LARGE: Final = 0.04
"""The part of bodies that are made large: each takes a child, whose start takes as long as many small reviews."""


@dataclass(frozen=True)
class Body:
    """The bytes of a review."""

    data: bytes

    @property
    def is_large(self) -> bool:
        return is_large(self.data)

    def __str__(self) -> str:
        return f"{self.data[:1500]!r} ({len(self.data)} bytes)"


def body_of(request: Request, dice: random.Random) -> Body:
    """The body of a review of a request, changed at random."""
    document = _document(request, dice)
    if dice.random() < LARGE:
        _enlarge(document["request"], dice)
    if dice.random() < 0.4:
        _tamper(document, dice)
    text = _Writer(dice, dice.choice((0, 0, 1, 2, 2, 3))).text(document)
    if dice.random() < 0.01:
        text += " " * dice.choice((70_000, 300_000))
    return Body(text.encode("utf-8", "surrogatepass"))


def _document(request: Request, dice: random.Random) -> dict[str, Any]:
    obj = json.loads(json.dumps(request.object))
    if dice.random() < 0.4 and isinstance(obj, dict) and isinstance(obj.get("metadata"), dict):
        obj["metadata"].update(json.loads(json.dumps(dice.choice(METADATA))))
    kind = request.kind
    group, version = request.resource_api or (kind.group, kind.version)
    sent = {
        "uid": dice.choice(("u", "\u00e9", "705ab4f5-6393-11e8-b7cc-42010a800002", "a" * 500)),
        "kind": {"group": kind.group, "version": kind.version, "kind": kind.kind},
        "resource": {"group": group, "version": version, "resource": request.resource},
        "name": request.name,
        "namespace": request.namespace,
        "operation": request.operation,
        "userInfo": request.user or {"username": dice.choice(("ann", "bob"))},
        "object": obj,
        "oldObject": json.loads(json.dumps(request.old_object)),
        "dryRun": dice.random() < 0.2,
        "options": request.options or None,
    }
    return {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": sent}


def _enlarge(sent: dict[str, Any], dice: random.Random) -> None:
    """Make the object of a review large: by a text, by many labels, or by a field that no kind has."""
    obj = sent["object"]
    if not isinstance(obj, dict) or not isinstance(obj.get("metadata"), dict):
        return
    add: dict[str, Any] = dice.choice(
        (
            {"annotations": {"text": "x" * 70_000}},
            {"annotations": {f"key{number}": "v" for number in range(2_500)}},
            {"annotations": {"text": " " * 100_000}},
            {"annotations": {"list": ",".join(map(str, range(500)))}},
        )
    )
    obj["metadata"].update(add)


def _spots(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if at:
        yield at
    if isinstance(value, (dict, list)):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _spots(item, (*at, key))


def _tamper(document: dict[str, Any], dice: random.Random) -> None:
    """Replace, remove or add a part anywhere in a document."""
    for _ in range(dice.choice((1, 1, 2))):
        *at, last = dice.choice(list(_spots(document)))
        parent: Any = document
        for key in at:
            parent = parent[key]
        how = dice.randrange(4)
        if how == 1 and isinstance(parent, dict):
            parent.pop(last)
        elif how == 2 and isinstance(parent, dict):
            parent[dice.choice(NAMES)] = dice.choice(VALUES)
        elif how == 3 and isinstance(parent, list):
            parent.append(json.loads(json.dumps(parent[0])))
        else:
            parent[last] = dice.choice(VALUES)


class _Writer:
    """Writes JSON; from level 1 on with blanks and keys in any order, from 2 with escapes and odd numbers, from 3 with
    keys that are given twice.
    """

    def __init__(self, dice: random.Random, level: int) -> None:
        self._dice, self._level = dice, level

    def text(self, value: Any) -> str:
        dice, level = self._dice, self._level
        if level > 1 and dice.random() < 0.002:
            return dice.choice(LITERALS)
        if isinstance(value, dict):
            return self._object(value)
        if isinstance(value, list):
            return f"[{','.join(map(self.text, value))}]"
        if isinstance(value, str):
            return self._string(value)
        if isinstance(value, int) and not isinstance(value, bool) and level > 1 and dice.random() < 0.2:
            return dice.choice(("%d.0", "%de0", "%d", "%d.0e0")) % value
        return json.dumps(value)

    def _object(self, value: dict[str, Any]) -> str:
        items = list(value.items())
        if self._level and self._dice.random() < 0.1:
            self._dice.shuffle(items)
        parts = []
        for key, item in items:
            parts.append(f"{self._string(key)}{self._blank()}:{self._blank()}{self.text(item)}")
            if self._level > 2 and self._dice.random() < 0.01:
                parts.append(f"{self._string(key)}:{self.text(self._dice.choice(VALUES))}")
        return "{" + f"{self._blank()},".join(parts) + "}"

    def _string(self, text: str) -> str:
        if self._level < 2 or len(text) > 1_000 or self._dice.random() > 0.1:
            return json.dumps(text, ensure_ascii=False)
        units = text.encode("utf-16-be", "surrogatepass").hex()
        return '"' + "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4)) + '"'

    def _blank(self) -> str:
        return self._dice.choice(("", "", "", " ", "\n", "\t", "\r\n ")) if self._level else ""
