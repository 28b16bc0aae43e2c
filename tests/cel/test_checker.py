"""What the checker knows of an expression, and what it refuses."""

import inspect
import sys
from contextlib import contextmanager

import pytest

from webhook.cel.environment import Environment
from webhook.cel.errors import CompileFailure, FoldingFailure, ResultFailure
from webhook.cel.syntax.parser import parse
from webhook.cel.types import BOOL, DYN, INT, STRING, list_of, map_of, object_of, optional_of

SCHEMA = {
    "type": "object",
    "properties": {
        "count": {"type": "integer"},
        "ratio": {"type": "number"},
        "text": {"type": "string"},
        "flag": {"type": "boolean"},
        "when": {"type": "string", "format": "date-time"},
        "either": {"x-kubernetes-int-or-string": True},
        "namespace": {"type": "string"},
        "dash-ed": {"type": "string"},
        "gpu": {"type": "object", "properties": {"count": {"type": "integer"}}},
        "items": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "anything": {"x-kubernetes-preserve-unknown-fields": True},
    },
}
ENV = Environment().with_schema("self", SCHEMA).extend({"object": DYN, "variables": map_of(STRING, DYN)})


def messages(source, env=ENV):
    with pytest.raises(CompileFailure) as caught:
        env.check(source)
    return [issue.message for issue in caught.value.issues]


@pytest.mark.parametrize(
    ("source", "result"),
    [
        ("self.count + 1", "int"),
        ("self.count < 1.5", "bool"),
        ("self.text + 'x'", "string"),
        ("self.ratio == 2.0", "bool"),
        ("self.when < timestamp('2026-01-01T00:00:00Z')", "bool"),
        ("type(self.when) == timestamp", "bool"),
        ("self.either == 5 || self.either == '5'", "bool"),
        ("self.namespace + self.__namespace__ + self.dash__dash__ed", "string"),
        ("self.gpu", "selfType#.gpu"),
        ("self.?gpu", "optional_type(selfType#.gpu)"),
        ("self.?gpu.?count.orValue(0)", "int"),
        ("self.?gpu.optMap(gpu, gpu.count).hasValue()", "bool"),
        ("self.items.map(item, item.name)", "list(string)"),
        ("self.items.filter(item, item.name == '')", "list(selfType#.items.@idx)"),
        ("self.items.all(index, item, item.name == string(index))", "bool"),
        ("self.items.transformMap(index, item, item.name)", "map(int, string)"),
        ("self.items.sortBy(item, item.name)", "list(selfType#.items.@idx)"),
        ("self.labels.app", "string"),
        ("self.labels['app']", "string"),
        ("self.labels.exists(key, key.startsWith('x'))", "bool"),
        ("'app' in self.labels", "bool"),
        ("has(self.gpu.count)", "bool"),
        ("object.spec.?hardware.?gpu", "optional_type(dyn)"),
        ("variables.gpu.hasValue()", "bool"),
        ("object.items.map(x, x.name)", "list(dyn)"),
        ("[]", "list(dyn)"),
        ("{}", "map(dyn, dyn)"),
        ("[[], [1]]", "list(list(int))"),
        ("[1] + []", "list(int)"),
        ("true ? [] : ['a']", "list(string)"),
        ("dyn(1) + 1", "int"),
        ("object.a + object.b", "dyn"),
        ("[1, 2].sum()", "int"),
        ("type(1)", "type(int)"),
        ("quantity('1Gi').add(quantity('1Gi'))", "kubernetes.Quantity"),
        ("ip.isCanonical('127.0.0.1')", "bool"),
        ("'%d %s'.format([1, 'a'])", "string"),
    ],
)
def test_an_expression_has_the_type_of_cel_go(source, result):
    assert str(ENV.check(source).result) == result


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("self.nope", ["undefined field 'nope'"]),
        ("nope", ["undeclared reference to 'nope' (in container '')"]),
        ("nope(1)", ["undeclared reference to 'nope' (in container '')"]),
        ("self.text.nope(1)", ["undeclared reference to 'nope' (in container '')"]),
        ("self.anything", ["undefined field 'anything'"]),
        ("self.count == 1.0", ["found no matching overload for '_==_' applied to '(int, double)'"]),
        ("self.text.startsWith(1)", ["found no matching overload for 'startsWith' applied to 'string.(int)'"]),
        ("self.count ? 1 : 2", ["found no matching overload for '_?_:_' applied to '(int, int, int)'"]),
        ("self.count && true", ["expected type 'bool' but found 'int'"]),
        ("self.count.x", ["type 'int' does not support field selection"]),
        ("type.x", ["type 'type(type)' does not support field selection"]),
        ("self == {}", ["found no matching overload for '_==_' applied to '(selfType#, map(dyn, dyn))'"]),
        ("self.text == null", ["found no matching overload for '_==_' applied to '(string, null)'"]),
        ("self['count']", ["found no matching overload for '_[_]' applied to '(selfType#, string)'"]),
        (
            "1.map(x, x)",
            ["expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)"],
        ),
        ("[1, 'a']", ["expected type 'int' but found 'string'"]),
        ("[1, null]", ["expected type 'int' but found 'null'"]),
        ("{'a': 1, 'b': 'c'}", ["expected type 'int' but found 'string'"]),
        ("[?1]", ["expected type 'optional_type(int)' but found 'int'"]),
        ("duration('1 day')", ["invalid duration argument"]),
        ("timestamp('today')", ["invalid timestamp argument"]),
        ("self.text.matches('(')", ["invalid matches argument"]),
        ("self.text.matches('(?!a)')", ["invalid matches argument"]),
        ("self.a == 1 || self.b == 1", ["undefined field 'a'", "undefined field 'b'"]),
        ("Thing{}", ["undeclared reference to 'Thing' (in container '')"]),
        ("self.items.all(x, y)", ["undeclared reference to 'y' (in container '')"]),
    ],
)
def test_a_wrong_expression_gets_the_errors_of_cel_go(source, expected):
    assert messages(source) == expected


def test_an_error_shows_its_line_and_column():
    with pytest.raises(CompileFailure) as caught:
        ENV.check("self.count == 1 &&\n  self.nope == 2")
    assert str(caught.value) == "ERROR: <input>:2:7: undefined field 'nope'\n |   self.nope == 2\n | ......^"


def test_every_node_has_a_type():
    source = "self.items.exists_one(x, x.name == self.?gpu.optMap(g, string(g.count)).orValue('')) ? {'a': [1]} : {}"
    checked = ENV.check(source)
    assert all(node in checked.types for node in checked.expr.walk())


def test_a_call_knows_its_overloads():
    checked = ENV.check("self.count + 1")
    assert [overload.id for overload in checked.references[checked.expr].overloads] == ["add_int64"]


def test_a_function_in_a_namespace_has_no_receiver():
    checked = ENV.check("sets.contains([1], [1])")
    reference = checked.references[checked.expr]
    assert (reference.name, reference.namespaced) == ("sets.contains", True)


def test_a_variable_of_a_macro_hides_a_name_with_dots():
    env = Environment().extend({"a.b": INT, "a": map_of(STRING, STRING)})
    assert env.check("a.b").result == INT
    assert env.check("['x'].map(a, a)").result == list_of(STRING)
    assert env.check("[{'b': 'x'}].map(a, a.b)").result == list_of(STRING)
    assert env.check("[{'b': 'x'}].map(a, .a.b)").result == list_of(INT)


def test_names_are_looked_up_from_the_innermost_container():
    env = Environment(container="x.y").extend({"x.y.a": INT, "x.a": STRING, "b": BOOL})
    assert [env.check(source).result for source in ("a", "x.a", "b")] == [INT, STRING, BOOL]
    assert messages(".a", env) == ["undeclared reference to '.a' (in container 'x.y')"]


THING = object_of("Thing", {"count": INT, "part": optional_of(STRING)})


def test_makes_objects_of_known_types():
    env = Environment().extend(types={"Thing": THING}.get)
    assert env.check("Thing{count: 1}").result == THING
    assert env.check("Thing{?count: optional.of(1)}.count + 1").result == INT
    assert messages("Thing{size: 1}", env) == ["undefined field 'size'"]
    assert messages("Thing{count: 'a'}", env) == [
        "expected type of field 'count' is 'int' but provided type is 'string'"
    ]
    assert messages("int{}", env) == ["'int' is not a message type"]


def test_the_result_must_have_the_expected_type():
    with pytest.raises(ResultFailure, match="must evaluate to bool"):
        ENV.compile("1", expect=BOOL)
    with pytest.raises(ResultFailure, match=r"must evaluate to one of \[bool, string\]"):
        ENV.compile("1", expect=(BOOL, STRING))
    assert ENV.compile("self.flag", expect=(BOOL, STRING)).result == BOOL


@pytest.mark.parametrize("source", ["self.count == int('x')", "int('x') in []", "false && string(int('x')) in []"])
def test_a_constant_that_fails_fails_to_compile(source):
    with pytest.raises(FoldingFailure) as caught:
        ENV.compile(source)
    assert (caught.value.stage, str(caught.value)) == (
        "program instantiation failed",
        "type conversion error from 'string' to 'int'",
    )


@pytest.mark.parametrize(
    ("source", "since"),
    [
        ("1 < 2.0", (1, 28)),
        ("object.?a.hasValue()", (1, 28)),
        ("object.a.optMap(x, x).hasValue()", (1, 28)),
        ("quantity('1') == quantity('1')", (1, 28)),
        ("'%d'.format([1]) == '1'", (1, 29)),
        ("sets.contains([1], [1])", (1, 29)),
        ("isIP('::1')", (1, 30)),
        ("self.namespace == ''", (1, 31)),
        ("[1].all(i, x, x > i)", (1, 32)),
        ("isSemver('1.0.0')", (1, 33)),
        ("[1].sortBy(x, x) == [1]", (1, 34)),
    ],
)
def test_what_came_with_a_version_is_for_stored_expressions_and_for_later_versions(source, since):
    before = (1, since[1] - 1)
    for version, stored, known in ((since, False, True), (before, True, True), (before, False, False)):
        env = Environment(version, stored=stored).with_schema("self", SCHEMA).extend({"object": DYN})
        if known:
            assert env.check(source).result == BOOL
        else:
            assert messages(source, env)


def test_functions_of_one_use_are_beside_those_of_the_version():
    size = ENV.declarations().functions["size"].free[0].overload
    env = ENV.extend(functions=[size])
    assert len(env.declarations().functions["size"].free) == len(ENV.declarations().functions["size"].free) + 1


DEEP = "[1].map(x, " * 249 + "x" + ")" * 249


def test_macros_in_macros_are_checked_at_a_low_recursion_limit():
    assert ENV.check("[1]" + ".map(x, [x]" * 60 + ")" * 60).result.kind == "list"
    assert parse(DEEP)
    with recursion_limit(len(inspect.stack(0)) + 400) as limit:
        program = Environment().compile(DEEP)
        value = program.evaluate_exactly({})
        assert sys.getrecursionlimit() == limit
    for _ in range(249):
        (value,) = value
    assert value == 1


def test_an_expression_that_does_not_fit_the_stack_is_refused():
    with recursion_limit(len(inspect.stack(0)) + 3_400):
        assert below(3_000, lambda: messages(DEEP)) == ["expression is nested too deeply"]


@contextmanager
def recursion_limit(frames):
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(frames)
    try:
        yield frames
    finally:
        sys.setrecursionlimit(usual)


def below(frames, call):
    return call() if frames == 0 else below(frames - 1, call)
