"""What the cases of an API prove of its rules: each fires, is silent, can be evaluated, and changes nothing twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from webhook.admission import GroupVersionKind, patch
from webhook.admission.errors import Problem
from webhook.catalog import Catalog, KnownKind, forms
from webhook.cli.cases import Case, CaseResult, CasesDocument, catalogs, fired_in, run, written
from webhook.cluster import MemoryView
from webhook.engine import KUBERNETES_CODES, Options
from webhook.ground.fieldpath import field_path
from webhook.library.review import decide
from webhook.manifests.documents import Document
from webhook.policy import MISSING, DefaultRule, Policy, ValidationRule

_LONGEST: Final = 256
"""Characters of one warning: the API server cuts longer ones when there are many (endpoints/filters/warning.go)."""

_TRIALS: Final = 4
"""How many cases of a kind a change of one field is tried in."""

Keys = tuple[str | int, ...]
RuleKey = tuple[str, str]
"""A code, and the range of releases that the rule is true of: "" for all."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A case, its place in a file, and its kind in the documented release."""

    place: str
    file: str
    known: KnownKind
    case: Case

    @property
    def is_new(self) -> bool:
        """Whether the case is about the creation of an object."""
        return self.case.oldObject is None and self.case.oldSpec is MISSING

    def problem(self, message: str, *, code: str = "") -> Problem:
        return Problem(self.place, code, f"case {self.case.name!r}: {message}")

    def under(self, loaded: Catalog) -> Iterator[tuple[Catalog, KnownKind, Case]]:
        """The catalog of each release that the case names, its kind in it, and the case without releases."""
        alone = self.case.model_copy(update={"release": None})
        for found in list(catalogs(self.case, self.known.api, loaded)) or [loaded]:
            yield found, found.kinds[self.known.gvk], alone


def placed(tables: Iterable[tuple[Document, CasesDocument]], loaded: Catalog) -> list[Placed]:
    """The cases of tables."""
    return [
        Placed(
            f"{document.source}:{document.line_of('cases', index)}",
            document.source,
            loaded.kinds[table.target.gvk],
            case,
        )
        for document, table in tables
        for index, case in enumerate(table.cases)
    ]


def rules_of(api: str, loaded: Catalog) -> dict[RuleKey, DefaultRule | ValidationRule]:
    """All rules of an API, of every release."""
    return {key: rule for key, (_, rule) in rules_with_policies(api, loaded).items()}


def rules_with_policies(api: str, loaded: Catalog) -> dict[RuleKey, tuple[Policy, DefaultRule | ValidationRule]]:
    """All rules of an API, of every release, each with the policy in which it is in force."""
    found = (form.kinds[gvk] for form in forms(loaded) for gvk in form.kinds if form.uncompiled(gvk).api == api)
    return {(rule.code, rule.operator): (known.policy, rule) for known in found for rule in known.policy.rules}


def unproved(api: str, cases: Sequence[Placed], loaded: Catalog) -> Iterator[tuple[RuleKey, str]]:
    """The rules of an API that fire in no case, or in all in which they are in force, and what to add.

    An API is looked at as a whole: a policy may be for several kinds, each with cases of its own.
    """
    outcomes: dict[RuleKey, set[bool]] = {key: set() for key in rules_of(api, loaded)}
    for each in cases:
        for found, known, alone in each.under(loaded):
            fired = fired_in(run(alone, known, found))
            for rule in known.policy.rules:
                outcomes[rule.code, rule.operator].add(rule.code in fired)
    for key, seen in sorted(outcomes.items()):
        if True not in seen:
            yield key, "fires in no case: add one to cases/"
        elif False not in seen:
            yield key, "fires in every case: add one to cases/ in which it does not"


def faults(cases: Sequence[Placed], loaded: Catalog) -> Iterator[Problem]:
    """What is wrong with cases, and what they show to be wrong with rules: once for each code."""
    names = Counter((each.file, each.case.name) for each in cases)
    told, tried = set[str](), Counter[tuple[object, ...]]()
    for each in cases:
        if names[each.file, each.case.name] > 1:
            yield each.problem("another case of the file has this name; use another one")
        result = run(each.case, each.known, loaded)
        yield from (each.problem(message) for message in (*result.failures, *_misspelt(each.case, loaded)))
        for code, message in (*_too_long(result), *(_of_a_new_object(each, loaded, tried) if each.is_new else ())):
            if code not in told:
                told.add(code)
                yield each.problem(message, code=code)


def _misspelt(case: Case, loaded: Catalog) -> Iterator[str]:
    """Fields of other objects that their definitions do not have: a rule would not see them."""
    for index, other in enumerate(case.others):
        group, _, version = str(other.get("apiVersion")).rpartition("/")
        known = loaded.find(GroupVersionKind(group, version, str(other.get("kind"))))
        decision = decide(other, None, known, loaded, MemoryView(), Options(strict_fields=True), assigned=True)
        for cause in decision.validation.causes if known is not None else ():
            if cause.message.startswith("unknown field") and "is a field of" not in cause.message:  # of a later release
                yield f"others[{index}].{cause.field}: {cause.message}"


def _too_long(result: CaseResult) -> Iterator[tuple[str, str]]:
    """Warnings that the API server may cut."""
    for each in result.validation.warnings:
        text = str(each)
        if each.code and each.code not in KUBERNETES_CODES and (len(text) > _LONGEST or "\n" in text):
            yield each.code, f"a warning has several lines, or more than {_LONGEST} characters: shorten it: {text}"


def _of_a_new_object(each: Placed, loaded: Catalog, tried: Counter[tuple[object, ...]]) -> Iterator[tuple[str, str]]:
    for found, known, alone in each.under(loaded):
        result = run(alone, known, found)
        yield from _unsteady(result, known, found)
        yield from _partial(alone, known, found, tried)
        yield from _alone(result, known, found)


def _unsteady(result: CaseResult, known: KnownKind, loaded: Catalog) -> Iterator[tuple[str, str]]:
    """The defaults that change, in a second pass, what a first one has made of a new object."""
    first = result.mutation.object
    second = run(result.case.model_copy(update={"object": first, "spec": MISSING}), known, loaded).mutation
    if second.object != first:
        for code, path in [(item.code, item.path) for item in second.defaults] or [("", "the object")]:
            yield code, f"a second pass changes {path}: make the value the same both times"


def _partial(
    case: Case, known: KnownKind, loaded: Catalog, tried: Counter[tuple[object, ...]]
) -> Iterator[tuple[str, str]]:
    """The rules that cannot be evaluated of a similar object: a gate would answer with an error. ``tried`` counts how
    often a change was made, so that it is made in a few cases of many.
    """
    for change, keys, obj in _similar(written(case, known)):
        key = (known.gvk, change, *("*" if isinstance(key, int) else key for key in keys))
        tried[key] += 1
        if tried[key] > _TRIALS:
            continue
        trial = case.model_copy(update={"object": obj, "spec": MISSING})
        for cause in run(trial, known, loaded).validation.causes:
            if cause.reason == "InternalError" and cause.code:
                text = cause.message.removeprefix("Internal error: ")
                advice = "ask with `has` first" if change == "without" else "ask for it first"
                yield cause.code, f"{change} {field_path(keys)}, {text}: {advice}"


def _alone(result: CaseResult, known: KnownKind, loaded: Catalog) -> Iterator[tuple[str, str]]:
    """The rules that refuse an object for others that are only not among the files, as in a check of a repository."""
    refused = {cause.code for cause in result.validation.causes}
    without = run(result.case.model_copy(update={"others": []}), known, loaded, complete=False)
    text = "without the other objects it refuses this one, also where they are unknown: "
    for cause in without.validation.causes:
        if cause.code and cause.code not in refused:
            yield cause.code, f"{text}give it `unseen`, or ask for `found` in `when`"


def _similar(obj: Mapping[str, Any]) -> Iterator[tuple[str, Keys, dict[str, Any]]]:
    """The object without each of the fields below its top, and with their smallest values: what is changed, and how."""
    for keys in _keys({key: value for key, value in obj.items() if key not in {"apiVersion", "kind", "metadata"}}):
        parent: Any = obj
        for key in keys[:-1]:
            parent = parent[key]
        value = parent[keys[-1]]
        smallest = {int: 0, float: 0.0, str: "", list: [], dict: {}}.get(type(value), value)
        yield "without", keys, _changed(obj, keys, None)
        if smallest != value:
            yield f"with {smallest!r} at", keys, _changed(obj, keys, smallest)


def _changed(obj: Mapping[str, Any], keys: Keys, value: Any) -> dict[str, Any]:
    """The object with another value at a path, or without it (None)."""
    change = {"op": "remove"} if value is None else {"op": "replace", "value": value}
    changed: dict[str, Any] = patch.apply(obj, [{**change, "path": patch.pointer(*keys)}])
    return changed


def _keys(node: Any, above: Keys = ()) -> Iterator[Keys]:
    """The paths of all members of mappings."""
    for key, value in node.items() if isinstance(node, Mapping) else enumerate(node) if isinstance(node, list) else ():
        if isinstance(node, Mapping):
            yield (*above, key)
        yield from _keys(value, (*above, key))
