"""The rows of tests/e2e/kinds.yaml: one for each kind, and the engine says of them what it says in a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from tests.e2e.kinds import KINDS, Row, merged
from webhook import catalog, engine
from webhook.admission.decision import GroupVersionKind, Request, group_version
from webhook.cluster import MemoryView
from webhook.engine import Options
from webhook.library.review import ReviewedManifest, review
from webhook.manifests.documents import Document
from webhook.policy import Profile

LOADED = catalog.load()
# As the gate of the end-to-end tests: it sees no other objects there.
STRICT = Options(profile=Profile.STRICT, strict_fields=True, references=False)

kinds = pytest.mark.parametrize("row", KINDS, ids=lambda row: row.kind)


def outcome(row: Row, change: Any = None) -> ReviewedManifest:
    return review(Document("", 1, row.object("of-the-row", change)), LOADED, MemoryView(), STRICT)


def test_there_is_a_row_for_every_kind_that_the_gate_knows() -> None:
    assert sorted(row.resource for row in KINDS) == sorted(str(gvk) for gvk in LOADED.kinds)


@kinds
def test_a_row_is_good_changed_too_and_has_one_bad_side(row: Row) -> None:
    assert outcome(row).validation.causes == ()
    assert outcome(row, row.change).validation.causes == ()
    (cause,) = outcome(row, row.bad).validation.causes
    assert row.refusal in str(cause)
    assert cause.code


def spoilt(value: Any) -> Iterator[Any]:
    """A value in every state that another release of a definition may have let pass: fields gone, or of other types."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        for worse in [None, 3, "x", [], {}, *spoilt(child)]:
            copy = deepcopy(value)
            copy[key] = worse
            yield copy
        if isinstance(value, dict):
            yield {other: deepcopy(value[other]) for other in value if other != key}


@kinds
def test_no_rule_refuses_an_update_that_does_not_change_what_was_stored_before_the_gate(row: Row) -> None:
    gvk = GroupVersionKind(*group_version(row.apiVersion), row.kind)
    for spec in [None, {}, *spoilt(row.spec), *spoilt(merged(row.spec, row.bad))]:
        old = {**row.object("old", namespace="default"), "spec": spec}
        new = {**old, "metadata": {**old["metadata"], "labels": {"team": "blue"}}}
        request = Request(gvk, LOADED.kinds[gvk].plural, "UPDATE", new, old, name="old", namespace="default")
        mutated = engine.mutate(request, LOADED, MemoryView(), STRICT).object
        decision = engine.validate(replace(request, object=mutated), LOADED, MemoryView(), STRICT)
        assert [str(cause) for cause in decision.causes if cause.code] == [], spec
