"""The simple tests of the CEL specification: ``python -m tests.conformance.celspec FOLDER``.

FOLDER is ``tests/simple/testdata`` of github.com/google/cel-spec. Prints what passes of each file, and why others are
not run: Kubernetes' dialect has no protocol buffers, its expressions are always checked, and of the extensions it has
strings, optionals, lists, sets and networks in forms of its own.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from webhook.cel import CelError, CompileFailure, Environment, types
from webhook.cel.types import Type, list_of, map_of

_TOKEN: Final = re.compile(
    r"""\s+ | \#[^\n]* | (?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*') | (?P<mark>[{}:,<>;\[\]])"""
    r"""| (?P<word>[^\s{}:,<>;\[\]"']+)""",
    re.VERBOSE,
)
_ESCAPE: Final = re.compile(rb"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_SIMPLE: Final = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}
_OTHER: Final = {
    "extensions": ("bindings_ext", "block_ext", "encoders_ext", "math_ext", "network_ext"),
    "protocol buffers": ("proto2", "proto2_ext", "proto3", "enums", "wrappers", "dynamic"),
    "types of the checker alone": ("type_deduction",),
    "unknown values": ("unknowns",),
}
_PRIMITIVES: Final = {
    "BOOL": types.BOOL, "INT64": types.INT, "UINT64": types.UINT, "DOUBLE": types.DOUBLE, "STRING": types.STRING,
    "BYTES": types.BYTES,
}  # fmt: skip


def parsed(text: str) -> dict[str, list[Any]]:
    """A text of protocol buffers: each field with its values."""
    tokens = (match for match in _TOKEN.finditer(text) if match.lastgroup)
    return _message(iter([(match.lastgroup, match[0]) for match in tokens]))


def _message(tokens: Iterator[tuple[str, str]]) -> dict[str, list[Any]]:
    fields = dict[str, list[Any]]()
    for _, name in tokens:
        if name in ("}", ">"):
            break
        if name in (",", ";"):
            continue
        key = "".join(iter(lambda: next(tokens)[1], "]")) if name == "[" else name  # in brackets, the type of an Any
        fields.setdefault(key, []).append(_value(tokens))
    return fields


def _value(tokens: Iterator[tuple[str, str]]) -> Any:
    sort, token = next(tokens)
    if token == ":":
        sort, token = next(tokens)
    if token in ("{", "<"):
        return _message(tokens)
    return _unescaped(token[1:-1]) if sort == "text" else token


def _unescaped(text: str) -> bytes:
    def char(match: re.Match[bytes]) -> bytes:
        part = match[1]
        if part[:1] in b"uU":
            return chr(int(part[1:], 16)).encode()
        if part[:1] == b"x":
            return bytes([int(part[1:], 16)])
        return bytes([int(part, 8)]) if part[:1].isdigit() else _SIMPLE.get(part, part)

    return _ESCAPE.sub(char, text.encode())


def native(value: dict[str, list[Any]]) -> Any:
    """The value of a message Value. Raises LookupError for one of another message."""
    if not value:
        return None
    ((sort, (content, *_)),) = value.items()
    if sort == "list_value":
        return [native(item) for item in content.get("values", ())]
    if sort == "map_value":
        return {native(entry["key"][0]): native(entry["value"][0]) for entry in content.get("entries", ())}
    read = {
        "bool_value": lambda word: word == "true",
        "int64_value": lambda word: int(word, 0),
        "uint64_value": lambda word: int(word, 0),
        "double_value": lambda word: float(word.lower()),
        "string_value": lambda word: word.decode(),
        "bytes_value": lambda word: word,
        "null_value": lambda _: None,
    }
    return read[sort](content)


def type_of(message: dict[str, list[Any]]) -> Type:
    """The type of a message Type. Raises LookupError for one that Kubernetes' dialect lacks."""
    ((sort, (content, *_)),) = message.items()
    if sort == "list_type":
        return list_of(type_of(content["elem_type"][0]))
    if sort == "map_type":
        return map_of(type_of(content["key_type"][0]), type_of(content["value_type"][0]))
    return types.DYN if sort == "dyn" else _PRIMITIVES[content]


def outcome(test: dict[str, list[Any]]) -> str:
    """Whether it "passes" or "fails", or why it is not run."""
    if "disable_check" in test:
        return "unchecked expressions"
    try:
        declared = {each["name"][0].decode(): type_of(each["ident"][0]["type"][0]) for each in test.get("type_env", ())}
        bindings = {each["key"][0].decode(): native(each["value"][0]["value"][0]) for each in test.get("bindings", ())}
        expected = native(test["value"][0]) if "value" in test else ... if "eval_error" in test else True
    except (LookupError, ValueError):
        return "protocol buffers"
    source = test["expr"][0].decode()
    if "container" in test or re.search(r"TestAllTypes|google\.protobuf|cel\.", source):
        return "protocol buffers"
    try:
        got = Environment(variables=declared).compile(source).evaluate(bindings)
    except CompileFailure as failure:
        if expected is ...:
            return "passes"
        # The API server wants the items of a literal to have one type.
        return "literals of mixed types" if "expected type" in str(failure) else "fails"
    except CelError:
        got = ...
    return "passes" if _same(got, expected) else "fails"


def _same(got: Any, expected: Any) -> bool:
    if isinstance(got, float) and isinstance(expected, float):
        return got == expected or (got != got and expected != expected)  # noqa: PLR0124 - NaN
    if isinstance(got, bool) != isinstance(expected, bool):
        return False
    return bool(got == expected)


def main(folder: Path, show: bool) -> None:
    total = Counter[str]()
    for file in sorted(folder.glob("*.textproto")):
        reason = next((reason for reason, names in _OTHER.items() if file.stem in names), "")
        counts = Counter[str]()
        for section in parsed(file.read_text()).get("section", ()):
            for test in section.get("test", ()):
                result = reason or outcome(test)
                counts[result] += 1
                if show and result == "fails":
                    name = "/".join((file.stem, *(part["name"][0].decode() for part in (section, test))))
                    print(f"  {name}: {test['expr'][0].decode()}")
        total += counts
        print(f"{file.stem}: {', '.join(f'{number} {result}' for result, number in counts.most_common())}")
    passes, fails = total.pop("passes", 0), total.pop("fails", 0)
    others = ", ".join(f"{number} {reason}" for reason, number in total.most_common())
    print(f"{passes} of {passes + fails} pass; not run: {others}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), "-v" in sys.argv)
