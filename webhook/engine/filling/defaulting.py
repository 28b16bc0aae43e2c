"""Fill in what is absent: the CRD's defaults, then the policy's, each leaf with the reason it was set.

Derived values follow their inputs. The stamp records what was filled in. On the next update a recorded leaf that still
holds the recorded value counts as absent and is derived anew, unless a user has written the value since
(:mod:`webhook.engine.filling.ownership`). Only leaves that the policy names are touched. A structure that was derived
from another one stays when its source is gone: see :func:`_orphans`. A default that is not for the release of the
operator is withdrawn: the leaf goes in the same way, and no value follows. Items of lists: see
:mod:`webhook.engine.filling.items`. A user whose value is replaced or removed is told.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Final

import orjson

from webhook.admission import Default, Warn, cut_end, patch
from webhook.catalog import NOTHING_ASIDE, KnownKind
from webhook.cel import BudgetExceeded, CelError
from webhook.cel.batch import ABSENT, Formula
from webhook.engine.filling.items import ItemPlace, changed
from webhook.engine.filling.ownership import Ownership
from webhook.engine.metadata import is_readable
from webhook.engine.options import OBJECT_BUDGET
from webhook.engine.review import ObjectReview
from webhook.ground.fieldpath import field_path
from webhook.policy import (
    MISSING,
    DefaultRule,
    FactValue,
    Path,
    PolicyFault,
    PolicyScope,
    Withdrawn,
)
from webhook.schema import DecodeError

SHOWN: Final = 64
"""Characters of a value that a user is told of."""
_ITEM: Final = 8
"""Steps of a default at one item, beside the rounds of its loops."""

QUANTITY: Final = "a quantity is stored as text"
SCHEMA_DEFAULT: Final = "default of the CRD schema"

_SCALARS: Final = frozenset({str, int, float, bool})

Keys = tuple[str, ...]


@dataclass(slots=True)
class Normalised:
    """``object`` has every default; ``recorded`` is what the policy filled in.

    ``too_costly`` is the code of a default that exceeds the CEL cost limit on this object. The policy's defaults are
    then left out. ``written`` is the object as it came, ``converted`` with its quantities as text. ``overruled`` says
    what users are told.
    """

    object: dict[str, Any]
    recorded: dict[str, Any]
    too_costly: str
    written: dict[str, Any]
    converted: dict[str, Any]
    rules: Rules
    filled: Filled
    overruled: tuple[Warn, ...] = ()

    def defaults(self, steps: Iterable[patch.Step]) -> tuple[Default, ...]:
        """Every changed leaf; ``steps`` are those from the written object."""
        if self.converted is self.written:
            return tuple(_explain(steps, self.filled, self.rules))
        numbers = patch.steps(self.written, self.converted)
        defaults = _explain(patch.steps(self.converted, self.object), self.filled, self.rules)
        return (*(Default(field_path(keys), value, QUANTITY) for _, keys, value in numbers), *defaults)


Rules = tuple[DefaultRule | Withdrawn, ...]


class Filled(dict[DefaultRule, Any]):
    """The values of the rules that have set their leaf; ``in_items`` are those that were set in items of lists."""

    def __init__(self) -> None:
        super().__init__()
        self.in_items: dict[tuple[str, tuple[str | int, ...]], tuple[DefaultRule, ItemPlace, Any]] = {}

    def recorded(self) -> dict[str, Any]:
        """What the stamp records: not what is set in an item that nothing tells from others."""
        leaves = {rule.path.text: value for rule, value in self.items()}
        if self.in_items:
            leaves |= {place.text: value for _, place, value in self.in_items.values() if place.steps is not None}
        return leaves


class _TooCostlyError(Exception):
    """A default exceeds the CEL cost limit; the text is its code."""


class _UndecidedError(Exception):
    """A generated function of a default has no answer: all are evaluated exactly."""


def normalise(review: ObjectReview) -> Normalised:
    """Fill in the defaults of a review's object, which is never changed itself.

    If the schema refuses what is stored (it may be stored under another definition), a default that cannot be evaluated
    is skipped.

    Raises:
        PolicyFault: a default could not be evaluated on an object that its schema accepts.
        SpentError, DeadlineExceeded: from the budget of the review.
    """
    kind, obj, policy = review.kind, review.obj, review.kind.policy
    review.begin("defaults")
    if policy.numeric_quantities:
        obj = kind.stated.with_quantities(obj)
    rules: Rules = (*policy.defaults, *policy.withdrawn) if policy.withdrawn else policy.defaults
    if not rules:
        return Normalised(kind.schema.default(obj), {}, "", review.obj, obj, rules, Filled())
    ownership = Ownership.of(obj, review.old)
    # With the schema's defaults, as the validating call has it: a null in a structure would make it a user's here only.
    given = obj if ownership is None else kind.schema.default(obj)
    bare = kind.schema.default(_without_derived(review, given, rules, ownership))
    orphans: dict[str, Any] = {}
    too_costly = ""
    try:
        current, filled = _filled(review, bare)
        if orphans := _orphans(policy.structures, given, current):
            followed = tuple(rule for rule in rules if isinstance(rule, Withdrawn) or rule.path.text not in orphans)
            bare = kind.schema.default(_without_derived(review, given, followed, ownership))
            current, filled = _filled(review, bare)
    except PolicyFault:
        if not _is_refused(kind, bare):
            raise
        filled = Filled()  # validation refuses it next: nothing can be derived from it
        current = kind.schema.default(obj)
    except _TooCostlyError as error:
        current, filled, orphans, too_costly = kind.schema.default(obj), Filled(), {}, str(error)
    overruled = tuple(_overruled(policy.taking, given, current, ownership)) if policy.taking else ()
    return Normalised(current, {**orphans, **filled.recorded()}, too_costly, review.obj, obj, rules, filled, overruled)


def _is_refused(kind: KnownKind, obj: dict[str, Any]) -> bool:
    """Whether the API server refuses the object: by its schema, or since it cannot read the metadata."""
    if not is_readable(obj):
        return True
    try:
        return bool(kind.schema.check(kind.schema.decode_file(obj).object).of_schema)
    except DecodeError:
        return True


def _orphans(structures: tuple[Path, ...], obj: dict[str, Any], derived: dict[str, Any]) -> dict[str, Any]:
    """Structures derived earlier whose source is gone, by path; they stay.

    A user who removes the deprecated predictor keeps the engine that was derived from it. A running service keeps its
    engine when the model of its predictor is deleted. The structures stay recorded, and follow their source again if
    it comes back.
    """
    orphans = dict[str, Any]()
    for path in structures:
        if path.get(derived) in (MISSING, None) and (value := path.get(obj)) not in (MISSING, None):
            orphans[path.text] = value
    return orphans


def _without_derived(
    review: ObjectReview, obj: dict[str, Any], rules: Iterable[DefaultRule | Withdrawn], ownership: Ownership | None
) -> dict[str, Any]:
    """The object without the leaves that the gate has filled in, and those that are not a user's to choose."""
    if ownership is not None:
        for rule in rules:
            if not rule.path.single:
                obj = changed(obj, rule, partial(_without_derived_leaf, rule, ownership))
            elif ownership.is_derived(rule, rule.path.get(obj)):
                obj = _without_path(rule.path, obj)
    taking = [rule for rule in review.kind.policy.taking if rule.always]
    if taking:
        own = review.kind.own
        aside = NOTHING_ASIDE.rules if own is None else own.aside(obj, review.old).rules
        for rule in taking:
            if rule not in aside:
                obj = (
                    _without_path(rule.path, obj)
                    if rule.path.single
                    else changed(obj, rule, partial(_without_leaf, rule))
                )
    return obj


def _without_path(path: Path, obj: dict[str, Any]) -> dict[str, Any]:
    """The object without a leaf, and without labels or annotations if it was the last: the API server stores no empty
    ones.
    """
    bare = path.delete(obj)
    if path.keys[0] != "metadata" or path.parent(bare) != {}:
        return bare
    return Path(path.around).delete(bare)


def _without_derived_leaf(
    rule: DefaultRule | Withdrawn, ownership: Ownership, place: ItemPlace, item: dict[str, Any]
) -> dict[str, Any]:
    name = rule.path.keys[-1]
    if name not in item or not ownership.is_derived_at(rule, place.below(name), item[name]):
        return item
    return _without_leaf(rule, place, item)


def _without_leaf(rule: DefaultRule | Withdrawn, _: ItemPlace, item: dict[str, Any]) -> dict[str, Any]:
    name = rule.path.keys[-1]
    return {key: value for key, value in item.items() if key != name} if name in item else item


def _overruled(
    rules: Iterable[DefaultRule], given: dict[str, Any], current: dict[str, Any], ownership: Ownership | None
) -> Iterator[Warn]:
    """What users are told of the values that they wrote and that are others now."""
    for rule in rules:
        after = dict(rule.path.nodes(current))
        for keys, value in rule.path.nodes(given):
            new = after.get(keys, MISSING)
            is_changed = new is MISSING or patch.diff(value, new)
            if is_changed and not (rule.path.single and ownership is not None and ownership.is_derived(rule, value)):
                text = f"is replaced by {_shown(new)}: {rule.because}"
                if new is MISSING:
                    text = "is removed: the field is derived, and there is nothing to derive it from"
                yield Warn(field_path(keys), f"{_shown(value)} {text}", rule.code)


def _shown(value: Any) -> str:
    return cut_end(orjson.dumps(value, default=str).decode(), SHOWN)


def _filled(review: ObjectReview, bare: dict[str, Any]) -> tuple[dict[str, Any], Filled]:
    """The object with the policy's defaults, and their values: by generated functions, or exactly.

    An installed definition may refuse a default that the catalog's accepts. Only then is each tried by itself.
    """
    current, filled = _computed(review, bare)
    own = review.kind.own
    if filled and own is not None and own.may_refuse_defaults and not _accepts(review, current, bare):
        return _fill(review, bare, {}, one_by_one=True)
    return current, filled


def _computed(review: ObjectReview, bare: dict[str, Any]) -> tuple[dict[str, Any], Filled]:
    if formulas := review.prepared.formulas:
        try:
            return _fill(review, bare, formulas)
        except _UndecidedError:
            review.prepared.undecided += 1
    return _fill(review, bare, {})


def _fill(
    review: ObjectReview,
    current: dict[str, Any],
    formulas: Mapping[DefaultRule, Formula],
    *,
    one_by_one: bool = False,
) -> tuple[dict[str, Any], Filled]:
    """Apply the rules until none adds a value; each sets its leaf once, so this ends.

    They are in the order of their dependencies. So after all were applied, only a few may apply anew, unless more has
    changed than single leaves. ``one_by_one``: a value that the schema refuses is not set.
    """
    kind, old = review.kind, review.old
    own, defaults, budget = kind.own, kind.policy.leaves, review.budget
    aside = NOTHING_ASIDE.rules if own is None else own.aside(current, old).rules
    filled = Filled()
    scope: PolicyScope | None = None
    rules, progress = defaults, True
    while progress:
        budget.spend(len(rules), "rules of defaults")
        progress, only_leaves = False, rules is defaults
        for rule in rules:
            parent = rule.path.parent(current)
            if parent is MISSING or rule in filled or rule in aside:
                continue  # a parent is not an object: validation refuses it
            if not rule.replaces(None if parent is None else parent.get(rule.path.keys[-1])):
                continue
            formula = formulas.get(rule)
            if formula is not None and formula.is_plain:
                value = formula.run({"object": current if own is None else own.seen(current)}, None)
            else:
                scope = scope or review.scope(kind.seen(current), old)
                value = _value(rule, scope, review) if formula is None else scope.computed(formula)
            if value is MISSING or value is ABSENT:
                continue
            if value is ...:
                raise _UndecidedError
            if scope is not None and scope.hidden_facts and scope.reads_hidden_fact(rule):
                # What was filled in while the others were seen stays.
                value = rule.path.get(review.obj) if scope.reads_unseen_fact(rule) else MISSING
                if value is MISSING or value is None:
                    continue
            if own is not None:
                value = _known_part(kind, rule.path, value) if value.__class__ is dict else value
                if value is MISSING:
                    continue
            changed = rule.path.set(current, value)
            # Its leaf alone, in an object that has its defaults already, brings no other default.
            is_leaf = parent is not None and value.__class__ in _SCALARS
            following = changed if is_leaf else kind.schema.default(changed)
            only_leaves = only_leaves and following is changed and parent is not None
            if one_by_one and not _accepts(review, following, current):
                continue
            if own is not None and following is not changed:
                aside = own.aside(following, old).rules
            filled[rule] = value
            current, scope, progress = following, None, True
        rules = review.prepared.repeated_defaults() if only_leaves else defaults
        for rule in kind.policy.items:
            if rule not in aside:
                following = _fill_items(review, rule, current, filled)
                if following is not current and not (one_by_one and not _accepts(review, following, current)):
                    current, scope, progress, rules = following, None, True, defaults
    return current, filled


def _fill_items(review: ObjectReview, rule: DefaultRule, current: dict[str, Any], filled: Filled) -> dict[str, Any]:
    """The object with a leaf of each item of a list, each set once; itself if none is."""
    kind, name = review.kind, rule.path.keys[-1]
    scope = review.scope(kind.seen(current), review.old)

    @cache
    def before() -> dict[tuple[str | int, ...], Any]:
        return dict(rule.path.nodes(review.obj))

    def filled_item(place: ItemPlace, item: dict[str, Any]) -> dict[str, Any]:
        review.budget.spend(_ITEM, rule.code)
        leaf = place.below(name)
        if (rule.code, leaf.keys) in filled.in_items or not rule.replaces(item.get(name)):
            return item
        value = _value(rule, scope, review, scope.at(item))
        if scope.hidden_facts and scope.reads_hidden_fact(rule):
            value = before().get(leaf.keys, MISSING) if scope.reads_unseen_fact(rule) else MISSING
        if value is MISSING:
            return item
        filled.in_items[rule.code, leaf.keys] = rule, leaf, value
        return {**item, name: value}

    following = changed(current, rule, filled_item)
    return current if following is current else kind.schema.default(following)


def _accepts(review: ObjectReview, obj: dict[str, Any], before: dict[str, Any]) -> bool:
    """Whether the definition refuses a state of the object for nothing for which it does not refuse the one before."""
    return _errors(review, obj) <= _errors(review, before)


def _errors(review: ObjectReview, obj: dict[str, Any]) -> frozenset[str]:
    """The errors for which the definition refuses an object."""
    schema = review.kind.schema
    decoded = schema.decode(obj)
    if decoded.is_clean and review.prepared.schema_rules_hold(decoded.object, None, OBJECT_BUDGET):
        return frozenset()
    return frozenset(map(str, schema.check(decoded.object).errors))


def _known_part(kind: KnownKind, path: Path, value: dict[str, Any]) -> Any:
    """A structure without the fields that the kind's schema does not have."""
    return path.get(kind.schema.prune(path.set({}, value))[0])


def _value(
    rule: DefaultRule, scope: PolicyScope, review: ObjectReview, bindings: Mapping[str, Any] | None = None
) -> Any:
    """The value of the leaf, or MISSING if the rule does not apply; ``bindings`` are those of an item.

    Also MISSING if the rule cannot be evaluated, and the schema refuses the stored object or is not the catalog's.
    """
    expression, old = rule.when or rule.value, review.old
    try:
        if rule.when is not None and scope.value(rule.when, bindings) is False:
            return MISSING
        expression = rule.value
        return scope.taken(expression) if isinstance(expression, FactValue) else scope.value(expression, bindings)
    except BudgetExceeded as error:
        raise _TooCostlyError(rule.code) from error
    except CelError as error:
        if review.kind.deviates or (old is not None and (not is_readable(old) or _errors(review, old))):
            return MISSING
        raise PolicyFault(rule.code, rule.path.text, expression.source, error) from error


def _explain(steps: Iterable[patch.Step], filled: Filled, rules: Rules) -> list[Default]:
    """One entry per leaf that differs, in the order of the object."""
    by_keys: dict[Keys, DefaultRule] = {rule.path.keys: rule for rule in filled}
    of_items = {tuple(map(str, place.keys)): rule for rule, place, _ in filled.in_items.values()}
    structures = [(f"{rule.path.text}.", rule) for rule, value in filled.items() if value.__class__ is dict]
    defaults: list[Default] = []
    for operation, keys, new in steps:
        if operation == "remove":
            path = field_path(keys)
            general = Path(tuple("*" if key.isdigit() else key for key in keys)).text
            gone = next((rule for rule in rules if rule.path.text in (path, general)), None)
            defaults.append(Default(path, None, _reason(gone), gone.code if gone else "", removed=True))
            continue
        for leaf, value in leaves(keys, new) if new.__class__ is dict else ((keys, new),):
            rule = by_keys.get(leaf)
            path = field_path(leaf) if rule is None else rule.path.text
            rule = rule or of_items.get(leaf)
            if rule is None and structures:
                rule = next((above for start, above in structures if path.startswith(start)), None)
            if rule is None:
                defaults.append(Default(path, value, SCHEMA_DEFAULT))
            else:
                defaults.append(Default(path, value, rule.because, rule.code))
    return defaults


def _reason(gone: DefaultRule | Withdrawn | None) -> str:
    """Why a leaf is removed."""
    if gone is None:
        return "null counts as absent"
    return "removed: not for this release" if isinstance(gone, Withdrawn) else "removed: its source is gone"


def leaves(keys: Keys, value: Any) -> list[tuple[Keys, Any]]:
    """The leaves of a value at a place, with their keys."""
    if value.__class__ is dict and value:
        return [leaf for key, item in value.items() for leaf in leaves((*keys, key), item)]
    return [(keys, value)]
