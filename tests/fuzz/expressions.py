"""Random CEL expressions, typed so that most compile, over a schema with one field of everything."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

_TEXT = {"type": "string"}
_WHOLE = {"type": "integer"}

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "s": _TEXT,
        "s2": _TEXT,
        "i": _WHOLE,
        "i2": _WHOLE,
        "d": {"type": "number"},
        "b": {"type": "boolean"},
        "t": {"type": "string", "format": "date-time"},
        "du": {"type": "string", "format": "duration"},
        "by": {"type": "string", "format": "byte"},
        "ios": {"x-kubernetes-int-or-string": True},
        "n": {"type": "string", "nullable": True},
        "if": _TEXT,
        "a-b": _WHOLE,
        "l": {"type": "array", "items": _TEXT},
        "li": {"type": "array", "items": _WHOLE},
        "ln": {"type": "array", "items": {"type": "string", "nullable": True}},
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": _TEXT},
        "ml": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"],
            "items": {"type": "object", "required": ["k"], "properties": {"k": _TEXT, "v": _WHOLE, "w": _TEXT}},
        },
        "m": {"type": "object", "additionalProperties": _TEXT},
        "mi": {"type": "object", "additionalProperties": _WHOLE},
        "o": {
            "type": "object",
            "properties": {
                "s": _TEXT,
                "i": _WHOLE,
                "o": {"type": "object", "properties": {"s": _TEXT, "b": {"type": "boolean"}}},
            },
        },
    },
}

_WORDS = ["a", "b", "abc", "", "nvidia.com/gpu", "x-y", "Ä", "10", "2020-01-01T00:00:00Z"]
_NUMBERS = [0, 1, 2, 3, -1, 10, 2**63 - 1, -(2**63)]


def random_object(rng: random.Random) -> dict[str, Any]:
    """An object under the schema, with members missing, null or wrong now and then."""
    made = {name: _value(rng, schema) for name, schema in SCHEMA["properties"].items() if rng.random() < 0.75}
    for name in list(made):
        if rng.random() < 0.03:
            made[name] = rng.choice([None, 1.0, "1", [], {}, True, 5])
    return made


def _value(rng: random.Random, schema: dict[str, Any]) -> Any:
    if schema.get("nullable") and rng.random() < 0.3:
        return None
    if "x-kubernetes-int-or-string" in schema:
        return rng.choice([1, 5, "1", "50%"])
    match schema["type"], schema.get("format"):
        case "string", "date-time":
            return rng.choice(["2020-01-01T00:00:00Z", "2021-05-06T07:08:09.5+02:00", "2019-12-31T23:59:59Z"])
        case "string", "duration":
            return rng.choice(["1s", "1h30m", "2 days"])
        case "string", "byte":
            return rng.choice(["YQ==", "YWJj", ""])
        case "string", _:
            return rng.choice(_WORDS)
        case "integer", _:
            return rng.choice(_NUMBERS)
        case "number", _:
            return rng.choice([0.0, 1.5, 2, -3, 1e300])
        case "boolean", _:
            return rng.random() < 0.5
        case "array", _:
            return _items(rng, schema)
    if "additionalProperties" in schema:
        keys = rng.sample(["a", "b", "abc", "x-y"], rng.randrange(4))
        return {key: _value(rng, schema["additionalProperties"]) for key in keys}
    return {name: _value(rng, below) for name, below in schema["properties"].items() if rng.random() < 0.7}


def _items(rng: random.Random, schema: dict[str, Any]) -> list[Any]:
    items = [_value(rng, schema["items"]) for _ in range(rng.randrange(5))]
    if schema.get("x-kubernetes-list-type") == "set":
        return list(dict.fromkeys(items))
    if schema.get("x-kubernetes-list-type") == "map":
        return [{**item, "k": f"k{index}"} for index, item in enumerate(items)]
    return items


class Expressions:
    """Writes expressions of a wanted type; ``depth`` bounds their nesting."""

    def __init__(self, rng: random.Random, self_name: str = "self") -> None:
        self.rng = rng
        self.name = self_name
        self.variables: list[tuple[str, str]] = []  # of macros: name, type

    def write(self, of: str, depth: int) -> str:
        if depth <= 0 or self.rng.random() < 0.15:
            return self.leaf(of)
        writers: list[Callable[[], str]] = getattr(self, f"_{of}")(depth - 1)
        return self.rng.choice(writers)()

    def leaf(self, of: str) -> str:
        known = [name for name, kind in self.variables if kind == of]
        if known and self.rng.random() < 0.6:
            return self.rng.choice(known)
        leaf: Callable[[random.Random, str], str] = self.rng.choice(_LEAVES[of])
        return leaf(self.rng, self.name)

    def _bool(self, depth: int) -> list[Any]:
        def both(of: str, operator: str) -> str:
            return f"{self.write(of, depth)} {operator} {self.write(of, depth)}"

        return [
            lambda: f"({self.write('bool', depth)} && {self.write('bool', depth)})",
            lambda: f"({self.write('bool', depth)} || {self.write('bool', depth)})",
            lambda: f"({self.write('bool', depth)} && {self.write('bool', depth)} && {self.write('bool', depth)})",
            lambda: f"!({self.write('bool', depth)})",
            lambda: self._guarded(depth),
            lambda: f"({both('int', self._order())})",
            lambda: f"({both('string', self._order())})",
            lambda: f"({both(self.rng.choice(_KINDS), self.rng.choice(['==', '!=']))})",
            lambda: (
                f"{self.write('string', depth)}.{self.rng.choice(['startsWith', 'endsWith', 'contains'])}({self.write('string', depth)})"
            ),
            lambda: f"{self.write('string', depth)}.matches({self.rng.choice(_PATTERNS)})",
            lambda: f"({self.write('string', depth)} in {self.write('list', depth)})",
            lambda: f"({self.write('string', depth)} in ['a', 'b', 'abc'])",
            lambda: f"({self.write('string', depth)} in {self.write('map', depth)})",
            lambda: f"({self.write('bool', depth)} ? {self.write('bool', depth)} : {self.write('bool', depth)})",
            lambda: self._macro(depth, "bool"),
            lambda: f"{self.write('optional', depth)}.hasValue()",
            lambda: f"({self.write('dyn', depth)} {self.rng.choice(['==', '!='])} {self.rng.choice(_LITERALS)})",
            lambda: f"([{self.write('list', depth)}] == [{self.write('list', depth)}])",
            lambda: f"(optional.of({self.write('list', depth)}) == optional.of({self.write('list', depth)}))",
            lambda: f"({self.write('list', depth)} in [{self.write('list', depth)}])",
            self._compared,
            lambda: f"(type({self.write('dyn', depth)}) == {self.rng.choice(['int', 'string', 'bool'])})",
        ]

    def _compared(self) -> str:
        function, texts = self.rng.choice([("quantity", _QUANTITIES), ("semver", _SEMVERS), ("duration", _DURATIONS)])
        first, second = (f"{function}({self.rng.choice(texts)!r})" for _ in range(2))
        if function == "duration":
            return f"({first} {self._order()} {second})"
        return f"{first}.{self.rng.choice(['isGreaterThan', 'isLessThan'])}({second})"

    def _guarded(self, depth: int) -> str:
        path, of = self.rng.choice(_PATHS)
        path = path.replace("self", self.name)
        used = f"{path} == {self.write(of, depth)}" if of != "object" else f"has({path}.s)"
        return self.rng.choice(
            [f"(has({path}) && {used})", f"(!has({path}) || {used})", f"(has({path}) ? {used} : false)"]
        )

    def _order(self) -> str:
        return self.rng.choice(["<", "<=", ">", ">="])

    def _int(self, depth: int) -> list[Any]:
        return [
            lambda: f"size({self.write(self.rng.choice(['string', 'list', 'ints', 'map', 'entries']), depth)})",
            lambda: (
                f"({self.write('int', depth)} {self.rng.choice(['+', '-', '*', '/', '%'])} {self.write('int', depth)})"
            ),
            lambda: f"({self.write('bool', depth)} ? {self.write('int', depth)} : {self.write('int', depth)})",
            lambda: f"{self.write('ints', depth)}[{self.write('int', 0)}]",
            lambda: f"{self.write('ints', depth)}.sum()",
            lambda: f"{self.write('string', depth)}.indexOf({self.write('string', depth)})",
            lambda: f"{self.name}.?i.orValue({self.write('int', depth)})",
            lambda: f"int({self.write('string', depth)})",
        ]

    def _string(self, depth: int) -> list[Any]:
        return [
            lambda: f"({self.write('string', depth)} + {self.write('string', depth)})",
            lambda: f"({self.write('bool', depth)} ? {self.write('string', depth)} : {self.write('string', depth)})",
            lambda: f"{self.write('list', depth)}[{self.write('int', 0)}]",
            lambda: f"{self.write('map', depth)}[{self.write('string', 0)}]",
            lambda: f"{self.write('string', depth)}.{self.rng.choice(['lowerAscii', 'trim', 'upperAscii'])}()",
            lambda: f"{self.write('string', depth)}.replace({self.write('string', 0)}, 'q')",
            lambda: f"{self.name}.?o.?o.?s.orValue({self.write('string', depth)})",
            lambda: f"string({self.write('int', depth)})",
            lambda: f"{self.write('list', depth)}.join(',')",
            lambda: f"'%s %d'.format([{self.write('dyn', depth)}, {self.write('int', depth)}])",
            lambda: f"{self.rng.choice(_VERBS)!r}.format([{self.rng.choice(_FORMATTED)}])",
        ]

    def _list(self, depth: int) -> list[Any]:
        return [
            lambda: f"[{self.write('string', depth)}, {self.write('string', depth)}]",
            lambda: f"({self.write('list', depth)} + {self.write('list', depth)})",
            lambda: self._macro(depth, "list"),
            lambda: f"{self.write('string', depth)}.split('b')",
            lambda: f"{self.name}.?l.orValue([])",
            lambda: f"([] + {self.write('list', depth)})",
            lambda: f"{self.write('list', depth)}.{self.rng.choice(['sort', 'distinct', 'reverse'])}()",
            lambda: f"{self.write('list', depth)}.transformList(i, v, v + string(i))",
        ]

    def _ints(self, depth: int) -> list[Any]:
        return [
            lambda: f"[{self.write('int', depth)}]",
            lambda: f"({self.write('ints', depth)} + {self.write('ints', depth)})",
            lambda: self._macro(depth, "ints"),
        ]

    def _entries(self, depth: int) -> list[Any]:
        return [
            lambda: f"({self.write('entries', 0)} + {self.write('entries', 0)})",
            lambda: f"{self.write('entries', depth)}.filter(e, {self._with('e', 'entry', 'bool', depth)})",
        ]

    def _map(self, depth: int) -> list[Any]:
        return [lambda: f"{{'a': {self.write('string', depth)}, {self.write('string', 0)}: 'z'}}"]

    def _dyn(self, depth: int) -> list[Any]:
        return [lambda: f"dyn({self.write(self.rng.choice(_KINDS), depth)})", lambda: f"x.{self.rng.choice('abcs')}"]

    def _optional(self, depth: int) -> list[Any]:
        return [
            lambda: f"{self.name}.?{self.rng.choice(['s', 'i', 'o', 'l', 'm', 't', 'if'])}",
            lambda: f"{self.name}.?o.{self.rng.choice(['?s', '?i', 'o.?s'])}",
            lambda: f"{self.write('map', depth)}[?{self.write('string', 0)}]",
            lambda: f"optional.of({self.write('string', depth)})",
            lambda: f"{self.name}.?s.optMap(v, v + {self.write('string', depth)})",
        ]

    def _macro(self, depth: int, of: str) -> str:
        source, kind = self.rng.choice([("list", "string"), ("ints", "int"), ("entries", "entry"), ("map", "string")])
        name = f"v{len(self.variables)}"
        over = self.write(source, depth)
        body = self._with(name, kind, {"bool": "bool", "list": "string", "ints": "int"}[of], depth)
        if of == "bool":
            if self.rng.random() < 0.2:
                return f"{over}.{self.rng.choice(['all', 'exists'])}(k{name}, {name}, {body})"
            return f"{over}.{self.rng.choice(['all', 'exists', 'exists_one'])}({name}, {body})"
        if self.rng.random() < 0.4:
            return f"{over}.map({name}, {self._with(name, kind, 'bool', depth)}, {body})"
        return f"{over}.map({name}, {body})"

    def _with(self, name: str, kind: str, of: str, depth: int) -> str:
        added = (
            [(name, kind)]
            if kind != "entry"
            else [(f"{name}.k", "string"), (f"{name}.v", "int"), (f"{name}.w", "string")]
        )
        if kind == "entry" and self.rng.random() < 0.3 and of == "bool":
            return f"(has({name}.v) && {name}.v > {self.leaf('int')})"
        self.variables += added
        text = self.write(of, depth)
        del self.variables[len(self.variables) - len(added) :]
        return text


_KINDS = ["int", "string", "bool", "list", "ints", "entries", "map", "dyn"]
_LITERALS = ["1", "0", "'a'", "'::1'", "true", "null", "['a', 'b']"]
_QUANTITIES = [
    "1",
    "1k",
    "1Ki",
    "1.5Gi",
    "0.5",
    "-1m",
    "100n",
    "1e3",
    "1E",
    "9223372036854775807",
    "12345678901234567890",
]
_SEMVERS = ["1.2.3", "1.2.3-a", "1.2.3-a.10", "1.2.3-a.2", "1.2.3+b", "0.0.0", "18446744073709551615.0.0"]
_DURATIONS = ["0s", "1h", "-1.5s", "1ns", "2562047h47m16.854775807s", "60m"]
_VERBS = ["%s", "%f", "%.3f", "%e", "%x", "%X", "%b", "%o", "%d%%", "%.0f"]
_FORMATTED = [
    "-0.0",
    "1.5",
    "1e21",
    "-255",
    "7u",
    "'é'",
    "b'ab'",
    "true",
    "[1.0, 'a', null]",
    "{'a': [1u]}",
    "double('nan')",
]
_PATTERNS = ["'^[a-z]+$'", "'a|b'", "'[0-9]{2,3}'", "'^(a*)*$'", "'\\\\d+'", "'.*b.*'"]
_PATHS = [
    ("self.s", "string"), ("self.i", "int"), ("self.b", "bool"), ("self.o", "object"), ("self.l", "list"),
    ("self.m.a", "string"), ("self.mi.b", "int"), ("self.o.s", "string"), ("self.o.o.s", "string"), ("self.li", "ints"),
]  # fmt: skip


def _any(*texts: str) -> list[Any]:
    return [lambda _rng, name, text=text: text.replace("self", name) for text in texts]


# ruff: noqa: E501, RUF005 - tables
_LEAVES: dict[str, list[Any]] = {
    "bool": _any("true", "false", "self.b", "has(self.s)", "has(self.o.s)", "has(self.m.a)", "has(self.t)", "has(x.a)", "self.o.o.b")
    + _any("(self.t > timestamp('2020-06-01T00:00:00Z'))", "(self.du == duration('1s'))", "(self.d < 2)", "(self.n == 'a')"),
    "int": [lambda rng, _name: str(rng.choice([0, 1, 2, 3, -1, 5]))] + _any("self.i", "self.i2", "self.a__dash__b", "self.o.i", "self.mi['a']"),
    "string": [lambda rng, _name: repr(rng.choice(_WORDS[:7]))] + _any("self.s", "self.s2", "self.if", "self.o.s", "self.m.a", "self.n", "self.l[0]"),
    "list": _any("self.l", "self.set", "['a', 'b']", "[]", "self.ln"),
    "ints": _any("self.li", "[1, 2]", "[]"),
    "entries": _any("self.ml"),
    "map": _any("self.m", "{'a': 'b'}"),
    "dyn": _any("self.ios", "dyn(self)", "x", "x.a", "x.b", "dyn(1)", "dyn(self.set)", "dyn(self.ml)", "dyn(ip('::1'))", "dyn(quantity('1k'))", "dyn(self.t)"),
    "optional": _any("self.?s", "self.?o.?s", "optional.none()"),
}  # fmt: skip
