"""What a policy may not say is refused when it is loaded: every mistake, with file, line and path."""

import json
from typing import Any

import pytest

from webhook import catalog
from webhook.admission.decision import GroupVersionKind
from webhook.admission.errors import CatalogError
from webhook.catalog import InForce
from webhook.cel import environment
from webhook.cel.syntax import Call, Select
from webhook.manifests import documents
from webhook.policy import Inputs, Policy, Prepared, compile_policy, parse_policy

MODEL = catalog.load().kinds[GroupVersionKind("inference.llmkube.dev", "v1alpha1", "Model")]

HEAD = """\
apiVersion: modelgate.dev/v1alpha1
kind: Policy
metadata: {name: p}
spec:
  target: {group: inference.llmkube.dev, versions: [v1alpha1], kind: Model}
"""


def compiled(body: str, facts: dict[str, Any] | None = None, release: str = "", *, on_demand: bool = False) -> Policy:
    """The policy; of a release, or unknown, if one is given."""
    (document,) = documents.parse(HEAD + body, "p.yaml")
    in_force = InForce("LLMKube", () if release == "unknown" else (release,))
    holds = in_force.holds if release else None
    inputs = Inputs(MODEL.schema, facts or {})
    return compile_policy(parse_policy(document), document, inputs, holds=holds, on_demand=on_demand)


def problems(body: str) -> list[str]:
    with pytest.raises(CatalogError) as caught:
        compiled(body)
    return [str(problem) for problem in caught.value.problems]


def test_a_policy_that_is_only_checked_has_the_same_rules_and_faults() -> None:
    rules = "  validations:\n  - {code: XX201, at: spec.source, rule: \"self != 'a'\", message: m, docs: d}\n"
    for on_demand in (False, True):
        (rule,) = compiled(rules, on_demand=on_demand).validations
        assert [rule.rule.program.evaluate({"self": text}) for text in "ab"] == [False, True]
        with pytest.raises(CatalogError, match="does not support field selection"):
            compiled(rules.replace("self", "self.nope"), on_demand=on_demand)
        with pytest.raises(CatalogError, match="type conversion error"):
            compiled(rules.replace("'a'", "string(int('x'))"), on_demand=on_demand)


def test_everything_that_is_wrong_is_named_at_once() -> None:
    found = problems("""\
  defaults:
  - {code: XX101, path: spec.formt, value: "'gguf'", because: x}
  - {code: XX102, path: spec.format, value: "1", because: x}
  - {code: XX102, path: spec.mmproj, value: "object.spec.nope", because: x}
  validations:
  - {code: XX201, at: spec.source, rule: "self", message: m, docs: d}
  - {code: XX202, at: spec.source, rule: "self ==", message: m, docs: d}
""")
    assert found[0].startswith(
        "p.yaml:7: spec.defaults[0].path: no 'formt' in spec of the schema, which has files, format"
    )
    assert found[1].startswith("p.yaml:8: spec.defaults[1].value: must evaluate to string")
    assert found[2].startswith("p.yaml:9: spec.defaults[2].value: undefined field 'nope' (line 1, column 12")
    assert found[3].startswith("p.yaml:11: spec.validations[0].rule: must evaluate to bool")
    assert found[4].startswith("p.yaml:12: spec.validations[1].rule: Syntax error")
    assert found[5] == "p.yaml:9: spec.defaults[2].code: code XX102 is used twice"
    assert len(found) == 6


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("  variabels: []", "p.yaml:6: spec.variabels: unknown field"),
        ("  defaults: [{code: X1, path: a, value: '1', because: b}]", "p.yaml:6: spec.defaults[0].code: String should"),
        ("  defaults: [{code: XX101, path: 'a[*]', value: '1', because: b}]", "a default sets a field of each item"),
        ("  defaults: [{code: XX101, path: '.a', value: '1', because: b}]", "is not a valid path at column 1"),
        ("  validations: [{code: XX201, rule: 'true', docs: d}]", "set either message or messageExpression"),
        ("  validations: [{code: XX201, rule: 'true', message: m}]", "spec.validations[0].docs: Field required"),
        (
            "  validations: [{code: XX201, rule: 'true', message: m, docs: d, strict: Deny}]",
            "the action is Deny already",
        ),
        (
            "  validations: [{code: XX201, rule: 'true', message: m, docs: d, action: Refuse}]",
            "should be 'Deny' or 'Warn'",
        ),
        ("  variables: [{name: a b, expression: '1'}]", "spec.variables[0].name: String should match"),
        ("  variables: [a]", "spec.variables[0]: Input should be a valid dictionary or instance of Variable"),
        ("  numericQuantities: 'yes'", "spec.numericQuantities: Input should be a valid boolean"),
        (
            "  references: [{name: r, kind: K, path: a, fields: {f: {path: b, type: integers, default: [1, '2']}}}]",
            "spec.references[0].fields.f.default[list[int]][1]: Input should be a valid integer",
        ),
    ],
)
def test_a_document_that_does_not_fit_the_model_is_refused(body: str, problem: str) -> None:
    assert any(problem in found for found in problems(body))


def test_a_code_twice_is_refused() -> None:
    rule = '{code: XX201, rule: "true", message: m, docs: d}'
    assert "code XX201 is used twice" in problems(f"  validations: [{rule}, {rule}]")[0]


FORMS = """\
  variables:
  - {name: size, operator: "<2", expression: "1"}
  - {name: size, expression: "0"}
  - {name: size, operator: ">=3", expression: "3"}
  defaults:
  - {code: XX101, operator: "<2", path: spec.mmproj, value: "'old'", because: x}
  validations:
  - {code: XX201, rule: variables.size == 0, message: general, docs: d}
  - {code: XX201, operator: ">=1 <2", rule: variables.size == 1, message: of 1, docs: d}
  - {code: XX202, operator: ">=3", rule: variables.size == 3, message: of 3, docs: d}
"""


@pytest.mark.parametrize(
    ("release", "messages", "size", "defaults"),
    [
        ("0.5", ["general"], "1", ["XX101"]),
        ("1.9", ["of 1"], "1", ["XX101"]),
        ("2", ["general"], "0", []),
        ("3", ["general", "of 3"], "3", []),
        ("head", ["general", "of 3"], "3", []),
        ("unknown", ["general"], "0", []),
    ],
)
def test_what_has_no_range_is_in_force_where_no_range_of_its_name_holds(
    release: str, messages: list[str], size: str, defaults: list[str]
) -> None:
    policy = compiled(FORMS, release=release)
    assert [rule.message for rule in policy.validations] == messages
    assert policy.variables["size"].source == size
    assert [rule.code for rule in policy.defaults] == defaults
    assert [gone.code for gone in policy.withdrawn] == ["XX101"][len(defaults) :]


@pytest.mark.parametrize(
    ("ranges", "message"),
    [
        (["", ""], "code XX201 is used twice"),
        (["<2", ">=1 <3"], "code XX201 is used twice, and the ranges overlap: >=1 <3"),
        (["", "<2", ""], "code XX201 is used twice"),
    ],
)
def test_two_forms_that_may_both_be_in_force_are_refused(ranges: list[str], message: str) -> None:
    rule = {"code": "XX201", "rule": "true", "message": "m", "docs": "d"}
    rules = json.dumps([{**rule, "operator": text or None} for text in ranges])
    assert [found.partition(".code: ")[2] for found in problems(f"  validations: {rules}")] == [message]


def test_a_default_over_a_schema_default_needs_one() -> None:
    body = "  defaults: [{code: XX101, path: spec.mmproj, value: \"'x'\", overSchemaDefault: true, because: b}]"
    assert "the schema has no default at spec.mmproj" in problems(body)[0]


def test_a_variable_may_use_only_those_before_it() -> None:
    body = "  variables: [{name: a, expression: variables.b}, {name: b, expression: '1'}]"
    assert "undefined field 'b'" in problems(body)[0]


DEFAULT = '  - {{code: {code}, path: {path}, when: "{when}", value: "{value}", because: b}}\n'


def test_defaults_run_after_those_they_read() -> None:
    policy = compiled(
        "  variables: [{name: gpu, expression: 'object.spec.?hardware.?gpu'}]\n  defaults:\n"
        + DEFAULT.format(
            code="XX101",
            path="spec.hardware.gpu.tolerationKey",
            when="variables.gpu.hasValue()",
            value="variables.gpu.?resourceName.orValue('a/b')",
        )
        + DEFAULT.format(
            code="XX102",
            path="spec.hardware.gpu.resourceName",
            when="has(object.spec.hardware.gpu)",
            value="variables.gpu.?memory.orValue('a/b')",
        )
        + DEFAULT.format(code="XX103", path="spec.hardware.gpu.memory", when="true", value="'8Gi'")
    )
    assert [rule.code for rule in policy.defaults] == ["XX103", "XX102", "XX101"]


def test_defaults_that_do_not_depend_on_each_other_keep_their_order() -> None:
    rows = [("XX103", "spec.mmproj"), ("XX101", "spec.quantization"), ("XX102", "spec.hardware.memoryBudget")]
    body = "".join(DEFAULT.format(code=code, path=path, when="true", value="'x'") for code, path in rows)
    assert [rule.code for rule in compiled("  defaults:\n" + body).defaults] == ["XX103", "XX101", "XX102"]


def test_a_cycle_of_defaults_is_refused() -> None:
    first = DEFAULT.format(code="XX101", path="spec.mmproj", when="true", value="object.spec.?quantization.orValue('')")
    second = DEFAULT.format(code="XX102", path="spec.quantization", when="has(object.spec.mmproj)", value="'x'")
    (problem,) = problems("  defaults:\n" + first + second)
    assert "defaults depend on each other in a cycle" in problem
    assert "XX101" in problem
    assert "XX102" in problem


def test_what_expressions_read_is_known() -> None:
    policy = compiled(
        """\
  variables:
  - {name: a, expression: facts.f}
  - {name: b, expression: variables.a + 1}
  validations:
  - {code: XX201, at: spec.source, rule: "variables.b == 1", message: m, docs: d}
  - {code: XX202, at: spec.source, rule: "self != ''", message: m, docs: d}
""",
        {"f": {"type": "integer"}},
    )
    first, second = policy.validations
    assert (first.rule.variables, first.rule.facts, first.local) == (("a", "b"), frozenset({"f"}), False)
    assert second.local


PLACES = """\
  validations:
  - code: XX201
    at: [spec.nope, spec.hardware.gpu, spec.hardware, spec.resources]
    when: has(self.memory)
    rule: "self.memory != ''"
    fieldPath: .memory
    message: m
    docs: d
"""


def test_a_list_of_places_is_a_rule_for_each_that_the_kind_has_with_the_field() -> None:
    rules = compiled(PLACES).validations
    assert [str(rule.at) for rule in rules] == ["spec.hardware.gpu", "spec.resources"]
    assert len({rule.rule for rule in rules}) == 1  # compiled once


def test_a_rule_at_one_place_must_exist() -> None:
    assert problems(PLACES.replace("[spec.nope, spec.hardware.gpu, spec.hardware, spec.resources]", "spec.nope")) == [
        (
            "p.yaml:8: spec.validations[0].at: no 'nope' in spec of the schema, which has files, format, hardware, "
            "mmproj, quantization, refreshPolicy, resources, sha256, source"
        )
    ]


def test_policies_of_one_kind_are_joined_unless_a_variable_differs() -> None:
    one, same, other = (
        compiled(f"  variables: [{{name: {name}, expression: '{text}'}}]")
        for name, text in [("a", "1"), ("a", "1"), ("a", "2")]
    )
    assert list(one.joined(same).variables) == ["a"]
    with pytest.raises(ValueError, match="variable a is another one in policy p"):
        one.joined(other)


def test_policies_of_one_kind_are_joined_unless_a_reference_differs() -> None:
    one, same, other = (
        compiled(f"  references: [{{name: q, kind: {kind}, path: spec.source}}]") for kind in ["Q", "Q", "R"]
    )
    assert len(one.joined(same).references) == 1
    with pytest.raises(ValueError, match="reference q is another one in policy p"):
        one.joined(other)


def test_an_expression_is_parsed_and_typed_once_and_its_tree_kept_until_the_functions_are_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    typed: list[str] = []
    check = environment.check
    monkeypatch.setattr(
        environment, "check", lambda tree, names, source: typed.append(source) or check(tree, names, source)
    )
    policy = compiled("""\
  variables: [{name: spec, expression: object.spec}]
  defaults: [{code: XX101, path: spec.format, when: "!has(variables.spec.mmproj)", value: "'gguf'", because: x}]
  validations: [{code: XX201, at: spec.source, rule: "self != 'a'", messageExpression: "'m'", docs: d}]
""")
    assert sorted(typed) == ["!has(variables.spec.mmproj)", "'gguf'", "'m'", "object.spec", "self != 'a'"]
    Prepared(policy, MODEL.schema).complete()
    assert not {*typed[:5]} & {*typed[5:]}
    programs = [expression.program for expression in (policy.variables["spec"], *policy.validations[0].conditions)]
    assert [program.evaluate_exactly.origin.kept for program in programs] == [None, None]
    assert [type(program.tree()) for program in programs] == [Select, Call]


def test_the_stored_object_has_the_type_of_the_new_one_when_a_rule_is_checked() -> None:
    typo = "oldObject != null && oldObject.spec.?formt.orValue('') == ''"
    (problem,) = problems(
        f'  validations:\n  - {{code: XX201, at: spec.source, rule: "{typo}", message: m, docs: d}}\n'
    )
    assert problem.startswith("p.yaml:7: spec.validations[0].rule: undefined field 'formt'")
    mixed = "oldObject == null || self in [oldObject.spec.source, 'a']"
    (problem,) = problems(
        f'  validations:\n  - {{code: XX201, at: spec.source, rule: "{mixed}", message: m, docs: d}}\n'
    )
    assert problem.endswith("what is read of oldObject has no type: write dyn(…) around each item of the list")
    right = "oldObject == null || self in [dyn(oldObject.spec.source), dyn('a')]"
    compiled(f'  validations:\n  - {{code: XX201, at: spec.source, rule: "{right}", message: m, docs: d}}\n')
