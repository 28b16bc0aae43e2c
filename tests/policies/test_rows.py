"""The rows of tests/e2e/kinds.yaml: one for each kind, and the engine says of them what it says in a cluster."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.kinds import KINDS, Row
from webhook import catalog
from webhook.cli.manifests import Outcome, review
from webhook.cluster import MemoryView
from webhook.documents import Document
from webhook.engine import Options
from webhook.policy import Profile

LOADED = catalog.load()
# As the gate of the end-to-end tests: it sees no other objects there.
STRICT = Options(profile=Profile.STRICT, strict_fields=True, references=False)

kinds = pytest.mark.parametrize("row", KINDS, ids=lambda row: row.kind)


def outcome(row: Row, change: Any = None) -> Outcome:
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
