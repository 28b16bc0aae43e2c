"""What expressions evaluate to by the closures: errors and who absorbs them, macros, members, schemas."""

import pytest

from webhook.cel.environment import Environment
from webhook.cel.errors import BudgetExceeded, CelError
from webhook.cel.program import Budget
from webhook.cel.types import DYN
from webhook.cel.values.schema_aware import Made
from webhook.cel.values.value import NONE, Duration, Opt, Timestamp

TEXT = {"type": "string"}
SCHEMA = {
    "type": "object",
    "properties": {
        "text": TEXT,
        "count": {"type": "integer"},
        "ratio": {"type": "number"},
        "when": {"type": "string", "format": "date-time"},
        "day": {"type": "string", "format": "date"},
        "for": {"type": "string", "format": "duration"},
        "data": {"type": "string", "format": "byte"},
        "either": {"x-kubernetes-int-or-string": True},
        "a-b": TEXT,
        "namespace": TEXT,
        "list": {"type": "array", "items": TEXT},
        "nulls": {"type": "array", "items": {"type": "string", "nullable": True}},
        "set": {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"},
        "keyed": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"],
            "items": {"type": "object", "properties": {"k": TEXT, "v": {"type": "integer"}}},
        },
        "labels": {"type": "object", "additionalProperties": TEXT},
        "inner": {"type": "object", "properties": {"text": TEXT}, "x-kubernetes-preserve-unknown-fields": True},
        "other": {"type": "object", "properties": {"text": TEXT}, "x-kubernetes-preserve-unknown-fields": True},
    },
}
ENV = Environment().with_schema("self", SCHEMA).with_schema("oldSelf", SCHEMA, optional=True).extend({"x": DYN})


def evaluate(source, self=None, env=ENV, **others):
    program = env.compile(source)
    bindings = {"self": {} if self is None else self, **others}
    exactly = outcome(program.evaluate_exactly, bindings)
    fast = outcome(program.evaluate, bindings)
    if isinstance(exactly, CelError):
        assert fast == exactly
        raise exactly
    assert same(fast[0], exactly[0])
    return exactly[0]


def outcome(run, bindings):
    try:
        return (run(bindings),)
    except CelError as error:
        return _Failed(error.message)


class _Failed(CelError):
    def __eq__(self, other):
        return isinstance(other, _Failed) and self.message == other.message

    __hash__ = None


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("1 / 0 == 1 || true", True),
        ("true || 1 / 0 == 1", True),
        ("1 / 0 == 1 && false", False),
        ("[0, 1].exists(i, 1 / i == 1)", True),
        ("[1, 0].exists(i, 1 / i == 1)", True),
        ("[0, 2].all(i, 1 / i == 1)", False),
        ("true ? 1 : 1 / 0", 1),
        ("[1, 2, 3].filter(i, i > 1).map(i, i * 2)", [4, 6]),
        ("[1, 2, 3].map(i, i > 1, i * 2)", [4, 6]),
        ("[1, 2, 2].exists_one(i, i == 1)", True),
        ("{'a': 1, 'b': 2}.all(k, v, k != 'c' && v < 3)", True),
        ("[5, 6].transformList(i, v, i + v)", [5, 7]),
        ("{'a': 1}.transformMap(k, v, v + 1)", {"a": 2}),
        ("[1, 2].map(x, [3, 4].map(x, x + 1))", [[4, 5], [4, 5]]),
        ("optional.of(1).optMap(v, v + 1).orValue(0)", 2),
        ("optional.none().optMap(v, 1 / 0).hasValue()", False),
        ("optional.of(1).orValue(1 / 0)", 1),
        ("[?optional.none(), ?optional.of(1)]", [1]),
        ("{?'a': optional.none(), 'b': 1}", {"b": 1}),
        ("type(1) == int && type([]) == list", True),
        ("1 in [1, 2] && !(3 in [1, 2]) && !('1' in dyn([1]))", True),
    ],
)
def test_an_expression_has_the_value_that_cel_go_gives_it(source, wanted):
    assert evaluate(source) == wanted


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("1 / 0 == 1 || false", "division by zero"),
        ("[0, 1].exists_one(i, 1 / i == 1)", "division by zero"),
        ("[0].map(i, 1 / i)", "division by zero"),
        ("1 / 0 == 1 ? true : true", "division by zero"),
        ("dyn(1) && true", "no such overload"),
        ("dyn(ip('::1')) == '::1'", "no such overload"),
        ("dyn(ip('::1')) == true", "no such overload"),
        ("[1][1]", "index out of bounds: 1"),
        ("[1][-1]", "index out of bounds: -1"),
        ("{'a': 1}['b']", "no such key: b"),
        ("dyn([1])['a']", "unsupported index type 'string' in list"),
        ("dyn(1).a", "no such key: a"),
        ("dyn('a').all(c, true)", "got 'types.String', expected iterable type"),
        ("[?dyn(1)]", "cannot initialize optional list element from non-optional value 1"),
        ("9223372036854775807 + 1", "integer overflow"),
        ("x.a", "no such attribute(s): x"),
    ],
)
def test_an_error_has_the_words_of_cel_go(source, message):
    with pytest.raises(CelError) as caught:
        evaluate(source)
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("source", "self", "wanted"),
    [
        ("self.when", {"when": "2020-01-01T01:00:00+01:00"}, Timestamp(1577836800 * 10**9)),
        ("self.day", {"day": "1970-01-02"}, Timestamp(86_400 * 10**9)),
        ("self.for", {"for": "2 days"}, Duration(172_800 * 10**9)),
        ("self.for", {"for": "1h1.5s"}, Duration(3_601_500_000_000)),
        ("self.data", {"data": "YWI="}, b"ab"),
        ("type(self.ratio) == double", {"ratio": 1}, True),
        ("type(self.either) == int", {"either": 1}, True),
        ("self.a__dash__b", {"a-b": "z"}, "z"),
        ("self.namespace + self.__namespace__", {"namespace": "n"}, "nn"),
        ("has(self.text)", {"text": None}, False),
        ("has(self.labels.a)", {"labels": {"a": "b"}}, True),
        ("'a' in self.labels", {"labels": {"a": "b"}}, True),
        ("self.set == ['b', 'a']", {"set": ["a", "b"]}, True),
        ("['b', 'a'] == self.set", {"set": ["a", "b"]}, False),
        ("self.set + ['a', 'c']", {"set": ["a", "b"]}, ["a", "b", "c"]),
        ("(self.keyed + self.keyed).size()", {"keyed": [{"k": "a"}, {"k": "b"}]}, 2),
        ("dyn(self.nulls[0]) == null", {"nulls": [None]}, True),
        ("self.nulls.filter(n, dyn(n) != null)", {"nulls": [None, "a"]}, ["a"]),
        ("dyn(self.inner) == dyn(self.other)", {"inner": {"text": "a", "u": 1}, "other": {"text": "a", "u": 1}}, True),
        ("dyn(self.inner) == dyn(self.other)", {"inner": {"text": "a", "u": 1}, "other": {"text": "a", "u": 2}}, False),
        ("self.?inner.?text", {"inner": {"text": "a"}}, Opt.of("a")),
        ("self.?inner.?text.orValue('none')", {"inner": {"text": None}}, "none"),
        ("self.?list[?0].orValue('none')", {"list": []}, "none"),
        ("dyn(self).when > timestamp('2000-01-01T00:00:00Z')", {"when": "2020-01-01T00:00:00Z"}, True),
        ("dyn(self.keyed)[0].v", {"keyed": [{"k": "a", "v": 5}]}, 5),
        (
            "[dyn(self.inner), dyn(self.other)].exists(o, o.text == 'b')",
            {"inner": {"text": "a"}, "other": {"text": "b"}},
            True,
        ),
    ],
)
def test_a_member_is_read_as_its_schema_says(source, self, wanted):
    got = evaluate(source, self)
    assert same(got, wanted), got


@pytest.mark.parametrize(
    "source",
    [
        "[self.set] == [['b', 'a']]",
        "self.?set == optional.of(['b', 'a'])",
        "{'s': self.set} == {'s': ['b', 'a']}",
        "self.set in [['b', 'a']]",
        "[self.set].indexOf(['b', 'a']) == 0",
        "[] + self.set == ['b', 'a']",
        "self.list.filter(each, false) + self.set + ['a'] == ['b', 'a']",
        "size([] + self.keyed + self.keyed) == 1",
        "dyn(self.set) != 'no list'",
        "[dyn(self.set)] == [dyn('no list')]",  # an error inside a list is "not unequal" in cel-go
    ],
)
def test_a_list_stays_what_its_schema_says_inside_of_others_and_added_to_nothing(source):
    self = {"set": ["a", "b"], "list": ["c"], "keyed": [{"k": "a"}]}
    assert evaluate(source, self) is True


def same(a, b):
    if isinstance(a, Opt) and isinstance(b, Opt):
        return a.present == b.present and a.value == b.value
    return a == b


@pytest.mark.parametrize(
    ("source", "self", "message"),
    [
        ("self.count == 1", {"count": 1.0}, "invalid data, expected int, got float64"),
        ("self.text == 'a'", {"text": []}, "invalid data, expected string, got []interface {}"),
        ("has(self.count)", {"count": "1"}, "invalid data, expected int, got string"),
        (
            "self.inner.text == 'a'",
            {"inner": "a"},
            "invalid data, expected a map for the provided schema with type=object",
        ),
        ("self.list[0] == 'a'", {"list": [None]}, "invalid data, got null for schema with nullable=false"),
        (
            "self.when == timestamp('2000-01-01T00:00:00Z')",
            {"when": "2000-13-01T00:00:00Z"},
            (
                "Invalid date-time formatted string 2000-13-01T00:00:00Z: "
                'parsing time "2000-13-01T00:00:00Z": month out of range'
            ),
        ),
        ("self.for == duration('1s')", {"for": "soon"}, "Invalid duration soon: unable to parse soon as duration"),
        ("self.text.size() == 0", {}, "no such key: text"),
        ("has(self.inner.text)", {}, "no such key: inner"),
        ("(self.list + ['x']).all(each, each != 'q')", {"list": [1]}, "invalid data, expected string, got int64"),
        ("dyn(self.inner).text == 'a'", {"inner": {"text": 1}}, "invalid data, expected string, got int64"),
        (
            "'%s'.format([self.list])",
            {"list": [1]},
            "error during formatting: no formatting function for error",
        ),
    ],
)
def test_data_that_does_not_fit_the_schema_is_an_error_where_it_is_read(source, self, message):
    with pytest.raises(CelError) as caught:
        evaluate(source, self)
    assert caught.value.message == message


def test_an_invalid_member_is_an_error_only_when_it_is_read():
    assert evaluate("dyn(self).text == 'a'", {"text": "a", "count": 1.5}) is True
    assert evaluate("self.list.exists(x, x == 'a')", {"list": [1, "a"]}) is True


def test_an_optional_old_value_is_an_optional_of_raw_json():
    source = "oldSelf.hasValue() ? oldSelf.value().count + 1 : self.count"
    assert evaluate(source, {"count": 1}, oldSelf=Opt.of({"count": 5})) == 6
    assert evaluate(source, {"count": 1}, oldSelf=NONE) == 1


def test_variables_of_macros_hide_those_around_them():
    assert evaluate("[1, 2].all(x, [x].exists(x, x > 0))", x=5) is True
    assert evaluate("[1].map(y, x + y) + [x]", x=5) == [6, 5]


def test_an_object_is_made_with_its_type():
    made = Made(DYN, {"a": 1})
    assert made == {"a": 1}
    assert made.cel_type is DYN


def test_an_interrupted_loop_ends():
    program = ENV.compile("x.map(a, x.map(b, 1)).size() > 0")
    with pytest.raises(BudgetExceeded, match="operation interrupted"):
        program.evaluate_exactly({"x": list(range(200))}, Budget(interrupt=lambda: True))


@pytest.mark.parametrize(
    "source",
    [
        "self.list.all(a, '%s'.format([self.list]).size() > 0)",
        "self.list.all(a, dyn(a) in dyn(self.list))",
        "self.list.all(a, self.list == self.list)",
    ],
)
def test_a_generated_loop_that_does_much_for_little_cost_is_interrupted_too(source):
    program = ENV.compile(source)
    assert program.evaluate is not program.evaluate_exactly
    asked = []
    budget = Budget(interrupt=lambda: asked.append(True) or len(asked) > 3)
    with pytest.raises(BudgetExceeded, match="operation interrupted"):
        program.evaluate({"self": {"list": ["a"] * 10}}, budget)
    assert len(asked) < 10
