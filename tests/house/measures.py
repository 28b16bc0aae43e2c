"""What is measured of the house. Each measure lists places by room; their number may only fall."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from tests.house import floors, frozen
from tests.house.tree import House, Module
from tests.test_faces import package
from tests.test_imports import edges

Places = Iterator[tuple[str, str]]
"""Pairs of a room and a place in it, as text."""


@dataclass(frozen=True)
class Measure:
    """A property of the house that must not grow."""

    name: str
    counts: str
    instead: str
    places: Callable[[House], Places]

    def of(self, house: House) -> dict[str, list[str]]:
        """The places by room; a room without any is left out."""
        by_room: dict[str, list[str]] = defaultdict(list)
        for room, place in self.places(house):
            by_room[room].append(place)
        return dict(by_room)

    def numbers(self, house: House) -> dict[str, int]:
        return {room: len(places) for room, places in sorted(self.of(house).items())}


class Lines(Measure):
    """Places are modules; what counts is their lines."""

    def numbers(self, house: House) -> dict[str, int]:
        lines: Counter[str] = Counter()
        for module in house.modules.values():
            lines[module.room] += module.source.count("\n")
        return dict(sorted(lines.items()))


def graph(house: House) -> dict[str, set[str]]:
    """Module → the modules that it imports, as tests/test_imports.py counts them."""
    modules = house.modules
    return {name: edges(name, module.source, modules, face=module.face) for name, module in modules.items()}


def arrows_up(house: House) -> Places:
    height = floors.heights(house)
    for name, module in house.modules.items():
        tree = ast.walk(module.tree)
        for node in tree:
            targets = _targets(node, house.modules)
            for target in sorted(targets):
                low, high = height.get(module.room), height.get(package(target))
                if low is None or high is None:
                    yield module.room, f"{name}: {module.room} or {package(target)} is on no floor"
                elif high > low:
                    yield module.room, module.at(node, f"imports {target}, which is above it")  # type: ignore[arg-type]


def _targets(node: ast.AST, modules: Mapping[str, Module]) -> set[str]:
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names} & modules.keys()
    if isinstance(node, ast.ImportFrom):
        inner = {f"{node.module}.{alias.name}" for alias in node.names} & modules.keys()
        return inner or {str(node.module)} & modules.keys()
    return set()


def circles(house: House) -> Places:
    for members in _components(graph(house)):
        yield "house", " → ".join(members)


def _components(arrows: Mapping[str, set[str]]) -> list[list[str]]:
    """The groups of modules that reach each other, by reachability: the graph has hundreds of nodes, not more."""
    reached: dict[str, set[str]] = {}
    for start in arrows:
        seen: set[str] = set()
        waiting = [*arrows[start]]
        while waiting:
            if (node := waiting.pop()) not in seen:
                seen.add(node)
                waiting.extend(arrows.get(node, ()))
        reached[start] = seen
    groups = {
        tuple(sorted(other for other in reached[node] if node in reached.get(other, ())))
        for node in arrows
        if node in reached[node]
    }
    return [list(group) for group in sorted(groups)]


def doors(house: House) -> Places:
    for room, modules in house.faces.items():
        yield from ((room, module) for module in modules)


def mutable_cells(house: House) -> Places:
    for module, node, text in frozen.cells(house):
        yield module.room, module.at(node, text)  # type: ignore[arg-type]


def shared_class_names(house: House) -> Places:
    where: dict[str, list[str]] = defaultdict(list)
    for module in house.modules.values():
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                where[node.name].append(module.name)
    for name, modules in sorted(where.items()):
        if len(modules) > 1:
            yield "house", f"{name}: {', '.join(sorted(modules))}"


PARTS = {
    "kind": "kind",
    "known": "kind",
    **{name: name for name in ("stamp", "judgement", "request", "catalog", "view", "options")},
}
TOO_MANY = 4


def parts_of_a_review(house: House) -> Places:
    for module in house.modules.values():
        for function in module.functions():
            arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
            parts = {PARTS[each.arg] for each in arguments if each.arg in PARTS}
            if len(parts) >= TOO_MANY:
                yield module.room, module.at(function, f"{function.name} takes {', '.join(sorted(parts))}")


WORDS = {"found", "each", "known", "told", "said"}


def private_words(house: House) -> Places:
    for module in house.modules.values():
        for node in ast.walk(module.tree):
            if name := _bound(node):
                yield module.room, module.at(node, name)  # type: ignore[arg-type]


def _bound(node: ast.AST) -> str:
    """One of the words, where a node makes it a name of a local, parameter, attribute or function; else ""."""
    if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
        name = node.id if isinstance(node, ast.Name) else node.attr
    elif isinstance(node, ast.arg):
        name = node.arg
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        name = node.name
    else:
        return ""
    return name if name.strip("_") in WORDS else ""


def handwritten_twins(house: House) -> Places:
    """Rows of docs/ways.md whose fast way is written by hand, or whose module is gone."""
    page = house.text("docs/ways.md").partition("## Which decisions")[2].partition("\n\nWithout ")[0]
    for row in re.findall(r"^\| (?!decision |---)(.*) \|$", page, re.MULTILINE):
        decision, way, *_ = (cell.strip() for cell in row.split(" | "))
        if "not generated" in way:
            yield "house", f"docs/ways.md: {decision}: {way}"
        for path in re.findall(r"`(webhook/[\w/.]+)`", way):
            if not (house.root / path).exists():
                yield "house", f"docs/ways.md: {decision}: there is no {path}"


def modules(house: House) -> Places:
    return ((module.room, f"{name}: {module.source.count(chr(10))} lines") for name, module in house.modules.items())


MEASURES = (
    Measure(
        "arrows_up",
        "imports of a room on a higher floor",
        "Move the name to the lower floor, or pass it as an argument.",
        arrows_up,
    ),
    Measure("circles", "groups of modules that import each other", "Put what both need into a third module.", circles),
    Measure(
        "doors",
        "modules of a face beside __init__",
        "Export the name in __init__, and remove the row of tests/test_faces.py.",
        doors,
    ),
    Measure(
        "mutable_cells",
        "mutable cells in frozen values",
        "Keep the memory beside the value, with a name of its own.",
        mutable_cells,
    ),
    Measure(
        "shared_class_names",
        "class names that two modules have",
        "Name one of them for what it is.",
        shared_class_names,
    ),
    Measure(
        "parts_of_a_review",
        "functions that take four or more of kind, stamp, judgement, request, catalog, view and options",
        "Take the one value that holds them.",
        parts_of_a_review,
    ),
    Measure(
        "private_words", f"names that say nothing: {', '.join(sorted(WORDS))}", "Name what it holds.", private_words
    ),
    Measure(
        "handwritten_twins",
        "fast ways that are written by hand",
        "Generate it, or decide the exact way only.",
        handwritten_twins,
    ),
    Lines("lines", "lines of Python", "Remove what nothing needs.", modules),
)
