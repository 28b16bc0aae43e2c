"""The fast way of a decision and the exact one give the same bytes; ``python -m tests.fuzz.ways`` compares more."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.fuzz.ways import compare, exact
from webhook import catalog
from webhook.catalog import Catalog, releases
from webhook.policy import Policy

COUNT = 24


@pytest.fixture(scope="module")
def ways(load_anew: Callable[..., Catalog], compile_anew: Callable[..., Policy]) -> tuple[Catalog, Catalog]:
    """The catalog of all tests, and one with programs of its own, which only the interpreter runs."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(releases, "compiled_source", compile_anew)
        slow = exact(load_anew())
    return catalog.load(), slow


@pytest.mark.parametrize("kind", ["Model", "OpenModel", "VariantAutoscaling", "InferenceService", "AIMService"])
def test_both_ways_give_the_same_bytes(kind: str, ways: tuple[Catalog, Catalog]) -> None:
    result = compare(kind, COUNT, *ways)
    assert not result.different, str(result)
    assert result.compared == {"CREATE": COUNT // 2, "UPDATE": COUNT // 2}
    assert result.fast.total() > 0


def test_the_two_catalogs_share_no_program(ways: tuple[Catalog, Catalog]) -> None:
    fast, slow = (
        {id(rule.rule.program) for known in each.kinds.values() for rule in known.policy.validations} for each in ways
    )
    assert fast
    assert not fast & slow
