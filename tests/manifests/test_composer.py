"""YAML is composed as kubectl's go-yaml does: merges by position, anchors, keys, limits, and places."""

import tracemalloc
from typing import Any

import pytest

from webhook.manifests import documents
from webhook.manifests.composer import YamlError, compose


def value(text: str) -> Any:
    composed = compose(text)
    assert composed is not None
    return composed.value


@pytest.mark.parametrize(
    ("text", "merged"),
    [
        ("{<<: *x}", {"p": 1, "q": 2}),
        ("{<<: *x, p: 3}", {"p": 3, "q": 2}),
        ("{p: 3, <<: *x}", {"p": 1, "q": 2}),
        ("{p: 3, <<: *x, q: 4}", {"p": 1, "q": 4}),
        ("{<<: *x, <<: *y}", {"p": 5, "q": 2}),
        ("{<<: [*x, *y]}", {"p": 1, "q": 2}),
        ("{<<: [*y, *x], r: 1}", {"p": 5, "q": 2, "r": 1}),
        ("{<<: [{p: 7}, *x]}", {"p": 7, "q": 2}),
        ("{<<: {p: 7}, q: 1}", {"p": 7, "q": 1}),
        ("{<<: []}", {}),
        ('{"<<": *x}', {"<<": {"p": 1, "q": 2}}),
        ("{!!str <<: 1}", {"<<": 1}),
        ("{!!merge <<: *x}", {"p": 1, "q": 2}),
        ("{<<: *x, 1: a, on: b}", {"p": 1, "q": 2, "1": "a", "true": "b"}),
    ],
)
def test_what_stands_later_wins_in_a_mapping_that_merges(text: str, merged: Any) -> None:
    assert value(f"x: &x {{p: 1, q: 2}}\ny: &y {{p: 5}}\nz: {text}\n")["z"] == merged


def test_an_anchor_can_be_set_again() -> None:
    assert value("a: &x 1\nb: *x\nc: &x {d: &x 2, e: *x}\nf: *x\n") == {"a": 1, "b": 1, "c": {"d": 2, "e": 2}, "f": 2}
    assert value("a: &x [&x k, *x]\nb: {*x : 1}\n") == {"a": ["k", "k"], "b": {"k": 1}}


def test_what_an_alias_stands_for_is_in_one_place_only() -> None:
    found = value("a: &x {b: [1]}\nc: *x\nd: {<<: *x}\n")
    assert found == {"a": {"b": [1]}, "c": {"b": [1]}, "d": {"b": [1]}}
    assert len({id(found[key]["b"]) for key in "acd"}) == 3


@pytest.mark.parametrize(
    ("text", "path", "read"),
    [
        ("a: {b: 1, <<: {b: 2}, b: 3}", ("a", "b"), {"a": {"b": 3}}),
        ("- 1: a\n  '1': b", (0, "1"), [{"1": "b"}]),
        ("yes: a\ntrue: b", ("true",), {"true": "b"}),
    ],
)
def test_a_key_twice_is_told_and_the_last_one_counts(text: str, path: tuple[str | int, ...], read: object) -> None:
    composed = compose(text)
    assert composed is not None
    (repeat,) = composed.repeats
    said = f'duplicate key "{path[-1]}": kubectl takes the last one, kustomize refuses the file'
    assert (composed.value, repeat.path, repeat.message) == (read, path, said)


def test_keys_of_which_all_are_written_twice_are_told_as_far_as_anyone_reads() -> None:
    composed = compose("a: 1\n" * 5000)
    assert composed is not None
    assert (composed.value, len(composed.repeats)) == ({"a": 1}, 20)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: *x", "unknown anchor 'x' referenced"),
        ("a: &x {b: {c: *x}}", "anchor 'x' value contains itself"),
        ("a: &x\n  <<: *x", "anchor 'x' value contains itself"),
        ("<<: 1", "map merge requires map or sequence of maps as the value"),
        ("<<: [{a: 1}, 2]", "map merge requires map or sequence of maps as the value"),
        ("a: &x [{b: 1}]\n<<: *x", "map merge requires map or sequence of maps as the value"),
        ("a: &x [{b: 1}]\n<<: [*x]", "map merge requires map or sequence of maps as the value"),
        ("{a: b}: 1", "invalid map key: a key must be text, not an object"),
        ("18446744073709551615: 1", "a key must be text, not 18446744073709551615"),
        ("a: &x .inf\nb: {*x : 1}", ".inf is not a JSON number"),
        ("a: 1\n...\nb: 2", 'kubectl reads nothing from here to the next line "---": begin the next document with it'),
        ("a: 1\n...\n}", 'kubectl reads nothing from here to the next line "---": begin the next document with it'),
        ("a: 1\r---\rb: 2", 'kubectl reads nothing from here to the next line "---": begin the next document with it'),
    ],
)
def test_what_kubectl_refuses_or_leaves_out_is_refused(text: str, message: str) -> None:
    with pytest.raises(YamlError) as caught:
        compose(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("1e6", "1e+06"),
        ("100000.0", "100000"),
        ("123456789.0", "1.2345679e+08"),
        ("0.1", "0.1"),
        ("1e300", ".inf"),
        ("-.inf", "-.inf"),
        (".nan", ".nan"),
        ("0x10", "16"),
        ("-0b11", "-3"),
        ("9223372036854775807", "9223372036854775807"),
        ("18446744073709551616", "1.8446744e+19"),
        ("2001-12-14", "2001-12-14"),
        ("!!binary YQ==", "a"),
        ("&k k", "k"),
    ],
)
def test_a_key_is_the_text_that_go_makes_of_it(written: str, key: str) -> None:
    assert value(f"{written}: v") == {key: "v"}


def bombs() -> dict[str, str]:
    rows = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9))
    merges = "".join(f"b{n}: &b{n}\n  <<: [*b{n - 1}, *b{n - 1}]\n" for n in range(1, 28))
    deep = "".join(f"c{n}: &c{n} [*c{n - 1}]\n" for n in range(1, 1200))
    return {
        "lists": f"a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n{rows}",
        "merges": f"b0: &b0 {{a: 1}}\n{merges}",
        "texts": f"s: &s '{'x' * 1_000_000}'\n" + "".join(f"k{n}: *s\n" for n in range(2000)),
        "texts of texts": f"s: &s {'x' * 10_000}\nt: &t [{'*s, ' * 90}]\nu: [{'*t, ' * 90}]\n",
        "depth": f"c0: &c0 [1]\n{deep}",
        "keys": f"a: &a {{{', '.join(f'k{n}: v' for n in range(100))}}}\nb:\n" + "- *a\n" * 14_000,
        "flat": "a: [" + "b," * 2_000_001 + "]\n",
    }


@pytest.mark.parametrize("name", bombs())
def test_a_bomb_is_refused_before_it_takes_memory(name: str) -> None:
    """Bytes and depth are bounded, not only values: 1 MB of text under 2,000 aliases would be 2 GB as JSON."""
    text = bombs()[name]
    tracemalloc.start()
    try:
        with pytest.raises(YamlError):
            compose(text)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100 << 20


def test_a_text_takes_little_more_memory_than_itself() -> None:
    """PyYAML's nodes and marks took 211 bytes for each byte of such a list."""
    text = f"a: [{'b,' * 200_000}b]\n"
    tracemalloc.start()
    composed = compose(text)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert composed is not None
    assert peak < 40 * len(text)


PLACES = """\
base: &base
  name: a
  list: &list [1, 2]
first:
  <<: *base
  name: b
second: {list: *list, "k": {}}
third:
- *base
- - x
  - |
    y
"""


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("base", (1, 1, 5)),
        ("first", (4, 1, 6)),
        ("first.name", (6, 3, 7)),
        ("first.list", (3, 3, 7)),
        ("first.list[1]", (3, 19, 20)),
        ("second.list[0]", (3, 16, 17)),
        ("second.k", (7, 23, 26)),
        ("third[0]", (1, 7, 8)),
        ("third[1][1]", (11, 5, 6)),
        ("third[5].gone", (8, 1, 6)),
    ],
)
def test_every_key_and_value_has_the_place_where_it_is_written(path: str, place: tuple[int, int, int]) -> None:
    (document,) = documents.parse(PLACES, "f")
    found = document.place(path)
    assert (found.line, found.column, found.end) == place


REMARKS = {
    "a: yes": ("a", 'kubectl reads yes as true, kustomize as the text "yes": write true, or put it in quotes'),
    "off: 1": ("false", 'kubectl reads the key off as "false", kustomize as "off": put it in quotes'),
    "a: [2001-1-1]": ("a.0", "kubectl reads 2001-1-1 as text, kustomize writes it anew as a time: put it in quotes"),
    "a: {b}": ("a.b", 'kubectl reads no value in {} or [] as null, kustomize as the text "": write null or ""'),
    "a: >\n  b\n    c": (
        "a",
        "kustomize adds an empty line above the indented lines of this folded text: use | instead of >",
    ),
    '"<<": 1': ("<<", 'kubectl reads "<<" as a key, kustomize merges or drops it: remove it'),
    "a: 1\n<<: {a: 2}": (
        "a",
        'kubectl takes the value of "a" that is merged here, kustomize the one above it: move << above "a"',
    ),
}


@pytest.mark.parametrize("text", REMARKS)
def test_what_kustomize_reads_otherwise_is_remarked(text: str) -> None:
    composed = compose(text)
    assert composed is not None
    assert [(".".join(map(str, each.path)), each.message) for each in composed.remarks] == [REMARKS[text]]


@pytest.mark.parametrize(
    "text",
    [
        "a: true",
        "a: 'yes'",
        "a: !!str yes",
        "a: 2001-13-45",
        "a: 2023-02-29",
        "a:",
        "a: >\n  b\n  c",
        "a: 1\n<<: {a: 1}",
    ],
)
def test_what_both_read_alike_is_not_remarked(text: str) -> None:
    composed = compose(text)
    assert composed is not None
    assert composed.remarks == []
