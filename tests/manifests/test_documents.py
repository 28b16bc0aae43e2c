"""Manifests are read as kubectl reads them, and every refusal names its line."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
        ("a: !!binary é", "f:1: !!binary value contains invalid base64 data"),
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


def read(text: str) -> tuple[list[tuple[int, dict[str, Any]]], list[str]]:
    scan = documents.scan_text(text, "f")
    return [(each.line, each.value) for each in scan.documents], [str(each) for each in scan.faults]


@pytest.mark.parametrize("line", ["--- {a: 1}", "--- !!map", "----", "---a", "--- |"])
def test_a_separator_with_content_is_refused_with_what_follows(line: str) -> None:
    found, faults = read(f"a: 0\n{line}\nb: 1\n--- # c\nc: 2\n")
    assert found == [(1, {"a": 0}), (5, {"c": 2})]
    assert faults == [f"f:2: kubectl refuses the separator: only a comment may be behind ---, not {line[3:].strip()!r}"]


def test_a_directive_is_refused() -> None:
    found, (fault,) = read("%YAML 1.1\n---\na: 1\n")
    assert found == [(3, {"a": 1})]
    assert fault.startswith("f:2: did not find expected <document start>")


@pytest.mark.parametrize("separator", ["---", "---  # c", "---# c", "---\u00a0", "---\v", "---\r"])
def test_a_separator_may_have_spaces_and_a_comment(separator: str) -> None:
    assert read(f"a: 1\n{separator}\nb: 2\n{separator}\n\ufeffc: 3") == (
        [(1, {"a": 1}), (3, {"b": 2}), (5, {"c": 3})],
        [],
    )


def test_an_anchor_is_one_of_its_document() -> None:
    found, faults = read("a: &x 1\n---\nb: *x\n---\nc: &x 3\nd: *x\n")
    assert found == [(1, {"a": 1}), (5, {"c": 3, "d": 3})]
    assert faults == ["f:3: unknown anchor 'x' referenced"]


LIST = "apiVersion: e/v1\nkind: ThingList\nitems:\n"


@pytest.mark.parametrize(
    ("text", "objects", "fault"),
    [
        (LIST + "- {a: 1}", [(4, {"apiVersion": "e/v1", "kind": "Thing", "a": 1})], ""),
        (LIST + "- {kind: '', a: 1}", [(4, {"apiVersion": "e/v1", "kind": "Thing", "a": 1})], ""),
        (LIST + "- {kind: Other}\n- {apiVersion: f}", [(4, {"kind": "Other"}), (5, {"apiVersion": "f"})], ""),
        (LIST, [], ""),
        (LIST + "  []", [], ""),
        (LIST + "  {a: 1}", [], "f:1: items: kubectl reads every object with items as a list: expected a list"),
        (
            LIST + "- 1\n- {a: 1}",
            [(5, {"apiVersion": "e/v1", "kind": "Thing", "a": 1})],
            "f:4: expected an object, got int",
        ),
        (LIST + "- {kind: List, items: []}", [], "f:4: kubectl refuses a list in a list"),
        (LIST.replace("ThingList", "Thing") + "- {kind: A}", [(4, {"kind": "A"})], ""),
        ("items:\n- {a: 1}", [(1, {"items": [{"a": 1}]})], ""),
        ("kind: Thing\nitems: 1", [(1, {"kind": "Thing", "items": 1})], ""),
        (
            '{"apiVersion": "e/v1", "kind": "ThingList", "items": [\n {"a": "\\ud83d\\ude00"},\n\n {"b": 2}]}',
            [
                (2, {"apiVersion": "e/v1", "kind": "Thing", "a": "😀"}),
                (4, {"apiVersion": "e/v1", "kind": "Thing", "b": 2}),
            ],
            "",
        ),
    ],
)
def test_an_object_with_items_is_a_list(text: str, objects: list[Any], fault: str) -> None:
    assert read(text) == (objects, [fault] if fault else [])


@pytest.mark.parametrize(
    ("text", "objects", "faults"),
    [
        ('{"a": 1}{"b": 2}\n{"c": 3}', [(1, {"a": 1}), (1, {"b": 2}), (2, {"c": 3})], []),
        ('{"a": 1}\nnull\n{"b": 2}', [(1, {"a": 1}), (3, {"b": 2})], []),
        ('{"a": 1}\n---\nb: 2\n', [(1, {"a": 1}), (3, {"b": 2})], []),
        ('{"a": 1}\nb: 2\n', [(1, {"a": 1}), (2, {"b": 2})], []),
        ("{a: 1}\n---\n{b: 2}", [(1, {"a": 1}), (3, {"b": 2})], []),
        ("\n {a: yes,\n}", [(2, {"a": True})], []),
        ('{"a": 1}\n{"b": 2}\n{"c": \n{"d": 4}', [(1, {"a": 1}), (2, {"b": 2}), (4, {"d": 4})], ["f:3: not JSON"]),
        ('{"a": 1}\n{"a": 1, \n"a": 2}\n{"b": 3}', [(1, {"a": 1}), (4, {"b": 3})], ['f:3: duplicate key "a"']),
        ('{"a": 1}\n{"b": 1e999}', [(1, {"a": 1})], ["f:2: 1e999 is not a JSON number"]),
        ('{"a": ' + "9" * 5000 + "}", [], ["f:1: 9999999999999999999999999999999999999999 is not a JSON number"]),
        ('{"a": [1e3, 18446744073709551616, 0.5]}', [(1, {"a": [1000, 1.8446744073709552e19, 0.5]})], []),
        ('{"a": 1e999"b"}', [(1, {"a": '1e999"b"'})], []),
        ('{"a": 1e999}{"b": 1}', [(1, {"b": 1})], ["f:1: 1e999 is not a JSON number"]),
        ('{"a": NaN}', [(1, {"a": "NaN"})], []),
        (" " * 4096 + '{"a": "\\ud83d\\ude00"}', [], ["f:1: while parsing a quoted scalar"]),
    ],
)
def test_what_begins_with_a_brace_is_json_until_it_is_not(text: str, objects: list[Any], faults: list[str]) -> None:
    found, said = read(text)
    assert found == objects
    assert len(said) == len(faults)
    assert all(each.startswith(fault) for each, fault in zip(said, faults, strict=True))


def test_json_knows_its_places() -> None:
    text = '{"a": 1}  {"b\\ud83d\\ude00": "\\ud83d\\ude00",\n\t"c": {"d":\u2028"\u0085\u007f"}, "e": []}'
    found = documents.parse(text.replace(":\u2028", ": "), "f")
    places = [(place.line, place.column, place.end) for place in map(found[1].place, ("", "c", "c.d", "e"))]
    assert places == [(1, 11, 12), (2, 2, 5), (2, 8, 11), (2, 20, 23)]


def test_text_that_is_not_utf_8_is_refused_at_its_line() -> None:
    (problem,) = documents.decode(b"a: 1\nb: \xe9\n", "f").problems
    said = "f:2: cannot be read: not UTF-8 text: kubectl replaces such bytes without a word: save it as UTF-8"
    assert str(problem) == said


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: 1\nb: {{ .Values.b }}\n", 2),
        ('a: 1\n{{- if .x }}\nb: 2\n{{- end }}\n---\nc: {{ include "c" . }}\n', 2),
        ("a: '{{ .b }}'\n---\nc: {{ $d }}", 3),
    ],
)
def test_a_template_is_named_once(text: str, line: int) -> None:
    _, faults = read(text)
    assert faults == [f"f:{line}: looks like a Helm template: pipe `helm template` into `modelgate check -`"]


@pytest.mark.parametrize(
    "text", ["a: '{{ .b }}'\nc: [\n", "a: |\n  {{ .b }}\nc: 1\nd: 2\ne: 3\nc: 1\n", "a: 1\n# {{ .b }}\nc: [\n"]
)
def test_braces_that_are_text_are_not_the_fault(text: str) -> None:
    _, (fault,) = read(text)
    assert "Helm" not in fault


PARTS = [
    *(
        "---\n",
        "...\n",
        "{",
        "}",
        "[",
        "]",
        "&x ",
        "*x",
        "<<: *x\n",
        ": ",
        "\n- ",
        "\n",
        "\r\n",
        "'",
        '"',
        "# ",
        "!",
        "%",
    ),
    *(
        "\u2028",
        "\ufeff",
        "items:\n",
        '{"a": 1}',
        "|\n ",
        ">\n ",
        "\\ud800",
        "? ",
        "1e999",
        "null",
        "kind: List\n",
        "\t",
    ),
    *("a", "b: 1\n", "  c: yes\n", "!!binary ", "!!int ", "{{ .x }}", "é", "2001-12-14", "<<", ",", '"a":', "0x_"),
]


@given(st.lists(st.sampled_from(PARTS), max_size=30).map("".join))
def test_any_text_is_read_or_refused_with_its_line(text: str) -> None:
    scan = documents.decode(text.encode(), "f")
    assert all(each.source.startswith("f:") for each in scan.faults)
    for document in scan.documents:
        assert document.place("a.b").line >= 1
        assert all(each.place.line >= 1 for each in document.remarks)
