import pytest

from tests.cel.calls import call, error
from webhook.cel.environment import Environment
from webhook.cel.errors import CelError
from webhook.golang import regexp


@pytest.mark.parametrize(
    ("function", "args", "result"),
    [
        ("matches", ("abc", "b"), True),
        ("matches", ("a\nb", "(?m)^a$"), True),
        ("matches", ("a\n", "^a$"), False),
        ("matches", ("\u00fc", r"^\w$"), False),
        ("matches", ("\u00fc", r"^\p{L}$"), True),
        ("find", ("abc 123 def 456", "[0-9]+"), "123"),
        ("find", ("abc", "[0-9]+"), ""),
        ("find", ("x\u00fc1", "\u00fc."), "\u00fc1"),
        ("findAll", ("abc 123 def 456", "[0-9]+"), ["123", "456"]),
        ("findAll", ("abc 123 def 456", "[0-9]+", 1), ["123"]),
        ("findAll", ("abc 123 def 456", "[0-9]+", 0), []),
        ("findAll", ("baaau", "a*"), ["", "aaa", ""]),  # no empty match next to the one before it
        ("findAll", ("\u00fc\u00fc", ""), ["", "", ""]),
        ("findAll", ("abab", "(a)(b)"), ["ab", "ab"]),
    ],
)
def test_regular_expressions(function, args, result):
    assert call(function, *args) == result


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("(a", "error parsing regexp: missing closing ): `(a`"),
        ("a**", "error parsing regexp: invalid nested repetition operator: `**`"),
        ("[a", "error parsing regexp: missing closing ]: `[a`"),
        (r"(a)\1", r"error parsing regexp: invalid escape sequence: `\1`"),
        (r"a\C", r"error parsing regexp: invalid escape sequence: `\C`"),
        ("(?=a)", "error parsing regexp: invalid or unsupported Perl syntax: `(?=`"),
        ("x{2,1}", "error parsing regexp: invalid repeat count: `{2,1}`"),
    ],
)
def test_patterns_that_are_none(pattern, message):
    assert error("matches", "a", pattern) == message
    assert error("find", "a", pattern) == f"Illegal regex: {message}"


def test_a_pattern_built_to_backtrack_is_harmless():
    assert call("matches", "a" * 200_000 + "!", "^(a|aa)+$") is False
    assert call("findAll", "a" * 10_000, "(a*)*b") == []


def test_bad_patterns_print_nothing(capfd):
    error("matches", "a", "(")
    assert capfd.readouterr().err == ""


def test_without_the_bare_handle_the_public_one_does(monkeypatch):
    monkeypatch.setattr(regexp, "_fast", lambda _handle: None)
    regexp.compiled.cache_clear()
    try:
        assert call("findAll", "\u00fc12 3", "[0-9]+") == ["12", "3"]
        assert call("matches", "abc", "^b") is False
    finally:
        regexp.compiled.cache_clear()


def test_arguments_of_other_types():
    assert error("matches", 1, "a") == "no such overload: matches"
    assert error("matches", "a", 1) == "no such overload"
    assert error("find", "a", 1) == "no such overload: find(string, int)"


@pytest.mark.parametrize(
    "source", ["dyn('a').findAll(dyn([1.5]), 1)", "dyn('a').find(dyn(1))", "'a'.matches(dyn(null))"]
)
def test_a_constant_that_is_no_pattern_is_an_error_when_it_runs(source):
    with pytest.raises(CelError, match="no such overload"):
        Environment((1, 36)).compile(source).evaluate({})
