"""Built-in Policy documents, read without the checks of :mod:`webhook.policy.document`, whose library loads slowly.

The tests check these documents, and that the fields and defaults here are those of the models there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from webhook.manifests.documents import Document

__all__ = ["TrustedDocument", "trusted_policy"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    group: str
    versions: list[str]
    kind: str
    alsoKinds: list[str] = field(default_factory=list)  # noqa: N815 - the spelling of Kubernetes documents

    @property
    def kinds(self) -> tuple[str, ...]:
        return (self.kind, *self.alsoKinds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    name: str
    expression: str
    operator: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    path: str
    type: str
    default: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    name: str
    group: str = ""
    kind: str
    path: str
    namespaced: bool = True
    fields: dict[str, Member] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Default:
    code: str
    path: str
    when: str | None = None
    value: str | None = None
    valueFrom: str | None = None  # noqa: N815 - the spelling of Kubernetes documents
    because: str
    overSchemaDefault: bool = False  # noqa: N815
    overwrites: bool = False
    operator: str | None = None
    docs: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    code: str
    at: str | list[str] = ""
    when: str | None = None
    rule: str
    message: str | None = None
    messageExpression: str | None = None  # noqa: N815 - the spelling of Kubernetes documents
    fieldPath: str = ""  # noqa: N815
    unseen: str | None = None
    reason: str = "FieldValueInvalid"
    action: str = "Deny"
    strict: str | None = None
    explains: str | None = None
    operator: str | None = None
    docs: str

    @property
    def places(self) -> list[str]:
        return self.at if isinstance(self.at, list) else [self.at]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    target: Target
    numericQuantities: bool = False  # noqa: N815 - the spelling of Kubernetes documents
    operator: str | None = None
    renamed: dict[str, str] = field(default_factory=dict)
    podTypes: dict[str, str] = field(default_factory=dict)  # noqa: N815 - as above
    podOwner: str = "deployment"  # noqa: N815
    references: list[Reference] = field(default_factory=list)
    variables: list[Variable] = field(default_factory=list)
    defaults: list[Default] = field(default_factory=list)
    validations: list[Validation] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    name: str
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustedDocument:
    """A Policy document; its parts have the names of the models of :mod:`webhook.policy.document`."""

    apiVersion: str  # noqa: N815 - the spelling of Kubernetes documents
    kind: str
    metadata: Metadata
    spec: Spec

    @property
    def codes(self) -> tuple[str, ...]:
        """Each code once, of all releases."""
        found = (*(rule.code for rule in self.spec.defaults), *(rule.code for rule in self.spec.validations))
        return tuple(dict.fromkeys(found))


_PARTS = {"variables": Variable, "defaults": Default, "validations": Validation}


def trusted_policy(document: Document) -> TrustedDocument:
    """A built-in document.

    Raises:
        TypeError, KeyError: it does not match the model, which the tests would have found.
    """
    spec: dict[str, Any] = {**document.value["spec"]}
    spec["target"] = Target(**spec["target"])
    for name, part in _PARTS.items():
        spec[name] = [part(**_stripped(each)) for each in spec.get(name, ())]
    spec["references"] = [
        Reference(**{**each, "fields": {name: Member(**one) for name, one in each.get("fields", {}).items()}})
        for each in spec.get("references", ())
    ]
    metadata = Metadata(**document.value["metadata"])
    return TrustedDocument(**{**document.value, "metadata": metadata, "spec": Spec(**_stripped(spec))})


def _stripped(part: Mapping[str, Any]) -> dict[str, Any]:
    """A part whose texts do not end with the line of a block."""
    return {key: value.strip() if isinstance(value, str) and key != "docs" else value for key, value in part.items()}
