"""Messages of protobuf that an expression makes. Values, types and errors are those of the oracle (``mode: expr``)."""

from typing import Any

import pytest

from webhook.cel import CelError, CompileFailure, Environment
from webhook.cel.values.value import Duration, Timestamp

VALUES = [
    ("google.protobuf.Duration{seconds: 1}", Duration(1_000_000_000)),
    (".google.protobuf.Duration{seconds: 1, nanos: -5}", Duration(999_999_995)),
    ("google.protobuf.Duration{}", Duration(0)),
    ("google.protobuf.Duration{seconds: 9223372036854775807}", Duration(2**63 - 1)),
    ("google.protobuf.Duration{?seconds: optional.none()}", Duration(0)),
    ("google.protobuf.Timestamp{seconds: 1}", Timestamp(1_000_000_000)),
    ("google.protobuf.Timestamp{seconds: 1} + duration('1s')", Timestamp(2_000_000_000)),
    ("google.protobuf.Int32Value{value: 1} + 1", 2),
    ("google.protobuf.BoolValue{} == false", True),
    ("google.protobuf.FloatValue{value: 1.1}", 1.100000023841858),
    ("google.protobuf.FloatValue{value: 1e300}", float("inf")),
    ("google.protobuf.StringValue{value: google.protobuf.StringValue{value: 'x'}}", "x"),
    ("google.protobuf.Struct{fields: {'a': 1}}.a", 1.0),
    ("google.protobuf.Struct{fields: {'a': 9007199254740993}}.a", "9007199254740993"),
    ("google.protobuf.Value{number_value: 1.0, string_value: 'a'}", "a"),
    ("google.protobuf.Value{null_value: 5}", None),
    ("google.protobuf.ListValue{values: [1, 2]}", [1.0, 2.0]),
    ("google.protobuf.Empty{} == google.protobuf.Empty{}", True),
]

FAULTS = [
    ("google.protobuf.Int32Value{value: 3000000000}", "google.protobuf.Int32Value.value value type: integer overflow"),
    ("google.protobuf.UInt32Value{value: 5000000000u}", "UInt32Value.value value type: unsigned integer overflow"),
    ("google.protobuf.Duration{seconds: dyn('a')}", "unsupported native conversion from string to 'int64'"),
    ("google.protobuf.Int32Value{value: dyn(null)}", "type conversion error from 'null_type' to 'int32'"),
    ("google.protobuf.StringValue{value: dyn(1)}", "unsupported type conversion from 'int' to string"),
    ("google.protobuf.Struct{fields: dyn(1)}", "unsupported field type for google.protobuf.Struct.fields: int"),
    ("google.protobuf.Any{}", "unsupported conversion to ref.Val"),
]

REFUSED = [
    ("google.protobuf.Duration{minutes: 1}", "undefined field 'minutes'"),
    (
        "google.protobuf.Duration{seconds: '1'}",
        "expected type of field 'seconds' is 'int' but provided type is 'string'",
    ),
    ("google.protobuf.Nope{}", "undeclared reference to 'google.protobuf.Nope' (in container '')"),
    ("google.protobuf.Duration{seconds: 1}.seconds", "type 'duration' does not support field selection"),
    ("int{}", "'int' is not a message type"),
]


def value(expression: str) -> Any:
    environment = Environment()
    return environment.program(environment.check(expression)).evaluate({})


@pytest.mark.parametrize(("expression", "wanted"), VALUES)
def test_a_message_is_its_value(expression: str, wanted: Any) -> None:
    assert value(expression) == wanted


def test_a_struct_holds_what_json_can() -> None:
    fields = "{'d': dyn(duration('1.5s')), 'f': dyn(b'ab'), 'h': dyn([1u]), 'n': dyn(null)}"
    made = value(f"google.protobuf.Struct{{fields: {fields}}}")
    assert made == {"d": "1.5s", "f": "YWI=", "h": [1.0], "n": None}


@pytest.mark.parametrize(("expression", "text"), FAULTS)
def test_a_value_that_does_not_fit_is_an_error_of_the_evaluation(expression: str, text: str) -> None:
    with pytest.raises(CelError) as caught:
        value(expression)
    assert text in str(caught.value)


@pytest.mark.parametrize(("expression", "text"), REFUSED)
def test_an_unknown_message_or_field_does_not_compile(expression: str, text: str) -> None:
    with pytest.raises(CompileFailure) as caught:
        value(expression)
    assert [issue.message for issue in caught.value.issues] == [text]


@pytest.mark.parametrize("seconds", [2**63 - 1, -(2**63)])
def test_a_time_beyond_all_calendars_is_an_error_and_quick(seconds: int) -> None:
    with pytest.raises(CelError, match="timestamp overflow"):
        value(f"google.protobuf.Timestamp{{seconds: {seconds}}}")
