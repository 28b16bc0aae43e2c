"""Mutable cells in frozen values.

A value is a frozen dataclass or a NamedTuple. A cell is a part of it that changes after it is made: a memo, a dict or a
list that grows, an attribute that is set. Such memory belongs beside the value, with a name of its own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.house.tree import House, Module

MUTABLE = {
    "dict",
    "list",
    "set",
    "defaultdict",
    "Counter",
    "deque",
    "bytearray",
    "MutableMapping",
    "MutableSequence",
    "MutableSet",
}
GROWS = {
    *("append", "extend", "insert", "add", "update", "setdefault", "pop", "popitem", "remove", "discard", "clear"),
    *("appendleft", "popleft", "sort", "reverse", "__setitem__", "__delitem__"),
}
MEMOS = {"cached_property"}
MAKES = {"__post_init__", "__new__", "__init__", "__setstate__"}


def cells(house: House) -> Iterator[tuple[Module, ast.AST, str]]:
    """Each cell: the module, where it is, and what it is."""
    values = {
        (module.name, node.name): node
        for module in house.modules.values()
        for node in module.classes()
        if is_frozen(node)
    }
    for (name, _), value in values.items():
        yield from _own(house.modules[name], value)
    yield from _grown_elsewhere(house, values)


def is_frozen(node: ast.ClassDef) -> bool:
    if any(ast.unparse(base).rpartition(".")[2] == "NamedTuple" for base in node.bases):
        return True
    return any(
        isinstance(decorator, ast.Call)
        and ast.unparse(decorator.func).rpartition(".")[2] == "dataclass"
        and any(word.arg == "frozen" and ast.unparse(word.value) == "True" for word in decorator.keywords)
        for decorator in node.decorator_list
    )


def fields(node: ast.ClassDef) -> dict[str, ast.AnnAssign]:
    return {
        each.target.id: each
        for each in node.body
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
    }


def is_mutable(field: ast.AnnAssign) -> bool:
    kind = ast.unparse(field.annotation).strip("'\"").partition("[")[0]
    return kind.rpartition(".")[2] in MUTABLE


def _own(module: Module, value: ast.ClassDef) -> Iterator[tuple[Module, ast.AST, str]]:
    """What the class itself shows: memos, and methods that change a field."""
    for name, field in fields(value).items():
        if (
            isinstance(field.value, ast.Call)
            and any(word.arg == "init" and ast.unparse(word.value) == "False" for word in field.value.keywords)
            and (is_mutable(field) or any(word.arg in {"default", "default_factory"} for word in field.value.keywords))
        ):
            yield module, field, f"{value.name}.{name} is a memo: a field with init=False that starts empty"
    for method in value.body:
        if not isinstance(method, ast.FunctionDef):
            continue
        if any(ast.unparse(decorator).rpartition(".")[2] in MEMOS for decorator in method.decorator_list):
            yield module, method, f"{value.name}.{method.name} is a memo: cached_property"
        if method.name in MAKES:
            continue
        for node in ast.walk(method):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "object.__setattr__":
                yield module, node, f"{value.name}.{method.name} sets an attribute"
            elif (changed := changes(node)) and changed.startswith("self.") and changed.count(".") == 1:
                yield module, node, f"{value.name}.{method.name} changes {changed}"


def _grown_elsewhere(
    house: House, values: dict[tuple[str, str], ast.ClassDef]
) -> Iterator[tuple[Module, ast.AST, str]]:
    """A field that another object changes. Types are not known here, so only names that no other class has count."""
    mutable = {name for node in values.values() for name, field in fields(node).items() if is_mutable(field)}
    others = set()
    for module in house.modules.values():
        for node in module.classes():
            frozen = (module.name, node.name) in values
            others |= set() if frozen else set(fields(node)) | _set_on_self(node)
    for module in house.modules.values():
        for node in ast.walk(module.tree):
            owner, _, name = changes(node).rpartition(".")
            if owner not in ("", "self") and name in mutable - others:
                yield module, node, f"{owner}.{name} is a field of a frozen value, and grows"


def _set_on_self(node: ast.ClassDef) -> set[str]:
    stores = (each for each in ast.walk(node) if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store))
    return {each.attr for each in stores if ast.unparse(each.value) == "self"}


def changes(node: ast.AST) -> str:
    """The expression of the container that a node changes in place, or ""."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
        return ast.unparse(node.value)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in GROWS:
        return ast.unparse(node.func.value)
    return ""
