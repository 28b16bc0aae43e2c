"""No call of a library function takes long or much memory, whatever an object holds."""

from contextlib import suppress

import pytest

from tests.cel.calls import FUNCTIONS, call
from webhook.cel.errors import BudgetExceeded, CelError
from webhook.cel.overload import dispatcher
from webhook.cel.values.value import INT_MAX

MANY = list(range(60_000))
WORDS = [f"w{i}" for i in range(60_000)]
LONG = {
    "letters": "a" * 1_000_000,
    "digits": "1" * 1_000_000,
    "dots": "1." * 500_000,
    "colons": ":" * 1_000_000,
    "percents": "http://h/" + "%41" * 300_000,
    "query": "http://h/?" + "a=b&" * 250_000,
    "spans": "1ns" * 300_000,
    "dashes": "a-" * 500_000 + "!",
    "braces": "(" * 1_000_000,
    "accents": "\u00e9" * 500_000,
}


@pytest.mark.parametrize(
    ("function", "args"),
    [
        ("sets.contains", (WORDS, WORDS)),
        ("sets.equivalent", (MANY, MANY)),
        ("sets.intersects", (MANY, [-1] * 60_000)),
        ("distinct", (MANY,)),
        ("split", ("a" * 2_000_000, "")),
        ("findAll", ("a" * 2_000_000, "")),
        ("lists.range", (INT_MAX,)),
        ("replace", ("a" * 100_000, "", "b" * 1_000)),
        ("join", (WORDS, "x" * 1_000)),
    ],
)
def test_what_would_cost_more_than_any_expression_may_is_not_even_begun(function, args):
    with pytest.raises(BudgetExceeded, match="actual cost limit exceeded"):
        call(function, *args)


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_functions_of_one_string_come_to_an_end_with_a_long_one(text):
    for group in FUNCTIONS.values():
        if any(each.args and each.args[0].kind == "string" and len(each.args) == 1 for each in group):
            with suppress(CelError):
                dispatcher(group)(text)


def test_distinct_strings_are_found_whatever_their_number():
    assert call("distinct", WORDS + WORDS) == WORDS
