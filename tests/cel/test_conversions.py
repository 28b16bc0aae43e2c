import math

import pytest

from tests.cel.calls import call, error
from webhook.cel.values.value import Duration, Timestamp, UInt


@pytest.mark.parametrize(
    ("function", "value", "result"),
    [
        ("int", "12", 12),
        ("int", "+5", 5),
        ("int", 1.9, 1),
        ("int", -1.9, -1),
        ("int", UInt(7), 7),
        ("int", Timestamp(1_577_836_800 * 10**9 + 5), 1_577_836_800),
        ("int", Duration(5), 5),
        ("uint", "7", UInt(7)),
        ("uint", 7, UInt(7)),
        ("double", "1.5", 1.5),
        ("double", "0x1p-2", 0.25),
        ("double", "inf", math.inf),
        ("double", 3, 3.0),
        ("bool", "t", True),
        ("bool", "False", False),
        ("bytes", "ü", b"\xc3\xbc"),
        ("string", b"\xc3\xbc", "ü"),
        ("string", 1.0, "1"),
        ("string", 1e20, "1e+20"),
        ("string", 1e-7, "1e-07"),
        ("string", 123456789.0, "1.23456789e+08"),
        ("string", True, "true"),
        ("string", UInt(2**64 - 1), "18446744073709551615"),
        ("string", Duration(3_601_500_000_000), "3601.5s"),
        ("string", Timestamp(500_000_000, 3600), "1970-01-01T01:00:00.5+01:00"),
        ("timestamp", 0, Timestamp(0)),
        ("duration", "1h30m", Duration(5_400 * 10**9)),
        ("dyn", 1, 1),
    ],
)
def test_conversions(function, value, result):
    got = call(function, value)
    assert got == result
    assert type(got) is type(result)


@pytest.mark.parametrize(
    ("function", "value", "message"),
    [
        ("int", "1.0", "type conversion error from 'string' to 'int'"),
        ("int", "9223372036854775808", "type conversion error from 'string' to 'int'"),
        ("int", "9" * 5_000, "type conversion error from 'string' to 'int'"),
        ("int", "\uff11", "type conversion error from 'string' to 'int'"),
        ("int", 1e19, "integer overflow"),
        ("int", -(2.0**63), "integer overflow"),
        ("int", math.nan, "integer overflow"),
        ("int", UInt(2**63), "integer overflow"),
        ("uint", -1, "unsigned integer overflow"),
        ("uint", "+1", "type conversion error from 'string' to 'uint'"),
        ("uint", -0.5, "unsigned integer overflow"),
        ("double", "1e400", "type conversion error from 'string' to 'double'"),
        ("bool", "yes", "type conversion error from 'string' to 'bool'"),
        ("string", b"\xff", "invalid UTF-8 in bytes, cannot convert to string"),
        ("string", [1], "no such overload: string(list)"),
        ("string", None, "no such overload: string(null_type)"),
        ("timestamp", "2020-01-01", 'invalid RFC 3339 timestamp "2020-01-01"'),
        ("timestamp", 253_402_300_800, "timestamp overflow"),
        ("duration", "1d", "type conversion error from 'string' to 'google.protobuf.Duration'"),
    ],
)
def test_errors_of_conversions(function, value, message):
    assert error(function, value) == message


def test_type_tells_the_type():
    assert call("_==_", call("type", [1]), call("type", ["a"]))
    assert not call("_==_", call("type", 1), call("type", UInt(1)))
