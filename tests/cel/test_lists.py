import pytest

from tests.cel.calls import call, error
from webhook.cel.errors import BudgetExceeded
from webhook.cel.library.quantity import parse_quantity
from webhook.cel.values.value import Duration, UInt


@pytest.mark.parametrize(
    ("function", "args", "result"),
    [
        ("isSorted", ([],), True),
        ("isSorted", ([1, 1, 2],), True),
        ("isSorted", (["b", "a"],), False),
        ("sum", ([],), 0),
        ("sum", ([1, 2],), 3),
        ("sum", ([0.5, 1.5],), 2.0),
        ("sum", ([Duration(1), Duration(2)],), Duration(3)),
        ("max", ([1, 3, 2],), 3),
        ("min", (["b", "a"],), "a"),
        ("max", ([1, "a"],), 1),  # what cannot be compared does not replace
        ("max", ([1, 2.5],), 2.5),
        ("indexOf", ([1, 2, 1], 1), 0),
        ("indexOf", ([1], 1.0), 0),
        ("indexOf", ([parse_quantity("1")], 1), -1),
        ("lastIndexOf", ([1, 2, 1], 1), 2),
        ("lastIndexOf", ([], 1), -1),
        ("includes", ([[1], [2]], [2]), True),
        ("includes", ("model-a", "model-a"), True),
        ("includes", (1, "1"), False),
        ("slice", ([1, 2, 3], 1, 3), [2, 3]),
        ("flatten", ([[1], [[2]], 3],), [1, [2], 3]),
        ("flatten", ([[1, [2]], 3], 2), [1, 2, 3]),
        ("flatten", ([[1]], 0), [[1]]),
        ("sort", ([3, 1, 2],), [1, 2, 3]),
        ("sort", (["b", "a"],), ["a", "b"]),
        ("sort", ([],), []),
        ("lists.range", (3,), [0, 1, 2]),
        ("reverse", ([1, 2],), [2, 1]),
        ("distinct", ([1, 1.0, UInt(1), 2],), [1, 2]),
        ("distinct", (["b", "a", "b"],), ["b", "a"]),
        ("first", ([7],), None),
        ("sets.contains", ([1, 2], []), True),
        ("sets.contains", ([1], [1, 1.0]), True),
        ("sets.contains", ([1], [2]), False),
        ("sets.equivalent", ([1, 2], [2, 1, 1]), True),
        ("sets.intersects", ([1], [2, 1]), True),
        ("sets.intersects", ([], []), False),
    ],
)
def test_functions_of_lists_return_the_results_of_kubernetes(function, args, result):
    got = call(function, *args)
    assert (got.value == 7) if function == "first" else (got == result)


@pytest.mark.parametrize(
    ("function", "args", "message"),
    [
        ("max", ([],), "max called on empty list"),
        ("min", ([None],), "no such overload: min(list)"),
        ("sum", (["a"],), "no such overload: sum(list)"),
        ("sum", ([2**63 - 1, 1],), "integer overflow"),
        ("slice", ([1], 1, 2), "cannot slice(1, 2), list is length 1"),
        ("slice", ([1], -1, 2), "cannot slice(-1, 2), negative indexes not supported"),
        ("slice", ([1], 1, 0), "cannot slice(1, 0), start index must be less than or equal to end index"),
        ("flatten", (1,), "no such overload: int.flatten()"),
        ("flatten", (1, 1), "no such overload: int.flatten(int)"),
        ("flatten", ([[1]], -1), "level must be non-negative"),
        ("sort", (1,), "no such overload: sort"),
        ("sort", ([[1]],), "list elements must be comparable"),
        ("sort", ([1, "a"],), "list elements must have the same type"),
        ("lists.range", (-1,), "lists.range: size must be non-negative, got -1"),
        ("sets.contains", (1, [1]), "no such overload: sets.contains(int, list)"),
    ],
)
def test_errors_of_lists(function, args, message):
    assert error(function, *args) == message


def test_a_range_ends_before_memory_does():
    with pytest.raises(BudgetExceeded):
        call("lists.range", 10**15)


def test_sorting_by_keys_orders_the_list_by_them():
    assert call("@sortByAssociatedKeys", ["a", "b", "c"], [3, 1, 2]) == ["b", "c", "a"]
    assert error("@sortByAssociatedKeys", ["a"], []).startswith(
        "@sortByAssociatedKeys() expected a list of the same size"
    )
