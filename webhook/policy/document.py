"""The Policy document (``modelgate.dev/v1alpha1``) as written: strict models, every error with file and line."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from webhook.admission.errors import CatalogError
from webhook.manifests.documents import Document
from webhook.policy.path import Path
from webhook.policy.problems import problem, problems
from webhook.policy.ranges import Range

__all__ = ["PolicyDocument", "parse_policy"]


def _path(text: str) -> str:
    Path.parse(text)
    return text


def _single(text: str) -> str:
    path = Path.parse(text)
    if not path.single or not path.keys:
        raise ValueError("must be the path of one field, without [*]")
    return text


def _range(text: str) -> str:
    Range.parse(text)
    return text


Code = Annotated[str, StringConstraints(pattern=r"^[A-Z]{2}[0-9]{3}$")]
"""Two letters for the API, a digit for the sort of rule (1 default, 2 error, 3 warning, 4 reference), two to count."""
CEL = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
PathText = Annotated[str, AfterValidator(_path)]
PodType = Annotated[str, StringConstraints(pattern=r"^(whole )?[A-Z][A-Za-z]+$")]
"""A type of Kubernetes' pods; ``whole``: no other object completes the value."""
SinglePath = Annotated[str, AfterValidator(_single)]
Identifier = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=60)]
Sentence = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
RangeText = Annotated[str, AfterValidator(_range), StringConstraints(strip_whitespace=True)]
"""A range of releases of the operator: see :mod:`webhook.policy.ranges`."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Target(_Model):
    """``alsoKinds``: further kinds to which the rules apply, such as a kind's cluster-scoped counterpart."""

    group: str
    versions: list[str] = Field(min_length=1)
    kind: str
    alsoKinds: list[str] = []  # noqa: N815 - the spelling of Kubernetes documents

    @property
    def kinds(self) -> tuple[str, ...]:
        return (self.kind, *self.alsoKinds)


class Variable(_Model):
    """``operator``: as for a :class:`Default`, by its name."""

    name: Identifier
    expression: CEL
    operator: RangeText | None = None


_OF_TYPE = {"boolean": bool, "integer": int, "integers": int, "number": float, "string": str, "strings": str}


class Member(_Model):
    """A value at a path of another object, and its type; ``strings`` and ``integers`` are lists. ``default`` stands for
    what is absent.
    """

    path: SinglePath
    type: Literal["boolean", "integer", "integers", "number", "string", "strings"]
    default: bool | int | float | str | list[int] | list[str] | None = None

    @model_validator(mode="after")
    def _default_is_of_the_type(self) -> Member:
        values = self.default if isinstance(self.default, list) else [self.default]
        wanted = {_OF_TYPE[self.type], *({int} if self.type == "number" else ())}
        if self.default is not None and (
            isinstance(self.default, list) != self.type.endswith("s") or not {type(each) for each in values} <= wanted
        ):
            raise ValueError(f"default: {self.default!r} is not of type {self.type}")
        return self


class Reference(_Model):
    """Another object, which the rules read as ``facts.<name>``: ``found``, the ``name`` of the object, and the
    ``fields``. ``path`` is where the object has the other one's name; ``namespaced``: it is in the namespace of the
    object. What is absent is "", 0, false or an empty list, or the ``default`` of the field.
    """

    name: Identifier
    group: str = ""
    kind: Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Za-z0-9]*$")]
    path: SinglePath
    namespaced: bool = True
    fields: dict[Identifier, Member] = {}

    @model_validator(mode="after")
    def _names_are_free(self) -> Reference:
        if taken := sorted({"found", "name"} & self.fields.keys()):
            raise ValueError(f"fields.{taken[0]} has the name of what each reference has; use another name")
        return self


class Default(_Model):
    """Set one leaf where it is absent.

    ``valueFrom`` takes the value from a fact or a member of one (``migration.engine``), which may be a whole object.
    Nothing is set if the fact has no value.
    ``overSchemaDefault``: a value equal to the CRD's own default for the leaf counts as absent, because the API server
    writes it before any webhook sees the object.
    ``overwrites``: users cannot choose this leaf: any other value is replaced.
    ``operator``: the releases of the operator that it is true of; without it, of all. Rules with ranges that exclude
    each other may have one code. One of them may have no range: it is in force where the range of no other one holds.
    """

    code: Code
    path: PathText
    when: CEL | None = None
    value: CEL | None = None
    valueFrom: Annotated[str, StringConstraints(pattern=r"^\w+(\.\w+)*$")] | None = None  # noqa: N815
    because: Sentence
    overSchemaDefault: bool = False  # noqa: N815 - the spelling of Kubernetes documents
    overwrites: bool = False
    operator: RangeText | None = None
    docs: str = ""

    @model_validator(mode="after")
    def _one_leaf(self) -> Default:
        if not Path.parse(self.path).single:
            raise ValueError("a default sets one leaf: remove [*] from its path")
        if (self.value is None) == (self.valueFrom is None):
            raise ValueError("set either value or valueFrom")
        return self


class Validation(_Model):
    """A rule that must be true of every node at ``at``; the fields are those of ``x-kubernetes-validations``.

    ``explains``: where the CRD's schema refuses the same field, the message becomes part of that cause.
    ``operator``: as for a :class:`Default`.
    ``at`` may be a list: the places where the same type stands. The first one in the schema gives ``self`` its type. A
    place whose schema lacks the node, or the field at ``fieldPath``, does not count, so that kinds can share the list.
    ``unseen`` names the object that a failing rule did not find ("" if the failure has another cause). If not all
    objects are known, the failure then only warns that this object was not seen.
    """

    code: Code
    at: PathText | Annotated[list[PathText], Field(min_length=1)] = ""
    when: CEL | None = None
    rule: CEL
    message: Sentence | None = None
    messageExpression: CEL | None = None  # noqa: N815
    fieldPath: str = ""  # noqa: N815
    unseen: CEL | None = None
    reason: Literal[
        "FieldValueInvalid",
        "FieldValueForbidden",
        "FieldValueRequired",
        "FieldValueDuplicate",
        "FieldValueNotSupported",
    ] = "FieldValueInvalid"
    action: Literal["Deny", "Warn"] = "Deny"
    strict: Literal["Deny"] | None = None
    explains: Literal["schema"] | None = None
    operator: RangeText | None = None
    docs: Sentence

    @property
    def places(self) -> list[str]:
        return self.at if isinstance(self.at, list) else [self.at]

    @model_validator(mode="after")
    def _says_something(self) -> Validation:
        if (self.message is None) == (self.messageExpression is None):
            raise ValueError("set either message or messageExpression")
        if self.strict and self.action == "Deny":
            raise ValueError("strict: Deny has no effect, because the action is Deny already; remove it")
        if self.unseen and self.code[2] != "4":
            raise ValueError("unseen is for rules about other objects (codes 4xx)")
        if self.fieldPath:
            Path.parse(self.fieldPath.removeprefix("."))
        return self


class Spec(_Model):
    """``numericQuantities``: as in the kind's own webhook, ``cpu: 0.5`` becomes ``500m`` before the schema applies.
    ``operator``: the releases of the operator that the rules describe, as a reader would look them up.
    ``renamed``: fields of other releases, which the definition does not have, and what they are called in it.
    ``podTypes``: nodes that are of a type of pods although the schema does not show it. ``podOwner``: what the operator
    makes of pods, a Deployment (or what is like it) or a Job.
    """

    target: Target
    numericQuantities: bool = False  # noqa: N815
    operator: Sentence | None = None
    renamed: dict[PathText, Sentence] = {}
    podTypes: dict[PathText, PodType] = {}  # noqa: N815 - the spelling of Kubernetes documents
    podOwner: Literal["deployment", "job"] = "deployment"  # noqa: N815
    references: list[Reference] = []
    variables: list[Variable] = []
    defaults: list[Default] = []
    validations: list[Validation] = []


class Metadata(_Model):
    name: str
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class PolicyDocument(_Model):
    apiVersion: Literal["modelgate.dev/v1alpha1"]  # noqa: N815
    kind: Literal["Policy"]
    metadata: Metadata
    spec: Spec

    @property
    def codes(self) -> tuple[str, ...]:
        """Each code once, of all releases."""
        found = (*(rule.code for rule in self.spec.defaults), *(rule.code for rule in self.spec.validations))
        return tuple(dict.fromkeys(found))


def parse_policy(document: Document) -> PolicyDocument:
    """Check a document against the model.

    Raises:
        CatalogError: with every error, each with its line; of a document that is not a Policy, that one.
    """
    if document.value.get("kind") != "Policy":
        message = f"is not a Policy (kind: {str(document.value.get('kind'))[:60]}): move it to another folder"
        raise CatalogError([problem(document, ("kind",), message)])
    try:
        return PolicyDocument.model_validate(document.value)
    except ValidationError as error:
        raise CatalogError(problems(document, error)) from None
