"""Operations on CustomResourceDefinitions: what the API server refuses to create or update."""

from __future__ import annotations

from typing import Any

from tests.conformance.compare import differs, errors_differ
from tests.crds import crd
from webhook.cel.program import Budget
from webhook.schema import FieldError
from webhook.schema.crd.defaults import validate_defaults
from webhook.schema.crd.document import validate_crd
from webhook.schema.crd.spec import stored_version_errors, warning_problems
from webhook.schema.crd.structure import StructureOptions, validate_completeness
from webhook.schema.node import build
from webhook.schema.paths import PathError, resolve_path

Case = dict[str, Any]


def create(case: Case) -> str | None:
    wanted = case["v1"]
    crd = wanted.get("crd") or case["in"]["crd"]
    if "decodeError" in wanted:
        return None if validate_crd(crd) else "wanted a refusal"
    return errors_differ(wanted["errors"], validate_crd(crd))


def update(case: Case) -> str | None:
    return errors_differ(case["v1"]["errors"], validate_crd(case["in"]["crd"], case["in"]["oldCrd"]))


def create_schema(case: Case) -> str | None:
    definition = crd("x.io", "Foo", case["in"]["openAPIV3Schema"])
    return errors_differ(case["expect"].get("errors", []), validate_crd(definition))


def stored_versions(case: Case) -> str | None:
    crd = case["in"]["crd"]
    got = stored_version_errors(crd["status"].get("storedVersions"), crd["spec"]["versions"])
    return errors_differ(case["actual"]["errors"], got)


def deprecation_warning(case: Case) -> str | None:
    got = warning_problems(case["in"]["deprecated"], case["in"].get("warning"))
    return differs("problems", case["expect"]["errors"] or [], got)


def default_validate(case: Case) -> str | None:
    budget = Budget(case["in"]["costBudget"])
    got = validate_defaults(build(case["in"]["schema"]), "test", resource=False, pruned=False, budget=budget)
    # Which default runs out of budget depends on the order of a Go map.
    wanted = [error["detail"] for error in case["actual"]["errors"]]
    return differs("details", sorted(wanted), sorted(error.detail for error in got))


def completeness(case: Case) -> str | None:
    given = case["in"]["options"]
    options = StructureOptions(
        nested_additional_properties=given["AllowNestedAdditionalProperties"],
        nested_rules=given["AllowNestedXValidations"],
        properties_of_additional=given["AllowValidationPropertiesWithAdditionalProperties"],
    )
    got = validate_completeness(build(case["in"]["schema"]), "", options)
    printed = [FieldError(e.type, e.field.removeprefix("."), e.detail.replace(" in .", " in ")) for e in got]
    return errors_differ(case["actual"]["errors"], printed)


def field_path(case: Case) -> str | None:
    wanted = case["actual"].get("error")
    try:
        resolve_path(case["in"]["fieldPath"], build(case["in"]["schema"]), brackets=case["in"].get("allowArray", True))
    except PathError as error:
        return differs("error", wanted, str(error))
    return differs("error", wanted, None)


OPS = {
    "crd-create": create,
    "crd-create-v1": create_schema,
    "crd-deprecation-warning": deprecation_warning,
    "crd-schema-validate": create,
    "crd-stored-versions": stored_versions,
    "crd-validate": create,
    "crd-validate-update": update,
    "default-validate": default_validate,
    "field-path": field_path,
    "nonstructural-condition": create,
    "structural-completeness": completeness,
}
