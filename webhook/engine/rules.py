"""Run a policy's validation rules over one object.

A rule that fails is a cause or a warning, as the profile or a policy in force says. Some failures are something else:

off          an Enforcement has turned the rule off: not run
left out     the rule does not hold for the definition that is installed (``Aside``), or the node is too large: not run
hidden facts the rule has read a fact that may be wrong: no finding
unseen       the rule has not found an object that may exist elsewhere: a warning about that object
explained    the schema refuses the same value: a hint for its cause, or no finding
unchanged    the update changes nothing that the rule reads: a notice, which is a warning
unevaluated  the rule cannot be evaluated: a fault, unless the schema refuses the object, or would
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, Final

from webhook.admission import Cause, Warn, cut_end
from webhook.admission.stamp import canonical
from webhook.cel import BudgetExceeded, CelError
from webhook.cel.batch import Suspect
from webhook.engine.findings import MAX_FINDINGS, MESSAGE, SPARED, Findings
from webhook.engine.ratchet import Ratchet, TargetNode
from webhook.engine.review import Subject
from webhook.golang.fmt import GoStrings
from webhook.ground.fieldpath import field_path
from webhook.policy import MISSING, Path, PolicyFault, PolicyScope, ValidationRule
from webhook.schema import OMIT, FieldError

SHOWN: Final = 256
"""Characters of a user's value in a cause: names and URLs fit, and 1,000 causes stay below half a megabyte."""

MANY_ERRORS: Final = 100
"""With more errors of the schema no rule is run. An object with a few gets the findings of rules beside them, which
the API server does not give; but rules are slow where values have another type than their schema says."""

REFERENCES: Final = 2560
"""Characters of the message of a rule about other objects. OM405 names the nearest runtimes with the reasons against
them."""

_INVALID: Final = "FieldValueInvalid"
_EVALUATION: Final = 8
"""Steps of one rule at one node, beside the rounds of its loops."""

UNSEEN: Final = "is not among the files given; add it, or use --view with the objects of the cluster"


def validate_rules(subject: Subject, scope: PolicyScope) -> Findings:
    """Findings of the policy, :data:`MAX_FINDINGS` of each sort. ``scope`` is that of the subject.

    Without ``options.references``, rules about other objects are skipped: they cannot be decided. Without
    ``options.complete``, a rule that fails because it did not find an object only warns. Rules at and below a
    node that is too large for its schema are skipped, as the API server skips its own: their cost would have no bound.
    All are skipped with more than :data:`MANY_ERRORS` errors of the schema.

    Raises:
        PolicyFault: a rule could not be evaluated on an object that its schema accepts.
        SpentError, DeadlineExceeded: from the budget, which each evaluation of a rule spends.
    """
    if subject.errors > MANY_ERRORS:
        return Findings()
    suspects = _suspects(subject, scope)
    if suspects is not None and not suspects:
        return Findings()
    rules, aside = subject.review.kind.policy.validations, subject.aside.rules
    if suspects is None:
        references = subject.review.options.references
        suspects = [(at, False, None) for at, rule in enumerate(rules) if references or not rule.referential]
    run = _RuleRun(subject, scope)
    causes = run.findings.causes
    for position, certain, message in suspects:
        rule = rules[position]
        if rule in aside:
            continue
        run.check(rule, message, certain=certain)
        if len(causes) >= MAX_FINDINGS:
            break
    return run.findings


def _suspects(subject: Subject, scope: PolicyScope) -> Sequence[Suspect] | None:
    """The rules that fail or may fail, by one function for all; None if each must be evaluated.

    That function skips no node that is too large for its schema. Of an object that its schema refuses, it decides
    nothing if a rule reads a value of a wrong type.
    """
    if subject.hidden or subject.aside.oversized or subject.oversized:
        return None
    options = subject.review.options
    subject.review.budget.spend(len(subject.review.kind.policy.validations), "rules")
    suspects = scope.suspects()
    if suspects is None or options.references:
        return suspects
    rules = subject.review.kind.policy.validations
    return [suspect for suspect in suspects if not rules[suspect[0]].referential]


class _RuleRun:
    """The rules of one object that fail or may fail, and their findings."""

    def __init__(self, subject: Subject, scope: PolicyScope) -> None:
        self.findings = Findings()
        self._subject, self._scope, self._options = subject, scope, subject.review.options
        self._budget = subject.review.budget
        self._strictness = subject.review.strictness()
        self._unseen_objects: set[str] = set()
        self._nodes: dict[str, tuple[TargetNode, ...]] = {}

    @cached_property
    def _ratchet(self) -> Ratchet:
        return Ratchet(self._subject, self._scope)

    @cached_property
    def _must_evaluate(self) -> bool:
        return self._subject.must_evaluate()

    def check(self, rule: ValidationRule, message: str | None, *, certain: bool) -> None:
        """Record where one rule fails, of the nodes that it is about, until the object's cost budget is spent.

        ``certain``: it fails, at its only node. ``message`` is the value of its message expression, None if that is not
        known.
        """
        denies, oversized = self._strictness.denies(rule.code, rule.denied_by), self._subject.oversized
        if denies is None:
            return
        if rule.message_expression is None:
            message = rule.message
        is_seen = rule.unseen is None or self._options.complete
        if certain and message is not None and is_seen and not self._scope.hidden_facts:
            self._record(rule, None, message, denies=denies)
            return
        recorded = self.findings.causes if denies else self.findings.warnings
        for node in self._nodes_at(rule.at):
            if (rule.transition and node.stored is MISSING) or (oversized and self._is_oversized(node)):
                continue
            try:
                text = self._failure(rule, node, message, certain=certain)
            except BudgetExceeded:
                if not self._subject.refused:
                    text = f"is too large for rule {rule.code} to judge (CEL cost limit)"
                    self._record(rule, node, text, denies=denies, whole=True)
                return
            if text is not None:
                self._record(rule, node, text, denies=denies)
                if len(recorded) >= MAX_FINDINGS:
                    return

    def _is_oversized(self, node: TargetNode) -> bool:
        """Whether the node, or one around it, is too large for its schema."""
        return any(field_path(node.keys[:end]) in self._subject.oversized for end in range(len(node.keys) + 1))

    def _nodes_at(self, at: Path) -> Iterable[TargetNode]:
        """The nodes at a path; kept for the next rule only where there is one: a list may have a million items."""
        if not at.single:
            return self._list_nodes(at)
        if at.text in self._nodes:
            return self._nodes[at.text]
        value, old = at.get(self._subject.obj), self._subject.old
        stored = MISSING if old is None or (before := at.get(old)) is None else before
        absent = value is MISSING or value is None
        nodes = self._nodes[at.text] = () if absent else (TargetNode(at.keys, value, stored, self._scope),)
        return nodes

    def _list_nodes(self, at: Path) -> Iterator[TargetNode]:
        stored_node = _stored_nodes(at, self._subject.old)
        for keys, value in at.nodes(self._subject.obj):
            yield TargetNode(keys, value, stored_node(value), self._scope)

    def _failure(self, rule: ValidationRule, node: TargetNode, message: str | None, *, certain: bool) -> str | None:
        """The message of a rule that fails at a node; None if it holds, does not apply, or cannot be evaluated."""
        value = self._scope.value
        self._budget.spend(_EVALUATION, rule.code)
        try:
            if not certain:
                bindings = node.bindings
                if rule.when is not None and value(rule.when, bindings) is False:
                    return None
                if value(rule.rule, bindings) is not False:
                    return None
            if self._scope.hidden_facts and self._scope.reads_hidden_fact(rule):
                return None
            unseen = None if self._options.complete else rule.unseen
            if unseen is not None and (name := str(value(unseen, node.bindings))):
                self._record_unseen(rule, node, name)
                return None
            if message is not None or rule.message_expression is None:
                return message
            return str(value(rule.message_expression, node.bindings))
        except BudgetExceeded:
            raise
        except CelError as error:
            if self._must_evaluate:
                self._record_fault(PolicyFault(rule.code, field_path(node.keys), self._guilty(rule, node), error))
            return None

    def _guilty(self, rule: ValidationRule, node: TargetNode) -> str:
        """The source of the expression of a rule that cannot be evaluated."""
        for expression in filter(None, (rule.when, rule.rule, rule.unseen, rule.message_expression)):
            try:
                self._scope.value(expression, node.bindings)
            except CelError:
                return expression.source
        return rule.rule.source

    def _record_fault(self, fault: PolicyFault) -> None:
        if not self._options.faults_told:
            raise fault
        if len(self.findings.causes) < MAX_FINDINGS:
            self.findings.causes.append(fault_cause(fault))

    def _record_unseen(self, rule: ValidationRule, node: TargetNode, name: str) -> None:
        """Warn that an unknown object decides a rule, once for each such object."""
        if name not in self._unseen_objects:
            self._unseen_objects.add(name)
            self._record(rule, node, f"{cut_end(name, SHOWN)} {UNSEEN}", denies=False)

    def _record(
        self, rule: ValidationRule, node: TargetNode | None, message: str, *, denies: bool, whole: bool = False
    ) -> None:
        """Add a finding of a rule about a field of a node, or about the ``whole`` node. None is its only node."""
        findings, subject, place = self.findings, self._subject, rule.about.text
        if node is not None and (whole or not rule.at.single):
            place = field_path(node.keys if whole else (*node.keys, *rule.below.keys))
        longest = REFERENCES if rule.referential else MESSAGE
        if len(message) > longest:
            message = cut_end(message, longest)
        self._budget.write(message, place)
        if place in subject.refused and (rule.explains or not isinstance(self._value(rule, node), dict | list)):
            # One finding for one fault: what else a rule says of a value that must change anyway is omitted.
            if rule.explains == "schema":
                findings.hints.setdefault(place, []).append(Warn("", message, rule.code))
        elif not denies:
            if len(findings.warnings) < MAX_FINDINGS:
                findings.warnings.append(Warn(place, message, rule.code))
        elif subject.old is None or not self._is_unchanged(rule, node):
            value, reason = (OMIT, _INVALID) if whole else (_shown(self._value(rule, node)), rule.reason)
            findings.causes.append(Cause(place, reason, FieldError(reason, place, message, value).body(), rule.code))
        elif len(findings.notices) < MAX_FINDINGS:
            findings.notices.append(Warn(place, f"{message}{SPARED}", rule.code))

    def _is_unchanged(self, rule: ValidationRule, node: TargetNode | None) -> bool:
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
