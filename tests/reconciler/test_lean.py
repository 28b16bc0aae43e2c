"""The reconciler stays small, and it neither defaults nor validates: the gate has done both."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.reconciler.world import rules
from tests.shared import ROOT

MOST = 1630
"""Lines of the process, the lease and the loop, without projections, comments and docstrings. 50 of them follow how
strict the rules are, and tell when an exception ends; 60 give reports what viewers of reports group by, and metrics
the namespaces of objects; 35 follow the lease by a watch (2026-11-28)."""

PROJECTIONS = {
    "AIM's services, templates and images": (745, "aim", {"caches.py"}),
    "AIM's caches": (155, "aim/caches.py", set()),
    "OME's inference services": (560, "ome", {"benchmarks.py", "models.py", "results.py"}),
    "OME's benchmark jobs": (190, "ome/benchmarks.py", set()),
    "where OME's benchmark jobs write their results": (70, "ome/results.py", set()),
    "OME's base models": (60, "ome/models.py", set()),
    "LLMKube's models": (160, "llmkube.py", set()),
    "whether files of LLMKube's models have changed": (95, "drift.py", set()),
    "files behind URLs, and GGUF headers": (440, "remote", set()),
}
"""The same of projections: lines, and their folder or file without some files. What a projection needs more is a
decision."""

FILES = sorted((ROOT / "reconciler").rglob("*.py"))
LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def lines(text: str) -> int:
    """Lines with code."""
    strings = [
        node.value
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    ]
    documented = {line for each in strings for line in range(each.lineno, (each.end_lineno or 0) + 1)}
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    spanned = (range(each.start[0], each.end[0] + 1) for each in tokens if each.type not in LAYOUT)
    return len({line for span in spanned for line in span} - documented)


def test_lines_are_counted_without_comments_and_docstrings() -> None:
    text = '"""Doc."""\n\n# why\ndef f():\n    """Doc\n    of two lines."""\n    return """a\n    b"""  # text\n'
    assert lines(text) == 3


def test_the_reconciler_without_projections_is_lean() -> None:
    counted = {each: lines(each.read_text()) for each in FILES if "projections" not in each.parts}
    assert sum(counted.values()) <= MOST, counted


@pytest.mark.parametrize("name", PROJECTIONS)
def test_a_projection_is_lean(name: str) -> None:
    most, place, without = PROJECTIONS[name]
    path = ROOT / "reconciler" / "projections" / place
    files = [path] if path.is_file() else [each for each in path.glob("*.py") if each.name not in without]
    counted = {each.name: lines(each.read_text()) for each in files}
    assert 0 < sum(counted.values()) <= most, counted


@cache
def defaulted() -> frozenset[str]:
    """The names of the fields that the gate or the definition fills in, in any kind."""
    found: set[str] = set()
    for known in rules().shipped.kinds.values():
        found |= set(leaves(known.schema.raw["properties"].get("spec", {})))
        found |= {str(each.path).rpartition(".")[2] for each in known.policy.defaults}
    return frozenset(found)


def leaves(schema: dict[str, Any]) -> Iterator[str]:
    for name, below in schema.get("properties", {}).items():
        if "default" in below:
            yield name
        yield from leaves(below)
    if isinstance(schema.get("items"), dict):
        yield from leaves(schema["items"])


def fallbacks(text: str) -> Iterator[str]:
    """Each `….get("field", value)` and `….get("field") or value` with a value of its own for a defaulted field."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value=name), ast.Constant(value=value)]):
                pass
            case ast.BoolOp(
                op=ast.Or(),
                values=[ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value=name), *_]), *_, last],
            ):
                value = last.value if isinstance(last, ast.Constant) else None
            case _:
                continue
        if value and name in defaulted():
            yield ast.unparse(node)


def test_a_fallback_for_a_field_that_the_gate_fills_in_is_found() -> None:
    assert {"format", "refreshPolicy", "minReplicas"} <= defaulted()
    assert [*fallbacks('spec.get("format") or "gguf"\nspec.get("refreshPolicy", "Always")\nspec.get("env") or ()')] == [
        "spec.get('format') or 'gguf'",
        "spec.get('refreshPolicy', 'Always')",
    ]


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_no_default_of_the_gate_is_repeated(file: Path) -> None:
    assert [*fallbacks(file.read_text())] == []


def test_only_the_judgement_knows_the_engine() -> None:
    """Rules, schemas and defaults are not within reach; `make lint` holds the rest of the import contract."""
    knowing = {each.name for each in FILES if "webhook.engine" in each.read_text()}
    assert knowing == {"audit.py"}
    forbidden = ("webhook.policy", "webhook.schema", "webhook.cel", "webhook.vap")
    assert [each.name for each in FILES if any(word in each.read_text() for word in forbidden)] == []
