"""Laws for any schema and object. The generator of the differential fuzzer makes random ones."""

from __future__ import annotations

import copy

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.generate import Generator
from tests.laws import examples
from webhook.schema import CoerceError, Structural
from webhook.schema.correlate import validate_lists
from webhook.schema.objectmeta.embedded import validate_embedded
from webhook.schema.prune import drop_nulls, prune
from webhook.schema.validate import validate

seeds = st.integers(0, 2**32)


def made(seed):
    """A valid schema, and an object for it."""
    generator = Generator(seed)
    raw = generator.root_schema()
    return Structural(raw), generator.object(raw)


def decoded(structural, obj):
    try:
        return structural.decode_file(obj).object
    except CoerceError:
        return None


@given(seeds)
@settings(max_examples=examples(150), deadline=None)
def test_decoding_twice_is_decoding_once(seed):
    structural, obj = made(seed)
    once = decoded(structural, obj)
    if once is not None:
        again, dropped, _ = structural.decode(once)
        assert again is once
        assert dropped == []


@given(seeds)
@settings(max_examples=examples(150), deadline=None)
def test_decoding_and_validating_do_not_change_their_arguments(seed):
    structural, obj = made(seed)
    before = copy.deepcopy(obj)
    once = decoded(structural, obj)
    if once is not None:
        structural.check(once, obj)
    assert obj == before


@given(seeds)
@settings(max_examples=examples(300), deadline=None)
def test_the_walkers_find_no_error_in_a_clean_object(seed):
    structural, obj = made(seed)
    candidates = [obj, decoded(structural, obj) or obj]
    for candidate in candidates:
        if structural.is_clean(candidate):
            assert structural.default(candidate) is candidate
            assert prune(structural.root, candidate, is_root=True) == (candidate, [])
            assert drop_nulls(structural.root, candidate) is candidate
            assert validate(structural.root, candidate) == []
            assert validate_lists(structural.root, candidate) == []
            assert validate_embedded(structural.root, candidate) == []


def test_the_generator_also_makes_clean_objects():
    made_clean = 0
    for seed in range(200):
        structural, obj = made(seed)
        once = decoded(structural, obj)
        made_clean += once is not None and structural.is_clean(once)
    assert made_clean > 20
