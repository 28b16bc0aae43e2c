"""Checks a CustomResourceDefinition: all errors that the API server would report.

``ValidateCustomResourceDefinition`` and ``…Update`` of apiextensions, for v1 documents.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from webhook.golang.errors import GoError
from webhook.golang.json import deep_equal
from webhook.golang.names import dns_1123_subdomain
from webhook.golang.strconv import quote
from webhook.golang.url import parse_request_uri
from webhook.schema.crd.conversion import bundle_errors, conversion_errors, has_recognised_version
from webhook.schema.crd.internal import internal_spec
from webhook.schema.crd.rules import SchemaOptions
from webhook.schema.crd.spec import (
    column_errors,
    group_errors,
    names_errors,
    scope_errors,
    selectable_errors,
    stored_version_errors,
    subresource_errors,
    version_errors,
    warning_problems,
)
from webhook.schema.crd.version import has_keyword, options_for_update, schemas_of, unchanged, validation_errors
from webhook.schema.fielderror import FieldError, invalid, required
from webhook.schema.objectmeta.codec import MetadataError, decode_metadata
from webhook.schema.objectmeta.validation import validate_metadata

Raw = Mapping[str, Any]

_APPROVED = "api-approved.kubernetes.io"
_PULL = "see https://github.com/kubernetes/enhancements/pull/1111"
_IMMUTABLE = "field is immutable"


def validate_crd(document: Raw, old: Raw | None = None) -> list[FieldError]:
    """The errors of creating a CRD, or of updating ``old`` to it; [] if the API server would accept it."""
    spec = internal_spec(document.get("spec") or {})
    before = None if old is None else internal_spec(old.get("spec") or {})
    errors = _metadata_errors(document, spec) if old is None else _metadata_update_errors(document, old)
    options = SchemaOptions() if before is None else options_for_update(before)
    errors += _Spec(spec, before, options, _is_established(old)).errors()
    if old is not None and before is not None:
        errors += _immutable_errors(spec, before, established=_is_established(old))
    errors += stored_version_errors(_stored(document, spec, created=old is None), spec["versions"])
    errors += _approval_errors(document, old, spec.get("group") or "")
    if spec.get("preserveUnknownFields") and not (before or {}).get("preserveUnknownFields"):
        why = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        errors.append(invalid("spec.preserveUnknownFields", True, why))
    return errors


def _stored(document: Raw, spec: Raw, *, created: bool) -> list[str] | None:
    """``status.storedVersions``; a creation sets it to the first storage version."""
    stored = (document.get("status") or {}).get("storedVersions") or []
    if stored and not created:
        return list(stored)
    return [version.get("name") or "" for version in spec["versions"] if version.get("storage")][:1] or None


def _is_established(crd: Raw | None) -> bool:
    conditions = ((crd or {}).get("status") or {}).get("conditions") or ()
    return any(c.get("type") == "Established" and c.get("status") == "True" for c in conditions)


class _Spec:
    """The errors of ``spec``. The API server checks the versions first, then the parts that they share."""

    def __init__(self, spec: dict[str, Any], before: Raw | None, options: SchemaOptions, established: bool) -> None:
        self.spec = spec
        self.before = before
        self.established = established
        schemas = list(schemas_of(spec))
        self.defaults = any(has_keyword(raw, lambda node: node.get("default") is not None) for raw in schemas)
        demanded = not spec.get("preserveUnknownFields") or self.defaults
        extended = any(has_keyword(raw, _has_extension) for raw in schemas)
        self.options = dataclasses.replace(options, structural=True) if demanded or extended else options

    def errors(self) -> list[FieldError]:
        spec = self.spec
        errors = group_errors(spec.get("group") or "", "spec.group")
        errors += scope_errors(spec.get("scope") or "", "spec.scope")
        errors += self._missing_schemas()
        if self.defaults and spec.get("preserveUnknownFields"):
            errors.append(
                invalid("spec.preserveUnknownFields", True, "must be false in order to use defaults in the schema")
            )
        for i, version in enumerate(spec["versions"]):
            errors += self._version_errors(version, f"spec.versions[{i}]")
        errors += version_errors(spec["versions"], "spec.versions", absent=spec["absent"])
        errors += names_errors(spec["names"], "spec.names")
        return errors + self._shared_errors() + self._conversion_errors()

    def _missing_schemas(self) -> Iterator[FieldError]:
        shared = (self.spec.get("validation") or {}).get("openAPIV3Schema")
        may_lack = self.before is not None and not _all_have_schema(self.before)
        for i, version in enumerate(self.spec["versions"]):
            own = f"spec.versions[{i}].schema.openAPIV3Schema"
            if shared is not None or (version.get("schema") or {}).get("openAPIV3Schema") is not None:
                continue
            if not may_lack:
                yield required(own)
            elif version.get("served") and not self.spec.get("preserveUnknownFields"):
                yield required(own, "because otherwise all fields are pruned")

    def _version_errors(self, version: Raw, path: str) -> list[FieldError]:
        warning = version.get("deprecationWarning")
        problems = warning_problems(bool(version.get("deprecated")), warning)
        errors = [invalid(f"{path}.deprecationWarning", warning, why) for why in problems]
        subresources = self.spec.get("subresources") or version.get("subresources")
        status = (subresources or {}).get("status") is not None
        options = self._options_of(version)
        errors += validation_errors(version.get("schema"), f"{path}.schema", options, status=status)
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        why = "may only be set when `version.schema.openAPIV3Schema` is not included"
        return errors + _holder_errors(version, path, schema, why if schema is None else "", self._had_many(version))

    def _shared_errors(self) -> list[FieldError]:
        spec, schema = self.spec, self.spec.get("validation")
        holders = (spec, *spec["versions"])
        status = any((holder.get("subresources") or {}).get("status") is not None for holder in holders)
        options = self._options_of({"name": spec["version"]})
        errors = validation_errors(schema, "spec.validation", options, status=status)
        why = "may only be set when validations.schema is included" if schema is None else ""
        return errors + _holder_errors(spec, "spec", (schema or {}).get("openAPIV3Schema"), why, self._had_many({}))

    def _conversion_errors(self) -> list[FieldError]:
        spec, before = self.spec, self.before
        conversion = spec.get("conversion")
        strategy = (conversion or {}).get("strategy")
        errors = []
        if conversion is not None and strategy != "None" and spec.get("preserveUnknownFields"):
            why = "must be None if spec.preserveUnknownFields is true"
            errors.append(invalid("spec.conversion.strategy", strategy or "", why))
        old_webhook = ((before or {}).get("conversion") or {}).get("webhook") or {}
        reviews = old_webhook.get("conversionReviewVersions") or []
        old_bundle = (old_webhook.get("clientConfig") or {}).get("caBundle")
        return errors + conversion_errors(
            conversion,
            "spec.conversion",
            recognised=before is None or has_recognised_version(reviews),
            valid_bundle=self.established and (not old_bundle or not bundle_errors(old_bundle, "")),
        )

    def _options_of(self, version: Raw) -> SchemaOptions:
        if self.before is None:
            return self.options
        name = version.get("name")
        old, new = _schema_of(self.before, name), _schema_of(self.spec, name)
        return unchanged(self.options) if old is not None and deep_equal(old, new) else self.options

    def _had_many(self, version: Raw) -> bool:
        """Whether the old CRD has the same selectable fields; an update may keep too many."""
        holder: Raw = version or self.spec
        old = self.before if not version else _version_of(self.before or {}, version.get("name"))
        return old is not None and deep_equal(old.get("selectableFields"), holder.get("selectableFields"))


def _holder_errors(holder: Raw, path: str, schema: Raw | None, no_fields: str, had_many: bool) -> list[FieldError]:
    """The errors of subresources, columns and selectable fields. ``no_fields``: why there must be none of the last."""
    errors = subresource_errors(holder.get("subresources"), f"{path}.subresources")
    for i, column in enumerate(holder.get("additionalPrinterColumns") or ()):
        errors += column_errors(column, f"{path}.additionalPrinterColumns[{i}]")
    fields, own = holder.get("selectableFields") or (), f"{path}.selectableFields"
    if fields and no_fields:
        return [*errors, invalid(own, "", no_fields)]
    return errors + (selectable_errors(fields, schema, own, many=had_many) if fields else [])


def _version_of(spec: Raw, name: Any) -> Raw | None:
    return next((version for version in spec.get("versions") or () if version.get("name") == name), None)


def _schema_of(spec: Raw, name: Any) -> Any:
    if spec.get("validation") is not None:
        return spec["validation"]
    return (_version_of(spec, name) or {}).get("schema")


def _all_have_schema(spec: Raw) -> bool:
    if (spec.get("validation") or {}).get("openAPIV3Schema") is not None:
        return True
    return all((version.get("schema") or {}).get("openAPIV3Schema") is not None for version in spec["versions"])


def _has_extension(raw: Raw) -> bool:
    flags = ("x-kubernetes-embedded-resource", "x-kubernetes-int-or-string")
    lists = ("x-kubernetes-list-map-keys", "x-kubernetes-validations")
    pointers = ("x-kubernetes-preserve-unknown-fields", "x-kubernetes-list-type")
    return any(raw.get(key) for key in flags + lists) or any(raw.get(key) is not None for key in pointers)


def _metadata_errors(document: Raw, spec: Raw) -> list[FieldError]:
    wanted = f"{spec['names'].get('plural') or ''}.{spec.get('group') or ''}"

    def rule(name: str) -> list[str]:
        problems = dns_1123_subdomain(name)
        return problems if name == wanted else [*problems, 'must be spec.names.plural+"."+spec.group']

    try:
        meta, _ = decode_metadata(document.get("metadata"))
    except MetadataError as error:
        return [invalid("metadata", document.get("metadata"), str(error))]
    meta.setdefault("name", wanted)
    return validate_metadata(meta, namespaced=False, name_rule=rule)


def _metadata_update_errors(document: Raw, old: Raw) -> list[FieldError]:
    meta, before = document.get("metadata") or {}, old.get("metadata") or {}
    errors = []
    if not meta.get("resourceVersion"):
        errors.append(invalid("metadata.resourceVersion", "", "must be specified for an update"))
    errors += [
        invalid(f"metadata.{key}", meta.get(key) or "", _IMMUTABLE)
        for key in ("name", "namespace", "uid")
        if (meta.get(key) or "") != (before.get(key) or "")
    ]
    return errors


def _immutable_errors(spec: Raw, before: Raw, *, established: bool) -> list[FieldError]:
    pairs = [("group", spec.get("group"), before.get("group"))]
    pairs.append(("names.plural", spec["names"].get("plural"), before["names"].get("plural")))
    if established:
        pairs.append(("scope", spec.get("scope"), before.get("scope")))
        pairs.append(("names.kind", spec["names"].get("kind"), before["names"].get("kind")))
    return [invalid(f"spec.{path}", new or "", _IMMUTABLE) for path, new, was in pairs if (new or "") != (was or "")]


def _approval_errors(document: Raw, old: Raw | None, group: str) -> list[FieldError]:
    """Groups of the Kubernetes community need an approval, or a reason why they have none."""
    if not f".{group}".endswith((".k8s.io", ".kubernetes.io")):
        return []
    state, error = _approval(document)
    return [] if error is None or (old is not None and _approval(old)[0] == state) else [error]


def _approval(document: Raw) -> tuple[str, FieldError | None]:
    text = ((document.get("metadata") or {}).get("annotations") or {}).get(_APPROVED) or ""
    path = f"metadata.annotations[{_APPROVED}]"
    needs = f"protected groups must have approval annotation {quote(_APPROVED)}"
    if not text:
        return "missing", required(path, f"{needs}, {_PULL}")
    if text.startswith("unapproved"):
        return "bypassed", None
    if _names_host(text):
        return "approved", None
    why = f'{needs} with either a URL or a reason starting with "unapproved", {_PULL}'
    return "invalid", invalid(path, text, why)


def _names_host(text: str) -> bool:
    try:
        url = parse_request_uri(text)
    except GoError:
        return False
    return bool(url.scheme and url.host)
