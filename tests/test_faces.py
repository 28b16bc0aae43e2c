"""The face of a package: what other packages may import of it.

A face is the package's ``__init__``, which gives what it imports of the house and what it defines, and the modules of
the table below, each a noun of its own. Where there is ``__all__``, only its names count. Tests and a package's own
modules may look inside.
"""

import ast
import importlib
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("webhook", "certs", "reconciler", "modelgate", "tools")

FACES: dict[str, dict[str, str]] = {
    "certs": {
        "certs.pem": "certificates as text",
        "certs.status": "what a look found, as a file",
    },
    "modelgate": {},
    "reconciler": {
        "reconciler.audit": "the judge, whose outlets the table of coverage lists",
        "reconciler.projections.choices": "the flags of the projections",
        "reconciler.projections.rights": "what the projections need, for doctor",
    },
    "tools": {},
    "webhook.admission": {
        "webhook.admission.errors": "the tree of exceptions, which every floor raises",
        "webhook.admission.patch": "JSON Patch; imports nothing of Modelgate",
        "webhook.admission.recent": "the server's memory of stamps, which no command loads",
        "webhook.admission.review": "bytes of AdmissionReviews, for the server alone",
        "webhook.admission.stamp": "the annotation and what it states",
    },
    "webhook.catalog": {},
    "webhook.children": {},
    "webhook.cel": {
        "webhook.cel.batch": "many expressions as one generated function",
        "webhook.cel.cost.reviewed": "what an expression may cost over a review; loads the estimator",
        "webhook.cel.overload": "functions of one's own, for the library",
        "webhook.cel.runner": "cel-python's API, for the library; imports it",
        "webhook.cel.syntax": "the tree of an expression, and its parser",
        "webhook.cel.syntax.celpython": "the installed cel-python, found before the language is loaded",
        "webhook.cel.syntax.parser": "the parser of Lark, whose tokens an export rewrites",
        "webhook.cel.types": "the types, without the compiler",
        "webhook.cel.values": "the values that a policy reads and makes",
    },
    "webhook.cli": {
        "webhook.cli.cases": "the tables of cases, which the tools run, too",
        "webhook.cli.input.repository": "a Git repository of strangers, read safely",
        "webhook.cli.pack.build": "OCI image layouts, which a release makes, too",
        "webhook.cli.output": "what is printed, without commands of terminals",
        "webhook.cli.rule": "the text that explains a rule, for the site",
        "webhook.cli.shell.running": "the parser of all commands, for the site",
    },
    "webhook.cluster": {
        "webhook.cluster.connection": "what connects to a cluster is imported by name",
        "webhook.cluster.live": "connects to a cluster",
        "webhook.cluster.view": "the one protocol that facts know",
    },
    "webhook.engine": {
        "webhook.engine.audit": "the judgement of a stored object",
        "webhook.engine.context": "loads the language of native policies",
        "webhook.engine.policyset": "loads the language of native policies",
    },
    "webhook.enforcement": {},
    "webhook.facts": {
        "webhook.facts.aim": "the algorithms of an API, which its projection follows",
        "webhook.facts.llmkube": "as it",
        "webhook.facts.ome": "as it",
        "webhook.facts.nodes": "values at paths of an object of any shape",
        "webhook.facts.settings": "which behaviour of an API to follow",
    },
    "webhook.ground": {
        "webhook.ground.budget": "what a judgement may take, which everything that judges spends",
        "webhook.ground.fieldpath": "paths of fields, which every package prints",
        "webhook.ground.frames": "room for the frames of a thread, which every process needs",
        "webhook.ground.later": "names that a package loads when they are first used",
    },
    "webhook.kubernetes": {},
    "webhook.library": {
        "webhook.library.apiserver": "the API server's part of a request, for files",
        "webhook.library.edits": "the repairs of `check --fix` and of the editor",
        "webhook.library.unknown": "values that Flux substitutes or SOPS encrypts",
        "webhook.library.given": "settings and profiles, checked",
        "webhook.library.explained": "the origin of each field, for `explain`",
        "webhook.library.findings": "the findings and their codes",
        "webhook.library.verdict": "what is said of one object, for the reports",
        "webhook.library.judge": "many documents, each beside the others",
        "webhook.library.kinds": "the kinds that concern a file",
        "webhook.library.pins": "what a repository deploys of operators, loaded where there is one",
        "webhook.library.rulings": "by which release and settings each document is judged",
        "webhook.library.review": "one document, for the cases and the tools",
    },
    "webhook.lsp": {},
    "webhook.placement": {},
    "webhook.policy": {
        "webhook.policy.document": "the format of a Policy",
        "webhook.policy.export": "native policies from a Policy; no server loads it",
        "webhook.policy.pack": "the format of a pack",
        "webhook.policy.problems": "what a document must be, and the texts of its faults",
        "webhook.policy.ranges": "ranges of releases",
        "webhook.policy.table": "the table of releases, which most runs do not read",
    },
    "webhook.schema": {
        "webhook.schema.compare": "how much of two objects is the same",
        "webhook.schema.fielderror": "one field error: its kinds, and Kubernetes' words",
        "webhook.schema.crd.digest": "the digest of a definition, by which a release is recognised",
    },
    "webhook.serve": {
        "webhook.serve.server": "runs the server",
        "webhook.serve.settings": "the settings, which the command reads before it loads the server",
    },
    "webhook.vap": {},
}
"""Package → the modules that belong to its face, and why."""

NO_FACE = {
    "webhook.golang": "each module follows a package of Go, and one is used without the others",
    "webhook.manifests": "each module is one way to files; most users need one",
}


def module_name(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


SOURCES = {module_name(file): file.read_text() for each in FOLDERS for file in sorted((ROOT / each).rglob("*.py"))}

PACKAGES = frozenset(module_name(file) for each in FOLDERS for file in (ROOT / each).rglob("__init__.py"))
WORDS = {
    module_name(file): frozenset(re.findall(r"\w+", file.read_text()))
    for each in (*FOLDERS, "tests")
    for file in (ROOT / each).rglob("*.py")
}
"""The words of each module; the tests are users, too."""
ROOMS = frozenset(each.name for each in (ROOT / "webhook").iterdir()) - {"cli"}
"""The packages on which others stand."""


def package(name: str) -> str:
    return ".".join(name.split(".")[: 2 if name.startswith("webhook.") else 1])


@cache
def bindings(source: str) -> tuple[frozenset[str], frozenset[str]]:
    """The public names that a module defines, and those that it imports of the house, also in ``if TYPE_CHECKING``."""
    body = ast.parse(source).body
    defined, imports = set[str](), set[str]()
    for node in (
        *body,
        *(inner for outer in body if isinstance(outer, ast.If) for inner in (*outer.body, *outer.orelse)),
    ):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            defined.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.For):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            defined |= {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}
        elif isinstance(node, ast.ImportFrom) and str(node.module).partition(".")[0] in FOLDERS:
            imports |= {alias.asname or alias.name for alias in node.names if alias.name != "later"}
    return frozenset(defined), frozenset(imports)


@cache
def listed(source: str) -> frozenset[str] | None:
    """The names in ``__all__``; None if there is none."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return frozenset(ast.literal_eval(node.value))
    return None


def given(source: str) -> frozenset[str]:
    """The names that a package gives to others."""
    names, (defined, imports) = listed(source), bindings(source)
    return frozenset(name for name in defined | imports if not name.startswith("_")) if names is None else names


@cache
def imported(source: str) -> frozenset[tuple[str, str]]:
    """Modules and the names that are imported of them, "" for the module itself; also for types and in functions."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {(alias.name, "") for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {(str(node.module), alias.name) for alias in node.names}
    return frozenset(found)


def past_faces(sources: Mapping[str, str], faces: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Each import of another package that goes past its face."""
    found = []
    for user, source in sources.items():
        for module, name in sorted(imported(source)):
            of = package(module)
            if of not in faces or package(user) == of or f"{module}.{name}" in faces[of]:
                continue
            inner = f"{module}.{name}" in sources and name not in given(sources[module])
            if inner or (module == of and name and name not in given(sources[of])) or module not in {of, *faces[of]}:
                found.append(f"{user}: {module} {name}".rstrip())
    return found


def test_no_import_goes_past_a_face() -> None:
    assert past_faces(SOURCES, FACES) == []


def test_a_name_is_imported_from_where_it_is_defined_or_from_a_face() -> None:
    """No module but a face passes names on, unless it lists them."""
    passed_on = []
    for user, text in SOURCES.items():
        for module, name in sorted(imported(text)):
            if not name or f"{module}.{name}" in SOURCES or module in PACKAGES or module not in SOURCES:
                continue
            if name not in bindings(SOURCES[module])[0] | (listed(SOURCES[module]) or frozenset()):
                passed_on.append(f"{user}: {module} {name}")
    assert passed_on == []


def test_a_face_gives_only_what_others_use() -> None:
    for of in sorted(PACKAGES & {f"webhook.{room}" for room in ROOMS}):
        outside = frozenset(word for user, words in WORDS.items() if package(user) != of for word in words)
        assert (of, sorted(given(SOURCES[of]) - outside)) == (of, [])


def test_what_a_face_loads_later_is_what_it_imports() -> None:
    for name in sorted(PACKAGES):
        if "webhook.ground.later import later" in SOURCES[name]:
            face = importlib.import_module(name)
            assert (name, [each for each in sorted(given(SOURCES[name])) if not hasattr(face, each)]) == (name, [])


def test_every_package_has_a_row() -> None:
    assert {package(name) for name in SOURCES} - {"webhook", "webhook.__main__"} == FACES.keys() | NO_FACE.keys()


@pytest.mark.parametrize(("of", "module"), [(of, module) for of, modules in FACES.items() for module in modules])
def test_a_module_of_a_face_is_there_and_used(of: str, module: str) -> None:
    assert module in SOURCES
    users = {
        user for user, source in SOURCES.items() for found in imported(source) if module in (found[0], ".".join(found))
    }
    assert [user for user in users if package(user) != of]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("from webhook.a import f", False),
        ("from webhook.a import b", False),
        ("from webhook.a.b import f", False),
        ("import webhook.a.b", False),
        ("from webhook.a import c", True),
        ("from webhook.a import other", True),
        ("from webhook.a.b import d", True),
        ("from webhook.a.c import f", True),
        ("import webhook.a.c", True),
        ("def g():\n from webhook.a.c import f", True),
        ("if TYPE_CHECKING:\n from webhook.a.c import f", True),
    ],
)
def test_an_import_past_a_face_is_found(text: str, expected: bool) -> None:
    sources = {"webhook.a": "from webhook.a.b import f", "webhook.a.b": "", "webhook.a.b.d": "", "webhook.a.c": ""}
    faces = {"webhook.a": {"webhook.a.b": ""}}
    assert bool(past_faces({**sources, "webhook.d.e": text}, faces)) is expected
    assert past_faces({**sources, "webhook.a.e": text}, faces) == []
