"""Run a policy's validation rules over one object."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from webhook.admission import Cause, Hint, Warn, cut_end
from webhook.admission.stamp import canonical
from webhook.catalog import NOTHING_ASIDE, Aside, KnownKind
from webhook.cel import BudgetExceeded, CelError
from webhook.cel.batch import Suspect
from webhook.engine.findings import Findings
from webhook.engine.metadata import is_readable
from webhook.engine.options import Options
from webhook.engine.ratchet import Ratchet, TargetNode
from webhook.golang.fmt import GoStrings
from webhook.ground.fieldpath import field_path
from webhook.policy import MISSING, Path, PolicyFault, PolicyScope, Prepared, ValidationRule
from webhook.schema import OMIT, FieldError

__all__ = ["MAX_FINDINGS", "Subject", "fault_cause", "validate_rules"]

MAX_FINDINGS: Final = 1000
"""Causes, notices and warnings of the policy's rules about one object, each: more are of no use to a reader."""

SHOWN: Final = 256
"""Characters of a user's value in a cause: names and URLs fit, and 1,000 causes stay below half a megabyte."""

MESSAGE: Final = 1024
"""Characters of a rule's message, which may quote values of the user."""

MANY_ERRORS: Final = 100
"""With more errors of the schema no rule is run. An object with a few gets the findings of rules beside them, which
the API server does not give; but rules are slow where values have another type than their schema says."""

REFERENCES: Final = 2560
"""Characters of the message of a rule about other objects. OM405 names the nearest runtimes with the reasons against
them."""

UNSEEN: Final = "is not among the files given; add it, or use --view with the objects of the cluster"

_OVERSIZED: Final = frozenset({"FieldValueTooLong", "FieldValueTooMany"})


@dataclass(eq=False)  # never changed: one is made for each object
class Subject:
    """An object under validation.

    ``old`` is what is stored (None on CREATE), ``schema_causes`` what the schema refuses, ``hidden`` what it would
    refuse if the update changed it. The rules ``aside`` do not hold for the object.
    """

    kind: KnownKind
    prepared: Prepared
    obj: dict[str, Any]
    old: dict[str, Any] | None
    schema_causes: Sequence[Cause] = ()
    hidden: Sequence[Cause] = ()
    aside: Aside = NOTHING_ASIDE

    @property
    def schema_valid(self) -> bool:
        return not self.schema_causes

    @cached_property
    def refused(self) -> frozenset[str]:
        """The paths of the fields that the schema refuses."""
        return frozenset(cause.field for cause in self.schema_causes)

    @cached_property
    def oversized(self) -> frozenset[str]:
        """The paths of nodes with more items or characters than the schema allows."""
        return frozenset(cause.field for cause in self.schema_causes if cause.reason in _OVERSIZED)

    @cached_property
    def rules_must_evaluate(self) -> bool:
        """Whether a rule that fails to evaluate is a fault of the rule.

        Otherwise the schema has named the reason already, or would but for ratcheting. The stored object may have been
        written under another definition of the same name, so it is checked, too. Under an installed definition that is
        not the catalog's, a field that the rule takes for granted may be optional.
        """
        if self.kind.deviates or not is_readable(self.obj):
            return False
        if not self.schema_valid or self.old is None:
            return self.schema_valid
        if self.hidden or not is_readable(self.old):
            return False
        return not any(self.kind.schema.check(each).errors for each in (self.obj, self.old))


def validate_rules(
    subject: Subject, scope: PolicyScope, options: Options, stored_scope: Callable[[], PolicyScope]
) -> Findings:
    """Findings of the policy, :data:`MAX_FINDINGS` of each sort.

    ``stored_scope`` makes the scope over the stored object of an update; it is needed only to spare a rule.

    Without ``options.references``, rules about other objects are skipped: they cannot be decided. Without
    ``options.complete``, a rule that fails because it did not find an object only warns. Rules at and below a
    node that is too large for its schema are skipped, as the API server skips its own: their cost would have no bound.
    All are skipped with more than :data:`MANY_ERRORS` errors of the schema.

    Raises:
        PolicyFault: a rule could not be evaluated on an object that its schema accepts.
        DeadlineExceeded: from ``options.checkpoint``, which is called before each evaluation of a rule.
    """
    if len(subject.schema_causes) + len(subject.hidden) > MANY_ERRORS:
        return Findings()
    suspects = _suspects(subject, scope, options)
    if suspects is not None and not suspects:
        return Findings()
    rules, aside = subject.kind.policy.validations, subject.aside.rules
    if suspects is None:
        suspects = [(at, False, None) for at, rule in enumerate(rules) if options.references or not rule.referential]
    run = _RuleRun(subject, scope, options, stored_scope)
    causes = run.findings.causes
    for position, certain, message in suspects:
        rule = rules[position]
        if rule in aside:
            continue
        run.check(rule, certain, message)
        if len(causes) >= MAX_FINDINGS:
            break
    return run.findings


def _suspects(subject: Subject, scope: PolicyScope, options: Options) -> Sequence[Suspect] | None:
    """The rules that fail or may fail, by one function for all; None if each must be evaluated.

    That function skips no node that is too large for its schema. Of an object that its schema refuses, it decides
    nothing if a rule reads a value of a wrong type.
    """
    if subject.hidden or subject.aside.oversized or (subject.schema_causes and subject.oversized):
        return None
    options.checkpoint("rules")
    found = scope.suspects()
    if found is None or options.references:
        return found
    rules = subject.kind.policy.validations
    return [each for each in found if not rules[each[0]].referential]


class _RuleRun:
    """The rules of one object that fail or may fail, and what is found of them."""

    def __init__(
        self, subject: Subject, scope: PolicyScope, options: Options, stored_scope: Callable[[], PolicyScope]
    ) -> None:
        self.findings = Findings()
        self._subject, self._scope, self._options = subject, scope, options
        self._is_refused = bool(subject.schema_causes)
        self._oversized = self._is_refused and bool(subject.oversized)
        self._unseen: set[str] = set()
        self._nodes: dict[str, tuple[TargetNode, ...]] = {}
        self._stored_scope = stored_scope

    @cached_property
    def _ratchet(self) -> Ratchet:
        subject = self._subject
        assert subject.old is not None
        return Ratchet(subject.kind, subject.prepared, subject.obj, subject.old, self._scope, self._stored_scope)

    def check(self, rule: ValidationRule, fails: bool, message: str | None) -> None:
        """Record where one rule fails, of the nodes that it is about, until the object's cost budget is spent.

        ``fails``: it is known to fail, at its only node. ``message`` is the value of its message expression, None if
        that is not known.
        """
        denies = self._options.profile in rule.denied_by
        told = rule.message if rule.message_expression is None else message
        unseen = None if self._options.complete else rule.unseen
        if fails and told is not None and unseen is None and not self._scope.doubtful:
            self._record(rule, None, told, denies=denies)
            return
        found = self.findings.causes if denies else self.findings.warnings
        for node in self._nodes_at(rule.at):
            if (rule.transition and node.stored is MISSING) or (self._oversized and self._is_oversized(node)):
                continue
            try:
                text = self._failure(rule, node, told, fails=fails)
            except BudgetExceeded:
                if self._subject.schema_valid:
                    text = f"is too large for rule {rule.code} to judge (CEL cost limit)"
                    self._record(rule, node, text, denies=denies, whole=True)
                return
            if text is not None:
                self._record(rule, node, text, denies=denies)
                if len(found) >= MAX_FINDINGS:
                    return

    def _is_oversized(self, node: TargetNode) -> bool:
        """Whether the node, or one around it, is too large for its schema."""
        return any(field_path(node.keys[:end]) in self._subject.oversized for end in range(len(node.keys) + 1))

    def _nodes_at(self, at: Path) -> Iterable[TargetNode]:
        """The nodes at a path; kept for the next rule only where there is one: a list may have a million items."""
        if not at.single:
            return _target_nodes(at, self._subject, self._scope)
        if at.text in self._nodes:
            return self._nodes[at.text]
        value, old = at.get(self._subject.obj), self._subject.old
        stored = MISSING if old is None or (before := at.get(old)) is None else before
        absent = value is MISSING or value is None
        nodes = self._nodes[at.text] = () if absent else (TargetNode(at.keys, value, stored, self._scope),)
        return nodes

    def _failure(self, rule: ValidationRule, node: TargetNode, told: str | None, *, fails: bool) -> str | None:
        """The message of a rule that fails at a node; None if it holds, does not apply, or cannot be evaluated.

        ``told`` is the message, None if it is not known. ``fails``: it is known to fail.
        """
        value = self._scope.value
        self._options.checkpoint(rule.code)
        try:
            if not fails:
                if rule.when is not None and value(rule.when, node.bindings) is False:
                    return None
                if value(rule.rule, node.bindings) is not False:
                    return None
            if self._scope.doubtful and self._scope.doubts(*rule.conditions):
                return None
            unseen = None if self._options.complete else rule.unseen
            if unseen is not None and (missing := str(value(unseen, node.bindings))):
                self._record_unseen(rule, node, missing)
                return None
            if told is not None or rule.message_expression is None:
                return told
            return str(value(rule.message_expression, node.bindings))
        except BudgetExceeded:
            raise
        except CelError as error:
            if self._subject.rules_must_evaluate:
                self._record_fault(PolicyFault(rule.code, field_path(node.keys), self._guilty(rule, node), error))
            return None

    def _guilty(self, rule: ValidationRule, node: TargetNode) -> str:
        """The source of the expression of a rule that cannot be evaluated."""
        for each in filter(None, (rule.when, rule.rule, rule.unseen, rule.message_expression)):
            try:
                self._scope.value(each, node.bindings)
            except CelError:
                return each.source
        return rule.rule.source

    def _record_fault(self, fault: PolicyFault) -> None:
        if not self._options.faults_told:
            raise fault
        if len(self.findings.causes) < MAX_FINDINGS:
            self.findings.causes.append(fault_cause(fault))

    def _record_unseen(self, rule: ValidationRule, node: TargetNode, missing: str) -> None:
        """Warn that an unknown object decides a rule, once for each such object."""
        if missing not in self._unseen:
            self._unseen.add(missing)
            self._record(rule, node, f"{cut_end(missing, SHOWN)} {UNSEEN}", denies=False)

    def _record(
        self, rule: ValidationRule, node: TargetNode | None, message: str, *, denies: bool, whole: bool = False
    ) -> None:
        """Add a finding of a rule about a field of a node, or about the ``whole`` node. None is its only node."""
        findings, place = self.findings, rule.about.text
        if node is not None and (whole or not rule.at.single):
            place = field_path(node.keys if whole else (*node.keys, *rule.below.keys))
        longest = REFERENCES if rule.referential else MESSAGE
        if len(message) > longest:
            message = cut_end(message, longest)
        if self._is_refused and self._is_explained(rule, node, place):
            # One finding for one fault: what else a rule says of a value that must change anyway is omitted.
            if rule.explains:
                findings.hints.setdefault(place, []).append(Hint(rule.code, message))
        elif not denies:
            if len(findings.warnings) < MAX_FINDINGS:
                findings.warnings.append(Warn(place, message, rule.code))
        elif self._subject.old is None or not self._is_spared(rule, node):
            value = OMIT if whole else _shown(self._value(rule, node))
            reason = "FieldValueInvalid" if whole else rule.reason
            error = FieldError(reason, place, message, value)
            findings.causes.append(Cause(place, reason, error.body(), rule.code))
        elif len(findings.notices) < MAX_FINDINGS:
            text = f"{message} (not refused, because this update does not change it)"
            findings.notices.append(Warn(place, text, rule.code))

    def _is_explained(self, rule: ValidationRule, node: TargetNode | None, place: str) -> bool:
        """Whether the schema refuses the very value that a finding is about."""
        return place in self._subject.refused and not isinstance(self._value(rule, node), dict | list)

    def _is_spared(self, rule: ValidationRule, node: TargetNode | None) -> bool:
        """Whether the update leaves unchanged what the rule reads."""
        if node is None:
            (node,) = self._nodes_at(rule.at)
        return self._ratchet.spares(rule, node)

    def _value(self, rule: ValidationRule, node: TargetNode | None) -> Any:
        """The value that a finding is about, or MISSING."""
        return rule.about.get(self._subject.obj) if node is None else rule.below.get(node.value)


def fault_cause(fault: PolicyFault) -> Cause:
    """What a file is told of a rule that cannot be evaluated: a gate would answer that it cannot judge the object."""
    return Cause(fault.place, "InternalError", f"Internal error: {cut_end(fault.detail, MESSAGE)}", fault.code)


def _target_nodes(at: Path, subject: Subject, scope: PolicyScope) -> Iterator[TargetNode]:
    stored_node = _stored_nodes(at, subject.old)
    for keys, value in at.nodes(subject.obj):
        stored = stored_node(value)
        yield TargetNode(keys, value, stored, scope)


def _stored_nodes(at: Path, old: dict[str, Any] | None) -> Callable[[Any], Any]:
    """A function from a node to the stored node that corresponds to it, or MISSING.

    Items of a list have no identity: an equal item anywhere in the stored list corresponds.
    """
    if old is None:
        return lambda _node: MISSING
    stored = {canonical(node): node for _, node in at.nodes(old)}
    return lambda node: stored.get(canonical(node), MISSING)


def _shown(value: Any) -> Any:
    """What a cause shows of the value: scalars, and lists of strings as Go's webhooks print them."""
    if isinstance(value, str):
        return cut_end(value, SHOWN)
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return GoStrings(_first(value))
    return OMIT if value is MISSING or isinstance(value, dict | list) else value


def _first(texts: Sequence[str]) -> list[str]:
    """The texts that fit into :data:`SHOWN` characters, and "…" for the others."""
    room, shown = SHOWN, list[str]()
    for text in texts:
        room -= len(text) + 1
        if room < 0 and shown:
            return [*shown, "…"]
        shown.append(cut_end(text, SHOWN))
    return shown
