"""Kubernetes' errors as findings say them: one short line with a remedy, and a remedy that helps."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from copy import deepcopy
from itertools import chain
from typing import Any

import pytest

from tests.policies.test_messages import REMEDY
from tests.shared import shared
from webhook.children import builtin_errors, decode_builtin
from webhook.ground.budget import STEPS, Budget
from webhook.ground.fieldpath import field_keys
from webhook.kubernetes import LINE, advised_warning, faults_of, remedies, shortened, validate
from webhook.library.apiserver import kind_of
from webhook.schema import OMIT, FieldError


def cases(folder: str) -> Iterator[dict[str, Any]]:
    """What Kubernetes' own code answered, in the recorded tables of ``objects`` or of ``pods``."""
    for file in sorted(shared("corpora", folder).glob("*.json")):
        yield from json.loads(file.read_text()).get("cases", ())


def recorded() -> Iterator[FieldError]:
    for case in chain(cases("objects"), cases("pods")):
        for error in case.get("errors") or ():
            value = OMIT if "body" in error else error.get("badValue", error.get("value", ""))
            yield FieldError(error["type"], error["field"], error["detail"], value)


def test_each_error_of_kubernetes_is_one_short_line_with_a_remedy() -> None:
    errors = set(map(str, recorded()))
    assert len(errors) > 4_000
    lines = {fault.text for error in recorded() for fault in faults_of([error], Budget())}
    assert [line for line in lines if len(line) > LINE or "regex" in line] == []
    alone = {"Invalid value: invalid label selector", "Invalid value: invalid label selector."}
    assert {line for line in lines if not REMEDY.search(line)} == alone  # another error says it, unless it is alone


def test_all_that_is_wrong_with_a_value_is_one_line() -> None:
    texts = ("must be a standard resource type or fully qualified", "must be a standard resource for containers")
    (fault,) = faults_of([FieldError("FieldValueInvalid", "limits[gpu]", text, "gpu") for text in texts], Budget())
    assert fault.text.startswith(f'Invalid value: "gpu": {texts[0]}, {texts[1]}; use cpu, ')
    assert fault.text.count("nvidia.com/gpu") == 1
    limit = FieldError("FieldValueInvalid", "limits[cpu]", "must be greater than or equal to 0", "-1")
    follows = FieldError("FieldValueInvalid", "requests", "must be less than or equal to cpu limit of -1", "1")
    assert [fault.error for fault in faults_of([limit, follows], Budget())] == [limit]
    assert [fault.error for fault in faults_of([follows], Budget())] == [follows]


def test_a_definition_keeps_its_words_unless_they_are_long() -> None:
    short = FieldError("FieldValueInvalid", "spec.url", "spec.url in body should match '^https://'", "x")
    assert shortened(short) == short.body()
    pattern = "^" + "(a|b)" * 60
    long = FieldError("FieldValueInvalid", "spec.url", f"spec.url in body should match '{pattern}'", "x" * 300)
    assert len(shortened(long)) <= LINE
    assert shortened(long).startswith('Invalid value: "xxx')


@pytest.mark.parametrize("value", [None, True, 0, -1.5, "", "x" * 10**6, "\n\u202e", {"a": 1}, [1], OMIT])
@pytest.mark.parametrize("detail", ["", "x" * 10**6, "must be less than or equal to a limit of b", "(", "\\1{field}"])
def test_any_error_has_a_line(value: object, detail: str) -> None:
    error = FieldError("FieldValueInvalid", "a.b[c.d/e][0]", detail, value)
    assert 0 < len(faults_of([error], Budget())[0].text) <= LINE
    assert 0 < len(shortened(error)) <= LINE


@pytest.mark.parametrize(
    ("sort", "remedy"),
    [
        ("Required", "set b"),
        ("Forbidden", "remove b"),
        ("Duplicate", "use another one, or remove one of the two"),
        ("NotFound", "use a name that the pod has, or add it"),
        ("NotSupported", "use another value"),
        ("TooMany", "remove some"),
        ("Invalid", "use another value"),
    ],
)
def test_where_kubernetes_says_nothing_of_it_the_sort_of_error_says_what_to_do(sort: str, remedy: str) -> None:
    (fault,) = faults_of([FieldError(f"FieldValue{sort}", "spec.a.b", "odd", "v")], Budget())
    assert fault.text.endswith(f"odd; {remedy}")


# Advice that a program can follow

Errors = Callable[[Any], list[FieldError]]
SUPPORTED = re.compile(r'supported values: (".*")')
EXAMPLES = (
    (re.compile(r"; use (?:lower-case )?letters, digits()"), lambda _: "written"),
    (re.compile(r"; use (cpu), memory"), str),
    (re.compile(r"; (?:write|use) .*such as ([^ ,]+|0 3 \* \* \*)$"), str),
    (re.compile(r"; use (\d+) or more$"), int),
)
"""What a finding says to write, as the value that a program takes of it."""


def followed(error: FieldError, text: str, obj: Any) -> Iterator[Any]:
    """Copies of the object that follow the advice of a finding, each in another way; none if no program can."""
    keys = field_keys(error.field)
    if not keys or not holds(at(obj, keys[:-1]), keys[-1]):
        return
    if re.search(rf"; remove (it|{re.escape(str(keys[-1]))})(,|$)", text):
        copy = deepcopy(obj)
        del at(copy, keys[:-1])[keys[-1]]
        yield copy
        return
    supported = SUPPORTED.search(text)
    values = re.findall(r'"([^"]*)"', supported[1]) if supported else []
    if not values and "; use a prefix" not in text:
        values = [make(found[1]) for pattern, make in EXAMPLES if (found := pattern.search(text))][:1]
    for value in values:
        copy = deepcopy(obj)
        parent, key = at(copy, keys[:-1]), keys[-1]
        if key == error.bad_value:
            parent[value] = parent.pop(key)
        elif parent[key] == error.bad_value:
            parent[key] = value
        else:
            return
        yield copy


SECOND = (
    "`selector` does not match template `labels`",
    "a valid label must be",
    "value must be empty when",
    "must populate information for the given metric source",
    "only divisor's values 1m and 1",
    "must be a standard resource type",
)
"""What another field must follow, or what was wrong before and is only looked at now."""


def at(value: Any, keys: list[str | int]) -> Any:
    for key in keys:
        value = value[key] if holds(value, key) else None
    return value


def holds(parent: Any, key: str | int) -> bool:
    return key in parent if isinstance(parent, dict) else isinstance(parent, list) and isinstance(key, int)


def judged(folder: str, case: dict[str, Any]) -> tuple[Any, Errors] | None:
    """What is judged of a case, and what judges it."""
    if folder == "pods":
        return (case["in"], lambda value: validate("PodTemplateSpec", value)) if case["op"] == "podTemplate" else None
    if case["op"] != "create" or "phase" in case or "panic" in case or "decode" in case:
        return None
    obj, wrong = decode_builtin(kind_of(case["in"]), case["in"])
    return None if wrong else (obj, builtin_errors)


@pytest.mark.parametrize("folder", ["objects", "pods"])
def test_advice_that_a_program_follows_ends_the_fault_and_makes_no_other(folder: str) -> None:
    advice, wrong = Counter[str](), []
    for case in cases(folder):
        given = judged(folder, case)
        found = faults_of(given[1](given[0]), Budget()) if given else []
        if given is None or len(found) != 1:
            continue
        ((error, text, _),) = found
        ways = [
            [each for each in given[1](better) if not each.detail.startswith(SECOND)]
            for better in followed(error, text, given[0])
        ]
        if ways:
            advice[text.rpartition("; ")[2]] += 1
            wrong += [f"{case['id']}: {error.field}: {text} → {each}" for each in min(ways, key=len)]
    assert len(advice) > 20
    assert advice.total() > 200
    assert wrong == [], "\n".join(wrong[:20])


LONG = "x" * 200


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1, "Invalid value: 1: odd"),
        (None, "Invalid value: null: odd"),
        (True, "Invalid value: true: odd"),
        ("a", 'Invalid value: "a": odd'),
        ("x" * 60, f'Invalid value: "{"x" * 60}": odd'),
        ("x" * 61, f'Invalid value: "{"x" * 59}…": odd'),
        ({"a": "b"}, 'Invalid value: {"a":"b"}: odd'),
        ({"a": "x" * 52}, f'Invalid value: {{"a":"{"x" * 52}"}}: odd'),
        ({"a": "x" * 53}, "Invalid value: odd"),
        ([1], "Invalid value: odd"),
    ],
)
def test_a_line_has_the_value_if_it_is_short(value: Any, shown: str) -> None:
    (fault,) = faults_of([FieldError("FieldValueInvalid", "a", "odd", value)], Budget())
    assert fault.text == f"{shown}; use another value"
    is_whole = isinstance(value, str | int | None) and len(str(value)) <= 60
    assert fault.bodies == ("" if is_whole else fault.error.body())


@pytest.mark.parametrize("length", [119, 120, 121, 200])
def test_what_is_wrong_is_cut_after_a_hundred_and_twenty_characters(length: int) -> None:
    error = FieldError("FieldValueInvalid", "a", "x" * length, 1)
    words = "x" * length if length <= 120 else "x" * 119 + "…"
    assert faults_of([error], Budget())[0].text == f"Invalid value: 1: {words}; use another value"
    assert advised_warning("a", "x" * length) == words


def test_of_two_lists_of_supported_values_the_shorter_one_counts_and_each_remedy_is_said_once() -> None:
    texts = ('supported values: "a", "b", "c"', 'supported values: "a"')
    for details in (texts, texts[::-1]):
        (fault,) = faults_of([FieldError("FieldValueNotSupported", "a", text, "x") for text in details], Budget())
        assert fault.text == 'Unsupported value: "x": supported values: "a"'
    (fault,) = faults_of([FieldError("FieldValueInvalid", "a", text, "x") for text in ("odd", "odd", "bad")], Budget())
    assert fault.text == 'Invalid value: "x": odd, bad; use another value'


def test_values_of_one_field_are_faults_of_their_own_also_if_python_calls_them_equal() -> None:
    values: list[Any] = [1, True, "1", "2", None, {"a": 1}, 1]
    faults = faults_of([FieldError("FieldValueInvalid", "a", "odd", value) for value in values], Budget())
    assert [fault.error.bad_value for fault in faults] == [1, True, "1", "2", None, {"a": 1}]
    errors = [FieldError(sort, "a", "odd", 1) for sort in ("FieldValueInvalid", "FieldValueForbidden")]
    assert len(faults_of(errors, Budget())) == 2
    assert faults_of([], Budget()) == []


def test_each_error_has_thirty_two_steps() -> None:
    budget = Budget()
    faults_of([FieldError("FieldValueInvalid", "a", text, 1) for text in ("odd", "bad")], budget)
    assert STEPS - budget.left == 64


@pytest.mark.parametrize(
    ("field", "name"), [("", "it"), ("spec.a", "a"), ("spec.a[0]", "a"), ("[0]", "it"), (f"a.{LONG}", "x" * 59 + "…")]
)
def test_a_remedy_names_the_last_name_of_the_path(field: str, name: str) -> None:
    (fault,) = faults_of([FieldError("FieldValueRequired", field, "", "")], Budget())
    assert fault.text == f"Required value; set {name}"


def test_a_definition_has_the_words_of_a_row_where_there_is_one() -> None:
    detail = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-'"
    for before in ("", "spec.a in body "):
        text = shortened(FieldError("FieldValueInvalid", "spec.a", before + detail, "A_"))
        assert text.startswith('Invalid value: "A_": not an RFC 1123 label; use lower-case letters, digits and "-"')
    long = FieldError("FieldValueInvalid", "spec.a", "spec.a in body " + LONG, "x" * 60)
    assert shortened(long) == f'Invalid value: "{"x" * 60}": {"x" * 119}…'
    fits = FieldError("FieldValueInvalid", "a", "x" * (LINE - len('Invalid value: "v": ')), "v")
    assert (len(shortened(fits)), shortened(fits)) == (LINE, fits.body())


def test_equal_values_are_one_whether_or_not_they_are_one_object() -> None:
    for values in (("ab" * 40, "".join(["ab"] * 40)), (10**9, int("1000000000"))):
        errors = [FieldError("FieldValueInvalid", "a", text, value) for text, value in zip("xy", values, strict=True)]
        assert len(faults_of(errors, Budget())) == 1


@pytest.mark.parametrize(
    ("detail", "words"),
    [
        ("requires indexed completion mode", "requires indexed completion mode; set completionMode: Indexed"),
        ("when completion mode is Indexed", "when completion mode is Indexed; set completionMode: Indexed"),
        ("unexpected end of JSON input", "not the JSON that is expected; write valid JSON"),
        ("at most one of a and b", "at most one of a and b; keep one, and remove the other"),
        ("a and b are mutually exclusive", "a and b are mutually exclusive; keep one, and remove the other"),
        ("may not be in the x", "may not be in the x; use an address outside of these ranges"),
    ],
)
def test_the_rows_are_read_with_their_alternatives(detail: str, words: str) -> None:
    remedies._rows.cache_clear()  # another test may have read them
    remedies._advice.cache_clear()
    first, follows = (FieldError("FieldValueInvalid", "a", text, 1) for text in (detail, "invalid label selector"))
    faults = faults_of([first, follows], Budget())
    assert [fault.text for fault in faults] == [f"Invalid value: 1: {words}"]
