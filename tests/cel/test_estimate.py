"""What rules may cost at most, from the bounds that a schema sets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.cel.cost.sizes import MAX, UNKNOWN, Bounds, fixed
from webhook.cel.environment import Environment
from webhook.cel.program import Budget
from webhook.cel.types import DYN

TEXT = {"type": "string", "maxLength": 10}
SCHEMA = {
    "type": "object",
    "properties": {
        "a": {"type": "integer"},
        "b": {"type": "integer"},
        "text": TEXT,
        "endless": {"type": "string"},
        "list": {"type": "array", "maxItems": 5, "items": TEXT},
        "objects": {
            "type": "array",
            "maxItems": 3,
            "items": {
                "type": "object",
                "properties": {"name": TEXT, "tags": {"type": "array", "maxItems": 2, "items": TEXT}},
            },
        },
        "map": {"type": "object", "maxProperties": 4, "additionalProperties": TEXT},
        "part": {"type": "object", "properties": {"a": {"type": "integer"}}},
    },
}
ENV = Environment().with_schema("self", SCHEMA).extend({"any": DYN})


@pytest.mark.parametrize(
    ("source", "least", "greatest"),
    [
        ("true", 0, 0),
        ("self.a == self.b", 4, 4),
        ("has(self.part.a)", 2, 2),
        ("self.a == 1 || self.b == 1", 2, 4),
        ("self.a > 0 ? self.a : 1", 3, 5),
        ("[1, 2]", 10, 10),
        ("{'a': 1}", 30, 30),
        ("self.text == 'abc'", 3, 3),
        ("self.text.matches('a*')", 3, 7),
        ("self.text.contains('abc')", 2, 6),
        ("self.text + self.text == ''", 4, 12),
        ("self.list.all(x, x == 'a')", 3, 28),
        ("self.objects.all(x, x.tags.all(y, y == ''))", 3, 45),
        ("self.map.all(k, self.map[k] == '')", 3, 31),
        ("self.list.map(x, x + x).size()", 14, 124),
        ("self.text.lowerAscii().replace('a', 'bb').contains('b')", 2, 22),
        ("self.text.replace('', 'b') == 'x'", 3, 11),
        ("self.text.split('', 2) == ['a']", 13, 21),
        ("self.text.findAll('a*').all(x, x == 'b')", 4, 168),
        ("self.list.sort() == self.list", 16, 69),
        ("self.list.join(',').split(',').size()", 3, 65),
        ("sets.contains(self.list, ['a', 'b'])", 13, 23),
        ("self.list.exists_one(x, x == '') && self.?part.?a.orValue(3) > 1", 4, 24),
        ("self.list.transformMap(i, x, x)[0] == ''", 34, 54),
        ("self.list.transformList(i, x, x + string(i)).join('').size() > 1", 15, 11_068_046_444_225_731_674),
        ("self.objects.map(o, o.name).sortBy(n, n.size()).reverse().slice(0, 2)", 71, 182),
        ("self.?text.optMap(t, t + t).orValue('') == ''", 5, 1_844_674_407_370_955_284),
        ("(self.a == 1 ? self.list : []).all(x, x == 'a')", 5, 33),
        ("format.dns1123Label().validate(self.text).hasValue()", 4, 132),
        ("cidr(self.text).containsIP(self.text)", 5, 16),
        ("quantity(self.text).isGreaterThan(quantity('1'))", 4, 8),
        ("string(bytes(self.text)) == 'a'", 3, 23),
        ("type(self.text) == string", 4, 4),
        ("{'x': self.list}.x.all(t, t == 'q')", 34, 34),
    ],
)
def test_estimates_as_the_api_server(source, least, greatest):
    """The greatest costs are those that a real API server gave for these rules."""
    assert ENV.estimate(source) == (least, greatest)


LARGE = "a" * 10
LARGEST = {
    "a": 1,
    "b": 2,
    "text": LARGE,
    "list": [LARGE] * 5,
    "objects": [{"name": LARGE, "tags": [LARGE] * 2}] * 3,
    "map": {f"{index}{LARGE[1:]}": "" for index in range(4)},
    "part": {"a": 1},
}
SMALLEST = {"a": 0, "b": 0, "text": "", "list": ["a", "b"], "objects": [], "map": {}, "part": {"a": 1}}


@pytest.mark.parametrize(
    "source",
    [
        "self.text.matches('a*')",
        "self.text.contains('abc')",
        "self.list.all(x, x == LARGE)".replace("LARGE", repr(LARGE)),
        "self.objects.all(x, x.tags.exists(y, y == ''))",
        "self.list.map(x, x + x).size() == 1",
        "self.list.filter(x, x.startsWith('a')).map(x, x + 'b').exists(x, x.contains('c'))",
        "self.list.sort() == self.list",
    ],
)
def test_no_object_that_the_schema_allows_costs_more(source):
    greatest = ENV.estimate(source).max
    for obj in (LARGEST, SMALLEST):
        budget = Budget()
        ENV.compile(source).evaluate({"self": obj}, budget)
        assert budget.spent <= greatest


def test_without_bounds_a_value_is_as_large_as_a_request():
    assert ENV.estimate("self.endless.contains(self.endless)").max > 10**10
    assert ENV.estimate("any.all(x, x)").max == MAX


def test_a_hint_can_say_what_a_schema_does_not():
    assert ENV.estimate("any.size() == 1").max < 10
    assert ENV.estimate("any.all(x, x)", lambda path, _of: fixed(3) if path == ("any",) else None).max < 20


RANGES = st.builds(
    lambda one, other: Bounds(min(one, other), max(one, other)), st.integers(0, MAX), st.integers(0, MAX)
)


@given(RANGES, RANGES, st.floats(0, 1e3))
def test_bounds_stay_bounds_and_within_64_bits(one, other, factor):
    for result in (one.plus(other), one.times(other), one.union(other), one.scaled(factor)):
        assert 0 <= result.min <= result.max <= MAX
    assert one.plus(UNKNOWN).max == MAX
