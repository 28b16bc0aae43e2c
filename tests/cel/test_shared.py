"""Values that share their parts: a list with a list twice, forty times over, has more paths than can be walked."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.cel.calls import call
from webhook.cel import Budget, Environment
from webhook.cel.cost.runtime import call_cost
from webhook.cel.errors import BudgetExceeded, CelError
from webhook.cel.types import DYN
from webhook.cel.values.natives import to_json
from webhook.cel.values.value import Comparison, equal
from webhook.vap.mutating.objects import json_of

LEVELS = 60
MEMBERS = "operation cancelled: actual cost limit exceeded"


def nested(leaf: Any = 1, levels: int = LEVELS) -> list[Any]:
    """A list with a list twice, and so on."""
    found: list[Any] = [leaf, leaf]
    for _ in range(levels):
        found = [found, found]
    return found


def mapped(leaf: Any = 1, levels: int = LEVELS) -> dict[str, Any]:
    found: dict[str, Any] = {"a": leaf, "b": leaf}
    for _ in range(levels):
        found = {"a": found, "b": found}
    return found


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (nested(), nested(), True),
        (nested(), nested(2), False),
        (nested(), nested(1, LEVELS + 1), False),
        (mapped(), mapped(), True),
        (mapped(), mapped("x"), False),
        (nested(mapped()), nested(mapped()), True),
    ],
)
@pytest.mark.parametrize("is_fast", [True, False])
def test_equality_compares_what_is_shared_once(a: Any, b: Any, same: bool, is_fast: bool) -> None:
    program = Environment(variables={"a": DYN, "b": DYN}).compile("a == b")
    evaluate = program.evaluate if is_fast else program.evaluate_exactly
    assert evaluate({"a": a, "b": b}) is same
    assert evaluate({"a": a, "b": a}) is True


def test_what_is_the_same_is_not_equal_if_it_holds_nan() -> None:
    value = [[math.nan]]
    assert not equal(value, value)
    assert not equal(nested(math.nan), nested(math.nan))
    assert not equal({"a": value}, {"a": value})


def test_values_with_many_pairs_of_parts_are_not_compared_to_the_end() -> None:
    many = [[number] for number in range(1000)]
    long = [many[number % 1000] for number in range(100_000)]
    with pytest.raises(BudgetExceeded, match=MEMBERS):
        Comparison(1000).equal(long, list(long))
    assert Comparison().equal(long, list(long))


def test_the_members_of_all_comparisons_of_an_evaluation_are_counted() -> None:
    program = Environment(variables={"a": DYN, "b": DYN, "l": DYN}).compile("l.all(x, a == b)")
    a, b = ([[[each] for each in range(40_000)] for _ in range(2)] for _ in range(2))
    with pytest.raises(BudgetExceeded, match=MEMBERS):
        program.evaluate({"a": a, "b": b, "l": list(range(10_000))}, Budget())


@pytest.mark.parametrize("function", ["indexOf", "lastIndexOf", "includes"])
def test_a_search_compares_what_is_shared_once(function: str) -> None:
    items = [nested(number) for number in range(20)]
    assert call(function, items, nested(7)) in (7, True)
    assert call(function, items, nested(99)) in (-1, False)


@pytest.mark.parametrize("function", ["sets.contains", "sets.intersects", "sets.equivalent"])
def test_sets_compare_what_is_shared_once(function: str) -> None:
    assert call(function, [nested(), nested(2)], [nested(2), nested()]) is True


def test_membership_and_distinct_compare_what_is_shared_once() -> None:
    program = Environment(variables={"a": DYN, "l": DYN}).compile("a in l")
    assert program.evaluate({"a": nested(), "l": [nested(2), nested()]}) is True
    assert program.evaluate_exactly({"a": nested(), "l": [nested(2)]}) is False
    assert len(call("distinct", [nested(), nested(2), nested()])) == 2


def test_a_search_among_many_long_lists_is_stopped() -> None:
    items = [[*range(5_000), number] for number in range(500)]
    with pytest.raises(BudgetExceeded, match=MEMBERS):
        call("indexOf", items, [*range(5_000), -1])


def test_flatten_visits_a_bounded_number_of_lists() -> None:
    empty: list[Any] = []
    for _ in range(LEVELS):
        empty = [empty, empty]
    with pytest.raises(BudgetExceeded, match=MEMBERS):
        call("flatten", empty, LEVELS)


@pytest.mark.parametrize("value", [nested("text"), mapped("text"), [["x" * 100_000] * 1000] * 1000])
def test_format_makes_no_longer_text_than_any_function(value: Any) -> None:
    with pytest.raises(BudgetExceeded, match=MEMBERS):
        call("format", "%s", [value])


def test_format_prints_what_is_shared_each_time() -> None:
    assert (
        call("format", "%s %s", [nested(1, 1), mapped(1, 1)])
        == '[[1, 1], [1, 1]] {"a":{"a":1, "b":1}, "b":{"a":1, "b":1}}'
    )


@pytest.mark.parametrize("convert", [to_json, json_of])
@pytest.mark.parametrize("value", [nested(), mapped()])
def test_json_has_no_shared_parts_so_it_is_bounded(convert: Any, value: Any) -> None:
    with pytest.raises(BudgetExceeded, match=MEMBERS):
        convert(value)
    assert convert(nested(1.0, 2)) == nested(1.0, 2)


def test_the_cost_of_a_search_counts_what_is_shared_without_walking_it_again() -> None:
    cost = call_cost("indexOf")
    assert cost is not None
    assert cost((nested(1, 3), 1), -1) == 2**4
    assert cost((nested(1), 1), -1) == 2 ** (LEVELS + 1)


def test_sorting_is_stopped_before_it_costs_more_than_an_expression_may() -> None:
    with pytest.raises(BudgetExceeded, match=MEMBERS):
        call("sort", list(range(100_000)))
    assert call("sort", [3, 1, 2]) == [1, 2, 3]


@pytest.mark.parametrize(
    ("text", "part", "expected"),
    [
        ("a" * 200_000, "a" * 50_000 + "b" + "a" * 50_000, -1),
        ("abcabc", "abc", 3),
        ("abc", "abcd", -1),
        ("abc", "", 3),
        ("", "", 0),
        ("aXa", "a", 2),
    ],
)
def test_the_last_position_of_a_text_is_found_in_linear_time(text: str, part: str, expected: int) -> None:
    assert call("lastIndexOf", text, part) == expected


def test_a_value_nested_too_deeply_is_an_error_of_the_expression() -> None:
    deep: list[Any] = []
    for _ in range(5_000):
        deep = [deep]
    other: list[Any] = []
    for _ in range(5_000):
        other = [other]
    program = Environment(variables={"a": DYN, "b": DYN}).compile("a == b || '%s'.format([a]) == ''")
    with pytest.raises(CelError):
        program.evaluate({"a": deep, "b": other})
