"""The grammar, its limits, and its error messages."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, is_dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.cel.errors import ParseFailure
from webhook.cel.syntax import parser
from webhook.cel.syntax.ast import Call, Comprehension, Const, Select, StructExpr
from webhook.cel.syntax.macros import STANDARD, macros
from webhook.cel.syntax.parser import Dialect, parse
from webhook.cel.values.value import UInt


def issues(source):
    """What is wrong with a source text, nothing if it is an expression."""
    try:
        parse(source)
    except ParseFailure as failure:
        return failure.issues
    return ()


def shape(node):
    """The tree in prefix notation: operators and functions as cel-go names them, literals as Python prints them."""
    if isinstance(node, tuple):
        return " ".join(map(shape, node))
    if isinstance(node, Call):
        target = "" if node.target is None else f"{shape(node.target)}."
        return f"{target}{node.function}({', '.join(map(shape, node.args))})"
    if isinstance(node, Const):
        return repr(node.value)
    if isinstance(node, Select):
        text = f"{shape(node.operand)}.{node.field}"
        return f"has({text})" if node.test_only else text
    if is_dataclass(node):
        inner = [shape(getattr(node, field.name)) for field in fields(node) if field.name != "pos"]
        return f"{type(node).__name__}[{', '.join(inner)}]"
    return str(node)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("1 + 2 * 3 - 4", "_-_(_+_(1, _*_(2, 3)), 4)"),
        ("1 - -2", "_-_(1, -2)"),
        ("-x.y", "-_(Ident[x].y)"),
        ("--x", "Ident[x]"),
        ("!!!x", "!_(Ident[x])"),
        ("!-1", "!_(-1)"),
        ("!!-1", "-1"),
        ("---5", "-5"),
        ("-(-5)", "-_(-5)"),
        ("a || b && c", "_||_(Ident[a], _&&_(Ident[b], Ident[c]))"),
        ("a && b && c && d", "_&&_(_&&_(Ident[a], Ident[b]), _&&_(Ident[c], Ident[d]))"),
        ("a ? b : c ? d : e", "_?_:_(Ident[a], Ident[b], _?_:_(Ident[c], Ident[d], Ident[e]))"),
        ("a < b == c", "_==_(_<_(Ident[a], Ident[b]), Ident[c])"),
        ("a in b", "@in(Ident[a], Ident[b])"),
        ("a.inner.index(in1)", "Ident[a].inner.index(Ident[in1])"),
        ("1.charAt(0)", "1.charAt(0)"),
        ("24.indexOf('x')", "24.indexOf('x')"),
        ("a.?b.?c", "_?._(_?._(Ident[a], 'b'), 'c')"),
        ("a[?0]", "_[?_](Ident[a], 0)"),
        ("[a, ?b,]", "ListExpr[Ident[a] Ident[b], frozenset({1})]"),
        ("[,]", "ListExpr[, frozenset()]"),
        ("{'a': 1, ?'b': c}", "MapExpr[MapEntry['a', 1, False] MapEntry['b', Ident[c], True]]"),
        ("A.b{c: 1, ?d: e}", "StructExpr[A.b, MapEntry[c, 1, False] MapEntry[d, Ident[e], True]]"),
        ("a.`b-c`", "Ident[a].b-c"),
        (".a.b(.c())", "Ident[.a].b(.c())"),
        ("a ? .5 : .b", "_?_:_(Ident[a], 0.5, Ident[.b])"),
        ("a // comment\n + b", "_+_(Ident[a], Ident[b])"),
        ("has(a.b)", "has(Ident[a].b)"),
        ("self.namespace.if", "Ident[self].namespace.if"),
    ],
)
def test_a_source_becomes_its_tree(source, expected):
    assert shape(parse(source)) == expected


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("-9223372036854775808", -(2**63)),
        ("0x1F", 31),
        ("18446744073709551615u", UInt(2**64 - 1)),
        ("0xFFu", UInt(255)),
        ("1.5e3", 1500.0),
        (".5", 0.5),
        ("1e-2", 0.01),
        (r"'a\n\t\x41\u00e9\101\?\`'", "a\n\tA\u00e9A?`"),
        (r"r'a\n'", r"a\n"),
        (r'"a\"b\'c\\"', "a\"b'c\\"),
        (r"'a\"b\'c\\'", "a\"b'c\\"),
        (r'"""a\"""b"""', 'a"""b'),
        (r"'''a\'''b'''", "a'''b"),
        (r'r"a\"', "a\\"),
        (r'b"\""', b'"'),
        ("'''a\r\nb'c'''", "a\nb'c"),
        ('"""a"b"""', 'a"b'),
        ("''", ""),
        (r"b'\xff\303\251é'", b"\xff\xc3\xa9\xc3\xa9"),
        (r"br'\x'", b"\\x"),
        ("true", True),
        ("null", None),
    ],
)
def test_a_literal_becomes_its_value(source, value):
    found = parse(source)
    assert isinstance(found, Const)
    assert found.value == value
    assert type(found.value) is type(value)


@pytest.mark.parametrize(
    ("source", "macro"),
    [
        ("l.all(x, x > 1)", "all"),
        ("l.exists(x, x > 1)", "exists"),
        ("l.exists_one(x, x > 1)", "exists_one"),
        ("l.existsOne(i, x, x > i)", "exists_one"),
        ("l.map(x, x > 1, x)", "map"),
        ("l.filter(x, x > 1)", "filter"),
        ("l.transformList(i, x, x)", "transformList"),
        ("m.transformMap(k, v, v)", "transformMap"),
        ("m.transformMapEntry(k, v, {v: k})", "transformMapEntry"),
        ("l.sortBy(x, x.name)", "sortBy"),
    ],
)
def test_a_macro_becomes_a_comprehension(source, macro):
    found = parse(source)
    assert isinstance(found, Comprehension)
    assert found.macro == macro
    assert found.pos == source.index("(")


def test_a_macro_of_a_later_version_is_a_call():
    found = parse("l.transformList(i, x, x)", Dialect(macros(STANDARD)))
    assert isinstance(found, Call)
    assert found.function == "transformList"


@pytest.mark.parametrize(
    ("source", "column", "syntax"), [("a.?b", 1, ".?"), ("a[?0]", 1, "[?"), ("[?a]", 1, "?"), ("{?'a': a}", 1, "?")]
)
def test_optionals_are_a_dialect(source, column, syntax):
    with pytest.raises(ParseFailure) as caught:
        parse(source, Dialect(macros(STANDARD), optional_syntax=False))
    assert [(issue.column, issue.message) for issue in caught.value.issues] == [
        (column, f"unsupported syntax '{syntax}'")
    ]


def test_quoted_fields_are_a_dialect():
    with pytest.raises(ParseFailure, match="unsupported syntax: '`'"):
        parse("a.`b`", Dialect(macros(STANDARD), quoted_fields=False))


def test_reports_every_macro_and_literal_that_is_wrong():
    assert [issue.message for issue in issues("has(a) || a.all(1, if) || 1e999 > 0")] == [
        "invalid argument to has() macro",
        "argument must be a simple name",
        "reserved identifier: if",
        "invalid double literal",
    ]


def test_positions_are_those_of_operators():
    found = parse("ab + cd.ef")
    assert (found.pos, [arg.pos for arg in found.args]) == (3, [0, 7])
    assert isinstance(parse("  A.b{}"), StructExpr)
    assert parse("  A.b{}").pos == 5


@pytest.mark.parametrize("name", ["if", "if.x", ".else", "A.while"])
def test_a_type_may_have_a_reserved_name(name):
    assert parse(f"{name}{{}}").name == name
    with pytest.raises(ParseFailure, match="reserved identifier: for"):
        parse(f"{name}{{a: for}}")


OPERAND = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("1 +", f"1:4: Syntax error: mismatched input '<EOF>' expecting {OPERAND}\n | 1 +\n | ...^"),
        ("1 ++ 2", f"1:4: Syntax error: extraneous input '+' expecting {OPERAND}\n | 1 ++ 2\n | ...^"),
        ("(1", "1:3: Syntax error: missing ')' at '<EOF>'\n | (1\n | ..^"),
        ("[1", "1:3: Syntax error: mismatched input '<EOF>' expecting {']', ','}\n | [1\n | ..^"),
        ("a\n b", "2:2: Syntax error: extraneous input 'b' expecting <EOF>\n |  b\n | .^"),
        ("a.true", "1:3: Syntax error: mismatched input 'true' expecting IDENTIFIER\n | a.true\n | ..^"),
        ("!-a", "1:3: Syntax error: no viable alternative at input '-a'\n | !-a\n | ..^"),
        ("é == 1", "1:1: Syntax error: token recognition error at: 'é'\n | é == 1\n | \uff3e"),
        ("if", "1:1: reserved identifier: if\n | if\n | ^"),
        ("9223372036854775808", "1:1: invalid int literal\n | 9223372036854775808\n | ^"),
        ("1e999", "1:1: invalid double literal\n | 1e999\n | ^"),
        (r"'\ud800'", "1:1: invalid unicode code point\n | '\\ud800'\n | ^"),
        ("has(a)", "1:5: invalid argument to has() macro\n | has(a)\n | ....^"),
        ("a.all(1, true)", "1:7: argument must be a simple name\n | a.all(1, true)\n | ......^"),
        ("a.all(i, i, true)", "1:10: duplicate variable name: i\n | a.all(i, i, true)\n | .........^"),
        ("(a.b){}", "1:6: Syntax error: mismatched input '{' expecting <EOF>\n | (a.b){}\n | .....^"),
    ],
)
def test_says_what_is_wrong_and_where(source, expected):
    with pytest.raises(ParseFailure) as caught:
        parse(source)
    assert str(caught.value).startswith(f"ERROR: <input>:{expected}")


def test_the_first_syntax_error_is_the_only_one():
    with pytest.raises(ParseFailure) as caught:
        parse("a = 'b")
    assert [(issue.column, issue.message[:41]) for issue in caught.value.issues] == [
        (2, "Syntax error: token recognition error at:"),
    ]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("(" * 250 + "1" + ")" * 250, "expression recursion limit exceeded: 250"),
        ("[" * 251 + "]" * 251, "expression recursion limit exceeded: 250"),
        ("1-(" * 125 + "1" + ")" * 125, "expression recursion limit exceeded: 250"),
        ("1" + "+1" * 251, "max recursion depth exceeded"),
        ("a" + ".b" * 251, "max recursion depth exceeded"),
        ("x" * 100_001, "expression code point size exceeds limit: size: 100001, limit 100000"),
        ("a" + ".optMap(x, x)" * 20, "expression count exceeds limit of 100000 while expanding macro 'optMap'"),
    ],
)
def test_has_the_limits_of_cel_go(source, message):
    with pytest.raises(ParseFailure) as caught:
        parse(source)
    assert caught.value.issues[0].message == message


@pytest.mark.parametrize(
    "source",
    [
        "(" * 249 + "1" + ")" * 249,
        "1-(" * 124 + "1" + ")" * 124,
        "1" + "+1" * 250,
        "a" + ".b" * 250,
        "&&".join("a" * 9_999),
    ],
)
def test_takes_what_is_within_the_limits(source):
    assert parse(source)


@pytest.mark.parametrize(
    "source",
    [
        "(" * 10_000,
        "(" * 10_000 + ")" * 10_000,
        "[" * 50_000,
        "-" * 50_000,
        "'" * 50_000,
        "!" * 50_000 + "a",
        "a." * 50_000,
    ],
)
def test_no_nesting_is_too_deep_to_be_refused(source):
    assert all(issue.message for issue in issues(source))


@given(st.text(max_size=200))
def test_any_text_is_an_expression_or_a_failure(source):
    assert all(issue.display(source).startswith("ERROR: <input>:") for issue in issues(source))


TOKENS = st.sampled_from(
    [
        "a",
        "1",
        "'s'",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ".",
        ",",
        ":",
        "?",
        "-",
        "!",
        "+",
        "==",
        "&&",
        "in",
        "x.all(y, ",
        "has(",
    ]
)


@given(st.lists(TOKENS, max_size=30).map(" ".join))
def test_any_tokens_are_an_expression_or_a_failure(source):
    assert all(issue.line == 1 for issue in issues(source))


def test_the_saved_tables_are_those_of_the_grammar():
    assert parser.fresh(), "run: python -m webhook.cel.syntax.parser"


def test_without_saved_tables_the_grammar_is_built(monkeypatch, tmp_path):
    monkeypatch.setattr(parser, "TABLES", tmp_path / "absent")
    built = parser.parser.__wrapped__()
    assert shape(built.parse("1 + 2").expr) == "_+_(1, 2)"


def test_many_threads_may_parse_at_once():
    sources = [f"a.map(x, x + {number}).all(y, y == '{number}')" for number in range(200)]
    expected = [shape(parse(source)) for source in sources]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda source: shape(parse(source)), sources * 4)) == expected * 4


@pytest.mark.parametrize(("source", "column"), [("in", 1), ("in in in", 1), ("1 + in", 5), ("!in", 2), ("in && a", 1)])
def test_an_in_without_an_operand_before_it_is_named_as_in_cel_go(source: str, column: int) -> None:
    (issue,) = issues(source)
    assert issue.column + 1 == column
    assert "mismatched input" in issue.message or "extraneous input" in issue.message


@pytest.mark.parametrize("source", ["[in]", "f(in)", "in [1]", "1 in in 2"])
def test_an_in_that_is_left_out_is_one_error(source: str) -> None:
    assert len(issues(source)) == 1
