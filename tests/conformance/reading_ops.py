"""How files are read: the answers of kubectl's own code, up to the look-up of the kind."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.conformance.runner import Listed
from webhook.golang.json import marshal
from webhook.golang.strconv import INT64
from webhook.manifests.documents import Document, decode
from webhook.manifests.reading import as_manifests

Case = dict[str, Any]
_DIFFERENCES = Path(__file__).parent / "reading.yaml"
_RECURSION = 10_000  # rows are nested up to 1,000 levels, which json.dumps reads by recursion
_HTML = {"\\u003c": "<", "\\u003e": ">", "\\u0026": "&"}


def content(given: Case) -> bytes:
    """The bytes of a case."""
    if "base64" in given:
        return base64.b64decode(given["base64"])
    if "gzip_base64" in given:
        return gzip.decompress(base64.b64decode(given["gzip_base64"]))
    if "pieces" in given:
        return "".join(text * times for text, times in given["pieces"]).encode()
    return str(given["text"]).encode()


def read(case: Case) -> str | None:
    """Compare verdict and values with those of kubectl: whether there is a fault, and the objects before it."""
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(max(usual, _RECURSION))
    try:
        return _compared(case)
    finally:
        sys.setrecursionlimit(usual)  # other tests count on it


def _compared(case: Case) -> str | None:
    wanted = case["expect"]["kubectl"]
    found = as_manifests(decode(content(case["in"]), "FILE"))
    faults = [str(each) for each in found.problems]
    if bool(faults) != bool(wanted.get("errors")):
        message = f"kubectl: {wanted.get('errors', 'reads it')}\n        ours: {faults or 'reads it'}"
        reason = _reason(case, faults)
        return Listed(reason) if reason else message
    return _objects_differ(wanted, found.documents, complete=not faults)


def _reason(case: Case, faults: list[str]) -> str:
    """Why the difference is decided; "" if it is not."""
    for each in _decided():
        if bool(faults) != bool(each.get("reads")) and (
            case["id"] in each.get("ids", ())
            or each.get("flag") in case.get("flags", ())
            or ("says" in each and all(each["says"] in fault for fault in faults))
        ):
            return str(each["reason"])
    return ""


@cache
def _decided() -> list[dict[str, Any]]:
    return list(yaml.safe_load(_DIFFERENCES.read_text()))


def _objects_differ(wanted: Case, found: list[Document], *, complete: bool) -> str | None:
    """Compare objects. Behind a fault we read on; of many objects the table has the first and their number."""
    theirs, ours = wanted.get("objects") or [], [each.value for each in found]
    count = wanted.get("count", len(theirs))
    if len(ours) < count or (complete and len(ours) > count):
        return f"kubectl reads {count} objects, we read {len(ours)}"
    pairs = zip(theirs, ours[: len(theirs)], strict=True)
    return next((f"kubectl: {left}\n        ours: {right}" for left, right in pairs if not _equal(left, right)), None)


def _equal(left: Any, right: Any) -> bool:
    if isinstance(left, dict) and left.keys() == {"$bytes", "$sha256"}:  # the digest of a long object
        text = marshal(right)
        for escape, char in _HTML.items():
            text = text.replace(escape, char)
        return bool(left["$sha256"] == hashlib.sha256(text.encode()).hexdigest())
    return json.dumps(_settled(left), sort_keys=True) == json.dumps(_settled(right), sort_keys=True)


def _settled(value: Any) -> Any:
    """The value with 1.0 as 1, as the table counts them."""
    if isinstance(value, dict):
        return {key: _settled(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_settled(item) for item in value]
    if (isinstance(value, float) and value.is_integer()) or (isinstance(value, int) and value not in INT64):
        return int(float(value))
    return value


OPS = {"read": read}
