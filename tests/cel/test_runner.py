"""cel-python's API with this engine behind it."""

import doctest
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import celpy
import pytest
from celpy import celtypes
from celpy.adapter import json_to_cel
from celpy.celparser import CELParseError
from celpy.evaluation import CELEvalError, CELUnsupportedError
from lark import Token, Tree

from tests.cel.test_parser import shape
from webhook.cel import runner
from webhook.cel.environment import Environment
from webhook.cel.program import Budget
from webhook.cel.runner import KubernetesEnvironment, KubernetesRunner
from webhook.cel.syntax.parser import parse
from webhook.cel.syntax.spelling import spelled
from webhook.cel.types import INT

PAGE = Path(__file__).parents[2] / "docs" / "cel.md"
SCHEMA = {
    "type": "object",
    "properties": {
        "replicas": {"type": "integer"},
        "memory": {"type": "string"},
        "since": {"type": "string", "format": "date-time"},
        "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
    },
}
OBJECT = {"replicas": 3, "memory": "5Gi", "since": "2026-01-02T03:04:05Z", "tags": ["a", "b"]}


def plain(**annotations):
    """An environment of cel-python's own."""
    return celpy.Environment(annotations=annotations, runner_class=KubernetesRunner)


def kubernetes(**annotations):
    """An environment with Kubernetes' syntax."""
    return KubernetesEnvironment(annotations=annotations)


def evaluated(env, source, context=None):
    return env.program(env.compile(source)).evaluate({"self": OBJECT} if context is None else context)


def test_the_example_of_the_module_is_true():
    assert doctest.testmod(runner).failed == 0


def test_the_example_of_the_page_is_true():
    (example,) = re.findall("```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    test = doctest.DocTestParser().get_doctest(example, {}, PAGE.name, str(PAGE), 0)
    assert len(test.examples) == 9
    assert doctest.DocTestRunner().run(test).failed == 0


@pytest.mark.parametrize("make", [plain, kubernetes])
@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("self.replicas + 1", celtypes.IntType(4)),
        ("quantity(self.memory).isGreaterThan(quantity('4G'))", celtypes.BoolType(True)),
        ("self.since.getFullYear()", celtypes.IntType(2026)),
        ("self.since", celtypes.TimestampType(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))),
        ("self.tags == ['b', 'a']", celtypes.BoolType(True)),
        ("self.tags.map(tag, tag.upperAscii())", celtypes.ListType([celtypes.StringType(tag) for tag in "AB"])),
        ("{true: 1u}", celtypes.MapType({celtypes.BoolType(True): celtypes.UintType(1)})),
        ("{dyn(1): dyn(null)}", celtypes.MapType({celtypes.IntType(1): None})),
    ],
)
def test_it_is_kubernetes_cel_with_the_values_of_cel_python(make, source, expected):
    found = evaluated(make(self=SCHEMA), source)
    assert found == expected
    assert type(found) is type(expected)


def test_its_programs_run_as_generated_code():
    env = plain(self=SCHEMA)
    program = env.program(env.compile("self.replicas < 5")).program
    assert program.evaluate is not program.evaluate_exactly


def test_the_types_of_a_schema_are_checked_where_one_is_given():
    with pytest.raises(CELParseError, match="undefined field 'replica'") as caught:
        evaluated(plain(self=SCHEMA), "self.replica < 5")
    assert (caught.value.line, caught.value.column) == (1, 5)
    with pytest.raises(CELEvalError, match="no such key: replica"):
        evaluated(plain(), "self.replica < 5")


@pytest.mark.parametrize("annotation", [celtypes.StringType, SCHEMA["properties"]["memory"]])
def test_an_annotation_types_a_variable(annotation):
    with pytest.raises(CELParseError, match="found no matching overload for '_\\+_' applied to '\\(string, int\\)'"):
        evaluated(plain(x=annotation), "x + 1")
    assert evaluated(plain(x=annotation), "x + '1'", {"x": "a"}) == "a1"


def test_a_type_of_the_engine_is_an_annotation():
    with pytest.raises(CELParseError, match="found no matching overload"):
        evaluated(plain(x=INT), "x + 'a'")


def test_a_context_may_hold_values_of_cel_python():
    given = {"a": [1, 2.5, "x", None, True], "t": datetime(2026, 1, 1, tzinfo=UTC)}
    context = {"v": json_to_cel(given), "d": celtypes.DurationType("90s"), "b": celtypes.BytesType(b"x")}
    same = "v.a == [dyn(1), dyn(2.5), dyn('x'), dyn(null), dyn(true)] && b == b'x'"
    assert evaluated(plain(), same, context)
    assert evaluated(plain(), "v.t + d == timestamp('2026-01-01T00:01:30Z')", context)
    assert evaluated(plain(), "d", context) == context["d"]


def test_a_value_that_the_engine_does_not_know_is_an_error():
    with pytest.raises(CELEvalError, match="unsupported value of type FunctionType"):
        evaluated(plain(), "x", {"x": celtypes.FunctionType()})


def test_an_evaluation_spends_its_cost():
    source, env = "self.replicas < 5 && self.tags.all(tag, tag != '')", plain(self=SCHEMA)
    budget, wanted = Budget(), Budget()
    env.program(env.compile(source)).evaluate({"self": OBJECT}, budget)
    Environment().with_schema("self", SCHEMA).compile(source).evaluate({"self": OBJECT}, wanted)
    assert budget.spent == wanted.spent > 10
    with pytest.raises(CELEvalError, match="cost"):
        env.program(env.compile("self.replicas < 5")).evaluate({"self": OBJECT}, Budget(1))


def test_a_subclass_may_speak_an_older_version():
    class Older(KubernetesRunner):
        kubernetes = Environment(version=(1, 30), stored=False)

    env = celpy.Environment(runner_class=Older)
    with pytest.raises(CELParseError, match="undeclared reference to 'semver'"):
        evaluated(env, "semver('1.0.0') == semver('1.0.0')")


@pytest.mark.parametrize(
    "source",
    ["self.?replicas.orValue(1) == 3", "self.`replicas` == 3", "[1, 2,].size() == 2", "{?'a': self.?replicas}.a == 3"],
)
def test_what_the_parser_of_cel_python_refuses_the_kubernetes_environment_reads(source):
    with pytest.raises(celpy.CELParseError):
        plain().compile(source)
    assert evaluated(KubernetesEnvironment(annotations={"self": SCHEMA}), source)


@pytest.mark.parametrize("source", ["1. == 1.0", "!-x", "'\\q' == 'q'", "'a' inself"])
def test_what_only_the_parser_of_cel_python_accepts_is_not_compiled(source):
    tree = plain().compile(source)
    with pytest.raises(CELParseError, match="Syntax error"):
        plain().program(tree)


def test_a_text_that_is_no_expression_is_refused_with_its_place():
    with pytest.raises(CELParseError, match="mismatched input '<EOF>'") as caught:
        KubernetesEnvironment().compile("a &&\n b +")
    assert (caught.value.line, caught.value.column) == (2, 5)


@pytest.mark.parametrize("more", [{"functions": {"f": len}}, {}])
def test_functions_and_packages_are_not_supported(more):
    env = celpy.Environment(package=None if more else "k8s", runner_class=KubernetesRunner)
    with pytest.raises(CELUnsupportedError, match="supports neither functions nor a package"):
        env.program(env.compile("1"), **more)


def test_the_deepest_expression_compiles_although_cel_python_lowers_the_limit_of_recursion():
    env = KubernetesEnvironment()
    limit = sys.getrecursionlimit()
    assert evaluated(env, "(" * 249 + "1" + ")" * 249) == 1
    assert evaluated(env, "[1].map(x, " * 249 + "x" + ")" * 249)
    assert sys.getrecursionlimit() == limit


RUNNERS = {
    "interpreted": "celpy.Environment(runner_class=celpy.InterpretedRunner)",
    "compiled": "celpy.Environment(runner_class=celpy.CompiledRunner)",
    "ours": "celpy.Environment(runner_class=KubernetesRunner)",
    "kubernetes": "KubernetesEnvironment()",
}


@pytest.mark.parametrize(
    "order",
    [
        ("ours", "interpreted"),
        ("ours", "compiled"),
        ("interpreted", "ours"),
        ("compiled", "ours"),
        ("kubernetes", "compiled", "interpreted"),
        ("interpreted", "kubernetes"),
    ],
)
def test_runners_share_a_process_in_any_order(order):
    """In a process of its own: cel-python has one parser, made for the first environment's runner."""
    program = ["import celpy", "from webhook.cel.runner import KubernetesEnvironment, KubernetesRunner", "found = []"]
    for name in (*order, *order):
        program.append(f"env = {RUNNERS[name]}")
        program.append("values = {'x': celpy.celtypes.IntType(4)}")
        program.append("found.append(env.program(env.compile('x > 3 && [1, 4].exists(i, i == x)')).evaluate(values))")
    program.append("assert found == [True] * len(found), found")
    done = subprocess.run([sys.executable, "-c", "\n".join(program)], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "source",
    [
        "a ? b : c ? -d : !e",
        "a || b && c || d",
        "1 + 2 * 3 - 4 / 5 % 6 > 7 == true",
        "x in [1, [], {}] || y.z[0].f(1, a)(",
        "size([]) == 0 && g() && .h(1) && .i && j.k()",
        "A.b{c: 1, d: [2]} == {'e': 3, f: {}}",
        "'é' + r'\\d' + b'x' + \"\"\"a\n'b\"\"\" == 'c'",
        "a // a comment\n  && (b\n\n ||  c)",
        "in1 in inner",
        "1 in x",
    ],
)
def test_the_text_of_a_tree_means_the_tree(source):
    source = source.removesuffix("(")
    assert shape(parse(spelled(celpy.Environment().compile(source)))) == shape(parse(source))


def test_the_text_of_a_tree_has_its_lines_and_columns():
    source = "a <\n\n  b +\n c"
    assert spelled(celpy.Environment().compile(source)) == source


def test_a_tree_may_be_made_by_hand():
    def leaf(name):
        return Tree("ident", [Token("IDENT", name)])

    tree = Tree("relation", [Tree("relation_in", [leaf("a")]), leaf("b")])
    assert spelled(tree) == "a in b"
    assert plain().program(tree).evaluate({"a": 1, "b": [1]})
