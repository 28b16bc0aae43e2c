"""What the findings of all cases say: at the field that is meant, with a remedy, and without internal names."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from tests.policies.test_cases import files, read, target
from tests.shared import shared
from webhook.catalog import Catalog
from webhook.cli.cases import Case, CasesDocument, run
from webhook.facts.settings import Behaviour
from webhook.kubernetes import LINE, faults_of, shortened
from webhook.schema import OMIT, FieldError

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


def recorded() -> Iterator[FieldError]:
    """Every error that Kubernetes' own code gave, in the recorded tables of objects and of pods."""
    for folder in ("objects", "pods"):
        for file in sorted(shared("corpora", folder).glob("*.json")):
            document = json.loads(file.read_text())
            for case in document.get("cases", ()):
                for error in case.get("errors") or ():
                    value = OMIT if "body" in error else error.get("badValue", error.get("value", ""))
                    yield FieldError(error["type"], error["field"], error["detail"], value)


def test_each_error_of_kubernetes_is_one_short_line_with_a_remedy() -> None:
    errors = set(map(str, recorded()))
    assert len(errors) > 4_000
    lines = {fault.text for error in recorded() for fault in faults_of([error])}
    assert [line for line in lines if len(line) > LINE or "regex" in line] == []
    alone = {"Invalid value: invalid label selector", "Invalid value: invalid label selector."}
    assert {line for line in lines if not REMEDY.search(line)} == alone  # another error says it, unless it is alone


def test_all_that_is_wrong_with_a_value_is_one_line() -> None:
    texts = ("must be a standard resource type or fully qualified", "must be a standard resource for containers")
    (fault,) = faults_of([FieldError("FieldValueInvalid", "limits[gpu]", text, "gpu") for text in texts])
    assert fault.text.startswith(f'Invalid value: "gpu": {texts[0]}, {texts[1]}; use cpu, ')
    assert fault.text.count("nvidia.com/gpu") == 1
    limit = FieldError("FieldValueInvalid", "limits[cpu]", "must be greater than or equal to 0", "-1")
    follows = FieldError("FieldValueInvalid", "requests", "must be less than or equal to cpu limit of -1", "1")
    assert [fault.error for fault in faults_of([limit, follows])] == [limit]
    assert [fault.error for fault in faults_of([follows])] == [follows]


def test_a_definition_keeps_its_words_unless_they_are_long() -> None:
    short = FieldError("FieldValueInvalid", "spec.url", "spec.url in body should match '^https://'", "x")
    assert shortened(short) == short.body()
    pattern = "^" + "(a|b)" * 60
    long = FieldError("FieldValueInvalid", "spec.url", f"spec.url in body should match '{pattern}'", "x" * 300)
    assert len(shortened(long)) <= LINE
    assert shortened(long).startswith('Invalid value: "xxx')


@pytest.mark.parametrize("value", [None, True, 0, -1.5, "", "x" * 10**6, "\n\u202e", {"a": 1}, [1], OMIT])
@pytest.mark.parametrize("detail", ["", "x" * 10**6, "must be less than or equal to a limit of b", "(", "\\1{field}"])
def test_any_error_has_a_line(value: object, detail: str) -> None:
    error = FieldError("FieldValueInvalid", "a.b[c.d/e][0]", detail, value)
    assert 0 < len(faults_of([error])[0].text) <= LINE
    assert 0 < len(shortened(error)) <= LINE
