"""Programs: many threads, little memory, and an exact budget although generated functions do not count costs."""

import threading
import tracemalloc

import pytest

from webhook.cel.environment import Environment
from webhook.cel.errors import BudgetExceeded
from webhook.cel.program import Budget
from webhook.cel.types import BOOL, DYN, INT

SCHEMA = {
    "type": "object",
    "properties": {
        "a": {"type": "integer"},
        "l": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "string"}}}},
    },
}
ENV = Environment().with_schema("self", SCHEMA).extend({"x": DYN})


def test_a_program_says_what_it_is():
    program = ENV.compile("self.a + size(x) > 1", expect=BOOL)
    assert program.source == "self.a + size(x) > 1"
    assert program.result == BOOL
    assert program.variables == {"self", "x"}


def test_many_threads_share_a_program():
    programs = [
        ENV.compile("self.l.all(e, e.n != x) && self.a > 0"),
        ENV.compile("self.l.map(e, e.n).exists(n, n == x) || self.a / 0 == 1"),
    ]
    wrong = []

    def run(number):
        self = {"a": number, "l": [{"n": f"n{number}"}, {"n": "m"}]}
        for _ in range(300):
            if programs[0].evaluate({"self": self, "x": "none"}) is not True:
                wrong.append(number)
            if programs[1].evaluate({"self": self, "x": f"n{number}"}) is not True:
                wrong.append(number)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize("source", ["self.l.all(e, has(e.n) && e.n.startsWith('a'))", "self.a > 1 && size(self.l) < 5"])
def test_a_program_takes_less_than_ten_kibibytes(source):
    ENV.compile(source)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        kept = [ENV.compile(source) for _ in range(20)]
        used = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert used / len(kept) < 10 * 1024


def test_a_budget_counts_exactly_when_it_is_asked():
    program = ENV.compile("self.l.all(e, e.n != '')")
    bindings = {"self": {"l": [{"n": "a"}, {"n": "b"}]}}
    noted, counted = Budget(), Budget()
    for _ in range(5):
        program.evaluate(bindings, noted)
        program.evaluate_exactly(bindings, counted)
    assert noted.spent == counted.spent
    assert noted.remaining == counted.remaining


def test_a_budget_knows_that_something_remains_without_counting():
    budget = Budget(remaining=1000)
    ENV.compile("self.a > 0").evaluate({"self": {"a": 1}}, budget)
    assert 0 < budget.remaining < 1000


def costs():
    """A program, what it is given, and its exact cost; the generated function knows a greater bound only."""
    program, bindings = ENV.compile("self.a > 0 || size(self.l) > 0"), {"self": {"a": 1, "l": []}}
    budget = Budget()
    program.evaluate_exactly(bindings, budget)
    return program, bindings, budget.spent


def test_a_budget_that_is_just_enough_is_enough():
    program, bindings, cost = costs()
    budget = Budget(remaining=3 * cost)
    assert [program.evaluate(bindings, budget) for _ in range(3)] == [True] * 3
    assert budget.remaining == 0
    with pytest.raises(BudgetExceeded):
        program.evaluate(bindings, budget)


def test_a_lower_limit_of_each_call_is_kept():
    program, bindings, cost = costs()
    budget = Budget(per_call=cost)
    assert [program.evaluate(bindings, budget) for _ in range(3)] == [True] * 3
    assert budget.spent == 3 * cost
    with pytest.raises(BudgetExceeded, match="actual cost limit exceeded"):
        program.evaluate(bindings, Budget(per_call=cost - 1))


def test_a_program_is_made_for_an_environment_of_values_without_schemas():
    program = Environment().extend({"i": INT}).compile("i + 1")
    assert program.evaluate({"i": 2}) == 3
