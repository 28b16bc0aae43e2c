import pytest

from tests.cel.calls import call, error
from webhook.cel.errors import BudgetExceeded


@pytest.mark.parametrize(
    ("function", "args", "result"),
    [
        ("charAt", ("hello", 1), "e"),
        ("charAt", ("hello", 5), ""),
        ("charAt", ("a👑b", 1), "👑"),
        ("indexOf", ("hello", "l"), 2),
        ("indexOf", ("hello", "l", 3), 3),
        ("indexOf", ("hello", "z"), -1),
        ("indexOf", ("hello", "l", 99), -1),
        ("indexOf", ("abc", "", 9), 3),
        ("lastIndexOf", ("hello", "l"), 3),
        ("lastIndexOf", ("hello", "l", 2), 2),
        ("lastIndexOf", ("abc", "b", 9), -1),
        ("lastIndexOf", ("", "a"), -1),
        ("lastIndexOf", ("abc", ""), 3),
        ("lowerAscii", ("HeLLo Ü",), "hello Ü"),
        ("upperAscii", ("straße",), "STRAßE"),
        ("replace", ("hello", "l", "L"), "heLLo"),
        ("replace", ("hello", "l", "L", 1), "heLlo"),
        ("replace", ("hello", "l", "L", 0), "hello"),
        ("replace", ("abc", "", "x"), "xaxbxcx"),
        ("replace", ("", "", "x", 1), "x"),
        ("split", ("a,b,,c", ","), ["a", "b", "", "c"]),
        ("split", ("a,b,,c", ",", 2), ["a", "b,,c"]),
        ("split", ("a,b", ",", 0), []),
        ("split", ("a,b", ",", -1), ["a", "b"]),
        ("split", ("", ","), [""]),
        ("split", ("", ""), []),
        ("split", ("abc", "", 2), ["a", "bc"]),
        ("substring", ("hello", 5), ""),
        ("substring", ("hello", 1, 3), "el"),
        ("trim", ("\u00a0\u2003x\u200b\t",), "x\u200b"),
        ("trim", ("\x1fx\x1f",), "\x1fx\x1f"),
        ("join", (["a", "b"],), "ab"),
        ("join", (["a", "b"], "-"), "a-b"),
        ("join", ([], "-"), ""),
        ("strings.quote", ('a"\n\\\x01',), '"a\\"\\n\\\\\x01"'),
        ("contains", ("abc", ""), True),
        ("startsWith", ("abc", "ab"), True),
        ("endsWith", ("abc", "b"), False),
    ],
)
def test_strings(function, args, result):
    assert call(function, *args) == result


@pytest.mark.parametrize(
    ("function", "args", "message"),
    [
        ("charAt", ("a", -1), "index out of range: -1"),
        ("charAt", ("a", 2), "index out of range: 2"),
        ("indexOf", ("a", "a", -1), "index out of range: -1"),
        ("lastIndexOf", ("a", "a", -1), "index out of range: -1"),
        ("substring", ("hello", 6), "index out of range: 6"),
        ("substring", ("hello", -1, 3), "index out of range: -1"),
        ("substring", ("hello", 1, 9), "index out of range: 9"),
        ("substring", ("hello", 3, 1), "invalid substring range. start: 3, end: 1"),
        ("substring", (1, 1), "no such overload: substring(int, int)"),
        ("join", ([1],), "no such overload: join(list)"),
        ("join", (["a", True],), "join: invalid input: true"),
        ("contains", ("a", 1), "no such overload"),
        ("startsWith", (1, "a"), "no such overload"),
        ("format", ("x", 1), "no such overload: format(string, int)"),
    ],
)
def test_errors_of_strings(function, args, message):
    assert error(function, *args) == message


def test_a_replacement_ends_before_memory_does():
    with pytest.raises(BudgetExceeded):
        call("replace", "a" * 10_000, "a", "b" * 10_000)
    with pytest.raises(BudgetExceeded):
        call("join", ["a"] * 10_000, "b" * 10_000)
