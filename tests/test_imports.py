"""The shape of the source tree: no circles of imports, no crowded folders.

The graph has an edge from module A to module B if A imports B, or a name from B, anywhere in its source, inside
functions too. Three rules say what counts:

- ``from package import module`` is an edge to the module. Any other name is an edge to the package's ``__init__``,
  also a name that the ``__init__`` itself imports from a submodule.
- That Python runs ``package/__init__`` before any of its submodules is not an edge. So an ``__init__`` may collect
  names of its submodules, as long as no submodule imports such a name from it.
- Imports under ``if TYPE_CHECKING`` never run, but they are edges, too, between modules of one package: two modules
  that name each other's types are one. They are not between packages, except in an ``__init__``: there they name what
  it loads lazily.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("webhook", "certs", "reconciler", "modelgate")
CROWD = 20


def module_name(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {module_name(file): file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py"))}


def imports(tree: ast.AST, *, typing: bool) -> Iterator[ast.Import | ast.ImportFrom]:
    """Every import statement below a node; with ``typing`` also those for the type checker."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node
        elif isinstance(node, ast.If) and is_type_checking(node.test):
            for branch in (node.body if typing else [], node.orelse):
                for statement in branch:
                    yield from imports(ast.Module([statement], []), typing=typing)
        else:
            yield from imports(node, typing=typing)


def is_type_checking(test: ast.expr) -> bool:
    return ast.unparse(test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")


def package(name: str) -> str:
    """The package of a module: a folder of ``webhook``, or one beside it."""
    return ".".join(name.split(".")[: 2 if name.startswith("webhook.") else 1])


def edges(name: str, source: str, modules: Mapping[str, object], *, face: bool) -> set[str]:
    """The modules that one module imports."""
    tree = ast.parse(source)
    for_types = imported(name, imports(tree, typing=True), modules)
    near = {each for each in for_types if face or package(each) == package(name)}
    return imported(name, imports(tree, typing=False), modules) | near


def imported(name: str, statements: Iterable[ast.Import | ast.ImportFrom], modules: Mapping[str, object]) -> set[str]:
    found = set()
    for statement in statements:
        if isinstance(statement, ast.Import):
            found |= {alias.name for alias in statement.names}
            continue
        assert statement.level == 0, f"{name} has a relative import"
        parts = {f"{statement.module}.{alias.name}" for alias in statement.names}
        found |= parts & modules.keys()
        if parts - modules.keys():
            found.add(str(statement.module))
    return (found & modules.keys()) - {name}


def graph(sources: Mapping[str, str], faces: frozenset[str]) -> dict[str, set[str]]:
    return {name: edges(name, source, sources, face=name in faces) for name, source in sources.items()}


def circle(found: Mapping[str, set[str]]) -> list[str]:
    """One circle of the graph, empty if there is none."""
    try:
        TopologicalSorter(found).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_modules_import_each_other_in_a_circle():
    sources = {name: file.read_text() for name, file in FILES.items()}
    faces = frozenset(name for name, file in FILES.items() if file.name == "__init__.py")
    assert circle(graph(sources, faces)) == []


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        ({"a": "import b", "b": "def f():\n import a"}, True),
        ({"a": "from b import c", "b": "if x:\n from a import d"}, True),
        ({"a": "import b", "b": "if TYPE_CHECKING:\n import a"}, False),
        ({"webhook.a": "import webhook.b.c", "webhook.b.c": "if TYPE_CHECKING:\n import webhook.a"}, False),
        ({"q.a": "import q.b.c", "q.b.c": "if TYPE_CHECKING:\n import q.a"}, True),
        ({"webhook.q.a": "import webhook.q.b", "webhook.q.b": "if TYPE_CHECKING:\n import webhook.q.a"}, True),
        ({"a": "import b", "b": "if TYPE_CHECKING:\n pass\nelse:\n import a"}, True),
        ({"p": "from p.a import f", "p.a": "from p import b", "p.b": ""}, False),
        ({"p": "from p.a import f", "p.a": "from p import f"}, True),
        ({"p": "if TYPE_CHECKING:\n from p.a import f", "p.a": "from p import f"}, True),
    ],
)
def test_circles_are_found(sources, expected):
    assert bool(circle(graph(sources, frozenset({"p"})))) is expected


@pytest.mark.parametrize("folder", sorted({file.parent for file in FILES.values()}), ids=lambda folder: folder.name)
def test_no_folder_is_crowded(folder):
    assert len([file for file in folder.glob("*.py") if file.name != "__init__.py"]) <= CROWD


def test_webhook_itself_holds_only_packages():
    entries = [path for path in (ROOT / "webhook").iterdir() if path.name != "__pycache__"]
    assert {path.name for path in entries if path.is_file()} <= {"__init__.py", "__main__.py", "py.typed"}
    assert all((path / "__init__.py").exists() for path in entries if path.is_dir())
