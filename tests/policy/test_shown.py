"""``shown(x)``: a string in quotes, shortened; in a policy as a function, in an export as Kubernetes' CEL."""

import re
from pathlib import Path

import pytest

from tests.policy.test_compile import HEAD, MODEL, problems
from webhook.cel import CompileFailure, Environment
from webhook.cel.library.strings import LENGTH, SHOWN
from webhook.cel.types import STRING
from webhook.manifests import documents
from webhook.policy import Inputs, compile_policy, parse_policy
from webhook.policy.portable import in_kubernetes_cel
from webhook.schema.node import build
from webhook.schema.rules.compile import rule_environment
from webhook.vap.environments import admission_environment

ROOT = Path(__file__).parents[2]
OLDEST = Environment((1, 34), stored=False, variables={"x": STRING, "shown": STRING})
ENVIRONMENT = OLDEST.extend(functions=SHOWN)
TEXTS = ["", "a", 'a "b"', "é" * LENGTH, "é" * (LENGTH + 1), "😀" * 500, "x\n" * 50]
EXPRESSIONS = [
    "shown(x)",
    "shown( x ) + ' and ' + shown(x + ')')",
    "shown('(' + shown(x + '\"') + ')')",
    "[x].map(shown, shown(shown))[0] + 'shown(x)'",
    "shown([x, 'b'].filter(shown, shown != 'b')[0].replace('\\n', '\\\\n'))",
]
COPY = re.compile(r"substring\(0,[^\n]*…|…[^\n]*substring\(0,")


def test_a_long_string_is_shortened_in_quotes() -> None:
    program = ENVIRONMENT.compile("shown(x)")
    assert program.evaluate({"x": "a" * 80}) == '"' + "a" * 80 + '"'
    assert program.evaluate({"x": "a" * 81}) == '"' + "a" * 80 + '…"'


@pytest.mark.parametrize("source", EXPRESSIONS)
def test_an_export_says_the_same_in_the_cel_of_the_oldest_release(source: str) -> None:
    ours, exported = ENVIRONMENT.compile(source), OLDEST.compile(in_kubernetes_cel(source))
    for text in TEXTS:
        bindings = {"x": text, "shown": text}
        assert ours.evaluate(bindings) == ours.evaluate_exactly(bindings) == exported.evaluate(bindings)


def test_an_export_evaluates_a_computed_argument_once() -> None:
    assert in_kubernetes_cel("shown(x.trim())").count("x.trim()") == 1


def test_an_expression_without_the_function_is_exported_as_it_is() -> None:
    assert in_kubernetes_cel("'shown(x)' + shown") == "'shown(x)' + shown"


def test_the_cost_grows_with_the_string_as_that_of_substring_does() -> None:
    for size in (0, 10, 1_000):
        ours, copied = (
            ENVIRONMENT.compile(source).evaluate_exactly.cost({"x": "a" * size})
            for source in ("shown(x)", "x.substring(0, x.size())")
        )
        assert ours == copied - 2  # the second x and its size


def test_it_is_generated_as_a_plain_call() -> None:
    program = ENVIRONMENT.compile("shown(x)")
    assert "k0(" in program.generated().text


def test_a_policy_that_shows_a_number_is_refused() -> None:
    (problem,) = problems("""\
  validations:
  - {code: XX201, at: spec.source, rule: "self != ''", messageExpression: "'x' + shown(self.size())", docs: d}
""")
    assert "no matching overload for 'shown' applied to '(int)'" in problem


def test_a_policy_may_use_it_in_every_expression() -> None:
    body = """\
  variables: [{name: named, expression: shown(object.spec.source)}]
  defaults: [{code: XX101, path: spec.format, value: shown(variables.named), because: b, when: shown('a') != ''}]
  validations:
  - {code: XX201, at: spec.source, when: shown(self) != '', rule: shown(self) != 'a', message: m, docs: d}
"""
    (document,) = documents.parse(HEAD + body, "p.yaml")
    assert compile_policy(parse_policy(document), document, Inputs(MODEL.schema, {})).codes


@pytest.mark.parametrize(
    "environment",
    [
        Environment(variables={"x": STRING}),
        rule_environment(build({"type": "string"}), is_root=False),
        admission_environment(),
        admission_environment(patches=True),
    ],
    ids=["CEL", "definition", "validating", "mutating"],
)
def test_only_policies_have_it(environment: Environment) -> None:
    with pytest.raises(CompileFailure, match="undeclared reference to 'shown'"):
        environment.compile("shown('a')")


def test_no_policy_shortens_a_value_by_hand() -> None:
    texts = {path: path.read_text() for path in ROOT.glob("policies/*/*.yaml")}
    assert sum(text.count("shown(") for text in texts.values()) >= 70
    assert [str(path) for path, text in texts.items() if COPY.search(text)] == []
    assert COPY.search("self.size() > 80 ? self.substring(0, 80) + '…' : self")
