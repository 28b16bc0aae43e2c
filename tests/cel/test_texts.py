"""`yaml(text)` and `json(text)`, which policies have: what a text says, or nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.laws import examples
from webhook.cel import TEXTS, Environment
from webhook.cel.types import STRING

ENVIRONMENT = Environment(variables={"text": STRING}, functions=TEXTS)


def said(function: str, text: str) -> Any:
    """What a text says; "nothing" if it says nothing."""
    program = ENVIRONMENT.compile(f"{function}(text)")
    value = program.evaluate({"text": text})
    exact = program.evaluate_exactly({"text": text})
    assert (value.present, value.value) == (exact.present, exact.value)
    return value.value if value.present else "nothing"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: {b: [1, 2.5, true, null, x]}", {"a": {"b": [1, 2.5, True, None, "x"]}}),
        ("day: 2030-01-02", {"day": "2030-01-02"}),
        ("yes", True),
        ("", None),
        ("a: [", "nothing"),
        ("1: a", "nothing"),
        ("a: &x [1]\nb: *x", "nothing"),
        ("a: .nan", "nothing"),
        ("a: 99999999999999999999", "nothing"),
        ("a: !!python/name:os.system", "nothing"),
        ("a: 1\n---\nb: 1", "nothing"),
        ("a\0b", "nothing"),
        ("[" * 500 + "]" * 500, "nothing"),
        ("a: " + "x" * 20_000, "nothing"),
        ("- 1\n" * 3_900, [1] * 3_900),
        ("- 1\n" * 4_000 + "- [" + "1," * 90 + "]", [1] * 4_000 + [[1] * 90]),
    ],
)
def test_yaml(text: str, value: Any) -> None:
    assert said("yaml", text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [('{"a": [1, "x"]}', {"a": [1, "x"]}), ("{", "nothing"), ("NaN", "nothing"), ("[" * 2_000, "nothing"), ("3", 3)],
)
def test_json(text: str, value: Any) -> None:
    assert said("json", text) == value


def test_what_a_text_says_is_read_with_optional_members() -> None:
    program = ENVIRONMENT.compile("yaml(text).?spec.?parts.orValue([]).all(part, part.?size.orValue(0) < 3)")
    assert program.evaluate({"text": "spec: {parts: [{size: 1}, {}]}"}) is True
    assert program.evaluate({"text": "spec: {parts: [{size: 3}]}"}) is False
    assert program.evaluate({"text": "spec: ["}) is True


def test_the_cost_grows_with_the_text() -> None:
    program = ENVIRONMENT.compile("yaml(text).hasValue()")
    short, long = (program.evaluate_exactly.cost({"text": "a" * length}) for length in (10, 10_000))
    assert long > short + 39_000


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@settings(max_examples=examples(1_000))
@given(JSON)
def test_what_was_written_is_read(value: Any) -> None:
    assert said("json", json.dumps(value)) == value or "\\ud" in json.dumps(value)
    assert said("yaml", yaml.safe_dump(value, allow_unicode=False)) == value


@settings(max_examples=examples(2_000))
@given(st.text(st.sampled_from("[]{}:,-&*!|>\n ab1'\"#%@?"), max_size=200) | st.text())
def test_no_text_is_a_fault(text: str) -> None:
    for function in ("yaml", "json"):
        said(function, text)


@pytest.mark.parametrize(
    "text", ["[" * 16_000, "- " * 8_000, "a: &a [" * 2_000, "? " * 8_000, "{a: " * 4_000, "- a\n" * 4_095 + "- ["]
)
def test_a_text_that_is_deep_or_has_many_values_says_nothing(text: str) -> None:
    assert said("yaml", text) == "nothing"
