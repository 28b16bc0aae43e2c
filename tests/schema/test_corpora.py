"""Part of Kubernetes' test tables for schemas; ``make conformance`` runs all of them."""

from __future__ import annotations

import pytest

from tests.conformance.runner import load_ops, load_skips, run_file
from tests.conformance.tables import table

FILES = (
    *("defaulting", "pruning", "listtype", "structural", "objectmeta", "openapi", "ratcheting_ops"),
    *("ratcheting_updates", "cel_ratcheting", "cel_correlation", "cel_field_path", "generated_crd", "crd_validation"),
)


@pytest.mark.parametrize("name", FILES)
def test_every_case_of_the_table_is_answered_as_recorded(name):
    outcomes = run_file(table(name), load_ops(), load_skips())
    assert [o.message for o in outcomes if o.state in ("failed", "missing")] == []
    assert sum(o.state == "skipped" for o in outcomes) <= max(1, len(outcomes) // 100)
