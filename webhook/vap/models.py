"""Policies and bindings as documents: the fields of ``admissionregistration.k8s.io/v1``.

v1beta1 and v1alpha1 have the same fields. The models refuse a document of the wrong shape, each error with its line;
:mod:`webhook.vap.validation` checks the rest.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from webhook.cel.syntax import RESERVED

Text = Annotated[str, StringConstraints(min_length=1)]
Identifier = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
Version = Literal[
    "admissionregistration.k8s.io/v1", "admissionregistration.k8s.io/v1beta1", "admissionregistration.k8s.io/v1alpha1"
]

# The names below are the fields of Kubernetes documents, in Kubernetes' spelling.
# ruff: noqa: N815


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    @model_validator(mode="before")
    @classmethod
    def _null_is_absent(cls, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: item for key, item in value.items() if item is not None}
        return value


class Requirement(_Model):
    key: str
    operator: str
    values: list[str] = []


class LabelSelector(_Model):
    matchLabels: dict[str, str] = {}
    matchExpressions: list[Requirement] = []


class Rule(_Model):
    """Selects requests by operation and resource; ``resources`` may name subresources (``pods/scale``, ``*/*``)."""

    apiGroups: list[str] = Field(min_length=1)
    apiVersions: list[str] = Field(min_length=1)
    operations: list[Literal["*", "CREATE", "UPDATE", "DELETE", "CONNECT"]] = Field(min_length=1)
    resources: list[Text] = Field(min_length=1)
    resourceNames: list[str] = []
    scope: Literal["*", "Cluster", "Namespaced"] = "*"


class MatchResources(_Model):
    """The API server's defaults: an absent selector selects everything, and versions of a kind are equivalent."""

    namespaceSelector: LabelSelector = LabelSelector()
    objectSelector: LabelSelector = LabelSelector()
    resourceRules: list[Rule] = []
    excludeResourceRules: list[Rule] = []
    matchPolicy: Literal["Exact", "Equivalent"] = "Equivalent"


class ParamKind(_Model):
    apiVersion: Text
    kind: Text


class ParamRef(_Model):
    """Selects params by name or by selector; an empty selector selects all."""

    name: str = ""
    namespace: str = ""
    selector: LabelSelector | None = None
    parameterNotFoundAction: Literal["Allow", "Deny"] = "Deny"

    @model_validator(mode="after")
    def _name_or_selector(self) -> ParamRef:
        if bool(self.name) == (self.selector is not None):
            raise ValueError("give one of name and selector")
        return self


class Named(_Model):
    name: Text
    expression: Text


class Variable(Named):
    name: Identifier

    @model_validator(mode="after")
    def _is_not_reserved(self) -> Variable:
        if self.name in RESERVED:
            raise ValueError(f"name must not be a reserved word of CEL: {self.name}")
        return self


class Validation(_Model):
    expression: Text
    message: str = ""
    messageExpression: str = ""
    reason: Literal["Forbidden", "Invalid", "RequestEntityTooLarge"] | None = None

    @model_validator(mode="after")
    def _one_line(self) -> Validation:
        if "\n" in self.message.strip():
            raise ValueError("message must not contain line breaks")
        if self.message and not self.message.strip():
            raise ValueError("message must not be blank")
        return self


class AuditAnnotation(_Model):
    key: Text
    valueExpression: Text


class _PolicySpec(_Model):
    matchConstraints: MatchResources
    paramKind: ParamKind | None = None
    matchConditions: list[Named] = Field(default=[], max_length=64)
    variables: list[Variable] = []
    failurePolicy: Literal["Fail", "Ignore"] = "Fail"

    @model_validator(mode="after")
    def _names_once(self) -> _PolicySpec:
        if not self.matchConstraints.resourceRules:
            raise ValueError("matchConstraints.resourceRules must have at least one rule")
        for part, items in (("matchConditions", self.matchConditions), ("variables", self.variables)):
            names = [item.name for item in items]
            if twice := {name for name in names if names.count(name) > 1}:
                raise ValueError(f"{part}: given twice: {', '.join(sorted(twice))}")
        return self


class ValidatingSpec(_PolicySpec):
    validations: list[Validation] = []
    auditAnnotations: list[AuditAnnotation] = Field(default=[], max_length=20)

    @model_validator(mode="after")
    def _has_checks(self) -> ValidatingSpec:
        if not self.validations and not self.auditAnnotations:
            raise ValueError("give validations or auditAnnotations")
        return self


class ApplyConfiguration(_Model):
    """The expression of a mutation, an apply configuration or a JSON patch."""

    expression: Text


class Mutation(_Model):
    patchType: Literal["ApplyConfiguration", "JSONPatch"]
    applyConfiguration: ApplyConfiguration | None = None
    jsonPatch: ApplyConfiguration | None = None

    @model_validator(mode="after")
    def _matches_patch_type(self) -> Mutation:
        wanted, other = ("jsonPatch", "applyConfiguration")
        if self.patchType == "ApplyConfiguration":
            wanted, other = other, wanted
        if getattr(self, wanted) is None or getattr(self, other) is not None:
            raise ValueError(f"patchType {self.patchType} needs {wanted}, and nothing else")
        return self

    @property
    def expression(self) -> str:
        patch = self.jsonPatch or self.applyConfiguration
        assert patch is not None  # the validator demands one of them
        return patch.expression


class MutatingSpec(_PolicySpec):
    mutations: list[Mutation] = Field(min_length=1)
    reinvocationPolicy: Literal["Never", "IfNeeded"] = "Never"


class Metadata(BaseModel):
    """The name. :func:`~webhook.vap.validation.metadata_errors` checks the other fields."""

    model_config = ConfigDict(frozen=True, strict=True)
    name: Text


class ValidatingPolicy(_Model):
    apiVersion: Version
    kind: Literal["ValidatingAdmissionPolicy"]
    metadata: Metadata
    spec: ValidatingSpec
    status: Any = None


class MutatingPolicy(_Model):
    apiVersion: Version
    kind: Literal["MutatingAdmissionPolicy"]
    metadata: Metadata
    spec: MutatingSpec
    status: Any = None


class BindingSpec(_Model):
    policyName: Text
    paramRef: ParamRef | None = None
    matchResources: MatchResources | None = None


class ValidatingBindingSpec(BindingSpec):
    validationActions: list[Literal["Deny", "Warn", "Audit"]] = Field(min_length=1)

    @model_validator(mode="after")
    def _actions_are_distinct(self) -> ValidatingBindingSpec:
        if len(set(self.validationActions)) < len(self.validationActions):
            raise ValueError("validationActions: an action is given twice")
        if {"Deny", "Warn"} <= set(self.validationActions):
            raise ValueError("validationActions: Deny and Warn together would say the same thing twice")
        return self


class MutatingBinding(_Model):
    apiVersion: Version
    kind: Literal["MutatingAdmissionPolicyBinding"]
    metadata: Metadata
    spec: BindingSpec


class ValidatingBinding(_Model):
    apiVersion: Version
    kind: Literal["ValidatingAdmissionPolicyBinding"]
    metadata: Metadata
    spec: ValidatingBindingSpec


KINDS: dict[str, type[ValidatingPolicy | MutatingPolicy | ValidatingBinding | MutatingBinding]] = {
    "ValidatingAdmissionPolicy": ValidatingPolicy,
    "MutatingAdmissionPolicy": MutatingPolicy,
    "ValidatingAdmissionPolicyBinding": ValidatingBinding,
    "MutatingAdmissionPolicyBinding": MutatingBinding,
}
"""The models by kind."""
