"""What the API server says of the objects that the operator makes of one, told at the field that is the cause.

A source of findings of its own: for the object itself nothing is refused, and only the operator learns of it, later.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, cached_property, lru_cache
from itertools import islice, takewhile
from typing import Any, Final, NamedTuple, TypeAlias

from webhook import children  # what judges a child is loaded for the first one
from webhook.admission import WARNING_LENGTH, Request, kind_of
from webhook.catalog import Catalog
from webhook.cel import BudgetExceeded, CelError
from webhook.cluster import ClusterView, Kind, NotedView, Notes
from webhook.engine.findings import MAX_FINDINGS, Findings, findings_of_faults
from webhook.engine.options import Options
from webhook.engine.pods.findings import POD_CODES, WARNED, JudgedParts
from webhook.engine.pods.whole import REFUSED
from webhook.engine.review import ObjectReview, Subject, review_of
from webhook.engine.seen import RIGHT, Judgements, json_of, nameless
from webhook.facts.nodes import items, mapping, namespace_of
from webhook.golang.names import with_generated_name
from webhook.ground.budget import Budget
from webhook.ground.fieldpath import field_keys, field_path
from webhook.kubernetes import LINE, advised_warning, faults_of
from webhook.policy import ChildRule, PolicyScope, Profile
from webhook.schema import FieldError

FAILED: Final = "KC009"
"""The description has no value for an object, or one that the API server would refuse whatever the object is."""

OTHER: Final = "KC006"

CHILD_CODES: Final = ("KC001", "KC002", "KC003", "KC004", "KC005", OTHER, FAILED)

KUBERNETES_CODES: Final = (*POD_CODES, *CHILD_CODES)
"""Of what Kubernetes says of parts of an object, or of what becomes of it."""

_NEVER_REFUSED: Final = frozenset({WARNED, FAILED})

_CODES: Final = {
    **dict.fromkeys(("DaemonSet", "Deployment", "LeaderWorkerSet", "Pod", "ReplicaSet", "StatefulSet"), "KC001"),
    **dict.fromkeys(("HorizontalPodAutoscaler", "ScaledObject", "PodDisruptionBudget"), "KC002"),
    **dict.fromkeys(("Service", "Ingress", "NetworkPolicy", "HTTPRoute", "Gateway", "VirtualService"), "KC003"),
    **dict.fromkeys(("PersistentVolumeClaim", "PersistentVolume"), "KC004"),
    **dict.fromkeys(("Job", "CronJob"), "KC005"),
}
"""By kind, the code of what is refused beside the pods."""

_MAKERS: Final = {"Job": "Job", "CronJob": "Job", "StatefulSet": "StatefulSet", "DaemonSet": "DaemonSet"}
"""What makes the Pods of a kind, and has the event that one is refused; else a ReplicaSet."""

_OF_PODS: Final = "each Pod is refused, which only an event of the {} says"

_TOO_MANY: Final = "FieldValueTooMany"
_ABSENT: Final = "FieldValueRequired"
_NOT_FOUND: Final = "FieldValueNotFound"
_CONTAINERS: Final = frozenset({"containers", "initContainers", "ephemeralContainers"})
_BELOW: Final = re.compile(r"[.\[]")
_INDEX: Final = re.compile(r"\[[0-9]+\]")

Judge: TypeAlias = Callable[[dict[str, Any]], Iterable[FieldError]]

_TEMPLATES: Final = frozenset({"template", "leaderTemplate", "workerTemplate"})
"""The fields that have the templates of pods."""

_GENERATED: Final = "00000"
"""Stands for what is random in a name."""

_PLAIN: Final = re.compile("[a-z][-a-z0-9]{0,39}(?<!-)")
"""A name that is as good as any other one with as many characters, if no other text is like it."""

JUDGED: Final = Judgements()
"""Those of this process."""

_BYTES: Final = 16
"""Bytes of a child for which copying it takes a step."""
_ORIGIN: Final = 128
"""Steps of a fault whose cause is looked for, in the description and in all that is merged."""


class ChildFault(NamedTuple):
    """A fault of a child, at the ``field`` of the object that is its cause, of those that its place ``reads``.

    The ``text`` ends with the other fields that are written (``beside``). The field ``lacks`` another one, "" if none.
    """

    code: str
    field: str
    reason: str
    text: str
    reads: tuple[str, ...] = ()
    beside: str = ""
    lacks: str = ""

    def unplaced(self) -> tuple[object, ...]:
        """The fault without the indexes of its field, an item of a list may move, and without the fields beside it."""
        path = (key for key in field_keys(self.field) if isinstance(key, str))
        return self.code, *path, self.text.removesuffix(self.beside)


class Children(NamedTuple):
    """What is found of the children of an object, and the parts of it that are judged in them."""

    findings: Findings
    judged: JudgedParts | None


def child_findings(subject: Subject, scope: PolicyScope, of_rules: Findings, rest: bytes = b"") -> Children | None:
    """Findings about the children of an object, :data:`MAX_FINDINGS` of each sort; None if nothing is made of it, as
    the ``scope`` of its rules tells, or it has no name, without which it is not made.

    Nothing is said of what a rule explains, by the findings ``of_rules``, at fields that decide it. The ``rest`` is
    all of the object but its name, see :func:`nameless`, where that is known.

    What the API server refuses is a denial under the strict profile, unless the stored object has the same fault, and a
    warning under others. Nothing is said of fields that the schema has refused.

    Raises:
        SpentError, DeadlineExceeded: from the budget of the review.
    """
    review, policy = subject.review, subject.review.kind.policy
    if not policy.children or _is_empty(subject) or "metadata.annotations" in subject.refused:
        return None  # annotations that are too large would be in each child
    obj = _with_name(subject.obj)
    if not mapping(obj, "metadata").get("name") or children.are_none(policy.children, scope, _owner(review)):
        return None
    judge = _Judge(review, obj, subject.old)
    faults = judge.faults(rest or nameless(subject.obj))
    if faults:
        faults = [fault for fault in faults if not _is_refused(fault.field, subject.refused)]
    if not faults:
        return Children(Findings(), judge.judged)
    if any(fault.code == FAILED for fault in faults) and not subject.must_evaluate():
        faults = [fault for fault in faults if fault.code != FAILED]
    explaining = {rule.code for rule in policy.validations if rule.explains}
    explained = frozenset(finding.field for finding in of_rules if finding.code in explaining)
    around = frozenset(above for field in explained for above in _lineage(field))
    faults = [
        fault
        for fault in faults
        if fault.field not in around and not any(_is_refused(field, explained) for field in (fault.field, *fault.reads))
    ]
    strictness = review.strictness()

    def is_refusal(fault: ChildFault) -> bool:
        return fault.code not in _NEVER_REFUSED and bool(strictness.denies(fault.code, {Profile.STRICT}))

    findings = findings_of_faults(_first(faults), is_refusal, lambda: _of_stored(subject), review.budget)
    return Children(findings, judge.judged)


def _owner(review: ObjectReview) -> Kind:
    return Kind(review.kind.gvk.group, review.kind.gvk.kind)


def _is_empty(subject: Subject) -> bool:
    """Whether the object has no specification, which is a finding of its own."""
    return subject.obj.get("spec") is None and "spec" in subject.review.kind.schema.root.properties


def _with_name(obj: dict[str, Any]) -> dict[str, Any]:
    """An object with the name that the API server would generate, with digits for what is random."""
    return with_generated_name(obj, _GENERATED)


def described(
    request: Request, catalog: Catalog, view: ClusterView, options: Options, *, assumed: bool = False
) -> list[children.Child]:
    """The objects that the operator makes of the object of a request, each in its namespace; those that fail are left
    out, and those that are assumed, unless they are asked for.

    Raises:
        SpentError, DeadlineExceeded, PolicyFault: as a judgement.
    """
    review = review_of(request, catalog, view, options)
    if review is None or not review.kind.policy.children:
        return []
    scope = review.scope(_with_name(review.kind.seen(review.kind.schema.decode(review.obj).object)), None)
    rules = tuple(rule for rule in review.kind.policy.children if assumed or not rule.assumed)
    made, namespace = list[children.Child](), namespace_of(scope.object)
    with suppress(BudgetExceeded):  # what costs too much is left out, too: a judgement says so
        for child in children.children_of(rules, scope, _owner(review)):
            if isinstance(child, children.Child):
                made.append(child.of(children.placed(child.object, namespace)))
    return made


def _first(faults: Iterable[ChildFault]) -> Iterable[ChildFault]:
    """The first fault of each field and of what it lacks, and the first warning: what follows has the same cause."""
    first = dict[tuple[str, str, bool], ChildFault]()
    for fault in faults:
        first.setdefault((fault.field, fault.lacks, fault.code == WARNED), fault)
    return first.values()


def _of_stored(subject: Subject) -> Iterable[ChildFault]:
    if subject.old is None:
        return ()
    review = subject.review._replace(request=replace(subject.review.request, object=subject.review.old))
    return _Judge(review, _with_name(subject.old), subject.old).faults(nameless(subject.old))


def _lineage(field: str) -> Iterator[str]:
    """A field and those above it. There may be a thousand faults and as many other fields: each looks at its own."""
    yield field
    yield from (field[: end.start()] for end in _BELOW.finditer(field))


def _is_refused(field: str, refused: frozenset[str]) -> bool:
    return not refused.isdisjoint(_lineage(field))


def _is_plain(name: str, rest: bytes) -> bool:
    return bool(rest) and _PLAIN.fullmatch(name) is not None and name.encode() not in rest


@lru_cache(256)
def _facts_of(rules: tuple[ChildRule, ...]) -> tuple[str, ...]:
    """The names of the facts that the rules read."""
    return tuple(sorted(set().union(*(rule.facts for rule in rules))))


class _Judge:
    """Judges the children of one state of an object. ``judged`` are its parts that are in them, once that is known."""

    judged: JudgedParts | None = None

    def __init__(self, review: ObjectReview, obj: dict[str, Any], old: dict[str, Any] | None) -> None:
        self._review, self._obj, self._old = review, obj, old

    @cached_property
    def _reading(self) -> NotedView:
        return NotedView(self._review.view)

    @cached_property
    def _paths(self) -> set[tuple[str | int, ...]]:
        """Those of the parts of the object that are in its children."""
        return set()

    @cached_property
    def _errors(self) -> set[str]:
        """The types of the errors of the child that is judged, whatever their cause."""
        return set()

    @cached_property
    def _scope(self) -> PolicyScope:
        """The scope of the description, whose facts are noted with what they read."""
        return self._review._replace(view=self._reading).scope(self._obj, self._old)

    def faults(self, rest: bytes) -> Sequence[ChildFault]:
        """What is wrong, at most :data:`MAX_FINDINGS`. The same object is not judged again, whatever its plain name."""
        review, name = self._review, str(mapping(self._obj, "metadata").get("name"))
        rest = self._read_beside(rest)
        same = review.kind.policy, review.catalog, review.options.settings
        of_any_name, own = (len(name), rest), (name, rest)
        is_plain = _is_plain(name, rest)
        for key in (of_any_name, own) if is_plain else (own,):
            if (remembered := JUDGED.verdict(key, review.view, *same)) is not None:
                faults: Sequence[ChildFault]
                faults, self.judged = remembered
                return faults
        try:
            faults = tuple(islice(self._all(), MAX_FINDINGS))
        except BudgetExceeded as error:
            text = f"what becomes of it is not known: its children take too long to describe ({error})"
            return (ChildFault(FAILED, "", "FieldValueInvalid", text),)
        self.judged = JudgedParts(frozenset(self._paths))
        key = of_any_name if is_plain and not faults and not self._reading.notes.names(name) else own
        JUDGED.add(key, self._reading.notes, (faults, self.judged), *same)
        return faults

    def _read_beside(self, rest: bytes) -> bytes:
        """The object but for its name, with what else the facts of the description read, if that may differ."""
        stored = sent = None
        for name in _facts_of(self._review.kind.policy.children):
            fact = self._review.kind.facts[name]
            stored = self._old if fact.stored else stored
            sent = self._review.request.object if fact.raw else sent
        if stored is None and sent is None:
            return rest
        beside = json_of(stored, sent)
        return rest + beside if rest and beside else b""

    def _all(self) -> Iterator[ChildFault]:
        review, namespace = self._review, namespace_of(self._scope.object)
        for name in _facts_of(review.kind.policy.children):
            self._scope.fact(name)  # before it is asked which are hidden
        for child in children.children_of(review.kind.policy.children, self._scope, _owner(review), self._hidden):
            if isinstance(child, children.Failure):
                text = f"what becomes of it is not known: the {child.rule.kind} cannot be described ({child.reason})"
                yield ChildFault(FAILED, "", "FieldValueInvalid", text)
                continue
            self._errors.clear()
            key = (json_of(child.object, namespace),)
            review.budget.spend(1 + len(key[0]) // _BYTES, child.rule.kind)
            made = children.placed(child.object, namespace)
            if RIGHT.verdict(key, review.view, review.catalog) is None:  # which has the definitions of other kinds
                yield from self._of(child, made)
                if not self._errors:
                    RIGHT.add(key, Notes(), True, review.catalog)
            if _TOO_MANY not in self._errors and children.judges_pods(made):  # else parts have faults not seen in it
                self._paths.update(child.judged())

    @property
    def _hidden(self) -> frozenset[str]:
        return frozenset(self._scope.hidden_facts)

    def _of(self, child: children.Child, made: dict[str, Any]) -> Iterator[ChildFault]:
        """The faults of a child: of the object, and then those that only its pods have."""
        rule, catalog, budget = child.rule, self._review.catalog, self._review.budget
        if not children.is_builtin(kind_of(made)):
            yield from self._faults(child, made, lambda one: by_definition(one, catalog, budget), rule.becomes)
            yield from self._faults(child, made, lambda one: children.template_errors(one, budget), rule.becomes)
            return
        pods_are_refused = False
        for fault in self._faults(child, made, lambda one: children.child_errors(one, budget), rule.becomes):
            pods_are_refused |= fault.code == REFUSED
            yield fault
        if pods_are_refused:
            return
        maker = _MAKERS.get(rule.kind, "ReplicaSet")
        of_pods = _OF_PODS.format(maker)
        yield from self._faults(child, made, lambda one: children.pod_errors(one, budget), of_pods)
        yield from self._warnings(child, made)

    def _faults(self, child: children.Child, made: dict[str, Any], judge: Judge, becomes: str) -> Iterator[ChildFault]:
        """The faults at the fields that are their causes; those are left out that no field of the object causes."""

        @cache
        def alone() -> frozenset[tuple[str, str]]:
            return frozenset((_unplaced(error.field), error.body()) for error in judge(self._alone(child)))

        budget = self._review.budget
        for fault in faults_of([*judge(made)], budget):
            error = fault.error
            budget.spend(_ORIGIN, error.field)
            place = _written(field_keys(error.field))
            origin = child.origin(place, error.bad_value)
            self._errors.add(error.type)
            if not origin.field and not child.source(tuple(place)).paths:
                text = f"the description of the {child.rule.kind} is wrong, at {field_path(place)}: {fault.text}"
                yield ChildFault(FAILED, "", error.type, text)
            if not origin.field or _is_of_volume(error, made, place) or self._is_own_namespace(error, place):
                continue
            may_be_given = error.type == _ABSENT and len(field_keys(origin.rest)) == 1
            if origin.rest and not may_be_given and (_unplaced(error.field), error.body()) in alone():
                continue
            code = REFUSED if any(key in _TEMPLATES for key in place) else _CODES.get(child.rule.kind, OTHER)
            beside = f" (see also {', '.join(origin.others)})" if origin.others else ""
            room = min(LINE, WARNING_LENGTH - len(f"{origin.field}:  ({code})")) - len(fault.text)
            text = fault.text + _tail(room, _where(child, origin, place), f"; {becomes}", beside)
            lacks = origin.rest if may_be_given else ""
            yield ChildFault(code, origin.field, error.type, text, origin.reads, beside, lacks)

    def _is_own_namespace(self, error: FieldError, place: Sequence[str | int]) -> bool:
        """Whether it is about the namespace of the object, which is refused with it."""
        return [*place] == ["metadata", "namespace"] and error.bad_value == namespace_of(self._scope.object)

    def _warnings(self, child: children.Child, made: dict[str, Any]) -> Iterator[ChildFault]:
        budget, alone = self._review.budget, None
        for field, text in children.pod_warnings(made, budget):
            self._errors.add(WARNED)
            budget.spend(_ORIGIN, field)
            origin = child.origin(field_keys(field))
            if origin.rest and alone is None:
                alone = {
                    (_unplaced(place), warning) for place, warning in children.pod_warnings(self._alone(child), budget)
                }
            if origin.field and not (origin.rest and alone and (_unplaced(field), text) in alone):
                where = _where(child, origin, ()) if origin.rest else ""
                yield ChildFault(WARNED, origin.field, "", f"{advised_warning(field, text)}{where}")

    def _alone(self, child: children.Child) -> dict[str, Any]:
        """The child without what the object writes: faults of that are not the object's."""
        try:
            made = child.alone()
        except CelError:
            made = {"apiVersion": child.rule.api_version, "kind": child.rule.kind}
        return children.placed(made, namespace_of(self._scope.object))


def by_definition(made: dict[str, Any], catalog: Catalog, budget: Budget) -> Iterable[FieldError]:
    """What the definition of a child's kind says; without one, nothing is known of the child."""
    known = catalog.defined(kind_of(made))
    return () if known is None else children.defined_errors(made, known.schema, budget, namespaced=known.namespaced)


def _where(child: children.Child, origin: children.Origin, place: Sequence[str | int]) -> str:
    """Where in the child a fault is, if the object has no such field."""
    if origin.merged or origin.rest:
        at = [f"at {origin.rest}"] if origin.rest else []
        return f" ({', '.join([*at, *([f'merged with {origin.merged}'] if origin.merged else [])])})"
    return "" if origin.exact else f", at {field_path(place)} of the {child.rule.kind}"


def _tail(room: int, *parts: str) -> str:
    """The parts of the end of a finding that a line has room for, the first ones first."""
    end = ""
    for part in parts:
        end += part if len(end) + len(part) <= room else ""
    return end


def _is_of_volume(error: FieldError, made: Any, place: Sequence[str | int]) -> bool:
    """Whether a volume is not found that is there, and has a fault of its own."""
    if error.type != _NOT_FOUND or "volumeMounts" not in place:
        return False
    pod = made
    for key in takewhile(lambda key: key not in _CONTAINERS, place):
        pod = pod.get(key) if isinstance(pod, dict) else None
    return any(volume.get("name") == error.bad_value for volume in items(pod, "volumes"))


def _unplaced(field: str) -> str:
    """A field without its indexes: an item of a merged list moves."""
    return _INDEX.sub("[]", field)


def _written(place: list[str | int]) -> list[str | int]:
    """A place as objects have it: the API server leaves out the metadata of a template, and that of an Ingress."""
    for index, key in enumerate(place[:-1]):
        if key in _TEMPLATES and place[index + 1] in ("annotations", "labels"):
            return [*place[: index + 1], "metadata", *place[index + 1 :]]
    return ["metadata", "annotations", ".".join(map(str, place[1:]))] if place[:1] == ["annotations"] else place
