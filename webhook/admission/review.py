"""AdmissionReview on the wire: decode and cross-check a request, encode a decision.

``admission.k8s.io/v1`` and ``v1beta1`` are supported; the reply has the version of the request. It is what
``k8s.io/apiserver``'s ``VerifyAdmissionResponse`` accepts: same uid and version, patch and patchType together or not at
all, and never on a validating call.
"""

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Callable
from functools import lru_cache
from operator import itemgetter
from typing import Any, Final, Literal, NamedTuple

import orjson

from webhook.admission import patch
from webhook.admission.decision import Decision, GroupVersionKind, Request, group_version
from webhook.admission.errors import Malformed
from webhook.admission.keys import check_keys
from webhook.admission.status import status, warnings
from webhook.golang.credentials import masked
from webhook.golang.json import has_unsettled, settle, settled_text

_VERSIONS: Final = ("admission.k8s.io/v1", "admission.k8s.io/v1beta1")
_OPERATIONS: Final = ("CREATE", "UPDATE", "DELETE", "CONNECT")

# What every request of an API server has.
_SENT: Final = itemgetter("uid", "operation", "kind", "resource", "userInfo", "object")
_KIND: Final = itemgetter("group", "version", "kind")
_RESOURCE: Final = itemgetter("resource", "group", "version")
_OWN: Final = itemgetter("apiVersion", "kind", "metadata")

_KINDS: Final = 64
"""Kinds remembered: many more than a cluster serves of LLMs. One may have names of 64 KiB."""


def decode(body: bytes) -> tuple[str, Request]:
    """The review's API version and its request.

    Raises:
        Malformed: not JSON, not an AdmissionReview, or one whose parts contradict each other.
    """
    try:
        review = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Malformed(f"the body is not JSON: {error}") from None
    # An API server writes JSON as orjson does: a text that is the same has no key twice.
    if settled_text(review) != body.rstrip():
        check_keys(body, review)
        if has_unsettled(body):
            review = settle(review)
    if not isinstance(review, dict):
        raise Malformed(f"the body must be an AdmissionReview object, not {_json_type(review)}")
    version = review.get("apiVersion")
    if review.get("kind") != "AdmissionReview" or version not in _VERSIONS:
        raise Malformed(
            f"expected kind AdmissionReview of {' or '.join(_VERSIONS)}, "
            f"got kind {_shown(review.get('kind'))} of {_shown(version)}"
        )
    request = review.get("request")
    if not isinstance(request, dict):
        raise Malformed(f"AdmissionReview has no request: expected an object, got {_json_type(request)}")
    return version, _usual_request(request, len(body)) or _request(request, len(body))


def _usual_request(raw: dict[str, Any], size: int) -> Request | None:
    """What :func:`_request` makes of a request to create or update an object, if nothing about it is unusual."""
    get: Callable[..., Any] = raw.get
    name, namespace, options, old = get("name", ""), get("namespace", ""), get("options"), get("oldObject")
    if options is None:
        options = {}
    try:
        uid, operation, kind, resource, user, new = _SENT(raw)
        usual = _usual_kind(*_KIND(kind), *_RESOURCE(resource))
        for obj in (new,) if old is None else (new, old):
            written, own, metadata = _OWN(obj)
            if (
                written != usual.written
                or own != usual.kind.kind
                or metadata.get("name", name) != name
                or metadata.get("namespace", namespace) != namespace
            ):
                return None
    except (KeyError, TypeError, AttributeError):
        return None
    if (
        not uid
        or not uid.__class__ is name.__class__ is namespace.__class__ is str
        or not user.__class__ is options.__class__ is dict
        or get("subResource", "") != ""
        or operation != ("CREATE" if old is None else "UPDATE")
    ):
        return None
    dry = get("dryRun") is True
    return Request(
        usual.kind, usual.plural, operation, new, old, uid, name, namespace, "", dry, user, options, usual.api, size
    )


class _Usual(NamedTuple):
    """What a request and its object say of their kind; ``written`` is the object's apiVersion."""

    kind: GroupVersionKind
    plural: str
    written: str
    api: tuple[str, str]


@lru_cache(_KINDS)
def _usual_kind(group: object, version: object, kind: object, plural: object, *api: object) -> _Usual:
    """The kind and the resource of a request, if they belong to the same API.

    Raises:
        TypeError: they do not, or one is not a text.
    """
    match group, version, kind, plural:
        case str(), str(), str(), str() if api == (group, version):
            written = f"{group}/{version}" if group else version
            return _Usual(GroupVersionKind(group, version, kind), plural, written, (group, version))
    raise TypeError("not usual")


def _request(raw: dict[str, Any], size: int) -> Request:
    kind = _mapping(raw, "kind")
    resource = _mapping(raw, "resource")
    api = (_text(resource, "group"), _text(resource, "version"))
    request = Request(
        kind=GroupVersionKind(_text(kind, "group"), _text(kind, "version"), _text(kind, "kind")),
        resource=_text(resource, "resource"),
        operation=_text(raw, "operation"),
        object=_object(raw, "object"),
        old_object=_object(raw, "oldObject"),
        uid=_text(raw, "uid"),
        name=_text(raw, "name"),
        namespace=_text(raw, "namespace"),
        subresource=_text(raw, "subResource"),
        dry_run=raw.get("dryRun") is True,
        user=_mapping(raw, "userInfo"),
        options=_mapping(raw, "options"),
        resource_api=api,
        size=size,
    )
    if not request.uid:
        raise Malformed("request.uid is missing; the response must repeat it")
    if request.operation not in _OPERATIONS:
        raise Malformed(f"request.operation must be one of {', '.join(_OPERATIONS)}, not {_shown(request.operation)}")
    if request.subresource and not request.resource:
        raise Malformed("request.resource is missing; a subresource is part of a resource")
    if not request.subresource and api != (request.kind.group, request.kind.version):
        raise Malformed(
            f"request.kind ({request.kind}) and request.resource "
            f"({request.resource}.{api[1]}.{api[0]}) belong to different APIs"
        )
    _cross_check(request)
    return request


def _cross_check(request: Request) -> None:
    """Refuse a review whose request and object disagree: a rule for one kind could be bypassed with the other."""
    needed = {"CREATE": ("object",), "UPDATE": ("object", "oldObject"), "DELETE": (), "CONNECT": ()}
    objects = {"object": request.object, "oldObject": request.old_object}
    for name in needed[request.operation]:
        if objects[name] is None:
            raise Malformed(f"request.{name} is missing on {request.operation}")
    if request.subresource or request.operation == "CONNECT":
        return  # the object may be of the subresource's own kind: a Scale, an Eviction, connect options
    for name, obj in objects.items():
        if obj is not None:
            _same_object(request, name, obj)


def _same_object(request: Request, name: str, obj: dict[str, Any]) -> None:
    api_version, kind = obj.get("apiVersion"), obj.get("kind")
    expected = (request.kind.group, request.kind.version, request.kind.kind)
    if not isinstance(api_version, str) or (*group_version(api_version), kind) != expected:
        raise Malformed(
            f"request.{name} is {_shown(kind)} of {_shown(api_version)}, but request.kind is {request.kind}"
        )
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        raise Malformed(f"request.{name}.metadata must be an object, not {_json_type(metadata)}")
    for field, value in (("name", request.name), ("namespace", request.namespace)):
        own = metadata.get(field)
        if own and value and own != value:
            raise Malformed(f"request.{name}.metadata.{field} is {_shown(own)}, but request.{field} is {_shown(value)}")


def _mapping(raw: dict[str, Any], key: str) -> dict[str, Any]:
    value = raw.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Malformed(f"request.{key} must be an object, not {_json_type(value)}")
    return value


def _object(raw: dict[str, Any], key: str) -> dict[str, Any] | None:
    return _mapping(raw, key) if raw.get(key) is not None else None


def _text(raw: dict[str, Any], key: str) -> str:
    value = raw.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Malformed(f"request: {key} must be a string, not {_json_type(value)}")
    return value


def _json_type(value: Any) -> str:
    names = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")


def _shown(value: Any) -> str:
    """A value from the request for a message, quoted and shortened. A list may nest deeper than orjson can write."""
    if value is None:
        return "none"
    if isinstance(value, dict | list):
        return _json_type(value)
    text = masked(orjson.dumps(value).decode())
    return text if len(text) <= 80 else f"{text[:77]}…"


def encode(
    call: Literal["mutate", "validate"],
    version: str,
    request: Request,
    decision: Decision,
    audit: dict[str, str] | None = None,
) -> bytes:
    """The reply to the API server: one line of JSON. ``audit`` takes the place of the decision's annotations."""
    audit = decision.audit if audit is None else audit
    allowed = not decision.causes
    response: dict[str, Any] = {"uid": request.uid, "allowed": allowed}
    if not allowed:
        response["status"] = status(request, decision.causes)
    if decision.warnings:
        response["warnings"] = warnings(decision.warnings)
    if audit:
        response["auditAnnotations"] = audit
    if call == "mutate" and allowed:
        operations = decision.patch
        if operations is None:
            operations = orjson.dumps(patch.diff(request.object, decision.object, patch.MOST_OPERATIONS))
        if operations != b"[]":
            response["patchType"] = "JSONPatch"
            response["patch"] = b2a_base64(operations, newline=False).decode()
    return orjson.dumps({"apiVersion": version, "kind": "AdmissionReview", "response": response})
