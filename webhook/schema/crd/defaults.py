"""Checks the defaults in a schema: they must be pruned, and valid for the schema and its rules.

``defaulting.ValidateDefaults``. A default inside metadata is checked as part of a whole object, because metadata has
special rules; any other default is checked alone.
"""

from __future__ import annotations

from typing import Any

from webhook.cel import Budget
from webhook.golang.errors import aggregate
from webhook.golang.json import deep_equal
from webhook.schema.default import Steps, copy_json, surround
from webhook.schema.fielderror import CoerceError, FieldError, invalid
from webhook.schema.node import MISSING, SchemaNode, build
from webhook.schema.objectmeta.embedded import coerce, validate_embedded
from webhook.schema.prune import prune
from webhook.schema.rules.compile import compile_rules
from webhook.schema.rules.run import RuleRun
from webhook.schema.validate import validate

_TYPE_META = {"kind": "Validation", "apiVersion": "validation/v1"}
_META_FIELDS = ("metadata", "apiVersion", "kind")


def validate_defaults(
    node: SchemaNode, path: str, *, resource: bool = True, pruned: bool = True, budget: Budget | None = None
) -> list[FieldError]:
    """All errors of all defaults.

    ``path`` is the place of the schema in the CRD. ``resource``: it is the schema of a whole object. ``pruned``:
    defaults must not have unknown fields. All rules share one budget.
    """
    root = node.replace(embedded=True) if resource else node
    check = _DefaultsCheck(root, pruned, Budget() if budget is None else budget)
    check.visit(root, path, (), inside_meta=False)
    return check.errors


class _DefaultsCheck:
    def __init__(self, root: SchemaNode, pruned: bool, budget: Budget) -> None:
        self.root = root
        self.pruned = pruned
        self.budget = budget
        self.remaining = budget.remaining
        self.errors: list[FieldError] = []

    def visit(self, node: SchemaNode, path: str, steps: Steps, *, inside_meta: bool) -> None:
        """``steps`` is the path from the nearest resource to the node."""
        outer = self.root
        if node.embedded:
            self.root, steps, inside_meta = node, (), False
        if node.default is not MISSING:
            check = self._in_metadata if inside_meta else self._alone
            self.errors += check(node, f"{path}.default", steps)
        if self.remaining >= 0:
            self._below(node, path, steps, inside_meta=inside_meta)
        self.root = outer

    def _below(self, node: SchemaNode, path: str, steps: Steps, *, inside_meta: bool) -> None:
        if node.items is not None:
            self.visit(node.items, f"{path}.items", (*steps, None), inside_meta=inside_meta)
        for key, child in node.properties.items():
            if self.remaining < 0:
                return
            meta = inside_meta or (node.embedded and key in _META_FIELDS)
            self.visit(child, f"{path}.properties[{key}]", (*steps, key), inside_meta=meta)

    def _in_metadata(self, node: SchemaNode, path: str, steps: Steps) -> list[FieldError]:
        obj = {**_TYPE_META, **surround(copy_json(node.default), steps)}
        try:
            obj, _ = coerce(self.root, obj, is_root=True)
        except CoerceError as error:
            return [invalid(path, node.default, f"must result in valid metadata: {error}")]
        errors = validate_embedded(self.root, obj, is_root=True)
        if errors:
            return [invalid(path, node.default, f"must result in valid metadata: {aggregate(errors)}")]
        return self._values(node, node.default, path)

    def _alone(self, node: SchemaNode, path: str, _steps: Steps) -> list[FieldError]:
        default: Any = node.default
        is_pruned = not self.pruned or deep_equal(prune(node, default, is_root=node.embedded)[0], default)
        failure = None
        try:
            default, _ = coerce(node, default, path=path, is_root=node.embedded)
        except CoerceError as error:
            failure = error.error
        # the API server coerces in place, so the first error shows the coerced value
        errors = [] if is_pruned else [invalid(path, default, "must not have unknown fields")]
        if failure is not None:
            return [*errors, failure]
        embedded = validate_embedded(node, default, path=path, is_root=node.embedded)
        return errors + (embedded or self._values(node, default, path))

    def _values(self, node: SchemaNode, default: Any, path: str) -> list[FieldError]:
        errors = validate(build(node.raw, version=None), default, path=path)
        return errors or self._rules(node, default, path)

    def _rules(self, node: SchemaNode, default: Any, path: str) -> list[FieldError]:
        """Run the rules on an update without changes, then (for optionalOldSelf) on a creation."""
        rules = compile_rules(node, is_root=node is self.root)
        if rules is None:
            return []
        remaining = []
        errors: list[FieldError] = []
        for old in (default, None):
            run = RuleRun(Budget(self.remaining, self.budget.per_call, self.budget.interrupt))
            run.validate(rules, default, old, path=path)
            remaining.append(-1 if run.stopped else self.remaining - run.budget.spent)
            errors += run.errors
            if errors:
                break
        self.remaining = min(remaining)
        return errors
