"""Manifests are read as kubectl reads them, and every refusal names its line."""

from pathlib import Path
from typing import Any

import pytest

from webhook.admission.errors import DocumentError
from webhook.manifests import documents


def only(text: str) -> dict[str, Any]:
    (document,) = documents.parse(text, "file.yaml")
    return document.value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", True),
        ("Off", False),
        ("y", True),
        ("2020-01-01", "2020-01-01"),
        ("1:30", "1:30"),
        ("1e3", 1000),
        ("2.0", 2),
        ("2.5", 2.5),
        (".5", 0.5),
        ("014", 12),
        ("0o14", 12),
        ("-0x1F", -31),
        ("1_000", 1000),
        ("1_000.5", 1000.5),
        ("+_7", 7),
        ("0X1f", 31),
        ("0o", "0o"),
        ("0x_", "0x_"),
        ("-0b_", "-0b_"),
        ("=", "="),
        ("<<", "<<"),
        ("0", 0),
        ("~", None),
        ("08", 8),
        ('"yes"', "yes"),
        ("4Gi", "4Gi"),
        ("1e400", "1e400"),
        ("-1_0e400", "-1_0e400"),
        ("!foo 1", "1"),
        ("!!set {b}", {"b": None}),
        ("!!map [1]", [1]),
        ("!!str [1]", [1]),
        ("!!seq b", "b"),
        ("!!binary aGk=", "hi"),
        ("!!python/object:os.system {}", {}),
    ],
)
def test_scalars_are_those_of_gos_yaml(text: str, value: Any) -> None:
    found = only(f"a: {text}")["a"]
    assert (found, type(found)) == (value, type(value))


def test_keys_become_text() -> None:
    found = only("1: a\ntrue: b\n2020-01-01: c\n1e3: d\n.5: e")
    assert found == {"1": "a", "true": "b", "2020-01-01": "c", "1000": "d", "0.5": "e"}


def test_lists_are_taken_apart_and_empty_documents_left_out() -> None:
    found = documents.parse("---\n---\nkind: List\nitems:\n- {a: 1}\n- {a: 2}\n---\na: 3\n", "x")
    assert [item.value for item in found] == [{"a": 1}, {"a": 2}, {"a": 3}]
    assert [item.line for item in found] == [5, 6, 8]


def test_json_is_read_as_json() -> None:
    assert only('{"a": 1e3, "b": "\\u00e9"}') == {"a": 1000, "b": "é"}
    assert only(r'{"a": 1e3, "b": "x\ud800", "\udc00": "\ud83d\ude00"}') == {"a": 1000, "b": "x\ufffd", "\ufffd": "😀"}


def test_what_can_be_read_is_read_beside_what_cannot(tmp_path: Path) -> None:
    file = tmp_path / "f.yaml"
    file.write_text("a: .inf\n---\nb: 2\n---\nc: [\n--- # again\nd: 4\n---\n- 5\n---\ne: 6\n")
    found = documents.scan_file(file)
    assert [(each.line, each.value) for each in found.documents] == [(3, {"b": 2}), (7, {"d": 4}), (11, {"e": 6})]
    assert [problem.source for problem in found.problems] == [f"{file}:1", f"{file}:6"]
    assert [problem.source for problem in found.others] == [f"{file}:9"]


def test_a_file_of_nothing_but_faults_is_given_up() -> None:
    with pytest.raises(DocumentError) as caught:
        documents.parse("a: [\n---\n" * 10_000, "f")
    assert len(caught.value.problems) == 20


def test_every_value_knows_its_line() -> None:
    (document,) = documents.parse("a:\n  b:\n  - x\n  - y: 1\n", "x")
    assert document.line_of("a", "b", 1, "y") == 4
    assert document.line_of("a", "missing", "deeper") == 1


def test_the_field_of_an_error_has_a_line() -> None:
    (document,) = documents.parse("metadata:\n  labels:\n    a.b/c: x\n    5: y\nspec:\n- x\n- y:\n    z: 1\n", "x")
    fields = ("spec[1].true.z", "metadata.labels[a.b/c]", "metadata.labels[5]", "metadata.labels.other", "")
    assert [document.line_at(field) for field in fields] == [8, 3, 4, 2, 1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\na: 2", 'f:2: duplicate key "a"'),
        ("a: &x [*x]", "f:1: anchor 'x' value contains itself"),
        ("a: .nan", "f:1: .nan is not a JSON number"),
        ("a: -.inf", "f:1: -.inf is not a JSON number"),
        ("- 1", "f:1: expected an object, got list"),
        ("a: [", "f:2: while parsing a flow node: did not find expected node content"),
        ("a:\n  !!int b", "f:2: cannot decode !!str `b` as a !!int"),
        ("a: !!float b", "f:1: cannot decode !!str `b` as a !!float"),
        ("a: !!bool maybe", "f:1: cannot decode !!str `maybe` as a !!bool"),
        ("a: !!null b", "f:1: cannot decode !!str `b` as a !!null"),
        ("a: !!binary '@'", "f:1: !!binary value contains invalid base64 data"),
        ('{"a": 1e400}', "f:1: 1e400 is not a JSON number: it is out of range"),
        (r'a: "\ud800"', "f:1: while parsing a quoted scalar: found invalid Unicode character escape code"),
        ("{[1]: 2}", "f:1: invalid map key: a key must be text, not a list"),
        ("~: 2", "f:1: a key must be text"),
    ],
)
def test_an_invalid_manifest_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(DocumentError) as caught:
        documents.parse(text, "f")
    assert str(caught.value).startswith(message)


def test_an_alias_bomb_is_refused_unexpanded() -> None:
    rows = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    rows += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    with pytest.raises(DocumentError, match="f:4: document contains excessive aliasing: kubectl refuses it"):
        documents.parse("\n".join(rows), "f")


def test_a_file_that_cannot_be_read_is_a_document_error(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="No such file"):
        documents.read(tmp_path / "none.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"a: \xff")
    with pytest.raises(DocumentError, match="not UTF-8"):
        documents.read(tmp_path / "latin.yaml")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[" * 100_000, 1),
        ("- " * 100_000 + "x", 1),
        ("".join(f"{' ' * depth}a:\n" for depth in range(1001)), 1001),
        ('{"a":' * 1500 + "1" + "}" * 1500, 1),
    ],
    ids=["flow", "block", "mappings", "json"],
)
def test_a_document_that_is_nested_too_deeply_is_refused_before_it_is_composed(text: str, line: int) -> None:
    """By recursive C, which would overflow the stack of the process."""
    with pytest.raises(DocumentError, match=f"x.yaml:{line}: nested more than 1000 levels deep"):
        documents.parse(text, "x.yaml")


def test_json_with_a_key_twice_is_refused_with_its_line() -> None:
    text = '{"kind": "A",\n "metadata": {"name": "x",\n "name": "y"}}'
    with pytest.raises(DocumentError, match=r'x.json:3: duplicate key "name"'):
        documents.parse(text, "x.json")
