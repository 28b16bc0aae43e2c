"""The Policy document (``modelgate.dev/v1alpha1``) as written.

One set of types, read in two ways: a user's document is checked, with every error and its line (:func:`parse_policy`,
which loads pydantic); a built-in one is only read (:func:`trusted_policy`), because the tests have checked it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal

from webhook.admission.errors import CatalogError
from webhook.manifests.documents import Document
from webhook.policy.path import Path
from webhook.policy.problems import NO_OTHERS, SOME, Flag, Number, TextSchema, checked, problem
from webhook.policy.ranges import Range

__all__ = ["PolicyDocument", "parse_policy", "trusted_policy"]


def _path(text: str) -> str:
    Path.parse(text)
    return text


def _single(text: str) -> str:
    path = Path.parse(text)
    if not path.single or not path.keys:
        raise ValueError("must be the path of one field, without [*]")
    return text


def _values(text: str) -> str:
    if not Path.parse(text).keys:
        raise ValueError("must be the path of a field, such as spec.name or spec.names[*]")
    return text


def _range(text: str) -> str:
    Range.parse(text)
    return text


Code = Annotated[str, TextSchema(r"^[A-Z]{2}[0-9]{3}$")]
"""Two letters for the API, a digit for the sort of rule (1 default, 2 error, 3 warning, 4 reference), two to count."""
CEL = Annotated[str, TextSchema(least=1, strip=True)]
PathText = Annotated[str, TextSchema(check=_path)]
PodType = Annotated[str, TextSchema(r"^(whole )?[A-Z][A-Za-z]+$")]
"""A type of Kubernetes' pods; ``whole``: no other object completes the value."""
SinglePath = Annotated[str, TextSchema(check=_single)]
ValuePath = Annotated[str, TextSchema(check=_values)]
ObjectName = Annotated[str, TextSchema(r"^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$")]
Identifier = Annotated[str, TextSchema(r"^[A-Za-z_][A-Za-z0-9_]*$", most=60)]
Sentence = Annotated[str, TextSchema(least=1, strip=True)]
RangeText = Annotated[str, TextSchema(strip=True, check=_range)]
"""A range of releases of the operator: see :mod:`webhook.policy.ranges`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """``alsoKinds``: further kinds to which the rules apply, such as a kind's cluster-scoped counterpart."""

    __pydantic_config__ = NO_OTHERS
    group: str
    versions: Annotated[list[str], SOME]
    kind: str
    alsoKinds: list[str] = field(default_factory=list)  # noqa: N815 - the spelling of Kubernetes documents

    @property
    def kinds(self) -> tuple[str, ...]:
        return (self.kind, *self.alsoKinds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """``operator``: as for a :class:`Default`, by its name."""

    __pydantic_config__ = NO_OTHERS
    name: Identifier
    expression: CEL
    operator: RangeText | None = None


_OF_TYPE = {"boolean": bool, "integer": int, "integers": int, "number": float, "string": str, "strings": str}


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A value of another object, at a path or by an expression over it, and its type; ``strings`` and ``integers`` are
    lists, also of the values at a path with ``[*]``. ``default`` stands for what is absent, or cannot be evaluated.
    """

    __pydantic_config__ = NO_OTHERS
    path: ValuePath | None = None
    expression: CEL | None = None
    type: Literal["boolean", "integer", "integers", "number", "string", "strings"]
    default: bool | int | float | str | list[Number] | list[str] | None = None

    def __post_init__(self) -> None:
        values = self.default if isinstance(self.default, list) else [self.default]
        wanted = {_OF_TYPE[self.type], *({int} if self.type == "number" else ())}
        if self.default is not None and (
            isinstance(self.default, list) != self.type.endswith("s") or not {type(each) for each in values} <= wanted
        ):
            raise ValueError(f"default: {self.default!r} is not of type {self.type}")
        if (self.path is None) == (self.expression is None):
            raise ValueError("set either path or expression")
        if self.path is not None and "[*]" in self.path and not self.type.endswith("s"):
            raise ValueError(f"{self.path} has several values: use the type integers or strings")


_OF_REFERENCES: Final = frozenset({"found", "name", "names", "missing", "count", "items"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """Another object, which the rules read as ``facts.<name>``: ``found``, the ``name`` of the object, and the
    ``fields``. What is absent is "", 0, false or an empty list, or the ``default`` of the field.

    ``path`` is where the object has the other one's name, or with ``[*]`` several names; ``named`` are constant names.
    ``by``: the others are those with a value at ``path`` in this field. ``labels`` and ``labelsPath``: those with all
    of these labels, or of those at the path. Found so, the object itself does not count.
    ``namespaced``: they are in the namespace of the object, or in the ``namespace``, or in that at ``namespacePath``.
    Where it is false, the kind is one of the cluster; objects that are looked for may then be anywhere.
    Where there may be several, ``items`` has each with its ``name``, ``found`` and fields, ``names`` the names (of
    those that are looked for, the first five), ``missing`` those that do not exist, and ``count`` how many exist.
    """

    __pydantic_config__ = NO_OTHERS
    name: Identifier
    group: str = ""
    kind: Annotated[str, TextSchema(r"^[A-Z][A-Za-z0-9]*$")]
    path: ValuePath | None = None
    named: list[ObjectName] = field(default_factory=list)
    by: ValuePath | None = None
    labels: dict[str, str] = field(default_factory=dict)
    labelsPath: SinglePath | None = None  # noqa: N815 - the spelling of Kubernetes documents
    namespaced: Flag = True
    namespace: Annotated[str, TextSchema(r"^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)?$")] = ""
    namespacePath: SinglePath | None = None  # noqa: N815 - as above
    fields: dict[Identifier, Member] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if taken := sorted(_OF_REFERENCES & self.fields.keys()):
            raise ValueError(f"fields.{taken[0]} has the name of what each reference has; use another name")
        given = [name for name in ("path", "named", "labels", "labelsPath") if getattr(self, name)]
        if len(given) != 1:
            raise ValueError(f"set one of path, named, labels and labelsPath, not {' and '.join(given) or 'none'}")
        if self.by is not None and self.path is None:
            raise ValueError("by needs a path: where the object has the value")
        if not self.namespaced and (self.namespace or self.namespacePath):
            raise ValueError("a kind of the cluster is in no namespace: remove namespace and namespacePath")


@dataclass(frozen=True, slots=True, kw_only=True)
class Default:
    """Set one leaf where it is absent, or with ``[*]`` in its path one of each item of a list, which is ``self``.

    ``valueFrom`` takes the value from a fact or a member of one (``migration.engine``), which may be a whole object.
    Nothing is set if the fact has no value.
    ``overSchemaDefault``: a value equal to the CRD's own default for the leaf counts as absent, because the API server
    writes it before any webhook sees the object.
    ``overwrites``: users cannot choose this leaf: any other value is replaced. ``always``: so, and where nothing is to
    be set, the leaf is removed. A user is told of both by a warning.
    ``operator``: the releases of the operator that it is true of; without it, of all. Rules with ranges that exclude
    each other may have one code. One of them may have no range: it is in force where the range of no other one holds.
    """

    __pydantic_config__ = NO_OTHERS
    code: Code
    path: PathText
    when: CEL | None = None
    value: CEL | None = None
    valueFrom: Annotated[str, TextSchema(r"^\w+(\.\w+)*$")] | None = None  # noqa: N815
    because: Sentence
    overSchemaDefault: Flag = False  # noqa: N815 - the spelling of Kubernetes documents
    overwrites: Flag = False
    always: Flag = False
    operator: RangeText | None = None
    docs: str = ""

    def __post_init__(self) -> None:
        path = Path.parse(self.path)
        if path.keys and path.keys[-1] == "*":
            raise ValueError(
                "a default sets a field of each item: end the path with its name, such as spec.ports[*].name"
            )
        if not path.single and (self.valueFrom or self.overSchemaDefault):
            raise ValueError("of the items of a list, set value, and neither valueFrom nor overSchemaDefault")
        if (self.value is None) == (self.valueFrom is None):
            raise ValueError("set either value or valueFrom")


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """A rule that must be true of every node at ``at``; the fields are those of ``x-kubernetes-validations``.

    ``explains: schema``: where the CRD's schema refuses the same field, the message becomes part of that cause. With
    it, and with ``explains: children``, the message stands for what the API server says of a child, too.
    ``operator``: as for a :class:`Default`.
    ``at`` may be a list: the places where the same type stands. The first one in the schema gives ``self`` its type. A
    place whose schema lacks the node, or the field at ``fieldPath``, does not count, so that kinds can share the list.
    ``unseen`` names the object that a failing rule did not find ("" if the failure has another cause). If not all
    objects are known, the failure then only warns that this object was not seen.
    """

    __pydantic_config__ = NO_OTHERS
    code: Code
    at: PathText | Annotated[list[PathText], SOME] = ""
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
    explains: Literal["schema", "children"] | None = None
    operator: RangeText | None = None
    docs: Sentence

    @property
    def places(self) -> list[str]:
        return self.at if isinstance(self.at, list) else [self.at]

    def __post_init__(self) -> None:
        if (self.message is None) == (self.messageExpression is None):
            raise ValueError("set either message or messageExpression")
        if self.strict and self.action == "Deny":
            raise ValueError("strict: Deny has no effect, because the action is Deny already; remove it")
        if self.unseen and self.code[2] != "4":
            raise ValueError("unseen is for rules about other objects (codes 4xx)")
        if self.fieldPath:
            Path.parse(self.fieldPath.removeprefix("."))


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """An object that the operator makes, and deletes with this one.

    ``object`` is a template: ``${…}`` is an expression, and a text with ``${…}`` among other characters a text. What is
    null, or an optional without a value, is left out. In a map, ``$all: ${…}`` stands for the entries of another map,
    where later keys win, and ``$when: ${…}`` says whether the map is there at all; in a list, an item ``$all: ${…}``
    stands for the items of another list, and an item with ``$each: path`` for one at each item of the list at this path
    of the object, or of ``facts.…``, in which ``self`` is the item. ``$over: path`` beside ``$all`` says that the
    entries are those of the node at this path, merged with others.
    ``when``: whether it is made. ``each``: it is made for each item of a list, as ``$each``.
    ``becomes``: what follows where the API server refuses it, to end a sentence.
    ``operator``: as for a :class:`Default`, by its name.
    ``assumed``: it is made of other objects, of which this one is a part; here it is judged, and not shown.
    """

    __pydantic_config__ = NO_OTHERS
    name: Annotated[str, TextSchema(r"^[a-z][a-z0-9-]*$", most=60)]
    when: CEL | None = None
    each: PathText | None = None
    object: dict[str, Any]
    becomes: Annotated[str, TextSchema(least=1, strip=True, most=80)]
    operator: RangeText | None = None
    assumed: Flag = False
    docs: str = ""

    def __post_init__(self) -> None:
        for key in ("apiVersion", "kind"):
            value = self.object.get(key)
            if not isinstance(value, str) or not value or "${" in value:
                raise ValueError(f"object.{key} must be a text without an expression")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """``numericQuantities``: as in the kind's own webhook, ``cpu: 0.5`` becomes ``500m`` before the schema applies.
    ``operator``: the releases of the operator that the rules describe, as a reader would look them up.
    ``renamed``: fields of other releases, which the definition does not have, and what they are called in it.
    ``podTypes``: nodes that are of a type of pods although the schema does not show it. ``podOwner``: what the operator
    makes of pods, a Deployment (or what is like it) or a Job. ``children``: the objects that it makes.
    """

    __pydantic_config__ = NO_OTHERS
    target: Target
    numericQuantities: Flag = False  # noqa: N815
    operator: Sentence | None = None
    renamed: dict[PathText, Sentence] = field(default_factory=dict)
    podTypes: dict[PathText, PodType] = field(default_factory=dict)  # noqa: N815 - the spelling of Kubernetes documents
    podOwner: Literal["deployment", "job"] = "deployment"  # noqa: N815
    references: list[Reference] = field(default_factory=list)
    variables: list[Variable] = field(default_factory=list)
    defaults: list[Default] = field(default_factory=list)
    validations: list[Validation] = field(default_factory=list)
    children: list[Child] = field(default_factory=list)

    @property
    def rules(self) -> tuple[Default | Validation, ...]:
        return (*self.defaults, *self.validations)


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    __pydantic_config__ = NO_OTHERS
    name: str
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyDocument:
    __pydantic_config__ = NO_OTHERS
    apiVersion: Literal["modelgate.dev/v1alpha1"]  # noqa: N815
    kind: Literal["Policy"]
    metadata: Metadata
    spec: Spec

    @property
    def codes(self) -> tuple[str, ...]:
        """Each code once, of all releases."""
        return tuple(dict.fromkeys(rule.code for rule in self.spec.rules))


def parse_policy(document: Document) -> PolicyDocument:
    """Check a document against the model.

    Raises:
        CatalogError: with every error, each with its line; of a document that is not a Policy, that one.
    """
    if document.value.get("kind") != "Policy":
        message = f"is not a Policy (kind: {str(document.value.get('kind'))[:60]}): move it to another folder"
        raise CatalogError([problem(document, ("kind",), message)])
    return checked(document, PolicyDocument)


_PARTS: Final = {"variables": Variable, "defaults": Default, "validations": Validation, "children": Child}


def trusted_policy(document: Document) -> PolicyDocument:
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
    return PolicyDocument(**{**document.value, "metadata": metadata, "spec": Spec(**_stripped(spec))})


def _stripped(part: Mapping[str, Any]) -> dict[str, Any]:
    """A part whose texts do not end with the line of a block."""
    return {key: value.strip() if isinstance(value, str) and key != "docs" else value for key, value in part.items()}
