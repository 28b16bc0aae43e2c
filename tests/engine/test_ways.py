"""The fast way of a decision and the exact one give the same bytes; ``python -m tests.fuzz.ways`` compares more."""

from __future__ import annotations

import pytest

from tests.fuzz.ways import compare, exact
from webhook import catalog
from webhook.catalog import Catalog

COUNT = 24


@pytest.fixture(scope="module")
def ways() -> tuple[Catalog, Catalog]:
    return catalog.load(), exact(catalog.load())


@pytest.mark.parametrize("kind", ["Model", "OpenModel", "VariantAutoscaling", "InferenceService", "AIMService"])
def test_both_ways_give_the_same_bytes(kind: str, ways: tuple[Catalog, Catalog]) -> None:
    result = compare(kind, COUNT, *ways)
    assert not result.different, str(result)
    assert result.compared == {"CREATE": COUNT // 2, "UPDATE": COUNT // 2}
    assert result.fast.total() > 0
