"""Runs the rules of a schema on one object: budget, old values, ratcheting, messages."""

from __future__ import annotations

from typing import Any

from webhook.cel import Budget, BudgetExceeded, CelError
from webhook.cel.values import NONE, Opt
from webhook.golang.strconv import SPACE, quote
from webhook.schema.correlate import Correlated, item_key
from webhook.schema.fielderror import OMIT, FieldError, duplicate, forbidden, invalid, required
from webhook.schema.node import SchemaNode
from webhook.schema.rules.compile import Rule, RuleNode

_SPENT = "validation failed due to running out of cost budget, no further validation rules will be run"
_MESSAGE_LIMIT = 5 * 1024  # bytes of an evaluated messageExpression (apis/cel MaxEvaluatedMessageExpressionSizeBytes)


class _Stop(Exception):
    """No further rules are run."""


class RuleRun:
    """One validation of one object. Collects errors and warnings; all rules share the budget.

    ``stopped``: the budget ended the run before the last rule.
    """

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.errors: list[FieldError] = []
        self.warnings: list[str] = []
        self.stopped = False

    def validate(
        self, rules: RuleNode, value: Any, old: Any = None, *, path: str = "", correlated: Correlated | None = None
    ) -> None:
        """Run all rules at and below a value. With ``correlated`` the errors of unchanged parts become warnings."""
        try:
            self._validate(rules, value, old, path, _Ratchet(correlated))
        except _Stop:
            self.stopped = True

    def _validate(self, rules: RuleNode, value: Any, old: Any, path: str, ratchet: _Ratchet) -> None:
        if value is None:
            return
        self._run_own(rules, value, old, path, ratchet)
        for branch in rules.all_of:
            self._validate(branch, value, old, path, ratchet.uncorrelated())
        if isinstance(value, list):
            self._items(rules, value, old, path, ratchet)
        elif isinstance(value, dict):
            self._entries(rules, value, old if isinstance(old, dict) else {}, path, ratchet)

    def _items(self, rules: RuleNode, value: list[Any], old: Any, path: str, ratchet: _Ratchet) -> None:
        if rules.items is None:
            return
        old_items = OldItems(rules.node, old)
        for i, item in enumerate(value):
            self._validate(rules.items, item, old_items.get(item), f"{path}[{i}]", ratchet.index(i))

    def _entries(
        self, rules: RuleNode, value: dict[str, Any], old: dict[str, Any], path: str, ratchet: _Ratchet
    ) -> None:
        if rules.additional is not None:
            for key, item in value.items():
                self._validate(rules.additional, item, old.get(key), f"{path}[{key}]", ratchet.key(key))
        for key, below in rules.properties.items():
            item = value.get(key)
            if item is not None:
                self._validate(below, item, old.get(key), f"{path}.{key}" if path else key, ratchet.key(key))

    def _run_own(self, rules: RuleNode, value: Any, old: Any, path: str, ratchet: _Ratchet) -> None:
        if rules.problem:
            detail = f"rule compiler initialization error: {rules.problem}"
            self.errors.append(invalid(path or "<nil>", rules.node.type, detail))
        if not rules.rules:
            return
        if self.budget.remaining <= 0:
            self._stop(path, rules.node, _SPENT)
        for rule in rules.rules:
            self._run(rule, rules.node, value, old, path, ratchet)

    def _run(self, rule: Rule, node: SchemaNode, value: Any, old: Any, path: str, ratchet: _Ratchet) -> None:
        if rule.problem:
            self.errors.append(invalid(path or "<nil>", node.type, f"rule compile error: {rule.problem}"))
        if rule.program is None or (rule.transition and old is None and not rule.optional):
            return
        bindings = {"self": value, "oldSelf": old}
        if rule.optional:
            bindings["oldSelf"] = NONE if old is None else Opt.of(old)
        try:
            if rule.program.evaluate(bindings, self.budget) is True:
                return
        except BudgetExceeded as error:
            self._stop_evaluation(error, rule, node, path)
        except CelError as error:
            self.errors.append(invalid(path or "<nil>", node.type, _evaluation_problem(error, rule)))
            return
        self._failed(rule, node, value, old, path, ratchet)

    def _stop_evaluation(self, error: BudgetExceeded, rule: Rule, node: SchemaNode, path: str) -> None:
        if error.message.startswith("operation cancelled"):
            why = "no further validation rules will be run due to call cost exceeds limit for rule"
            self._stop(path, node, f"'{error.message}': {why}: {rule.shown}")
        self._stop(path, node, _SPENT)

    def _stop(self, path: str, node: SchemaNode, detail: str) -> None:
        self.errors.append(invalid(path or "<nil>", node.type, detail))
        raise _Stop

    def _failed(self, rule: Rule, node: SchemaNode, value: Any, old: Any, path: str, ratchet: _Ratchet) -> None:
        field = f"{path}.{rule.field}" if path and rule.field else rule.field or path or "<nil>"
        ratcheted = not rule.transition and ratchet.unchanged
        try:
            detail = self._message(rule, value, old)
        except BudgetExceeded as error:
            self._add(invalid(field, node.type, error.message), ratcheted=ratcheted)
            raise _Stop from error
        if not detail:
            detail = rule.shown if rule.raw.get("message") else f"failed rule: {rule.shown}"
        bad_value = OMIT if node.type in ("object", "array") else value
        self._add(_field_error(rule.reason, field, bad_value, detail), ratcheted=ratcheted)

    def _add(self, error: FieldError, *, ratcheted: bool) -> None:
        if ratcheted:
            self.warnings.append(str(error))
        else:
            self.errors.append(error)

    def _message(self, rule: Rule, value: Any, old: Any) -> str:
        """The value of the messageExpression; "" if there is none, if it fails, or if it is not one short line."""
        if rule.message is None:
            return ""
        bindings: dict[str, Any] = {"self": value}
        if old is not None:
            bindings["oldSelf"] = old
        try:
            text = rule.message.evaluate(bindings, self.budget)
        except BudgetExceeded as error:
            raise _message_stopped(error, rule) from error
        except CelError:
            return ""
        text = text.strip(SPACE) if isinstance(text, str) else ""
        return "" if "\n" in text or len(text.encode()) > _MESSAGE_LIMIT else text


def _message_stopped(error: BudgetExceeded, rule: Rule) -> BudgetExceeded:
    if error.message.startswith("operation cancelled"):
        why = "no further validation rules will be run due to call cost exceeds limit for messageExpression"
        return BudgetExceeded(f"{why}: {quote(rule.raw['messageExpression'])}")
    return BudgetExceeded(
        "messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run"
    )


def _evaluation_problem(error: CelError, rule: Rule) -> str:
    if error.message.startswith("no such overload"):
        why = "call arguments did not match a supported operator, function or macro signature for rule"
        return f"'{error.message}': {why}: {rule.shown}"
    return f"{error.message} evaluating rule: {rule.shown}"


def _field_error(reason: str, field: str, bad_value: Any, detail: str) -> FieldError:
    match reason:
        case "FieldValueForbidden":
            return forbidden(field, detail)
        case "FieldValueRequired":
            return required(field, detail)
        case "FieldValueDuplicate":
            return duplicate(field, bad_value)
    return invalid(field, bad_value, detail)


class _Ratchet:
    """The correlation of the current value with its old value, or of its nearest correlated ancestor."""

    __slots__ = ("current", "nearest")

    def __init__(self, current: Correlated | None, nearest: Correlated | None = None) -> None:
        self.current = current
        self.nearest = nearest

    @property
    def unchanged(self) -> bool:
        correlated = self.current if self.current is not None else self.nearest
        return correlated is not None and correlated.unchanged

    def uncorrelated(self) -> _Ratchet:
        """The ratchet under allOf: only an ancestor can be unchanged."""
        return _Ratchet(None, self.nearest)

    def key(self, name: str) -> _Ratchet:
        if self.current is None:
            return self
        if self.nearest is None and name in ("apiVersion", "kind"):
            return _Ratchet(None)
        return _Ratchet(self.current.key(name), self.current)

    def index(self, position: int) -> _Ratchet:
        return self if self.current is None else _Ratchet(self.current.index(position), self.current)


class OldItems:
    """The old items of a map list by their keys. Items of other lists have no old items."""

    def __init__(self, node: SchemaNode, old: Any) -> None:
        self.node = node
        self.by_key: dict[Any, Any] = {}
        if node.type == "array" and node.list_type == "map" and isinstance(old, list):
            for item in old:
                key = item_key(node, item)
                if key is not None:
                    self.by_key.setdefault(key, item)

    def get(self, item: Any) -> Any:
        return self.by_key.get(item_key(self.node, item)) if self.by_key else None
