"""The reader of the CEL specification's tests: what passes, what fails, and what is not run."""

from collections import Counter

from tests.conformance.celspec import outcome, parsed

TEXT = r"""
# A comment.
name: "mine"
section {
  name: "one"
  test { name: "adds" expr: "x + 1" type_env: { name: "x", ident: { type: { primitive: INT64 } } }
    bindings: { key: "x" value: { value: { int64_value: 2 } } } value: { int64_value: 3 } }
  test { name: "wrong" expr: "1 + 1" value: { int64_value: 3 } }
  test { name: "kinds" expr: "true" value: { int64_value: 1 } }
  test { name: "text" expr: '"\\u270c" + "a\tb"' value: { string_value: "\xe2\x9c\x8ca\tb" } }
  test { name: "error" expr: "1 / 0" eval_error: { errors: { message: "divide by zero" } } }
  test { name: "none" expr: "1 / 1" eval_error { errors { message: "divide by zero" } } }
  test { name: "list" expr: "{'a': [1, 2]}" value: { map_value: { entries { key { string_value: "a" }
    value { list_value: { values: { int64_value: 1 } values: { int64_value: 2 } } } } } } }
  test { name: "mixed" expr: "[1, 'a'] == [1]" value { bool_value: false } }
  test { name: "message" expr: "TestAllTypes{}" value { object_value: { [type.googleapis.com/a.B] { c: 1 } } } }
  test { name: "free" expr: "y || true" disable_check: true value { bool_value: true } }
}
"""


def test_each_test_has_the_outcome_that_it_should() -> None:
    (section,) = parsed(TEXT)["section"]
    outcomes = {test["name"][0].decode(): outcome(test) for test in section["test"]}
    assert Counter(outcomes.values())["passes"] == 4, outcomes
    assert [name for name, result in outcomes.items() if result == "fails"] == ["wrong", "kinds", "none"]
    assert outcomes["mixed"] == "literals of mixed types"
    assert outcomes["message"] == "protocol buffers"
    assert outcomes["free"] == "unchecked expressions"
