import math

import pytest

from tests.cel.calls import call, error
from webhook.cel import types
from webhook.cel.environment import Environment
from webhook.cel.errors import CelError, CompileFailure
from webhook.cel.library.quantity import parse_quantity
from webhook.cel.values.value import NONE, TRUE_KEY, Duration, Timestamp, UInt

NOT_UTF8 = '"invalid UTF-8 in bytes, cannot convert to string"'
PRECISION = "could not parse formatting clause: error while parsing precision"
SYNTAX = "invalid syntax"


@pytest.mark.parametrize(
    ("text", "args", "result"),
    [
        ("%s", ["x"], "x"),
        ("%s", [1.0], "1"),
        ("%s", [1e21], "1e+21"),
        ("%s", [math.inf], "+Inf"),
        ("%s", [None], "null"),
        ("%s", [True], "true"),
        ("%s", [b"abc"], "abc"),
        ("%s", [types.INT], "int"),
        ("%s", [Duration(3600 * 10**9)], "3600s"),
        ("%s", [[1.0, 2.5]], "[1.000000, 2.500000]"),
        ("%s", [[math.inf, None, True, UInt(1)]], '["+Inf", null, true, 1]'),
        ("%s", [[Timestamp(0), Duration(10**9)]], '[timestamp("1970-01-01T00:00:00Z"), duration("1s")]'),
        ("%s", [['a"\n\u00e9\u200b\U000e0001']], '["a\\"\\n\u00e9\\u200b\\U000e0001"]'),
        ("%s", [[b"ab"]], '[b"ab"]'),
        ("%s", [{"b": 1, "a": 2}], '{"a":2, "b":1}'),
        ("%s", [{1: "x", TRUE_KEY: [1.5]}], '{1:"x", true:[1.500000]}'),
        ("%d and %d", [1, UInt(2)], "1 and 2"),
        ("%f", [1234567.891], "1,234,567.891000"),
        ("%.2f", [-1234567.891], "-1,234,567.89"),
        ("%.0f", [2.5], "2"),
        ("%f", [-0.0], "0.000000"),
        ("%.1f", [-0.01], "-0.0"),
        ("%f", [-math.inf], "-\u221e"),
        ("%.3f", ["NaN"], "NaN"),
        ("%e", [1234.5678], "1.234568\u00d710\u2070\u00b3"),
        ("%.2e", [1e-7], "1.000000\u00d710\u207b\u2070\u2077"),  # the precision is taken for a width
        ("%.20e", [1.5], "       1.500000\u00d710\u2070\u2070"),
        ("%e", ["Infinity"], "     \u221e"),
        ("%X", [255], "FF"),
        ("%x", [-255], "-ff"),
        ("%x", ["hi\u00ff"], "6869c3bf"),
        ("%x", [b"hi"], "6869"),
        ("%o", [-8], "-10"),
        ("%b", [5], "101"),
        ("%b", [True], "1"),
        ("100%%", [], "100%"),
    ],
)
def test_formats(text, args, result):
    assert call("format", text, args) == result


@pytest.mark.parametrize(
    ("text", "args", "message"),
    [
        ("%d", [1.0], "error during formatting: decimal clause can only be used on integers, was given double"),
        ("%f", [1], "error during formatting: fixed-point clause can only be used on doubles, was given int"),
        ("%e", ["x"], "error during formatting: scientific clause can only be used on doubles, was given string"),
        ("%b", [1.5], "error during formatting: only integers and bools can be formatted as binary, was given double"),
        ("%o", [True], "error during formatting: octal clause can only be used on integers, was given bool"),
        ("%s", [[NONE]], "error during formatting: no formatting function for optional_type"),
        ("%s", [{1.5: 1}], "error during formatting: no formatting function for map key of type double"),
        ("%s", [b"\xff"], f"error during formatting: could not convert argument {NOT_UTF8} to string"),
        ("%s %s", ["a"], "index 1 out of range"),
        ("%", [], "index 0 out of range"),
        ("%", [1], "unexpected end of string"),
        ("%5d", [1], 'could not parse formatting clause: unrecognized formatting clause "5"'),
        ("%\u00e9", [1], 'could not parse formatting clause: unrecognized formatting clause "\u00c3"'),
        ("%.", [1], f"{PRECISION}: could not find end of precision specifier"),
        ("%.f", [1.0], f'{PRECISION}: error while converting precision to integer: strconv.Atoi: parsing "": {SYNTAX}'),
    ],
)
def test_errors_of_formats(text, args, message):
    assert error("format", text, args) == message


def test_a_value_of_a_library_cannot_be_printed():
    assert error("format", "%s", [parse_quantity("1")]).endswith("was given kubernetes.Quantity")


@pytest.mark.parametrize(
    ("source", "column", "message"),
    [
        (
            "'%d'.format([1.0])",
            13,
            "error during formatting: decimal clause can only be used on integers, was given double",
        ),
        ("'%s %s'.format(['a'])", 14, "index 1 out of range"),
        ("'%'.format([])", 10, "unexpected end of string"),
        ("'%s'.format([1, 2])", 11, "too many arguments supplied to string.format (expected 1, got 2)"),
        ("'%s'.format([[ip('::1')]])", 16, "string clause"),
        ("'%s'.format([{'a': ip('::1')}])", 21, "was given net.IP"),
    ],
)
def test_literal_formats_are_checked_before_they_run(source, column, message):
    with pytest.raises(CompileFailure) as failure:
        Environment((1, 36)).compile(source)
    (issue,) = failure.value.issues
    assert (issue.column, issue.message.endswith(message) or message in issue.message) == (column, True)


@pytest.mark.parametrize("source", ["'%d'.format([dyn(1.0)])", "'%s'.format([x])", "x.format([1.0])"])
def test_what_only_a_run_can_tell_is_left_to_it(source):
    Environment((1, 36), variables={"x": types.STRING}).compile(source)


def test_formats_were_not_checked_before_the_function_came():
    old = Environment((1, 28), stored=False)
    with pytest.raises(CompileFailure, match="undeclared reference to 'format'"):
        old.compile("'%d'.format([1.0])")


def test_a_field_that_holds_null_is_met_and_not_found():
    env = Environment().with_schema(
        "self", {"type": "object", "properties": {"a": {"type": "string", "nullable": True}}}
    )
    program = env.compile("'%s'.format([dyn(self)])")
    assert program.evaluate({"self": {"a": "b"}}) == '{"a":"b"}'
    with pytest.raises(CelError, match='could not find key: "a"'):
        program.evaluate({"self": {"a": None}})
