"""The source tree as the measures read it: modules, their rooms, their syntax trees."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tests.test_faces import FACES, package

FOLDERS = ("webhook", "certs", "reconciler", "modelgate")


@dataclass(frozen=True)
class Module:
    """One module. ``room`` is the folder of ``webhook`` that it is in, or the package beside ``webhook``."""

    name: str
    source: str
    face: bool
    tree: ast.Module

    @property
    def room(self) -> str:
        return package(self.name)

    def classes(self) -> Iterator[ast.ClassDef]:
        return (node for node in ast.walk(self.tree) if isinstance(node, ast.ClassDef))

    def functions(self) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
        return (node for node in ast.walk(self.tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))

    def at(self, node: ast.stmt | ast.expr | ast.arg, text: str) -> str:
        return f"{self.name}:{node.lineno}: {text}"


class House:
    """A tree of sources and the pages and settings that speak of it. Nothing of it is imported."""

    def __init__(self, root: Path, faces: Mapping[str, Mapping[str, str]] = FACES) -> None:
        self.root, self.faces = root, faces

    @cached_property
    def modules(self) -> Mapping[str, Module]:
        files = [file for folder in FOLDERS for file in sorted((self.root / folder).rglob("*.py"))]
        return {module.name: module for module in map(self._read, files)}

    @property
    def rooms(self) -> set[str]:
        return {module.room for module in self.modules.values()}

    def text(self, path: str) -> str:
        """A file of the tree, or "" if there is none."""
        file = self.root / path
        return file.read_text() if file.exists() else ""

    def _read(self, file: Path) -> Module:
        parts = file.relative_to(self.root).with_suffix("").parts
        face = parts[-1] == "__init__"
        source = file.read_text()
        return Module(".".join(parts[:-1] if face else parts), source, face, ast.parse(source))
