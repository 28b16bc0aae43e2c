"""The fast check of :mod:`webhook.schema.fast.check` as one generated function, for a kind with many objects.

Most of an object are members of a known type. Those of one object are compared with their types in one step, and what
the schema demands beside a type is written out for each member. A part of another form, or with too many members to
ask for each, keeps its nested functions.
"""

from __future__ import annotations

from functools import lru_cache
from operator import contains
from types import NoneType
from typing import Any, Final

from webhook.cel.codegen.code import Block, render
from webhook.cel.codegen.listing import file_name
from webhook.golang.errors import GoError
from webhook.golang.regexp import matcher
from webhook.schema.fast.check import (
    META_FIELDS,
    Check,
    compile_clean,
    compile_node,
    is_bare,
    is_usual_root,
    plain_type,
    total,
)
from webhook.schema.fast.scalars import CACHE_SIZE, MAX_CACHED, integer_range
from webhook.schema.formats import FORMATS
from webhook.schema.node import MISSING, SchemaNode

__all__ = ["written_clean"]

Types = frozenset[type]
"""The Python types that a value may have."""

_ASKED: Final = 16
"""Members to ask for one by one. For more, asking costs more than looking at each that is there."""

_OBJECTS: Final = 40
"""Objects in one function."""

_SCALARS: Final[dict[str, type]] = {"string": str, "boolean": bool, "integer": int}
_ANY: Final[Types] = frozenset({str, bool, int, float, list, dict, NoneType})

_FUNCTION: Final = """\
# o0: the object. o1, o2, ...: objects in it. v: a value. k0, k1, ...: constants.
def make({parameters}):
 def check(o0):
{body}
  return True
 return check
"""


def written_clean(root: SchemaNode, name: str) -> Check:
    """As :func:`webhook.schema.fast.check.compile_clean`, in one function where the root allows it."""
    if not is_usual_root(root):
        return compile_clean(root)
    writer = _Writer()
    members = {key: child for key, child in root.properties.items() if key not in META_FIELDS}
    types: dict[str, Types] = {
        "apiVersion": frozenset({str}),
        "kind": frozenset({str}),
        "metadata": frozenset({dict}),
    }
    return total(writer.function(root.replace(properties=members), types, name))


class _Writer:
    def __init__(self) -> None:
        self._constants: list[Any] = []
        self._objects = 0

    def function(self, root: SchemaNode, types: dict[str, Types], name: str) -> Check:
        lines: list[str] = []
        render(["if o0.__class__ is not dict: return False", *self._object(root, types)], 2, lines)
        parameters = ", ".join(f"k{index}" for index in range(len(self._constants)))
        text = _FUNCTION.format(parameters=parameters, body="\n".join(lines))
        scope: dict[str, Any] = {}
        exec(compile(text, file_name(f"schema of {name}"), "exec"), _GLOBALS, scope)  # noqa: S102 - names by repr
        check: Check = scope["make"](*self._constants)
        return check

    def _constant(self, value: Any) -> str:
        self._constants.append(value)
        return f"k{len(self._constants) - 1}"

    def _object(self, node: SchemaNode, types: dict[str, Types] | None = None) -> Block:
        """The checks of an object, which is the local o of its index."""
        place, types = f"o{self._objects}", dict(types or {})
        self._objects += 1
        asked: Block = []
        for name, child in node.properties.items():
            types[name], value, checks = self._member(child)
            if checks:
                asked.append((f"if {name!r} in {place}:", [f"{value} = {place}[{name!r}]", *checks]))
        known = self._constant(types.__getitem__)  # an unknown member is a KeyError
        filled = [name for name, child in node.properties.items() if child.default is not MISSING]
        must = [f"if {name!r} not in {place}: return False" for name in dict.fromkeys((*node.required, *filled))]
        typed = f"if not all(map(contains, map({known}, {place}), map(type, {place}.values()))): return False"
        return [*must, typed, *asked]

    def _member(self, node: SchemaNode) -> tuple[Types, str, Block]:
        """The types of a member, the local of its value, and what is to check beside the type."""
        plain = plain_type(node)
        if plain is not None:
            return frozenset({plain}), "v", []
        scalar = _SCALARS.get(node.type)
        if scalar is not None and is_bare(node if scalar is not str else node.replace(enum=())):
            tests = self._text(node) if scalar is str else self._integer(node) if scalar is int else []
            if tests is not None:
                only: Types = frozenset({scalar})
                return only, "v", [f"if not ({' and '.join(tests)}): return False"] if tests else []
        if self._is_inline(node):
            return frozenset({dict}), f"o{self._objects}", self._object(node)
        return _ANY, "v", [f"if {self._constant(_later(node))}(v) is not True: return False"]

    def _is_inline(self, node: SchemaNode) -> bool:
        """Whether an object is checked in the function itself."""
        if node.types != ("object",) or not is_bare(node) or not node.properties or self._objects >= _OBJECTS:
            return False
        if node.additional is not None or node.additional_known or node.preserve:
            return False
        return sum(plain_type(child) is None for child in node.properties.values()) <= _ASKED

    def _text(self, node: SchemaNode) -> list[str] | None:
        """What a string must meet; None if only the walkers know."""
        tests = (
            [f"v in {self._constant(frozenset(each for each in node.enum if type(each) is str))}"] if node.enum else []
        )
        if node.min_length is not None or node.max_length is not None:
            most = "" if node.max_length is None else f" <= {node.max_length}"
            tests.append(f"{node.min_length or 0} <= len(v){most}")
        try:
            found = [matcher(node.pattern)] if node.pattern else []
        except GoError:
            return None
        accepts = FORMATS.get(node.format.replace("-", "")) if node.format else None
        for test in [*found, *filter(None, [accepts])]:
            cached, plainly = self._constant(lru_cache(CACHE_SIZE)(test)), self._constant(test)
            tests.append(f"({cached}(v) if len(v) <= {MAX_CACHED} else {plainly}(v))")
        return tests

    def _integer(self, node: SchemaNode) -> list[str] | None:
        """What an integer must meet; None if only the walkers know."""
        bounds = integer_range(node)
        return None if bounds is None else [f"{bounds[0]} <= v <= {bounds[1]}"]


def _later(node: SchemaNode) -> Check:
    """The check of a value, compiled on first use: most fields of a pod are never used."""
    compiled: list[Check] = []

    def check(value: Any) -> bool:
        if not compiled:
            compiled.append(compile_node(node))
        return compiled[0](value)

    return check


_GLOBALS: Final[dict[str, Any]] = {
    "__builtins__": {"all": all, "len": len, "map": map, "type": type, "dict": dict},
    "contains": contains,
}
