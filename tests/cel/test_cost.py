"""What an evaluation costs, in the API server's units; the corpora have hundreds more."""

import pytest

from webhook.cel.environment import Environment
from webhook.cel.errors import BudgetExceeded, CelError
from webhook.cel.program import PER_CALL_LIMIT, Budget
from webhook.cel.types import DYN

ENV = Environment().extend({"x": DYN})


@pytest.mark.parametrize(
    ("source", "x", "cost"),
    [
        ("true", None, 0),
        ("x", 1, 1),
        ("x.a.b", {"a": {"b": 1}}, 3),
        ("x['a']", {"a": 1}, 2),
        ("has(x.a)", {"a": 1}, 1),
        ("has(x.a.b)", {"a": {}}, 2),
        ("x.?a", {"a": 1}, 2),
        ("x.?a", {}, 1),
        ("x == 1", 1, 2),
        ("x == 'aaaaaaaaaaaaaaaaaaaaa'", "b" * 50, 4),
        ("x ? x : x", True, 1),
        ("x.all(i, true)", [1, 2], 8),
        ("x.exists(i, true)", [1, 2], 9),
        ("x.exists_one(i, i == 1)", [1, 2], 9),
        ("x.map(i, i)", [1, 2], 28),
        ("[1, 2]", None, 0),
        ("[x]", 1, 11),
        ("{'a': x}", 1, 31),
        ("x in [1, 2]", 1, 1),
        ("1 in x", [1, 2], 2),
        ("int('1') == 1", None, 1),
    ],
)
def test_the_cost_of_an_expression(source, x, cost):
    budget = Budget()
    ENV.compile(source).evaluate_exactly({"x": x}, budget)
    assert budget.spent == cost


@pytest.mark.parametrize(
    ("source", "x", "cost"),
    [
        ("x.a == 1", {}, 2),
        ("1 == x.a", {}, 3),
        ("x.map(i, i.a)", [{}, {"a": 1}], 17),
    ],
)
def test_an_error_in_the_first_argument_ends_a_call_before_it_costs_anything(source, x, cost):
    budget = Budget()
    with pytest.raises(CelError):
        ENV.compile(source).evaluate({"x": x}, budget)
    assert budget.spent == cost


def test_a_call_that_costs_too_much_is_stopped_and_its_cost_spent():
    budget = Budget()
    with pytest.raises(BudgetExceeded, match="actual cost limit exceeded"):
        ENV.compile("x.all(a, x.all(b, x.all(c, true)))").evaluate({"x": list(range(100))}, budget)
    assert PER_CALL_LIMIT < budget.spent < PER_CALL_LIMIT + 1000


def test_without_a_budget_the_limit_of_a_call_holds():
    with pytest.raises(BudgetExceeded):
        ENV.compile("x.all(a, x.all(b, x.all(c, true)))").evaluate({"x": list(range(100))})


def test_evaluations_share_a_budget_to_the_last_unit():
    program = ENV.compile("x.all(i, i > 0)")
    cost = Budget()
    program.evaluate_exactly({"x": [1, 2]}, cost)
    budget = Budget(remaining=3 * cost.spent)
    for _ in range(3):
        assert program.evaluate({"x": [1, 2]}, budget) is True
    assert budget.remaining == 0
    with pytest.raises(BudgetExceeded, match="running out of cost budget"):
        program.evaluate({"x": [1, 2]}, budget)
    assert budget.remaining < 0


def test_a_lower_limit_of_a_call_is_kept_to():
    program = ENV.compile("x.all(i, i > 0)")
    with pytest.raises(BudgetExceeded, match="actual cost limit exceeded"):
        program.evaluate({"x": [1] * 10}, Budget(per_call=20))
    assert program.evaluate({"x": [1]}, Budget(per_call=20)) is True


@pytest.mark.parametrize(
    "source",
    [
        "x.map(a, x + x).size() > 0",
        "x.all(a, x.all(b, x.all(c, x.all(d, true))))",
        "x.all(a, s.upperAscii() != s.lowerAscii())",
        "x.all(a, s.matches(s))",
        "x.map(a, s + s).size() > 0",
        "x.all(a, x.sum() > 0 && [x, x, x].flatten().distinct().size() > 0)",
    ],
)
def test_a_rule_that_would_run_for_an_hour_is_stopped(source):
    program = ENV.extend({"s": DYN}).compile(source)
    with pytest.raises(BudgetExceeded):
        program.evaluate({"x": list(range(20_000)), "s": "a" * 1_000_000})
