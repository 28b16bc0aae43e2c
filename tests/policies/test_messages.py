"""What the findings of all cases say: at the field that is meant, with a remedy, and without internal names."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.policies.test_cases import files, read, target
from webhook.catalog import Catalog
from webhook.cli.cases import Case, CasesDocument, run
from webhook.facts.settings import Behaviour
from webhook.kubernetes import LINE

BARE = {"", "metadata", "spec"}
AT_SPEC = {
    **dict.fromkeys(("AI307", "AI322", "AI334", "AI342", "AI372", "AI382"), "the field is not in the definition"),
    "AI471": "the fields that it is about are those that the object does not set",
    "LD201": "spec itself is absent",
    **dict.fromkeys(("LD202", "LD304"), "all fields of another shape"),
    "OM415": "the cluster's own configuration, not the object",
}
"""Code → why it does not name a field below ``spec``."""
NO_REMEDY = {
    "OM406": "upstream's information, which needs no change",
    "OM431": "it tells of a change that has been made",
}
REMEDY = re.compile(
    r"\b(use|set|remove|add|create|write|delete|enable|list|repeat|wait|close|check|fix|provide|give|supported values"
    r"|did you mean|must|do not|make|replace|put|expected|ensure|keep|shorten|lower|raise|undo)\b",
    re.IGNORECASE,
)
INTERNAL = re.compile(r"\bmt:|\bmap\[|\bnil\b.*\bnil\b|optional\.|(?<!\x22)\bNone\b|<nil>|\btrue\.|object at 0x")


def cases() -> Iterator[object]:
    for file in files():
        for document in read(file):
            for case in document.cases:
                if case.settings.ome is Behaviour.RECOMMENDED:  # the others speak in upstream's words
                    yield pytest.param(document, case, id=f"{file.parent.parent.name}: {case.name}")


@pytest.mark.parametrize(("document", "case"), list(cases()))
def test_a_finding_names_its_field_and_what_to_do(document: CasesDocument, case: Case, loaded: Catalog) -> None:
    found = run(case, target(document, loaded), loaded).validation
    said = [*found.causes, *found.warnings]
    assert len({(each.field, each.message) for each in said}) == len(said), "one fault is said twice"
    for each in said:
        assert len(each.message) <= LINE, each.message
        if not each.code:
            continue  # the definition's own words
        assert REMEDY.search(each.message) or each.code in NO_REMEDY, f"{each.code} has no remedy: {each.message}"
        assert not INTERNAL.search(each.message), each.message
        if each.code.startswith("K"):
            continue  # a whole object may lack what is at no field of it
        assert each.field not in BARE or each.code in AT_SPEC, f"{each.code} at {each.field!r}: {each.message}"
