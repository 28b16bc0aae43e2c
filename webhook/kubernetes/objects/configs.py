"""ConfigMap, Secret, ServiceAccount, PodDisruptionBudget and PersistentVolumeClaim."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Final

from webhook.golang.strconv import quote
from webhook.ground.fieldpath import ROOT, FieldPath
from webhook.kubernetes.formats import FORMATS
from webhook.kubernetes.judge import Judge, walk
from webhook.kubernetes.objects.selecting import check_part, check_selector, check_share
from webhook.kubernetes.values import Json, field, text
from webhook.schema.fielderror import invalid, not_supported, required, too_long

_SPEC: Final = ROOT.child("spec")
_MOST_BYTES: Final = 1 << 20
_EVICTIONS: Final = ("AlwaysAllow", "IfHealthyBudget")

_NEEDED: Final[Mapping[str, tuple[str, ...]]] = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}
"""The keys that a Secret of a type must have."""
_ACCOUNT_TOKEN, _BASIC = "kubernetes.io/service-account-token", "kubernetes.io/basic-auth"
_ACCOUNT_NAME: Final = "kubernetes.io/service-account.name"


def check_config_map(judge: Judge, obj: Json) -> None:
    texts, binary = field(obj, "data") or {}, field(obj, "binaryData") or {}
    size = 0
    for name, values in (("data", texts), ("binaryData", binary)):
        for key, value in values.items():
            judge.add_invalid(FORMATS["configKey"][1](key), key, ROOT.child(name).key(key))
            size += len(_decoded(value)) if name == "binaryData" else len(str(value).encode(errors="replace"))
    for key in texts.keys() & binary.keys():
        judge.add(invalid(ROOT.child("data").key(key), key, "duplicate of key present in binaryData"))
    if size > _MOST_BYTES:
        judge.add(too_long(ROOT, _MOST_BYTES))


def _decoded(value: object) -> bytes:
    """The bytes of base64; none if the text is something else, which the decoder has refused."""
    try:
        return base64.b64decode(value) if isinstance(value, str) else b""
    except ValueError:
        return b""


def check_secret(judge: Judge, obj: Json) -> None:
    data, kind, at = field(obj, "data") or {}, text(obj, "type"), ROOT.child("data")
    size = 0
    for key, value in data.items():
        judge.add_invalid(FORMATS["configKey"][1](key), key, at.key(key))
        size += len(_decoded(value))
    if size > _MOST_BYTES:
        judge.add(too_long(at, _MOST_BYTES))
    if kind == _ACCOUNT_TOKEN:
        notes = field(field(obj, "metadata") or {}, "annotations") or {}
        if not notes.get(_ACCOUNT_NAME):
            judge.add(required(ROOT.child("metadata", "annotations").key(_ACCOUNT_NAME)))
    elif kind == _BASIC and not data.keys() & {"username", "password"}:
        for key in ("username", "password"):
            judge.add(required(at.key(key)))
    for key in _NEEDED.get(kind, ()):
        if key not in data:
            judge.add(required(at.key(key)))
        elif key.startswith("."):
            _check_json(judge, _decoded(data[key]), at.key(key))


def _check_json(judge: Judge, content: bytes, at: FieldPath) -> None:
    """The configuration of a registry must be an object of JSON; Go's words are another decoder's."""
    try:
        if isinstance(json.loads(content), dict | None):
            return
        noun = {list: "array", str: "string", bool: "bool"}.get(type(json.loads(content)), "number")
        why = f"json: cannot unmarshal {noun} into Go value of type map[string]interface {{}}"
    except RecursionError:
        why = "exceeded max depth"
    except ValueError as error:
        why = _words(content, error)
    judge.add(invalid(at, "<secret contents redacted>", why))


def _words(content: bytes, error: ValueError) -> str:
    """Go's words for a text that is not JSON."""
    if not isinstance(error, json.JSONDecodeError):
        return f"not JSON: {error}"
    place = error.pos + (error.msg == "Expecting value" and content[error.pos : error.pos + 1] == b"-")
    if place >= len(error.doc):
        return "unexpected end of JSON input"
    sign = error.doc[place].encode(errors="replace")[:1].decode("latin-1")
    after = "in numeric literal" if place > error.pos else _AFTER.get(error.msg, "looking for beginning of value")
    return f"invalid character {quote_sign(sign)} {after}"


_AFTER: Final[Mapping[str, str]] = {
    "Extra data": "after top-level value",
    "Expecting property name enclosed in double quotes": "looking for beginning of object key string",
    "Expecting ':' delimiter": "after object key",
    "Expecting ',' delimiter": "after object key:value pair",
}


def quote_sign(sign: str) -> str:
    """A character as the decoder quotes it."""
    return {"'": r"'\''", '"': "'\"'"}.get(sign) or f"'{quote(sign)[1:-1]}'"


def check_nothing(_judge: Judge, _obj: Json) -> None:
    """A kind of which only the metadata is validated."""


def check_budget(judge: Judge, obj: Json) -> None:
    """A PodDisruptionBudget."""
    spec = field(obj, "spec") or {}
    keys = [key for key in ("minAvailable", "maxUnavailable") if spec.get(key) is not None]
    if len(keys) > 1:
        judge.add(invalid(_SPEC, spec, "minAvailable and maxUnavailable cannot be both set"))
    for key in keys:
        check_share(judge, spec[key], _SPEC.child(key))
        check_part(judge, spec[key], _SPEC.child(key))
    selector = field(spec, "selector")
    if selector is not None:
        check_selector(judge, selector, _SPEC.child("selector"))
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None and policy not in _EVICTIONS:
        judge.add(not_supported(_SPEC.child("unhealthyPodEvictionPolicy"), policy, _EVICTIONS))


def check_claim(judge: Judge, obj: Json) -> None:
    """A PersistentVolumeClaim."""
    spec = field(obj, "spec") or {}
    walk(judge, "PersistentVolumeClaimSpec", spec, _SPEC)
    selector = field(spec, "selector")
    if selector is not None:
        check_selector(judge, selector, _SPEC.child("selector"))
