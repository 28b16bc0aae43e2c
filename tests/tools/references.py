"""Whether what an answer refers to exists: fields and keywords of definitions, facts, tests and cases."""

import re
from functools import cache
from pathlib import Path
from typing import Any

from tests.kinds import known_kind
from tests.shared import ROOT
from webhook import catalog
from webhook.catalog import KnownKind
from webhook.engine import KUBERNETES_CODES
from webhook.manifests import documents


@cache
def kind(name: str) -> KnownKind:
    return known_kind(name, catalog.load())


@cache
def codes() -> frozenset[str]:
    return catalog.load().codes() | {*KUBERNETES_CODES}


def is_field(text: str) -> bool:
    """``Kind.spec.flavors[*].name``, in the definition of the kind."""
    return _node(text) is not None


def is_stated(text: str) -> bool:
    """``Kind.spec.format enum``: the field has the keyword; ``required`` and ``optional`` are those of the field."""
    path, _, keyword = text.partition(" ")
    node, above = _node(path), _node(path.rpartition(".")[0])
    if node is None or above is None:
        return False
    required = path.rpartition(".")[2] in above.get("required", ())
    return {"required": required, "optional": not required}.get(keyword, keyword in node)


def _node(text: str) -> dict[str, Any] | None:
    name, _, path = text.partition(".")
    node: Any = kind(name).schema.raw
    for step in re.findall(r"\[\*\]|[^.\[]+", path):
        children = node.get("properties", {})
        node = (node.get("items") or node.get("additionalProperties")) if step == "[*]" else children.get(step)
        if not isinstance(node, dict):
            return None
    return node


def is_fact(text: str) -> bool:
    """``Kind.fact``."""
    name, _, fact = text.partition(".")
    return fact in kind(name).facts


def is_test(text: str) -> bool:
    """``path`` or ``path::name`` of a test, a case or what its name has before a colon."""
    path, _, name = text.partition("::")
    return (ROOT / path).is_file() and (not name or name in names_in(ROOT / path))


@cache
def names_in(path: Path) -> set[str]:
    if path.suffix == ".py":
        return set(re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE))
    cases = [case["name"] for document in documents.read(path) for case in document.value["cases"]]
    return {*cases, *(name.split(":")[0] for name in cases)}
