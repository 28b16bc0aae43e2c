"""Every sentence and every row of the API documents is answered, and every answer refers to something that exists."""

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.shared import shared
from tests.tools.references import codes, is_fact, is_stated, is_test
from tools.coverage import page, sentences
from tools.coverage.formats import read_document
from tools.coverage.rows import rows
from tools.coverage.seeds import DOCUMENTS, Document, Text
from tools.coverage.sentences import Holds, Sentence, answered, reasons
from webhook import catalog

apis = pytest.mark.parametrize("api", sorted(DOCUMENTS))


def split(*lines: str) -> list[str]:
    texts = [Text(number, "T", line.removeprefix("|"), line.startswith("|")) for number, line in enumerate(lines, 1)]
    return [f"{sentence.line} {sentence.text}" for sentence in sentences.sentences(texts)]


# The documents


@apis
def test_every_sentence_of_a_document_has_an_answer_and_no_other(api: str) -> None:
    found = {sentence.key: sentence.text for sentence in sentences.sentences(read_document(shared("seeds"), api).texts)}
    known = answered(api).sentences
    assert {key: text for key, text in found.items() if key not in known} == {}
    assert sorted(known.keys() - found.keys()) == []
    assert len(found) > 50


@apis
def test_the_definitions_state_what_the_rows_state_or_the_difference_has_an_answer(api: str) -> None:
    differ = {str(row): row for row in page.rows_of(shared("seeds"), api, catalog.load()) if not row.holds}
    known = answered(api).rows
    assert [row for name, row in differ.items() if name not in known] == []
    assert sorted(known.keys() - differ.keys()) == []


# The answers


@apis
def test_what_an_answer_refers_to_exists(api: str) -> None:
    found = answered(api)
    for key, holds in {**found.sentences, **found.rows}.items():
        assert set(holds.codes) <= codes(), key
        assert [each for each in holds.crd if not is_stated(each)] == [], key
        assert [fact for fact in holds.facts if not is_fact(fact)] == [], key
        assert [test for test in holds.tests if not is_test(test)] == [], key
        assert not holds.why_not or holds.why_not in reasons(), key


def test_no_sentence_is_unmapped() -> None:
    found = {f"{api} {key}": holds.by for api in DOCUMENTS for key, holds in answered(api).sentences.items()}
    assert [key for key, by in found.items() if by == "unmapped"] == []


def test_a_row_that_differs_is_never_unmapped() -> None:
    found = {f"{api} {key}": holds.by for api in DOCUMENTS for key, holds in answered(api).rows.items()}
    assert [key for key, by in found.items() if by == "unmapped"] == []


def test_every_reason_is_given_somewhere() -> None:
    found = [answered(api) for api in DOCUMENTS]
    given = {holds.why_not for each in found for part in (each.sentences, each.rows) for holds in part.values()}
    assert given - {""} == reasons().keys()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "rows: {}\nsentences:\n  1 0123456789 T: meaning\n  1 0123456789 T: later\n",
            "answered twice: .*1 0123456789 T",
        ),
        ("rows: {}\nsentences:\n  1 0123456789 T: {code: [LK101]}\n", "1 0123456789 T: 1 validation error"),
    ],
)
def test_invalid_answers_are_refused(text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.yaml").write_text(text)
    monkeypatch.setattr(sentences, "SENTENCES", tmp_path)
    with pytest.raises(ValueError, match=message):
        answered("x")


def test_an_answer_counts_once() -> None:
    assert Holds(codes=("LK101",), crd=("Model.spec enum",)).by == "codes"
    assert Holds(tests=("x",)).by == "facts and tests"
    assert Holds.model_validate({"not": "later"}).by == "reason"
    assert Holds(says="nothing yet").by == "unmapped"


# Sentences


def test_lines_are_joined_and_split_into_sentences() -> None:
    assert split("One sentence", "on two lines. Another, e.g. This one!", "|an item") == [
        "1 One sentence on two lines.",
        "2 Another, e.g. This one!",
        "3 an item",
    ]


def test_a_line_without_a_stop_ends_before_a_capital_unless_it_goes_on() -> None:
    assert split("A name", "Defaults to the", "Kind, via", "Gateway API") == [
        "1 A name",
        "2 Defaults to the Kind, via Gateway API",
    ]


def test_the_key_of_a_sentence_changes_with_line_text_and_place() -> None:
    keys = {
        Sentence(*parts).key for parts in [(1, "T", "a"), (2, "T", "a"), (1, "T.f", "a"), (1, "T", "b"), (1, "T", "a")]
    }
    assert len(keys) == 4


# Formats


HTML = """\
---
title: x
---
## `Kind`     {#x}
<p>A type. It has fields.</p>
<table class="table">
<tbody><tr><td><code>apiVersion</code><br/>string</td><td><code>g/v1</code></td></tr>
<tr><td><code>name</code> <B>[Required]</B><br/>
<code>[]string</code>
</td>
<td>
   <p>Names are &lt;unique&gt;:</p>
<ul>
<li>first</li>
<li>second</li>
</ul>
</td>
</tr>
</tbody>
</table>
"""

MARKDOWN = """\
#### Kind

A type.

| Field | Description | Default | Validation |
| --- | --- | --- | --- |
| `apiVersion` _string_ | `g/v1` | | |
| `name` _string array_ | Names are \\{unique\\}.<br />  - first | a | MinLength: 1 <br />Pattern: `^\\d+$` <br />Required: \\{\\} <br /> |
"""  # noqa: E501  (one line of the document)

PASTED = """\
AIMKind
A type.
| Field | Description | Default | Validation |
|---|---|---|---|
apiVersion string |
aim.silogen.ai/v1alpha1 |
||
name string array |
Names are unique.Example: a- latency: fast |
a | MinLength: 1 Pattern: ^(a\\|b)$ |
AIMEnum
Underlying type: string
Validation: - Enum: [One Two]
| Field | Description |
|---|---|
One |
The first. |
"""

JSON = """\
{
  "description": "A type.",
  "properties": {
    "spec": {
      "description": "Its fields.",
      "properties": {
        "name": {
          "default": "a",
          "description": "Names are unique.\\nAnd short.",
          "type": ["string", "null"]
        }
      },
      "required": [
        "name"
      ],
      "type": "object"
    }
  },
  "type": "object"
}"""


def read(api: str, text: str, tmp_path: Path) -> Document:
    (tmp_path / f"{DOCUMENTS[api]['number']}_x.txt").write_text(text)
    return read_document(tmp_path, api)


def shown(document: Document) -> list[str]:
    texts = [f"{sentence.line} {sentence.place}: {sentence.text}" for sentence in sentences.sentences(document.texts)]
    found = [
        f"{row.line} {name}.{key} {row.many or 'one'} {row.type} {row.stated}"
        for name, kind in document.types.items()
        for key, row in kind.fields.items()
    ]
    return [*texts, *found]


def test_html_is_read(tmp_path: Path) -> None:
    assert shown(read("ome", HTML, tmp_path)) == [
        "5 Kind: A type.",
        "5 Kind: It has fields.",
        "12 Kind.name: Names are <unique>:",
        "14 Kind.name: first",
        "15 Kind.name: second",
        "7 Kind.apiVersion one string {'value': 'g/v1'}",
        "8 Kind.name list string {'required': True}",
    ]


def test_markdown_is_read(tmp_path: Path) -> None:
    assert shown(read("llmd", MARKDOWN, tmp_path)) == [
        "3 Kind: A type.",
        "8 Kind.name: Names are {unique}.",
        "8 Kind.name: - first",
        "7 Kind.apiVersion one string {'value': 'g/v1'}",
        "8 Kind.name list string {'default': 'a', 'minLength': 1, 'pattern': '^\\\\d+$', 'required': True}",
    ]


def test_pasted_markdown_is_read(tmp_path: Path) -> None:
    document = read("aim", PASTED, tmp_path)
    assert shown(document) == [
        "2 AIMKind: A type.",
        "9 AIMKind.name: Names are unique.",
        "9 AIMKind.name: Example: a",
        "9 AIMKind.name: - latency: fast",
        "17 AIMEnum=One: The first.",
        "5 AIMKind.apiVersion one string {'value': 'aim.silogen.ai/v1alpha1'}",
        "8 AIMKind.name list string {'default': 'a', 'minLength': 1, 'pattern': '^(a|b)$'}",
    ]
    assert document.types["AIMEnum"].stated == {"type": "string", "enum": ["One", "Two"], "values": ["One"]}


def test_a_json_schema_is_read(tmp_path: Path) -> None:
    assert shown(read("llmkube", JSON, tmp_path)) == [
        "2 Model: A type.",
        "5 Model.spec: Its fields.",
        "9 Model.spec.name: Names are unique.",
        "9 Model.spec.name: And short.",
        "5 Model.spec one Model.spec {}",
        "9 Model.spec.name one string {'default': 'a', 'required': True}",
    ]


# Rows


@pytest.mark.parametrize(
    ("schema", "differ"),
    [
        pytest.param(lambda _: None, [], id="the same"),
        pytest.param(lambda name: name.pop("default"), ["Model.spec.name default"], id="no default"),
        pytest.param(lambda name: name.update(type="integer"), ["Model.spec.name type"], id="another type"),
        pytest.param(
            lambda name: name.clear(),
            ["Model.spec.name default", "Model.spec.name type"],
            id="a field without a schema",
        ),
    ],
)
def test_rows_that_differ_are_found(
    schema: Callable[[dict[str, str]], None], differ: list[str], tmp_path: Path
) -> None:
    definition = yaml.safe_load(JSON)
    name = definition["properties"]["spec"]["properties"]["name"]
    name["type"] = "string"
    schema(name)
    found = rows(read("llmkube", JSON, tmp_path), "g/v1", "Model", definition)
    assert sorted(str(row) for row in found if not row.holds) == differ
