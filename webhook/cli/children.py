"""The objects that an operator makes of one, as text: each line with the field that decides it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any, Final

import yaml

from webhook.admission.stamp import ANNOTATION
from webhook.children import Child
from webhook.cli.dumping import dumped
from webhook.cli.output import printable
from webhook.facts.nodes import namespace_of
from webhook.ground.fieldpath import field_keys, field_path

Keys = tuple[str | int, ...]

_NAMESPACE: Final = ("metadata", "namespace")
_STAMP: Final = field_path(("metadata", "annotations", ANNOTATION))
_SHOWN: Final = 3
"""Fields beside a line. What follows from more is not read off a list of them: the part that has them is named."""
_BLOCKS: Final = frozenset({"|", ">"})
"""The styles of texts whose lines have no room for a comment."""


def commented(child: Child) -> str:
    """A YAML document; a comment names the fields from which the value of a line comes."""
    lines = dumped(child.object).rstrip("\n").split("\n")
    root = yaml.compose("\n".join(lines))
    for keys, value, node in _leaves((), child.object, root):
        text = ", ".join(map(printable, _fields(child, keys, value)))
        if text:
            in_block = isinstance(node, yaml.ScalarNode) and node.style in _BLOCKS
            mark = node.start_mark if in_block else node.end_mark
            lines[mark.line] += f"  # {text}"
    return "\n".join(lines)


def as_json(child: Child) -> dict[str, Any]:
    """The object, and by path of it the fields from which the value comes, the nearest first."""
    origins = {field_path(keys): _fields(child, keys, value) for keys, value, _ in _leaves((), child.object, None)}
    return {
        "name": child.rule.name,
        "becomes": child.rule.becomes,
        "object": child.object,
        "origins": {path: fields for path, fields in origins.items() if fields},
    }


def _fields(child: Child, keys: Keys, value: Any) -> list[str]:
    """The fields that decide a value, the nearest first. The namespace is that of the object unless it is described."""
    if keys == _NAMESPACE and value == namespace_of(child.frame.scope.object):
        return [field_path(_NAMESPACE)]
    origin = child.origin(keys, value)
    found = [each for each in dict.fromkeys((origin.field, *origin.others)) if each and each != _STAMP]
    deepest = [each for each in found if not any(other.startswith((f"{each}.", f"{each}[")) for other in found)]
    return deepest if len(origin.others) < _SHOWN else _parts(deepest)


def _parts(fields: Sequence[str]) -> list[str]:
    """The deepest nodes that have the fields: one below each key of the object."""
    places = [field_keys(field) for field in fields]
    tops = dict.fromkeys(place[0] for place in places)
    steps = [zip(*(place for place in places if place[0] == top), strict=False) for top in tops]
    return [field_path([keys[0] for keys in takewhile(lambda keys: len({*keys}) == 1, step)]) for step in steps]


def _leaves(keys: Keys, value: Any, node: Any) -> Iterator[tuple[Keys, Any, Any]]:
    """The values that hold no others, each with its node in the composed document, if there is one."""
    if isinstance(value, dict) and value:
        for index, (key, item) in enumerate(value.items()):
            yield from _leaves((*keys, key), item, node and node.value[index][1])
    elif isinstance(value, Sequence) and not isinstance(value, str) and value:
        for index, item in enumerate(value):
            yield from _leaves((*keys, index), item, node and node.value[index])
    else:
        yield keys, value, node
