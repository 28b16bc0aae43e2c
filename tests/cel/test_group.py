"""A group of programs says and costs what each of them would."""

from itertools import takewhile

import pytest

from webhook.cel.environment import Environment
from webhook.cel.errors import BudgetExceeded
from webhook.cel.group import Group
from webhook.cel.program import Budget

SCHEMA = {
    "type": "object",
    "properties": {
        "a": {"type": "integer"},
        "b": {"type": "string"},
        "l": {"type": "array", "items": {"type": "string"}},
    },
}
ENV = Environment().with_schema("self", SCHEMA)
TRUE = ["self.a == 1", "has(self.b)", "self.b.startsWith('x')", "!has(self.l)", "self.b.matches('^x+$')"]
RULES = {
    "all hold": (TRUE, 5),
    "the third does not": ([*TRUE[:2], "self.a > 1", *TRUE[2:]], 2),
    "the second fails": ([TRUE[0], "self.a / 0 == 1", *TRUE[1:]], 1),
    "none is there": ([], 0),
    "the first depends on sizes": (["self.b.contains('x')", *TRUE], 0),
    "the last depends on sizes": ([*TRUE, "self.b.contains('x')"], 5),
    "the first is for closures only": (["{'a': self.a}.a == 1", *TRUE], 0),
}
BINDINGS = {"self": {"a": 1, "b": "xx"}}


@pytest.mark.parametrize(("sources", "count"), RULES.values(), ids=RULES)
def test_what_holds_is_spent_and_nothing_else(sources, count):
    programs = [ENV.compile(source) for source in sources]
    together, each = Budget(), Budget()
    assert Group(programs).holding(BINDINGS, together) == count
    for program in programs[:count]:
        assert program.evaluate(BINDINGS, each) is True
    assert together.left == each.left
    assert together.spent == each.spent


@pytest.mark.parametrize("sources", [sources for sources, _ in RULES.values() if sources])
def test_a_budget_is_over_at_the_same_rule(sources):
    """For every budget there may be: a group first, or each by itself."""
    programs = [ENV.compile(source) for source in sources if "/ 0" not in source]
    group = Group(programs)
    for allowed in range(60):
        assert _true(programs, Budget(allowed), group) == _true(programs, Budget(allowed))


def _true(programs, budget, group=None):
    done = group.holding(BINDINGS, budget) if group else 0
    try:
        return done + sum(1 for _ in takewhile(lambda program: program.evaluate(BINDINGS, budget), programs[done:]))
    except BudgetExceeded:
        return "spent", budget.spent


def test_what_only_the_closures_can_decide_is_not_taken_for_true():
    """The bound is that of what was generated: a text this long may cost more."""
    long = {"self": {"a": 1, "b": "x" * 1000}}
    program = ENV.compile(TRUE[-1])
    assert Group([program]).holding(long, Budget()) == 0
    assert program.evaluate(long, Budget()) is True


def test_a_lower_limit_of_each_call_is_kept():
    assert Group([ENV.compile(TRUE[0])]).holding(BINDINGS, Budget(per_call=1)) == 0
