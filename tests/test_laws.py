"""Laws of normalising, for every kind: over the objects of its cases, crossed with each other and with parts left out.

``test_engine.py`` has the laws of a kind whose defaults are derived from each other, over random specifications.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.laws import examples
from tests.shared import ROOT
from webhook import catalog, engine
from webhook.admission.decision import GroupVersionKind, Request
from webhook.admission.stamp import ANNOTATION
from webhook.catalog import KnownKind
from webhook.cli.cases import Case, parse_cases
from webhook.cluster import MemoryView
from webhook.engine import Options
from webhook.golang.json import marshal
from webhook.golang.quantity import parse
from webhook.manifests import documents
from webhook.policy.path import MISSING

LOADED = catalog.load()
Place = tuple[str | int, ...]

law = settings(max_examples=examples(2000), deadline=None)


@dataclass(frozen=True)
class Given:
    """An object, and what else there is."""

    known: KnownKind
    object: dict[str, Any]
    case: Case

    def __repr__(self) -> str:
        return f"Given({self.case.name!r}, {self.object})"

    def mutated(self, obj: dict[str, Any], old: dict[str, Any] | None = None) -> dict[str, Any]:
        request = Request(self.known.gvk, self.known.plural, "UPDATE" if old else "CREATE", obj, old)
        found = engine.mutate(request, LOADED, MemoryView(self.case.others), Options(settings=self.case.settings))
        assert found.object is not None
        return found.object

    def shown(self, obj: dict[str, Any]) -> dict[str, Any]:
        """The object; without its stamp if it is refused on creation, because an update of it is never stamped."""
        request = Request(self.known.gvk, self.known.plural, "CREATE", obj)
        options = Options(settings=self.case.settings)
        if not engine.validate(request, LOADED, MemoryView(self.case.others), options).causes:
            return obj
        annotations = {key: value for key, value in obj["metadata"]["annotations"].items() if key != ANNOTATION}
        return {**obj, "metadata": {**obj["metadata"], "annotations": annotations}}


def cases() -> Iterator[tuple[KnownKind, list[Case]]]:
    for file in sorted(ROOT.glob("policies/*/cases/*.yaml")):
        for document in map(parse_cases, documents.read(file)):
            target = document.target
            known = LOADED.find(GroupVersionKind(target.group, target.version, target.kind))
            assert known is not None
            yield known, document.cases


CASES = list(cases())


def test_every_kind_has_cases():
    assert {known.gvk for known, _ in CASES} == set(LOADED.kinds)


def places(node: Any, here: Place = ()) -> Iterator[Place]:
    """All places below a value, parents first."""
    if isinstance(node, dict | list):
        for key in node if isinstance(node, dict) else range(len(node)):
            yield (*here, key)
            yield from places(node[key], (*here, key))


def at(node: Any, place: Place) -> Any:
    for key in place:
        node = node[key]
    return node


def crossed(mother: Any, father: Any, wishes: list[tuple[bool, int]]) -> Any:
    """The mother, some of its parts left out, and some taken from the father's where she has a place for them."""
    child = copy.deepcopy(mother)
    for is_taken, wish in wishes:
        found = list(places(father if is_taken else child))
        if not found:
            continue
        place = found[wish % len(found)]
        try:
            parent = at(child, place[:-1])
            if is_taken:
                parent[place[-1]] = copy.deepcopy(at(father, place))
            else:
                del parent[place[-1]]
        except (LookupError, TypeError):
            continue  # she has no such place
    return child


def object_of(known: KnownKind, case: Case) -> dict[str, Any]:
    head = {"apiVersion": f"{known.gvk.group}/{known.gvk.version}", "kind": known.gvk.kind, "metadata": {"name": "n"}}
    return head | copy.deepcopy(case.object if case.object is not None else {"spec": case.spec})


def spec_of(case: Case) -> Any:
    return case.spec if case.spec is not MISSING else (case.object or {}).get("spec")


@st.composite
def objects(draw: st.DrawFn) -> Given:
    known, its_cases = draw(st.sampled_from(CASES))
    mother, father = draw(st.sampled_from(its_cases)), draw(st.sampled_from(its_cases))
    wishes = draw(st.lists(st.tuples(st.booleans(), st.integers(0, 200)), max_size=4))
    obj = object_of(known, mother)
    obj["metadata"].pop("deletionTimestamp", None)  # what is being deleted is left as it is
    (obj["metadata"].get("annotations") or {}).pop(ANNOTATION, None)  # by it, a leaf is the gate's, not a user's
    obj["spec"] = crossed(spec_of(mother), spec_of(father), wishes)
    return Given(known, obj, mother)


def leaves(node: Any, here: Place = ()) -> Iterator[tuple[Place, Any]]:
    if isinstance(node, dict | list) and node:
        for key in node if isinstance(node, dict) else range(len(node)):
            yield from leaves(node[key], (*here, key))
    else:
        yield here, node


def is_below(place: Place, path: Place) -> bool:
    return place[: len(path)] == path


@law
@given(objects())
def test_normalising_twice_is_normalising_once(one: Given) -> None:
    once = one.mutated(one.object)
    assert one.mutated(once) == once
    assert one.shown(one.mutated(once, once)) == one.shown(once)


def is_quantity_of(text: Any, number: Any, known: KnownKind) -> bool:
    return (
        known.policy.numeric_quantities
        and isinstance(text, str)
        and isinstance(number, int | float)
        and parse(text).amount == parse(marshal(float(number))).amount
    )


@law
@given(objects())
def test_what_the_user_wrote_stays(one: Given) -> None:
    """But a null and an empty object, which are as good as absent, and what the rules say is not the user's; nor is the
    stamp.

    A number may become a quantity with the same value.
    """
    rules = one.known.policy.defaults
    ours = [rule.path.keys for rule in rules if rule.overwrites or rule.over is not MISSING]
    ours.append(("metadata", "annotations", ANNOTATION))
    after = dict(leaves(one.mutated(one.object)))
    for place, value in leaves(one.object):
        if value is not None and value != {} and not any(is_below(place, path) for path in ours):
            assert after[place] == value or is_quantity_of(after[place], value, one.known), place


@law
@given(objects())
def test_nothing_is_written_but_what_fields_prints(one: Given) -> None:
    """``modelgate fields``: the defaults of the policy, and the stamp; those of the schema are the API server's."""
    printed = [("metadata", "annotations", ANNOTATION), *(rule.path.keys for rule in one.known.policy.defaults)]
    before = dict(leaves(one.known.schema.default(one.object)))
    for place, value in leaves(one.mutated(one.object)):
        if place not in before or (before[place] != value and not is_quantity_of(value, before[place], one.known)):
            assert any(is_below(place, path) for path in printed), (place, value)


@law
@given(objects())
def test_taking_the_stamp_away_changes_nothing_else(one: Given) -> None:
    stored = one.mutated(one.object)
    bare = copy.deepcopy(stored)
    del bare["metadata"]["annotations"][ANNOTATION]
    assert one.shown(one.mutated(bare, stored)) == one.shown(stored)
    again = one.mutated(bare)
    del again["metadata"]["annotations"][ANNOTATION]
    assert again == bare
