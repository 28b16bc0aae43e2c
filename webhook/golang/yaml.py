"""YAML as Go reads it (``sigs.k8s.io/yaml``): its scalars, string keys, and only values that JSON has."""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Callable
from typing import Any, Final

import yaml
from yaml.constructor import ConstructorError

from webhook.golang.json import settle

__all__ = ["NESTING", "Loader"]

NESTING: Final = 1000
"""The maximum depth of a document, about that of JSON in an admission review. libyaml composes nodes recursively in C;
too many levels would crash the process."""

_TAG: Final = "tag:yaml.org,2002:"
_NUMBER_BEGINS: Final = frozenset("-+0123456789")
_TRUE: Final = ("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON")
_FALSE: Final = ("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF")
_NULLS: Final = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEANS: Final = dict.fromkeys(_TRUE, True) | dict.fromkeys(_FALSE, False)


class Loader(yaml.CSafeLoader):
    """PyYAML's safe loader with the scalars of Go's YAML, without duplicate keys, and with limited depth."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0

    def descend_resolver(self, parent: yaml.Node | None, index: Any) -> None:  # noqa: ARG002 - PyYAML's
        """Count levels: PyYAML calls this before it composes a node. Path resolvers, its purpose, are not used."""
        self._depth += 1
        if self._depth > NESTING:
            mark = None if parent is None else parent.start_mark
            raise ConstructorError(None, None, f"nested more than {NESTING} levels deep", mark)

    def ascend_resolver(self) -> None:
        self._depth -= 1

    def resolve(self, kind: type[yaml.Node], value: str, implicit: tuple[bool, bool]) -> Any:
        """The tag of a node; Go ignores underscores at any place in a possible number."""
        if kind is yaml.ScalarNode and value[:1] in _NUMBER_BEGINS:
            value = value.replace("_", "")
        return super().resolve(kind, value, implicit)  # type: ignore[no-untyped-call]  # PyYAML's


Loader.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in resolvers if tag in {f"{_TAG}null", f"{_TAG}merge"}]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}
Loader.add_implicit_resolver(f"{_TAG}bool", re.compile(rf"(?:{'|'.join(_BOOLEANS)})$"), list("yYnNtTfFoO"))
Loader.add_implicit_resolver(
    f"{_TAG}int",
    re.compile(r"[-+]?(?:0[bB][01]+|0[xX][0-9a-fA-F]+|0[oO]?[0-7]+|0|[1-9][0-9]*)$"),
    sorted(_NUMBER_BEGINS),
)
Loader.add_implicit_resolver(
    f"{_TAG}float",
    re.compile(
        r"(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$"
    ),
    [*sorted(_NUMBER_BEGINS), "."],
)


def _bool(text: str) -> bool:
    if text not in _BOOLEANS:
        raise ValueError(f"{text} is not a boolean")
    return _BOOLEANS[text]


def _int(text: str) -> int:
    text = text.replace("_", "").lower()
    digits = text.lstrip("+-")
    try:
        return int(text, {"0x": 16, "0b": 2}.get(digits[:2], 8 if digits[:1] == "0" and digits != "0" else 10))
    except ValueError:
        raise ValueError(f"cannot decode `{text}` as a !!int") from None


def _float(text: str) -> float | str:
    """A number; a text if its exponent is out of range, because Go then reads a text.

    Raises:
        ValueError: JSON does not have it: infinity, or not a number.
    """
    digits = text.replace("_", "").lower()
    try:
        number = float(digits.replace(".inf", "inf").replace(".nan", "nan"))
    except ValueError:
        raise ValueError(f"cannot decode `{text}` as a !!float") from None
    if math.isfinite(number):
        return number
    if digits.lstrip("+-")[:2] in (".i", ".n"):
        raise ValueError(f"{text} is not a JSON number")
    return text


def _null(text: str) -> None:
    if text not in _NULLS:
        raise ValueError(f"cannot decode !!str `{text}` as a !!null")


def _binary(text: str) -> str:
    try:
        return base64.b64decode(text.replace("\n", ""), validate=True).decode(errors="replace")
    except binascii.Error:
        raise ValueError("!!binary value contains invalid base64 data") from None


def _scalar(read: Callable[[str], Any]) -> Callable[[Loader, yaml.Node], Any]:
    """A constructor that reads the text with ``read``, which may reject it: a tag can precede any text."""

    def construct(loader: Loader, node: yaml.Node) -> Any:
        if not isinstance(node, yaml.ScalarNode):
            return _collection(loader, node)
        try:
            return read(str(node.value))
        except ValueError as error:
            raise ConstructorError(None, None, str(error), node.start_mark) from None

    return construct


def _collection(loader: Loader, node: yaml.Node) -> Any:
    """A list or an object: Go ignores their tags."""
    if isinstance(node, yaml.SequenceNode):
        return [loader.construct_object(item, deep=True) for item in node.value]
    assert isinstance(node, yaml.MappingNode)
    loader.flatten_mapping(node)
    result: dict[str, Any] = {}
    for key_node, value_node in node.value:
        key = _key(loader.construct_object(key_node, deep=True), key_node)
        if key in result:
            raise ConstructorError(None, None, f'duplicate key "{key}"', key_node.start_mark)
        result[key] = loader.construct_object(value_node, deep=True)
    return result


def _key(key: Any, node: yaml.Node) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, str | int | float):
        return str(settle(key))
    raise ConstructorError(None, None, "a key must be text", node.start_mark)


Loader.yaml_constructors = {
    f"{_TAG}null": _scalar(_null),
    f"{_TAG}bool": _scalar(_bool),
    f"{_TAG}int": _scalar(_int),
    f"{_TAG}float": _scalar(_float),
    f"{_TAG}binary": _scalar(_binary),
    None: _scalar(str),  # a tag that Go does not know leaves a text, a list or an object as it is
}
