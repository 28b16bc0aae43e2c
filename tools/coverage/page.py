"""docs/coverage.md: how much of each API document and specification is covered, counted from the data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from tools.coverage.seeds import seed_fields
from tools.coverage.spec import ANSWERS, Answer, answers
from webhook.cli.cases import parse_cases
from webhook.engine.catalog import Catalog, KnownKind
from webhook.manifests import documents
from webhook.policy import Action

__all__ = ["SEEDS", "counted_seeds", "made_page"]

SEEDS: Final = Path(__file__).parent / "seeds.yaml"
POLICIES: Final = Path(__file__).parents[2] / "policies"

HEAD: Final = """\
# What is covered

Made by `make docs`; a test fails when it is stale.

## The nineteen kinds

Fields are those below `spec` and `status`; those of an API document stop where it names a type of Kubernetes, those of
a definition do not. *Missing* are fields of the document that the definition does not have. Counts of the documents
are kept in `tools/coverage/seeds.yaml`, since the documents themselves are not in the checkout.

"""

COLUMNS: Final = (
    "fields in the document",
    "missing",
    "fields in the definition",
    "its defaults",
    "its rules",
    "policy defaults",
    "denials",
    "warnings",
    "facts",
    "cases",
)

RULES: Final = """
## The rules of the specifications

Each rule of a specification has an id and an answer, in one file per specification; tests find ids without an answer,
and answers that name what is not there. An answer is any of these: *codes* of the gate's rules ([all of them](rules/)),
fields of the *definition* that enforce it, *facts and tests* that hold what no single rule says, and *why not* where
the gate has nothing to do with it. An id is that of the specification (`OM-V1`), or a place in it: `§2.3` for the
sentences of a section, `§2.3#4` for its item 4, `§2.3 row 4` and `§2.3 point 4` for the fourth that has no number.

"""


def made_page(catalog: Catalog) -> str:
    """The page, from the catalog, the cases, the answers and the counts of the documents."""
    seeds = yaml.safe_load(SEEDS.read_text())
    kinds = sorted(catalog.kinds.values(), key=lambda known: (known.api, known.gvk.kind))
    return "".join([HEAD, *_kinds(kinds, seeds), RULES, *_rules()])


def counted_seeds(folder: Path, catalog: Catalog) -> dict[str, dict[str, int]]:
    """Kind → the number of fields in its document, and how many of them its CRD lacks."""
    found = {}
    for known in catalog.kinds.values():
        ours = set(_paths(known.schema.raw))
        fields = {path for path in seed_fields(folder, known.api, known.gvk.kind) if _counts(path)}
        found[known.gvk.kind] = {"fields": len(fields), "missing": len(fields - ours)}
    return found


def _counts(path: str) -> bool:
    return path.startswith((".spec.", ".status."))


def _paths(schema: Mapping[str, Any], path: str = "") -> Iterator[str]:
    for name, child in schema.get("properties", {}).items():
        yield f"{path}.{name}"
        yield from _paths(child, f"{path}.{name}")
    for keyword in ("items", "additionalProperties"):
        if isinstance(child := schema.get(keyword), dict):
            yield from _paths(child, path + "[*]")


def _kinds(kinds: list[KnownKind], seeds: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    yield f"| kind | {' | '.join(COLUMNS)} |\n|---|{'---|' * len(COLUMNS)}\n"
    cases, total = _cases(), Counter[int]()
    for known in kinds:
        kind = known.gvk.kind
        row = (seeds[kind]["fields"], seeds[kind]["missing"], *_of_definition(known), *_of_policy(known), cases[kind])
        total.update(dict(enumerate(row)))
        yield f"| [{kind}](rules/{known.api}.md) | {' | '.join(map(str, row))} |\n"
    yield f"| **{len(kinds)}** | {' | '.join(str(total[column]) for column in range(len(COLUMNS)))} |\n"


def _cases() -> Counter[str]:
    found = (parse_cases(each) for file in POLICIES.glob("*/cases/*.yaml") for each in documents.read(file))
    return Counter({document.target.kind: len(document.cases) for document in found})


def _of_definition(known: KnownKind) -> tuple[int, int, int]:
    below = known.schema.raw["properties"]
    nodes = [node for part in ("spec", "status") for node in _nodes(below.get(part, {}))]
    return (
        sum(map(_counts, _paths(known.schema.raw))),
        sum("default" in node for node in nodes),
        sum(len(node.get("x-kubernetes-validations", ())) for node in nodes),
    )


def _nodes(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield schema
    for child in schema.get("properties", {}).values():
        yield from _nodes(child)
    for keyword in ("items", "additionalProperties"):
        if isinstance(child := schema.get(keyword), dict):
            yield from _nodes(child)


def _of_policy(known: KnownKind) -> tuple[int, int, int, int]:
    actions = Counter(rule.action for rule in known.policy.validations)
    return len(known.policy.defaults), actions[Action.DENY], actions[Action.WARN], len(known.facts)


def _rules() -> Iterator[str]:
    yield "| specification | ids | codes | definition | facts and tests | why not |\n|---|---|---|---|---|---|\n"
    for path in sorted(ANSWERS.glob("*.yaml")):
        found = Counter(map(_answered_by, answers(path).values()))
        counts = (found.total(), *(found[by] for by in ("codes", "definition", "tests", "why not")))
        yield f"| [{path.stem}](spec/{path.name}) | {' | '.join(map(str, counts))} |\n"
    yield "\nEach id counts once, under the first that it has. A section's reason why not speaks for all in it.\n"


def _answered_by(answer: Answer) -> str:
    if answer.codes:
        return "codes"
    if answer.crd:
        return "definition"
    return "tests" if answer.facts or answer.tests else "why not"
