"""The authorizer of admission policies: ``authorizer.group('apps').resource('deployments').check('get')``.

The caller makes an :class:`Authorizer` with a function that answers a :class:`Question`. An evaluation
cannot wait for a SubjectAccessReview: if the answer is not known yet, the function raises an
exception that is not a ``CelError``, so that ``||`` does not absorb it. The caller then gets the
answer and evaluates again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, ClassVar, Final

from webhook.cel import types
from webhook.cel.errors import CelError
from webhook.cel.overload import Overload, member
from webhook.cel.types import BOOL, STRING, Type
from webhook.cel.values.value import Opaque
from webhook.golang.names import dns_1123_label, dns_1123_subdomain


@dataclass(frozen=True, slots=True)
class Question:
    """May the user do this? Either ``path`` or ``resource`` is set, as in a SubjectAccessReview.

    ``service_account`` is the (namespace, name) of a service account to ask for; None asks for the user
    of the request.
    """

    verb: str = ""
    path: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    field_selector: str = ""
    label_selector: str = ""
    service_account: tuple[str, str] | None = None


class _Receiver(Opaque):
    """Has methods and nothing else: even ``==`` is "no such overload"."""

    __slots__ = ()

    def cel_equal(self, other: object) -> bool | None:
        del other
        return None


@dataclass(frozen=True, slots=True)
class Decision(_Receiver):
    """The answer; ``error`` is set if the authorizer failed."""

    allowed: bool
    reason: str = ""
    error: str | None = None

    cel_type: ClassVar[Type] = types.opaque("kubernetes.authorization.Decision")


Decide = Callable[[Question], Decision]


@dataclass(frozen=True, slots=True)
class Authorizer(_Receiver):
    """The value of the variable ``authorizer``."""

    decide: Decide
    service_account: tuple[str, str] | None = None

    cel_type: ClassVar[Type] = types.opaque("kubernetes.authorization.Authorizer")


@dataclass(frozen=True, slots=True)
class _Check(_Receiver):
    decide: Decide
    question: Question

    def ask(self, verb: str) -> Decision:
        return self.decide(replace(self.question, verb=verb))


class PathCheck(_Check):
    """A question about a path of the API server that is not a resource (nonResourceURL)."""

    __slots__ = ()
    cel_type: ClassVar[Type] = types.opaque("kubernetes.authorization.PathCheck")


class GroupCheck(_Check):
    """The beginning of a question about a resource: its API group."""

    __slots__ = ()
    cel_type: ClassVar[Type] = types.opaque("kubernetes.authorization.GroupCheck")


class ResourceCheck(_Check):
    """A question about a resource. ``authorizer.requestResource`` is one about the request's own."""

    __slots__ = ()
    cel_type: ClassVar[Type] = types.opaque("kubernetes.authorization.ResourceCheck")


def path(authorizer: Authorizer, text: str) -> PathCheck:
    if not text.strip():
        raise CelError("path must not be empty")
    return PathCheck(authorizer.decide, Question(path=text, service_account=authorizer.service_account))


def group(authorizer: Authorizer, name: str) -> GroupCheck:
    return GroupCheck(authorizer.decide, Question(group=name, service_account=authorizer.service_account))


def service_account(authorizer: Authorizer, namespace: str, name: str) -> Authorizer:
    if dns_1123_subdomain(name):
        raise CelError("Invalid service account name")
    if dns_1123_label(namespace):
        raise CelError("Invalid service account namespace")
    return Authorizer(authorizer.decide, (namespace, name))


def resource(check: GroupCheck, name: str) -> ResourceCheck:
    if not name.strip():
        raise CelError("resource must not be empty")
    return ResourceCheck(check.decide, replace(check.question, resource=name))


def _refined(field: str) -> Callable[[ResourceCheck, str], ResourceCheck]:
    def refine(check: ResourceCheck, value: str) -> ResourceCheck:
        change: dict[str, Any] = {field: value}
        return ResourceCheck(check.decide, replace(check.question, **change))

    return refine


def errored(decision: Decision) -> bool:
    return decision.error is not None


def error_text(decision: Decision) -> str:
    return decision.error or ""


_AUTHORIZER, _PATH, _GROUP = Authorizer.cel_type, PathCheck.cel_type, GroupCheck.cel_type
_RESOURCE, _DECISION = ResourceCheck.cel_type, Decision.cel_type

AUTHORIZER: Final[tuple[Overload, ...]] = (
    member("path", "authorizer_path", (_AUTHORIZER, STRING), _PATH, path),
    member("group", "authorizer_group", (_AUTHORIZER, STRING), _GROUP, group),
    member("serviceAccount", "authorizer_serviceaccount", (_AUTHORIZER, STRING, STRING), _AUTHORIZER, service_account),
    member("resource", "groupcheck_resource", (_GROUP, STRING), _RESOURCE, resource),
    member("subresource", "resourcecheck_subresource", (_RESOURCE, STRING), _RESOURCE, _refined("subresource")),
    member("namespace", "resourcecheck_namespace", (_RESOURCE, STRING), _RESOURCE, _refined("namespace")),
    member("name", "resourcecheck_name", (_RESOURCE, STRING), _RESOURCE, _refined("name")),
    member("check", "pathcheck_check", (_PATH, STRING), _DECISION, PathCheck.ask),
    member("check", "resourcecheck_check", (_RESOURCE, STRING), _DECISION, ResourceCheck.ask),
    member("errored", "decision_errored", (_DECISION,), BOOL, errored),
    member("error", "decision_error", (_DECISION,), STRING, error_text),
    member("allowed", "decision_allowed", (_DECISION,), BOOL, attrgetter("allowed")),
    member("reason", "decision_reason", (_DECISION,), STRING, attrgetter("reason")),
)

SELECTORS: Final[tuple[Overload, ...]] = (
    member("fieldSelector", "authorizer_fieldselector", (_RESOURCE, STRING), _RESOURCE, _refined("field_selector")),
    member("labelSelector", "authorizer_labelselector", (_RESOURCE, STRING), _RESOURCE, _refined("label_selector")),
)
