"""Every code has an example: a case in which it fires, and the smallest change after which it does not."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path as File
from typing import Any

import pytest

from tests.policies.test_cases import files, read, target
from webhook.cli.cases import Case, is_about
from webhook.cli.repairs import Example, RepairError, run_example, said
from webhook.engine.catalog import Catalog, KnownKind
from webhook.engine.releases.operators import forms

REMOVES = ("remove", "delete", "no effect", "not enforced")
"""Words of a message after which the field itself may go."""


@dataclass(frozen=True)
class Marked:
    """A case with a repair for a code."""

    code: str
    file: File
    known: KnownKind
    case: Case


def marked() -> Iterator[tuple[File, Case, str]]:
    for file in files():
        for document in read(file):
            for case in document.cases:
                yield from ((file, case, code) for code in case.repairs)


@pytest.fixture(scope="module")
def examples(loaded: Catalog) -> list[Marked]:
    return [
        Marked(code, file, target(document, loaded), case)
        for file in files()
        for document in read(file)
        for case in document.cases
        for code in case.repairs
    ]


@pytest.mark.parametrize("api", sorted({file.parent.parent.name for file in files()}))
def test_every_code_has_one_repair(api: str, loaded: Catalog, examples: list[Marked]) -> None:
    kinds = [known for found in forms(loaded) for known in found.kinds.values() if known.api == api]
    for rule in (rule for known in kinds for rule in known.policy.rules):
        places = [
            f"{each.file.name}: {each.case.name}"
            for each in examples
            if each.code == rule.code and is_about(each.case, each.known, rule, loaded)
        ]
        assert len(places) < 2, f"{rule.code} has a repair in several cases: {places}; keep the clearest"
        assert places, (
            f"{rule.code} has no example: `modelgate rule {rule.code}` could not show a good object. Add a line to "
            f"the clearest case of policies/{api}/cases/ in which it fires: "
            f"`repairs: {{{rule.code}: {{{rule.about}: <what the message asks for>}}}}` (null removes a field)"
        )


@pytest.mark.parametrize(
    ("file", "name", "code"), [pytest.param(file, case.name, code, id=code) for file, case, code in marked()]
)
def test_a_repair_repairs_its_rule_and_no_more(
    file: File, name: str, code: str, loaded: Catalog, examples: list[Marked]
) -> None:
    (each,) = (each for each in examples if (each.code, each.case.name, each.file) == (code, name, file))
    assert faults(each, loaded) == [], f"`repairs` of the case {name!r} in {file.parent.parent.name}/cases/{file.name}"


def faults(each: Marked, loaded: Catalog) -> list[str]:
    """Everything that is wrong with an example."""
    try:
        found = run_example(each.code, each.case, each.known, loaded)
    except RepairError as error:
        return [str(error)]
    if each.code not in found.known.policy.codes:
        return [f"{each.known.gvk.kind} has no rule {each.code}"]
    return [*wrong(found), *lost_field(found), *needless(each, loaded)]


def wrong(found: Example) -> Iterator[str]:
    """What the rules say that they should not."""
    if not said(found.bad, found.code):
        yield f"{found.code} does not fire in the case"
    if said(found.good, found.code):
        yield f"{found.code} still fires: {said(found.good, found.code)}"
    for cause in found.good.validation.causes:
        if cause.code != found.code:
            yield f"the repaired object is refused: {cause}"
    before = {each.code or each.field for each in (*found.bad.validation.causes, *found.bad.validation.warnings)}
    always = {rule.code for rule in found.known.policy.validations if rule.rule.source == "false"}  # of every value
    for warning in found.good.validation.warnings:
        if (warning.code or warning.field) not in before | always | {found.code}:
            yield f"the repaired object gets another warning: {warning}"


def lost_field(found: Example) -> Iterator[str]:
    """The field that the rule is about must stay, unless the message asks to remove it or its value has moved."""
    rules = [rule for rule in found.known.policy.validations if rule.code == found.code]
    for rule in rules:
        path = rule.about
        before, after = (list(path.nodes(each.request.object)) for each in (found.bad, found.good))
        text = " ".join(said(found.bad, found.code)).lower()
        moved = moved_values(found)
        if before and not after and not moved and not any(word in text for word in REMOVES):
            yield f"the repair removes {path}, which the rule is about: set it to what the message asks for"


def needless(each: Marked, loaded: Catalog) -> Iterator[str]:
    """Each entry of the repair must be needed. A value that moves from one field to another is one change."""
    patch = each.case.repairs[each.code]
    moved = moved_values(run_example(each.code, each.case, each.known, loaded))
    for entry, value in patch.items():
        if moved and (value is None or value in moved):
            continue
        rest = {path: value for path, value in patch.items() if path != entry}
        fewer = each.case.model_copy(update={"repairs": {each.code: rest}})
        try:
            smaller = run_example(each.code, fewer, each.known, loaded)
        except RepairError:  # the rest needs what this entry makes
            continue
        if not list(wrong(smaller)):
            yield f"{entry} is not needed: without it, the rule does not fire either"


def moved_values(found: Example) -> list[Any]:
    """Values that the repair takes from one field and sets in another."""
    before, after = (dict(leaves(each.request.object)) for each in (found.bad, found.good))
    removed = [value for path, value in before.items() if path not in after]
    return [value for path, value in after.items() if path not in before and value in removed]


def leaves(node: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(node, dict | list):
        items = node.items() if isinstance(node, dict) else enumerate(node)
        for key, child in items:
            yield from leaves(child, f"{path}/{key}")
    else:
        yield path, node
