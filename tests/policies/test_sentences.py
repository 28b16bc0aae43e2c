"""Every code that an answer to a sentence names looks at what the sentence is about: shown by two objects.

One object breaks the sentence, and the code speaks; the other keeps it, and the code is silent. The two are a case of
the code with its repair, or a row of ``sentences/<api>.yaml``: ``breaks`` and ``keeps`` are merged into the
specification of the kind in ``tests/e2e/kinds.yaml``. For a keyword of a definition, they are made of the definition.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel, ConfigDict, Field

from tests.e2e.kinds import KINDS, row_of
from tests.kinds import known_kind
from tests.policies.test_cases import files, read
from tests.policies.test_keywords import base, node, placed
from tests.shared import SHARED
from tools.coverage.formats import read_document
from tools.coverage.seeds import DOCUMENTS, fields_below
from tools.coverage.sentences import answered
from webhook import catalog
from webhook.catalog import Catalog, KnownKind
from webhook.cli.cases import Case, run
from webhook.cli.rule.repairs import said
from webhook.policy.reads import OBJECT, SELF, Expression, Reads

FOLDER = Path(__file__).with_name("sentences")
apis = pytest.mark.parametrize("api", sorted(DOCUMENTS))


class Row(BaseModel):
    """Two objects for some sentences. ``code``: what speaks of the first and not of the second."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    of: tuple[str, ...]
    code: str
    kind: str
    breaks: dict[str, Any]
    keeps: dict[str, Any] = Field(default_factory=dict)
    at: str = ""
    others: list[dict[str, Any]] = Field(default_factory=list)
    labels: dict[str, str] = Field(default_factory=dict)
    annotations: dict[str, str] = Field(default_factory=dict)

    def case(self, change: dict[str, Any]) -> Case:
        base = row_of(self.kind)
        metadata = {"namespace": "default", "labels": self.labels, "annotations": self.annotations}
        obj = base.object("of-the-row", change, **metadata)
        return Case.model_validate({"name": self.of[0], "object": obj, "others": self.others, "expect": {}})


@cache
def rows(api: str) -> list[Row]:
    file = FOLDER / f"{api}.yaml"
    return [Row.model_validate(each) for each in yaml.safe_load(file.read_text())] if file.exists() else []


@cache
def examples() -> dict[str, list[tuple[str, Case, dict[str, Any]]]]:
    """Code → the kind, the case and the repair of each example."""
    found = defaultdict(list)
    for file in files():
        for document in read(file):
            for case in document.cases:
                for code, patch in case.repairs.items():
                    found[code].append((document.target.kind, case, dict(patch)))
    return found


def speaks(code: str, at: str, case: Case, known: KnownKind, loaded: Catalog) -> bool:
    found = said(run(case, known, loaded), code)
    return any(each.startswith(at) for each in found)


# The rows


def row_ids() -> Iterator[Any]:
    for api in sorted(DOCUMENTS):
        for row in rows(api):
            yield pytest.param(row, id=f"{api}: {row.of[0]} {row.code}")


@pytest.mark.parametrize("row", list(row_ids()))
def test_a_code_speaks_of_the_object_that_breaks_a_sentence_and_not_of_the_other(row: Row, loaded: Catalog) -> None:
    known = known_kind(row.kind, loaded)
    assert speaks(row.code, row.at, row.case(row.breaks), known, loaded)
    assert not speaks(row.code, row.at, row.case(row.keeps), known, loaded)


@apis
def test_a_row_is_of_an_answer_that_names_its_code(api: str) -> None:
    known = answered(api).sentences
    for row in rows(api):
        for key in row.of:
            assert key in known, key
            assert row.code in known[key].codes, f"{key} is not answered by {row.code}"


# What an answer names


@apis
def test_every_code_of_an_answer_has_objects(api: str) -> None:
    """A code of rules has an example of its own; Kubernetes' verdict has one for each sentence."""
    shown = {(key, row.code) for row in rows(api) for key in row.of}
    named = {(key, code) for key, holds in answered(api).sentences.items() for code in holds.codes}
    wrong = sorted(f"{key}: {code}" for key, code in named - shown if code not in examples())
    assert wrong == [], "\n".join(wrong)


@apis
def test_the_objects_of_a_code_differ_in_the_field_of_the_sentence(api: str) -> None:
    """So that an answer does not name a code that looks at another field of the same name."""
    if not (SHARED / "seeds").is_dir():
        pytest.skip("needs seeds of the shared material")
    places = places_of(api)
    shown = {(key, row.code) for row in rows(api) for key in row.of}
    wrong = []
    for key, holds in answered(api).sentences.items():
        place = key.split(" ", 2)[2]
        if "." not in place or place not in places:
            continue
        for code in holds.codes:
            looked_at = {*changed(code), *read_paths(code)}
            if (key, code) not in shown and not any(touches(each, places[place]) for each in looked_at):
                wrong.append(f"{key}: {code}")
    assert wrong == [], "\n".join(wrong)


def places_of(api: str) -> dict[str, set[str]]:
    """Return "Type.field" of the document → the paths in the kinds that contain it."""
    return {name: {path for _, path in found} for name, found in fields_of(api).items()}


@cache
def fields_of(api: str) -> dict[str, set[tuple[str, str]]]:
    """Return "Type.field" of the document → the kinds that contain it, with the path."""
    document = read_document(SHARED / "seeds", api)
    found = defaultdict(set)
    for kind in {row.kind for row in KINDS} & document.types.keys():
        for path, name, _ in fields_below(document, kind):
            found[name].add((kind, path.lstrip(".")))
    return found


def changed(code: str) -> Iterator[str]:
    """The paths at which the objects of a code differ, with ``[*]`` for items."""
    for _, _, patch in examples().get(code, ()):
        for path, value in patch.items():
            yield from leaves(re.sub(r"^others\[[^]]*]\.", "", re.sub(r"\[\d+]", "[*]", path)), value)


@cache
def read_paths(code: str) -> frozenset[str]:
    """The paths that the rule of a code reads, and those at which it stands."""
    found = set()
    for known in catalog.load().kinds.values():
        policy = known.policy
        trees = {name: each.program.tree() for name, each in policy.variables.items()}
        for rule in policy.validations:
            if rule.code == code:
                parts = [part.program.tree() for part in (rule.when, rule.rule) if part is not None]
                reads = Reads.of(parts, trees, {SELF: (OBJECT, *rule.at.keys)})
                found |= {*reads.values, *reads.tests, (OBJECT, *rule.about.keys)}
        for default in policy.defaults:
            if default.code == code:
                parts = [part.program.tree() for part in (default.when, default.value) if isinstance(part, Expression)]
                reads = Reads.of(parts, trees)
                found |= {*reads.values, *reads.tests, (OBJECT, *default.path.keys)}
    return frozenset(
        re.sub(r"\.\*", "[*]", ".".join(path[1:])) for path in found if path[0] == OBJECT and len(path) > 2
    )


def leaves(path: str, value: Any) -> Iterator[str]:
    yield path
    if isinstance(value, dict):
        for key, child in value.items():
            yield from leaves(f"{path}.{key}", child)
    elif isinstance(value, list):
        for child in value:
            yield from leaves(f"{path}[*]", child)


def touches(path: str, fields: set[str]) -> bool:
    """Whether the path is one of the fields, in it or around it."""
    return any(
        path == each or path.startswith((f"{each}.", f"{each}[")) or each.startswith(f"{path}.") for each in fields
    )


# The reasons

ODD: dict[str, list[Any]] = {
    "string": ["", "a b", "..", "My_Name", "-", "x" * 300],
    "integer": [-1, 0, 99999],
    "number": [-1.0, 0.0],
    "boolean": [True],
}
"""Values that are wrong in many fields, by type."""


@apis
def test_a_field_of_which_every_value_can_be_meant_gets_no_finding(api: str, loaded: Catalog) -> None:
    if not (SHARED / "seeds").is_dir():
        pytest.skip("needs seeds of the shared material")
    places = {key.split(" ", 2)[2]: key for key, holds in answered(api).sentences.items() if holds.why_not == "meaning"}
    assert places
    found = [
        f"{places[place]}: {code} says {path} cannot be {value!r}"
        for place, fields in fields_of(api).items()
        if place in places
        for kind, path in sorted(fields)[:3]
        for code, value in refused(kind, path, loaded)
    ]
    assert found == [], "\n".join(found)


def refused(name: str, path: str, loaded: Catalog) -> Iterator[tuple[str, Any]]:
    """The odd values of a field of which a rule, or Kubernetes, speaks at this field."""
    known, steps = known_kind(name, loaded), re.findall(r"\[\*]|[^.\[\]]+", path)
    for value in ODD.get(node(known.schema.raw, steps).get("type", ""), ()) if "status" not in steps else ():
        obj = placed({**base(name), "status": {}}, known.schema.raw, steps, value)
        result = run(Case.model_validate({"name": path, "object": obj, "expect": {}}), known, loaded).validation
        for each in (*result.causes, *result.warnings):
            if each.code and each.field == path.replace("[*]", "[0]"):
                yield each.code, value
