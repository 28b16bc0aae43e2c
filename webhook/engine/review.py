"""The review of one object: what is asked, and what each step of the answer reads.

:class:`ObjectReview` is made once for a call of ``mutate`` or ``validate``, and for each other state of the object that
such a call judges. What a judgement may spend has its place there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, NamedTuple

from webhook.admission import Cause, Refusal, Request
from webhook.admission.errors import Malformed
from webhook.catalog import Aside, Catalog, KnownKind, Sight
from webhook.cel import Budget as CostBudget
from webhook.cluster import ClusterView, CountedView
from webhook.engine.findings import Findings
from webhook.engine.metadata import is_readable
from webhook.engine.options import OBJECT_BUDGET, Options
from webhook.engine.strictness import Strictness
from webhook.facts import UNSEEN
from webhook.ground.budget import Budget, SpentError
from webhook.policy import PolicyScope, Prepared
from webhook.schema.fielderror import OVERSIZED

MAX_VALUES: Final = 50_000
"""JSON values of an object: 20 times the largest real one known (a ClusterBaseModel with 2,505). A value takes at most
12 µs, so an object takes less than a second. It is a count, so that every call about the same object comes to the same
decision: a bound by time would admit an object on a quiet machine and refuse its next update on a busy one."""

_SMALL_BYTES: Final = 2 * MAX_VALUES
"""An object within so many bytes needs no count: a value takes a byte, and a second one to set it apart."""

_TOO_LARGE: Final = Refusal("", "RequestEntityTooLarge", 413, "Request entity too large: ")

_FACT: Final = 16
"""Steps of a fact, beside those of the objects that it reads."""

_BYTES: Final = 16
"""Bytes of an object for which what looks at all of it takes a step."""

_NO_FIELDS: Final = frozenset[str]()


class ObjectReview(NamedTuple):
    """An object whose defaults are filled in, or that is judged.

    ``obj`` is the object as it came, ``old`` what is stored (None on CREATE). ``prepared`` is what is generated for
    its kind. All that is done for the answer spends the ``budget``; the ``view`` does so by itself. ``too_large`` is
    the refusal of an object with more than :data:`MAX_VALUES` values, or whose budget was spent.
    """

    request: Request
    obj: dict[str, Any]
    old: dict[str, Any] | None
    kind: KnownKind
    prepared: Prepared
    catalog: Catalog
    view: ClusterView
    options: Options
    budget: Budget
    too_large: Cause | None = None

    @classmethod
    def of(
        cls,
        kind: KnownKind,
        request: Request,
        catalog: Catalog,
        view: ClusterView,
        options: Options,
        too_large: Cause | None = None,
    ) -> ObjectReview:
        """The review of a request's object by a kind of the catalog."""
        obj, prepared, budget = request.object or {}, catalog.prepared(kind), options.budget()
        view = CountedView(view, budget)
        return cls(request, obj, request.old_object, kind, prepared, catalog, view, options, budget, too_large)

    def begin(self, step: str) -> None:
        """Count a step that looks at the whole object.

        Raises:
            SpentError, DeadlineExceeded: from the budget.
        """
        self.budget.spend(1 + self.request.size // _BYTES, step)

    def strictness(self) -> Strictness:
        """How strict the gate is about the object; made where there is something to be strict about."""
        options, request = self.options, self.request
        if not options.degrees:
            return Strictness(options.profile)
        place = options.degrees.place(self.kind.api, self.kind.gvk.kind, request.namespace, request.name)
        return Strictness.at(options.profile, place)

    def scope(self, state: dict[str, Any], old: dict[str, Any] | None) -> PolicyScope:
        """The scope of the policy's expressions over a state of the object and of what is stored."""
        request, kind, view = self.request, self.kind, self.view
        settings = kind.completed(self.options.settings)
        budget = self.budget
        hidden_facts: dict[str, str] = {}

        def fact(name: str) -> Any:
            definition = kind.facts[name]
            budget.spend(_FACT, name)
            sent = (old or {}) if definition.stored else request.object if definition.raw else None
            given = state if sent is None else sent
            if name not in kind.others:
                value = definition.value(given, view, settings)
            else:
                sight = Sight(view, kind.others[name].hides)
                value = definition.value(given, sight, settings)
                if not sight.is_clear:
                    hidden_facts[name] = ""
            if definition.refers and UNSEEN in value:
                hidden_facts[name] = value[UNSEEN]
            return value

        asked = {
            "operation": request.operation,
            "name": request.name,
            "namespace": request.namespace,
            "dryRun": request.dry_run,
        }
        bindings = {"object": state, "oldObject": old, "request": asked}
        return PolicyScope(
            self.prepared, bindings, fact, CostBudget(OBJECT_BUDGET, interrupt=budget.tick), hidden_facts
        )

    def of_state(self, state: dict[str, Any]) -> ObjectReview | None:
        """The review of a state of the object, as if it were sent so; None if that is not reviewed."""
        review = review_of(replace(self.request, object=state, size=0), self.catalog, self.view, self.options)
        if review is None:
            return None
        self.begin("a state of the object")  # its own size is not known
        return review._replace(view=self.view, budget=self.budget)

    def as_created(self) -> ObjectReview:
        """The review of the object as if it were created now. What is stored has no unknown field."""
        request = replace(self.request, operation="CREATE", old_object=None)
        return self._replace(request=request, old=None, options=replace(self.options, strict_fields=False))


def review_of(request: Request, catalog: Catalog, view: ClusterView, options: Options) -> ObjectReview | None:
    """The review of a request's object, or None for a request that is not reviewed.

    Not reviewed: a kind outside the catalog, a subresource, a deletion, and an object that is being deleted while its
    specification stays (it must be able to lose its finalizers, whatever state it is in).

    Raises:
        Malformed: the request names a resource that is not the kind's.
    """
    kind, obj = catalog.find(request.kind), request.object
    if kind is None or obj is None or request.operation not in {"CREATE", "UPDATE"}:
        return None
    if request.resource and request.resource != kind.plural:
        raise Malformed(f'request.resource is "{request.resource}", but {request.kind} is served as "{kind.plural}"')
    if request.subresource or (request.old_object is not None and request.deleting and request.same_specification):
        return None
    too_large = None if kind.foreign or 0 < request.size <= _SMALL_BYTES else _excess(kind, obj)
    return ObjectReview.of(kind, request, catalog, view, options, too_large)


class Subject(NamedTuple):
    """The object of a review as its rules read it, beside what the schema says of it.

    ``old`` is what is stored (None on CREATE). The rules ``aside`` do not hold for the object. ``unknown`` are the
    paths of fields that the schema does not have. ``of_schema`` is None for an object without findings of the schema;
    ``hidden`` are the errors that it would have if the update changed what they are about, and ``errors`` counts both.
    ``refused`` are the fields with an error that is not hidden, and ``oversized`` those of them with more items or
    characters than the schema allows.
    """

    review: ObjectReview
    obj: dict[str, Any]
    old: dict[str, Any] | None
    aside: Aside
    unknown: list[str]
    of_schema: Findings | None = None
    hidden: tuple[Cause, ...] = ()
    errors: int = 0
    refused: frozenset[str] = _NO_FIELDS
    oversized: frozenset[str] = _NO_FIELDS

    def with_findings(self, of_schema: Findings, hidden: tuple[Cause, ...] = ()) -> Subject:
        """The object with what the schema says of it."""
        refused = frozenset([cause.field for cause in of_schema.causes])
        oversized = frozenset([cause.field for cause in of_schema.causes if cause.reason in OVERSIZED])
        errors = len(of_schema.causes) + len(hidden)
        return self._replace(of_schema=of_schema, hidden=hidden, errors=errors, refused=refused, oversized=oversized)

    def stored_scope(self) -> PolicyScope:
        """The scope over the stored object, as if it were sent again."""
        request = replace(self.review.request, object=self.review.old)
        return self.review._replace(request=request).scope(self.old or {}, self.old)

    def must_evaluate(self) -> bool:
        """Whether a rule that fails to evaluate is a fault of the rule.

        Otherwise the schema has named the reason already, or would have if ratcheting did not spare it. The stored
        object may have been written under another definition of the same name, so it is checked, too. Under an
        installed definition that is not the catalog's, a field that the rule takes for granted may be optional.
        """
        kind = self.review.kind
        if kind.deviates or self.refused or not is_readable(self.obj):
            return False
        if self.old is None:
            return True
        if self.hidden or not is_readable(self.old):
            return False
        return not any(kind.schema.check(state).errors for state in (self.obj, self.old))


def refusal_of(error: SpentError) -> Cause:
    """The refusal of an object whose judgement takes more steps than it may."""
    limit = f"{error.limit:,} steps, the most for one object"
    text = f"judging the object takes more than {limit}; they ended at {error.place}"
    return Cause("", "FieldValueTooMany", text, refusal=_TOO_LARGE)


def _excess(kind: KnownKind, obj: dict[str, Any]) -> Cause | None:
    """The refusal of an object with more values than :data:`MAX_VALUES`.

    What its user does not write does not count: ``metadata.managedFields``, and a status that is a subresource. It may
    grow after the object is admitted, and the object must then still be changeable.
    """
    count = _count(_written(kind, obj))
    if count <= MAX_VALUES:
        return None
    text = f"the object has {count:,} values; the gate judges objects of at most {MAX_VALUES:,}"
    return Cause("", "FieldValueTooMany", text, refusal=_TOO_LARGE)


def _written(kind: KnownKind, obj: dict[str, Any]) -> dict[str, Any]:
    """The object without the parts that its user does not write."""
    metadata = obj.get("metadata")
    if isinstance(metadata, dict) and "managedFields" in metadata:
        obj = {**obj, "metadata": {key: value for key, value in metadata.items() if key != "managedFields"}}
    return {key: value for key, value in obj.items() if key != "status"} if kind.status and "status" in obj else obj


def _count(value: Any) -> int:
    """The number of JSON values in a value, itself included. Not recursive: an object may be nested deeply."""
    count, containers = 1, [value]
    while containers:
        node = containers.pop()
        children = node.values() if node.__class__ is dict else node
        count += len(children)
        containers += [child for child in children if child.__class__ is dict or child.__class__ is list]
    return count
