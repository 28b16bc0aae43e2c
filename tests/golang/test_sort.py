"""The order in which sort.Slice leaves equal elements."""

import math

from hypothesis import given
from hypothesis import strategies as st

from webhook.golang.sort import sort_indices


@given(st.lists(st.integers(0, 5), min_size=1, max_size=400))
def test_sorting_is_a_permutation_in_order(keys):
    order = sort_indices(keys)
    assert sorted(order) == list(range(len(keys)))
    assert [keys[i] for i in order] == sorted(keys)


def test_up_to_twelve_equal_keys_keep_their_order_and_more_do_not():
    assert sort_indices([0] * 12) == list(range(12))
    # as Go 1.26 leaves them (sort.Slice with keys i % 3)
    assert sort_indices([i % 3 for i in range(16)]) == [6, 15, 12, 3, 0, 9, 4, 7, 10, 13, 1, 8, 5, 11, 2, 14]


def test_nan_stays_where_insertion_leaves_it():
    assert sort_indices([1.0, math.nan, 0.5]) == [0, 1, 2]
