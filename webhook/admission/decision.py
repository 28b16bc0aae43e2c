"""The admission request as the engine reads it, independent of wire format and HTTP, and its decision: values only."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from webhook.admission.plain import escaped, one_line
from webhook.admission.stamp import canonical, specification


class GroupVersionKind(NamedTuple):
    """A version of a kind. A tuple, because it is looked up several times for each request."""

    group: str
    version: str
    kind: str

    def __str__(self) -> str:
        return f"{self.kind}.{self.version}.{self.group}"

    @property
    def api_version(self) -> str:
        """``apps/v1``, and ``v1`` of the core API."""
        return f"{self.group}/{self.version}" if self.group else self.version


def group_version(api_version: str) -> tuple[str, str]:
    """``"apps/v1"`` → ``("apps", "v1")``, ``"v1"`` → ``("", "v1")``."""
    group, _, version = api_version.rpartition("/")
    return group, version


def kind_of(value: Mapping[str, Any]) -> GroupVersionKind:
    """The kind of an object that has an apiVersion and a kind."""
    return GroupVersionKind(*group_version(value["apiVersion"]), value["kind"])


@dataclass(slots=True)  # frozen, it would take six times as long to make
class Request:
    """One admission request (``admission.k8s.io/v1`` AdmissionRequest).

    ``operation`` is CREATE, UPDATE, DELETE or CONNECT. ``resource`` is the plural name in the
    URL, ``subresource`` "" for the object itself. ``object`` is None on DELETE, ``old_object``
    None on CREATE. ``name`` may be "" on CREATE with generateName. ``resource_api`` is group and version of the
    resource, None if they are the kind's: a Scale of ``autoscaling/v1`` is a subresource of ``apps/v1``.
    ``size`` is a bound of the bytes of ``object``, 0 if none is known.
    """

    kind: GroupVersionKind
    resource: str
    operation: str
    object: dict[str, Any] | None
    old_object: dict[str, Any] | None = None
    uid: str = ""
    name: str = ""
    namespace: str = ""
    subresource: str = ""
    dry_run: bool = False
    user: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    resource_api: tuple[str, str] | None = None
    size: int = field(default=0, compare=False)

    @property
    def deleting(self) -> bool:
        """Whether the stored object is being deleted: its finalizers must stay removable.

        Only the stored object counts: a client may write a deletionTimestamp, which the API server ignores.
        """
        metadata = (self.old_object or {}).get("metadata")
        return isinstance(metadata, dict) and bool(metadata.get("deletionTimestamp"))

    @property
    def same_specification(self) -> bool:
        """Whether an update leaves everything but metadata and status as it is stored."""
        if self.object is None or self.old_object is None:
            return False
        try:
            return canonical(specification(self.object)) == canonical(specification(self.old_object))
        except (RecursionError, TypeError, ValueError):  # nested too deep or not JSON: never stored
            return False


@dataclass(frozen=True, slots=True)
class Refusal:
    """The API server's Status for a refusal that is not "Invalid": its reason and HTTP code.

    ``policy`` names the native policy that refuses; it is empty for an object that is too large. ``prefix`` starts its
    message (``pods "p" is forbidden: ``).
    """

    policy: str
    reason: str
    code: int
    prefix: str = ""


@dataclass(slots=True, unsafe_hash=True)  # as Warn
class Cause:
    """One reason to refuse, as it goes into ``status.details.causes``.

    ``field`` is the path in the API server's spelling (``spec.files[0]``), ``reason`` a
    metav1 CauseType such as ``FieldValueInvalid``, ``message`` the error without the field
    (``Invalid value: "x": …``). ``code`` is the rule's (``LK201``), "" for the API server's own schema errors.
    ``refusal`` is set for a refusal by a native policy, and of an object that is too large. ``hints`` are what rules
    say of the same field, without the field, beside a schema error: ``message`` stays the API server's. Whatever makes
    a cause, its message passes :func:`one_line`; ``field`` is a place, and is escaped where it becomes text.
    """

    field: str
    reason: str
    message: str
    code: str = ""
    refusal: Refusal | None = None
    hints: tuple[Warn, ...] = ()

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the cause and of its hints."""
        return (self.label, *(hint.code for hint in self.hints))

    def __post_init__(self) -> None:
        self.message = one_line(self.message)

    @property
    def label(self) -> str:
        """The rule as metrics and audit annotations name it: the number of values does not depend on users."""
        if self.code or self.refusal is None:
            return self.code or "schema"
        return "policy" if self.refusal.policy else "size"

    @property
    def text(self) -> str:
        """The message, followed by the code for `modelgate rule`, and by the hints."""
        message = f"{self.message} ({self.code})" if self.code else self.message
        return "; ".join((message, *map(str, self.hints)))

    def __str__(self) -> str:
        return f"{escaped(self.field)}: {self.text}" if self.field else self.text


@dataclass(init=False, slots=True, unsafe_hash=True)  # not frozen, and never changed: freezing doubles the time
class Warn:
    """A warning: it does not refuse the object. ``policy`` names the native policy that raises it, if any. Its
    texts pass :func:`one_line`, as those of a cause.
    """

    field: str
    message: str
    code: str = ""
    policy: str = ""
    label: str = dataclasses.field(init=False, compare=False, repr=False)
    """The rule as metrics and audit annotations name it."""

    def __init__(self, field: str, message: str, code: str = "", policy: str = "") -> None:
        self.field, self.message, self.code, self.policy = field, one_line(message), code, policy
        self.label = code or ("policy" if policy else "schema")

    def __str__(self) -> str:
        text = f"{escaped(self.field)}: {self.message}" if self.field else self.message
        return f"{text} ({self.code})" if self.code else text


def labels(causes: Sequence[Cause], warnings: Sequence[Warn]) -> list[str]:
    """The rules behind findings, in their order, as metrics and audit annotations name them."""
    rules: list[str] = []
    for cause in causes:
        rules += cause.labels
    for warning in warnings:
        rules.append(warning.label)
    return rules


class Muted(NamedTuple):
    """A finding that its user does not get: ``action`` is ``audit``, ``off`` or, for a PolicyException, ``except``.

    ``by`` is the name of the Enforcement or the PolicyException.
    """

    finding: Warn
    action: str
    by: str


class Default(NamedTuple):
    """One leaf that was filled in, changed to follow its inputs, or removed.

    ``path`` is dotted (``spec.hardware.gpu.resourceName``); ``value`` is the current value, None if it was removed;
    ``because`` is the policy's reason; ``code`` is "" for a default of the CRD's schema.
    """

    path: str
    value: Any
    because: str
    code: str = ""
    removed: bool = False


@dataclass(slots=True)
class Decision:
    """The decision about one request.

    ``object`` is the normalised object of a mutation (the request's own object, by identity, if nothing changed).
    ``allowed`` is False exactly if ``causes`` is not empty. ``patch`` is the JSON Patch from the request's object to
    ``object``, None if it is to be computed. ``muted`` are further findings, which the user does not get.
    """

    object: dict[str, Any] | None
    causes: tuple[Cause, ...] = ()
    warnings: tuple[Warn, ...] = ()
    defaults: tuple[Default, ...] = ()
    audit: dict[str, str] = field(default_factory=dict)
    patch: bytes | None = field(default=None, compare=False, repr=False)
    muted: tuple[Muted, ...] = ()

    @property
    def allowed(self) -> bool:
        return not self.causes
