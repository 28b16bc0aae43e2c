"""Validation of values, in the API server's words: one table of schema, value and errors."""

from __future__ import annotations

import pytest

from webhook.schema import Structural
from webhook.schema.formats import FORMATS

MAPS = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["k"],
    "items": {"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "integer"}}},
}
SETS = {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "integer"}}
INT_OR_STRING = {"x-kubernetes-int-or-string": True}


def in_body(path, text):
    return f"{path} in body {text}"


CASES = {
    "wrong type": (
        {"type": "integer"},
        "a",
        ['a: Invalid value: "string": a in body must be of type integer: "string"'],
    ),
    "a whole float is an integer": ({"type": "integer"}, 1.0, []),
    "a float is not an integer": (
        {"type": "integer"},
        1.5,
        [
            'a: Invalid value: "number": a in body must be of type integer: "number"',
            '<nil>: Invalid value: "": Checked value must be of type integer (default format) in a',
        ],
    ),
    "int-or-string takes a whole float": (INT_OR_STRING, 1.0, []),
    "int-or-string refuses a fraction": (
        INT_OR_STRING,
        1.5,
        ['a: Invalid value: "number": a in body must be of type integer,string: "number"'],
    ),
    "int32 is a range": (
        {"type": "integer", "format": "int32"},
        2**31,
        ['<nil>: Invalid value: "": Checked value must be of type integer with format int32 in a'],
    ),
    "enum": (
        {"type": "string", "enum": ["x", "y"]},
        "z",
        ['a: Unsupported value: "z": supported values: "x", "y"'],
    ),
    "enum never matches null": (
        {"type": "string", "enum": ["x", None], "nullable": True},
        None,
        ['a: Unsupported value: null: supported values: "x", "null"'],
    ),
    "an integer is a character to Go": (INT_OR_STRING | {"enum": ["A"]}, 65, []),
    "maxLength counts code points and says bytes": (
        {"type": "string", "maxLength": 1},
        "éé",
        ["a: Too long: may not be more than 1 byte"],
    ),
    "one emoji is one code point": ({"type": "string", "maxLength": 1}, "😀", []),
    "minLength": (
        {"type": "string", "minLength": 2},
        "x",
        ['a: Invalid value: "x": a in body should be at least 2 chars long'],
    ),
    "pattern is searched": ({"type": "string", "pattern": "b"}, "abc", []),
    "dollar is the end of the text only": (
        {"type": "string", "pattern": "^[a-z]+$"},
        "abc\n",
        ["a: Invalid value: \"abc\\n\": a in body should match '^[a-z]+$'"],
    ),
    "digits are ASCII": (
        {"type": "string", "pattern": r"^\d$"},
        "٣",
        ["a: Invalid value: \"٣\": a in body should match '^\\d$'"],
    ),
    "multipleOf a fraction, of an integer": (
        {"type": "number", "multipleOf": 0.1},
        1,
        ["a: Invalid value: 0: factor MultipleOf declared for a must be positive: 0"],
    ),
    "minimum": (
        {"type": "integer", "minimum": 2},
        1,
        ["a: Invalid value: 1: a in body should be greater than or equal to 2"],
    ),
    "exclusive maximum": (
        {"type": "number", "maximum": 2, "exclusiveMaximum": True},
        2.0,
        ["a: Invalid value: 2: a in body should be less than 2"],
    ),
    "floats print as Go prints them": (
        {"type": "number", "maximum": 2},
        12345678.0,
        ["a: Invalid value: 1.2345678e+07: a in body should be less than or equal to 2"],
    ),
    "maxItems": (
        {"type": "array", "items": {"type": "integer"}, "maxItems": 1},
        [1, 2],
        ["a: Too many: 2: must have at most 1 item"],
    ),
    "null in a list": (
        {"type": "array", "items": {"type": "integer"}},
        [None],
        ['a[0]: Invalid value: "null": a[0] in body must be of type integer: "null"'],
    ),
    "required": (
        {"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]},
        {},
        ["a.b: Required value"],
    ),
    "maxProperties": (
        {"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 1},
        {"x": "1", "y": "2"},
        ["a: Too many: 2: must have at most 1 item"],
    ),
    "an unknown format is ignored": ({"type": "string", "format": "int32"}, "x", []),
    "a format is a type error": (
        {"type": "string", "format": "ipv4"},
        "x",
        ['a: Invalid value: "x": a in body must be of type ipv4: "x"'],
    ),
    "anyOf names the best branch": (
        {"type": "string", "anyOf": [{"minLength": 3}, {"maxLength": 1}]},
        "xx",
        [
            '<nil>: Invalid value: "": "a" must validate at least one schema (anyOf)',
            'a: Invalid value: "xx": a in body should be at least 3 chars long',
        ],
    ),
    "oneOf finds two": (
        {"type": "string", "oneOf": [{"minLength": 1}, {"maxLength": 3}]},
        "x",
        ['<nil>: Invalid value: "": "a" must validate one and only one schema (oneOf). Found 2 valid alternatives'],
    ),
    "allOf": (
        {"type": "string", "allOf": [{"minLength": 1}, {"maxLength": 0}]},
        "x",
        [
            "a: Too long: may not be more than 0 bytes",
            '<nil>: Invalid value: "": "a" must validate all the schemas (allOf)',
        ],
    ),
    "not": (
        {"type": "string", "not": {"enum": ["x"]}},
        "x",
        ['<nil>: Invalid value: "": "a" must not validate the schema (not)'],
    ),
    "a set tells 1 from 1.0": (SETS | {"items": {"type": "number"}}, [1, 1.0], []),
    "a set reports each repeated value once": (SETS, [1, 2, 1, 1], ["a[2]: Duplicate value: 1"]),
    "a map list reports its keys": (
        MAPS,
        [{"k": "x", "v": 1}, {"k": "x", "v": 2}],
        ['a[1]: Duplicate value: {"k":"x"}'],
    ),
    "a missing key is not the empty one": (MAPS, [{}, {"k": ""}], []),
    "two missing keys are the same": (MAPS, [{}, {}], ["a[1]: Duplicate value: {}"]),
    "the order of keys does not matter": (
        {
            "type": "array",
            "x-kubernetes-list-type": "set",
            "items": {
                "type": "object",
                "x-kubernetes-map-type": "atomic",
                "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}},
            },
        },
        [{"x": 1, "y": 2}, {"y": 2, "x": 1}],
        ['a[1]: Duplicate value: {"x":1,"y":2}'],
    ),
}


def structural(node):
    return Structural({"type": "object", "properties": {"a": node}})


@pytest.mark.parametrize(("node", "value", "wanted"), CASES.values(), ids=CASES)
def test_errors_are_those_of_the_api_server(node, value, wanted):
    errors = structural(node).check({"a": value}).errors
    assert sorted(map(str, errors)) == sorted(wanted)


def test_an_embedded_resource_needs_a_version_and_a_kind():
    pod = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
    errors = structural(pod).check({"a": {"kind": "a b", "metadata": {"labels": {"#": "x"}}}}).errors
    assert [(error.type, error.field) for error in errors] == [
        ("FieldValueRequired", "a.apiVersion"),
        ("FieldValueInvalid", "a.kind"),
        ("FieldValueInvalid", "a.metadata.labels"),
    ]


def test_errors_are_values():
    (error,) = structural({"type": "integer", "minimum": 2}).check({"a": 1}).errors
    assert (error.type, error.field, error.bad_value) == ("FieldValueInvalid", "a", 1)
    assert error.detail == in_body("a", "should be greater than or equal to 2")
    assert error.body() == f"Invalid value: 1: {error.detail}"


@pytest.mark.parametrize(
    ("name", "accepted", "refused"),
    [
        ("uri", ["/a/b", "*", "http://h", "mailto:x", "//a b:c"], ["a", "", "http://[::1"]),
        ("email", ["a@b.c", "Foo <a@b.c>", 'A. "q" b <a@b>'], ["a", "@b", "Foo a@b.c", "Foo<a"]),
        ("hostname", ["a", "a.bc"], ["a.b", "xn--abc", ""]),
        ("ipv4", ["1.2.3.4", "01.2.3.4", "::ffff:1.2.3.4"], ["1.2.3", "::1"]),
        ("cidr", ["1.2.3.4/8", "01.2.3.4/8"], ["1.2.3.4", "1.2.3.4/33"]),
        ("duration", ["1h", "2 days", "1.5s", "10000000h 1s"], ["1", "x", "9223372036854775808 feet, 2 days"]),
        ("uuid", ["3F2504E0-4F89-11D3-9A0C-0305E82C3301", "3f2504e04f8911d39a0c0305e82c3301"], ["3f25"]),
        ("date-time", ["2020-01-01T00:00:00Z"], ["2020-01-01", "2020-01-01T24:00:00Z"]),
        ("k8s-short-name", ["a-b"], ["a.b", "A"]),
    ],
)
def test_formats_have_the_quirks_of_the_api_server(name, accepted, refused):
    schema = structural({"type": "string", "format": name})
    assert [text for text in accepted if schema.check({"a": text}).errors] == []
    assert [text for text in refused if not schema.check({"a": text}).errors] == []


@pytest.mark.parametrize("name", FORMATS)
def test_formats_refuse_long_texts_without_backtracking(name):
    for part in ("a", "1", "0", ".", ":", "%41", " ", '"', "a@", "a.", "1h", "1.", "\u00e9", "(", "-", "="):
        FORMATS[name](part * 20_000 + "<")


def test_a_format_newer_than_the_version_is_ignored():
    older = Structural(
        {"type": "object", "properties": {"a": {"type": "string", "format": "k8s-short-name"}}}, version=(1, 33)
    )
    assert older.check({"a": "A.B"}).errors == []


def test_at_most_a_thousand_errors_of_one_list_or_map_are_reported() -> None:
    numbers = {"type": "array", "items": {"type": "integer"}}
    texts = {"type": "object", "additionalProperties": {"type": "string"}}
    unique = {"type": "array", "items": {"type": "integer"}, "x-kubernetes-list-type": "set"}
    schema = Structural({"type": "object", "properties": {"numbers": numbers, "texts": texts, "unique": unique}})
    for part in (
        {"numbers": ["x"] * 5000},
        {"texts": {str(n): n for n in range(5000)}},
        {"unique": [*range(2500)] * 2},
    ):
        assert len(schema.check(part).errors) == 1000
