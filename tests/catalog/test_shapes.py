"""The file of a kind's definitions in all releases: what it holds, and what is said of a line that is not a form."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.admission import patch
from webhook.admission.errors import CatalogError
from webhook.catalog.shapes import forms
from webhook.schema.compare import joined

FIRST = {"since": "1.0", "definition": {"spec": {"versions": [{"name": "v1"}]}}}
SECOND = {"since": "1.2", "patch": [{"op": "add", "path": "/spec/versions/0/served", "value": True}]}
THIRD = {"since": "head", "patch": [{"op": "remove", "path": "/spec/versions/0/served"}]}


def content(*lines: Any) -> bytes:
    return "".join(f"{each if isinstance(each, str) else json.dumps(each)}\n" for each in lines).encode()


def test_each_form_is_that_before_it_with_a_patch() -> None:
    bare, served = {"spec": {"versions": [{"name": "v1"}]}}, {"spec": {"versions": [{"name": "v1", "served": True}]}}
    assert list(forms(content(FIRST, SECOND, THIRD), "w.jsonl")) == [("1.0", bare), ("1.2", served), ("head", bare)]
    assert list(forms(b"", "w.jsonl")) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda of: st.lists(of, max_size=4) | st.dictionaries(st.text(), of, max_size=4),
    max_leaves=20,
)


@given(st.lists(st.dictionaries(st.text(), JSON, max_size=4), min_size=1, max_size=4))
def test_any_definitions_are_read_as_they_were_written(definitions: list[dict[str, Any]]) -> None:
    lines: list[Any] = [{"since": "1", "definition": definitions[0]}]
    for at, (before, after) in enumerate(pairwise(definitions), 2):
        lines.append({"since": str(at), "patch": patch.diff(before, after)})
    found = [definition for _, definition in forms(content(*lines), "w.jsonl")]
    assert [json.dumps(each, sort_keys=True) for each in found] == [
        json.dumps(each, sort_keys=True) for each in definitions
    ]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["{"], "w.jsonl:1: JSONDecodeError: "),
        ([[]], "w.jsonl:1: TypeError: "),
        (["null"], "w.jsonl:1: TypeError: "),
        ([{"since": "1.0"}], "w.jsonl:1: KeyError: 'definition'"),
        ([{**FIRST, "definition": []}], "w.jsonl:1: TypeError: "),
        ([SECOND], "w.jsonl:1: KeyError: 'definition'"),
        ([{**FIRST, "since": "newest"}], 'ValueError: "newest" is not a release; write it as 0.9.8, or head'),
        ([{**FIRST, "since": 7}], "w.jsonl:1: AttributeError: "),
        ([FIRST, {**SECOND, "since": "1.0"}], "w.jsonl:2: ValueError: 1.0 must come after the"),
        ([FIRST, FIRST], "w.jsonl:2: KeyError: 'patch'"),
        ([FIRST, {**SECOND, "patch": {}}, {**THIRD, "patch": 3}], "w.jsonl:3: TypeError: "),
        ([FIRST, {**SECOND, "patch": [{"op": "remove", "path": "/x"}]}], "w.jsonl:2: PatchError: "),
        ([FIRST, {**SECOND, "patch": [{"op": "copy", "path": "/x"}]}], "copy is not one of add, remove, replace"),
        ([FIRST, {**SECOND, "patch": [{"op": "replace", "path": "", "value": 1}]}], "w.jsonl:2: TypeError: "),
    ],
)  # fmt: skip
def test_a_line_that_is_not_a_form_is_named(lines: list[Any], message: str) -> None:
    with pytest.raises(CatalogError) as caught:
        list(forms(content(*lines), "w.jsonl"))
    assert message in str(caught.value).replace("not a form of a definition: ", "")


def spec(**fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields}


def test_two_schemas_are_joined_to_the_fields_of_both_with_what_ours_states() -> None:
    ours, theirs = spec(a={"type": "string", "maxLength": 3}), spec(a={"type": "string"}, b={"type": "integer"})
    assert joined(ours, theirs) == spec(a={"type": "string", "maxLength": 3}, b={"type": "integer"})
    lists = [{"type": "array", "items": each} for each in (ours, theirs)]
    assert joined(*lists) == {"type": "array", "items": joined(ours, theirs)}
    assert joined(ours, {"type": "object"}) == joined(ours, {"type": "object", "properties": {}}) == ours
