"""Operations on structural schemas: defaulting, pruning, metadata, OpenAPI, list types."""

from __future__ import annotations

from typing import Any

from tests.conformance.compare import differs, errors_differ, first, warnings_differ
from webhook.schema import Structural
from webhook.schema.correlate import validate_lists
from webhook.schema.default import compile_default, copy_json
from webhook.schema.fielderror import CoerceError
from webhook.schema.formats import recognised
from webhook.schema.node import MISSING, build
from webhook.schema.objectmeta.codec import MetadataError, decode_metadata, decode_metadata_leniently
from webhook.schema.objectmeta.embedded import coerce, validate_embedded
from webhook.schema.prune import drop_nulls, prune
from webhook.schema.validate import validate

Case = dict[str, Any]


def _untouched(case: Case) -> tuple[Any, Any]:
    """The object, and a copy to find out whether it was changed."""
    return case["in"]["obj"], copy_json(case["in"]["obj"])


def default(case: Case) -> str | None:
    obj, before = _untouched(case)
    fill = compile_default(build(case["in"].get("schema")))
    got = obj if fill is None else fill(obj)
    return first(differs("object", case["actual"]["obj"], got), differs("input mutated", before, obj))


def prune_nulls(case: Case) -> str | None:
    obj, before = _untouched(case)
    got = drop_nulls(build(case["in"].get("schema")), obj)
    return first(differs("object", case["actual"]["obj"], got), differs("input mutated", before, obj))


def prune_op(case: Case) -> str | None:
    obj, before = _untouched(case)
    schema = case["in"].get("schema")
    got, paths = prune(None if schema is None else build(schema), obj, is_root=case["in"]["isRoot"])
    return first(
        differs("object", case["actual"]["obj"], got),
        differs("paths", case["actual"]["pruned"], paths),
        differs("input mutated", before, obj),
    )


def listtype(case: Case) -> str | None:
    got = validate_lists(build(case["in"].get("schema")), case["in"]["obj"], "root")
    return errors_differ(case["actual"]["errors"], got)


def metadata_coerce(case: Case) -> str | None:
    given, actual = case["in"], case["actual"]
    schema = given.get("schema")
    node = None if schema is None else build(schema)
    try:
        got, unknown = coerce(node, given["obj"], is_root=given["isRoot"], drop_invalid=given["dropInvalidFields"])
    except CoerceError as error:
        return differs("error", actual["error"], str(error.error))
    return first(differs("object", actual["obj"], got), differs("unknown", actual["unknown"], unknown))


def metadata_get(case: Case) -> str | None:
    given, actual = case["in"], case["actual"]
    value = given["obj"].get("metadata")
    try:
        got, unknown = decode_metadata(value)
    except MetadataError as error:
        if not given["dropMalformed"]:
            return differs("error", actual.get("error"), str(error))
        got, unknown = decode_metadata_leniently(value)
    wanted = actual.get("unknown", []) if given["returnUnknown"] else []
    paths = [f"metadata.{name}" for name in unknown] if given["returnUnknown"] else []
    return first(differs("metadata", actual["objectMeta"], got), differs("unknown", wanted, paths))


def metadata_validate(case: Case) -> str | None:
    given = case["in"]
    schema = given.get("schema")
    node = None if schema is None else build(schema)
    return errors_differ(case["actual"]["errors"], validate_embedded(node, given["obj"], is_root=given["isRoot"]))


def openapi(case: Case) -> str | None:
    return _openapi(case, MISSING)


def openapi_ratchet(case: Case) -> str | None:
    got = validate(build(case["in"]["schema"]), case["in"]["obj"], old=case["in"]["oldObj"])
    wanted = sorted(case["actual"]["errors"])
    return differs("errors", wanted, sorted(error.detail for error in got))


def _openapi(case: Case, old: Any) -> str | None:
    got = validate(build(case["in"]["schema"]), case["in"]["obj"], old=old)
    return errors_differ(case["actual"]["errors"], got)


def unrecognized_formats(case: Case) -> str | None:
    schema = case["in"]["schema"]
    major, _, minor = case["in"]["version"].partition(".")
    name = schema.get("format", "")
    kinds = schema.get("type") or ()
    types = (kinds,) if isinstance(kinds, str) else tuple(kinds)
    known = recognised(name, types, (int(major), int(minor)))
    return differs("formats", case["expect"]["unrecognized"] or [], [] if known or not name else [name])


def custom_resource(case: Case) -> str | None:
    """The whole way of a create or update: decode, validate, run the rules."""
    given, wanted = case["in"], case["expect"] | case["actual"]
    schema = Structural(given["schema"])
    obj, before = _untouched(case)
    decoded, unknown, _ = schema.decode_file(obj)
    old = given.get("oldObj")
    if old is not None:
        old = schema.decode_file(old, drop_invalid=True).object
    errors, warnings, _ = schema.check(decoded, old)
    return first(
        differs("object", wanted["obj"], decoded),
        differs("unknown fields", wanted.get("unknownFields", []), unknown),
        errors_differ(_all_errors(wanted), errors),
        _has_warnings(case) and warnings_differ(wanted.get("warnings", []), warnings),
        differs("input mutated", before, obj),
    )


def _has_warnings(case: Case) -> bool:
    """The file of ratcheting updates was recorded without them."""
    return case["src"] == "kcel-oracle"


def _all_errors(wanted: dict[str, Any]) -> list[dict[str, Any]]:
    found = [error for key in ("openapi", "embedded", "listtype", "cel") for error in wanted.get(key, [])]
    if wanted.get("celBlocked"):
        text = (
            "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; "
            "correct the existing errors to complete validation"
        )
        found.append({"type": "FieldValueInvalid", "message": text})
    return found


OPS = {
    "cr-create": custom_resource,
    "cr-update": custom_resource,
    "default": default,
    "prune-nulls": prune_nulls,
    "prune": prune_op,
    "listtype": listtype,
    "objectmeta-coerce": metadata_coerce,
    "objectmeta-get": metadata_get,
    "objectmeta-validate": metadata_validate,
    "openapi": openapi,
    "openapi-ratchet": openapi_ratchet,
    "unrecognized-formats": unrecognized_formats,
}
