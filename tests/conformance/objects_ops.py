"""Operations on objects of built-in kinds: create, update (PUT) and patch (JSON merge) of ``objects-corpus/1``.

Compared are whether an object is decoded, its unknown fields, its defaults, and of each error its type, field
and detail.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from tests.conformance.compare import first
from tests.conformance.objects import FAMILY
from tests.conformance.runner import Listed
from webhook.kubernetes import is_validated, name_rule, object_errors
from webhook.library.apiserver import completed, receive
from webhook.schema import FieldError, decode_metadata_leniently, validate_metadata, validate_metadata_update

Case = dict[str, Any]
Errors = set[tuple[str, str, str]]

DIFFERENCES: dict[str, str] = yaml.safe_load(Path(__file__).with_name("differences_objects.yaml").read_text())
"""By id of a case, or by class: why ours differs, on purpose."""
_DIFF = "\n@@"
"""Kubernetes prints the difference of two Go structures after some texts; it is left out here."""
_UNKNOWN = "unknown field"
_ALLOCATED = ("clusterIP", "clusterIPs", "healthCheckNodePort", "ipFamilies", "ipFamilyPolicy")


def answer(case: Case) -> str | None:
    obj, old = _given(case)
    reason = _class_of(case, obj) or DIFFERENCES.get(case["id"])
    message = _answer(case, obj, old) if "panic" not in case else "a panic"
    return Listed(reason) if message and reason else message


def _class_of(case: Case, obj: Case) -> str | None:
    if not is_validated(obj["apiVersion"], obj["kind"]):
        return DIFFERENCES["kinds"]
    return DIFFERENCES["panic" if "panic" in case else "allocate"] if "panic" in case or "phase" in case else None


def _given(case: Case) -> tuple[Case, Case | None]:
    """The object that is sent, and what is stored."""
    if case["op"] == f"{FAMILY}create":
        return case["in"], None
    old = _stored(case["old"])
    new = case["in"] if case["op"] == f"{FAMILY}update" else _merged(old, case["in"])
    return {**new, "apiVersion": old["apiVersion"], "kind": old["kind"]}, old


def _stored(written: Case) -> Case:
    obj = completed(receive(written, None).object)
    return {**obj, "status": written["status"]} if "status" in written else obj


def _merged(value: Any, patch: Any) -> Any:
    """A JSON merge patch (RFC 7396)."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(value) if isinstance(value, dict) else {}
    for key, item in patch.items():
        if item is None:
            merged.pop(key, None)
        else:
            merged[key] = _merged(merged.get(key), item)
    return merged


def _answer(case: Case, obj: Case, old: Case | None) -> str | None:
    received = receive(obj, None, old)
    wrong = [cause for cause in received.causes if cause.message != _UNKNOWN]
    if wrong or "decode" in case:
        return None if wrong and "decode" in case else f"decoding: {wrong or case['decode']}"
    if not is_validated(obj["apiVersion"], obj["kind"]):
        return "not validated"
    whole = completed(received.object, old)
    unknown = {f'{_UNKNOWN} "{cause.field}"' for cause in received.causes}
    strict = {text for text in case.get("strict", []) if text.startswith(_UNKNOWN)}
    missed = f"unknown fields: {sorted(strict ^ unknown)}" if strict != unknown else None
    return first(missed, _errors_differ(case, whole, old), _defaults_differ(case, whole))


def _errors_differ(case: Case, obj: Case, old: Case | None) -> str | None:
    wanted: Errors = {(each["type"], each["field"], each["detail"].partition(_DIFF)[0]) for each in case["errors"]}
    errors = [*object_errors(obj, old), *_metadata_errors(obj, old)]
    found: Errors = {(each.type, each.field, each.detail) for each in errors}
    return f"missing {sorted(wanted - found)}, more {sorted(found - wanted)}" if wanted != found else None


def _metadata_errors(obj: Case, old: Case | None) -> list[FieldError]:
    metadata = decode_metadata_leniently(obj.get("metadata"))[0] or {}
    if old is not None:
        return validate_metadata_update(metadata, old["metadata"])
    if not metadata.get("name") and "generateName" in metadata:
        metadata = {**metadata, "name": f"{metadata['generateName'][:58]}xxxxx"}
    api_version, kind = obj["apiVersion"], obj["kind"]
    return validate_metadata(metadata, namespaced=True, name_rule=name_rule(api_version, kind))


def _defaults_differ(case: Case, obj: Case) -> str | None:
    if "defaulted" not in case or case["errors"]:
        return None
    wanted, found = (_plain(each) for each in (case["defaulted"], obj))
    return f"defaults: wanted {wanted}, found {found}" if wanted != found else None


def _plain(obj: Case) -> Any:
    """Without metadata, status, what is allocated, and zero values, which Go may leave out."""
    spec = {key: item for key, item in (obj.get("spec") or {}).items() if key not in _ALLOCATED}
    if obj["kind"] == "Service":
        ports = [{key: item for key, item in each.items() if key != "nodePort"} for each in spec.get("ports") or []]
        spec["ports"] = ports
    return _without_zeros({**{key: obj[key] for key in obj if key not in ("metadata", "status")}, "spec": spec})


def _without_zeros(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {key: _without_zeros(item) for key, item in value.items()}
        return {key: item for key, item in kept.items() if item not in ("", 0, None, {}, [])}
    return [_without_zeros(item) for item in value] if isinstance(value, list) else value


OPS = {FAMILY + op: answer for op in ("create", "update", "patch")}
