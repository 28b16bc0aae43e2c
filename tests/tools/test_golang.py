"""Functions are found in Go source whatever its strings and comments hold."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.follow.golang import Function, functions

SOURCE = """\
package x

// func commented() {}
/* func commented() {
*/
var text = `
func raw() {
`
var quoted = "\\"\\nfunc quoted() {"

func plain() {}

func (s *Store[K, V]) method(a, b int) (c struct{ d int }, err error) {
\tif a == '{' || b == '\\'' || s.x == "}" { // }
\t\treturn `}`, nil /* } */
\t}
\treturn
}

func bodyless(a int) int

func (Unnamed) generic[T interface{ ~int }](f func() interface{}) map[string]interface{} {
\treturn func() struct{} { return struct{}{} }()
}

func wrapped(
\ta int,
) error {
\treturn nil
}
var last = 1
"""


def test_functions_and_methods_are_found_with_their_text() -> None:
    found = list(functions(SOURCE))
    assert [each.name for each in found] == ["plain", "Store.method", "Unnamed.generic", "wrapped"]
    for each in found:
        assert each.text.startswith("func ")
        assert each.text.endswith("}")
        assert each.text in SOURCE
    assert found[0].text == "func plain() {}"
    assert found[3].text.count("\n") == 4


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("", []),
        ("func", []),
        ("func f(", []),
        ("func f() {", []),
        ("func f() { `", []),
        ("func f() { /*", []),
        ("func f() { '", []),
        ("func f() {}\nfunc g() {{}", ["f"]),
        ("func f() }{", []),
        ("func f() {}}\nfunc g() {}", ["f", "g"]),
        ('func f() { "unended }\n}\nfunc g() {}', ["f", "g"]),
        ("func f(\nfunc g() {}", []),
        ("func (r\n*T) f() {}", ["T.f"]),
        ("\tfunc indented() {}", ["indented"]),
        ("x.func f() {}", []),
        ("func () f() {}", ["f"]),
        ("func f()\n{}", []),
        ("func ünïcode() {}", ["ünïcode"]),
        ("func f() {\x00}", ["f"]),
        ("func f() {}\r\nfunc g() {\r\n}\r\n", ["f", "g"]),
    ],
)
def test_text_that_is_not_go_gives_what_is_certain(source: str, names: list[str]) -> None:
    assert [each.name for each in functions(source)] == names


@pytest.mark.parametrize(
    "part",
    ["func f(", "func f()\n", "func (", "func f() {", "/*", '"', "'", "`", "func f(\n", "{", "func (a ", "struct {"],
)
def test_a_large_hostile_text_takes_linear_time(part: str) -> None:
    """A quadratic search would take minutes."""
    assert len(list(functions(part * 100_000 + ")" * 100_000))) <= 1


TEXT = st.text("abc{}()\"'`/*\\\n \t[]", max_size=30)


def literal(text: str) -> str:
    return "`" + text.replace("`", "") + "`"


@given(st.lists(st.tuples(st.sampled_from(["literal", "comment", "block"]), TEXT), max_size=6))
def test_strings_and_comments_do_not_move_the_end(parts: list[tuple[str, str]]) -> None:
    lines = {
        "literal": literal,
        "comment": lambda text: "// " + text.replace("\n", ""),
        "block": lambda text: "/*" + re.sub(r"\*+/", "", text).replace("*", "") + "*/",
    }
    inner = "\n".join(lines[sort](text) for sort, text in parts)
    text = f"func f() {{\n{inner}\n\tif a {{ b() }}\n}}"
    assert list(functions(f"package x\n{inner}\n{text}\n{inner}\nfunc g() {{}}\n")) == [
        Function("f", text),
        Function("g", "func g() {}"),
    ]
