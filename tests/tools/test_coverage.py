"""Every rule of the specifications is answered, and every answer is there."""

from pathlib import Path

import pytest
import yaml

from tests.shared import ROOT, shared
from tests.tools.references import codes, is_fact, is_field, is_stated, is_test
from tools.coverage import definitions, page, samples
from tools.coverage.formats import seed_fields
from tools.coverage.spec import ANSWERS, Answer, answers, read_specification, unanswered
from webhook import catalog

FILES = sorted(ANSWERS.glob("*.yaml"))


def test_the_page_is_up_to_date() -> None:
    assert (ROOT / "docs" / "coverage.md").read_text() == page.made_page(catalog.load()), "run `make docs`"


def test_the_counts_of_the_documents_are_up_to_date_and_none_of_their_fields_is_missing() -> None:
    counted = page.counted_seeds(shared("seeds"), catalog.load())
    assert yaml.safe_load(page.SEEDS.read_text()) == counted, "run `make docs`"
    assert {name for name, counts in counted["kinds"].items() if counts["missing"]} == set()


def test_the_page_of_samples_is_up_to_date() -> None:
    assert (ROOT / "docs" / "samples.md").read_text() == samples.made_page(shared("samples"), catalog.load()), (
        "run `make docs`"
    )


def test_the_page_of_differences_from_upstreams_definitions_is_up_to_date() -> None:
    made = definitions.made_page(shared("upstream-crds"), shared("samples"))
    assert (ROOT / "docs" / "crds.md").read_text() == made, "run `make docs`"


def test_fields_of_a_document_that_embeds_and_repeats_types() -> None:
    fields = seed_fields(shared("seeds"), "ome", "InferenceService")
    assert fields[".spec.engine.leader.nodeSelector"].many == "map"
    assert ".spec.engine.runner.Container" not in fields
    assert fields[".status.components[*].url"].many == ""
    assert ".spec.engine.PodSpec" not in fields


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_rule_of_a_specification_is_answered_and_no_other(path: Path) -> None:
    specification = read_specification((shared("spec") / f"{path.stem}.md").read_text())
    found = answers(path)
    assert sorted(found.keys() - specification.rules.keys() - specification.sections) == []
    assert sorted(unanswered(specification, found)) == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_an_answer_names_is_there(path: Path) -> None:
    for rule, answer in answers(path).items():
        assert set(answer.codes) <= codes(), rule
        assert [field for field in answer.crd if not is_field(field)] == [], rule
        assert [fact for fact in answer.facts if not is_fact(fact)] == [], rule
        assert [test for test in answer.tests if not is_test(test)] == [], rule


def test_a_name_that_does_not_exist_is_not_accepted_as_a_proof() -> None:
    assert not is_field("Model.spec.sources")
    assert not is_field("Model.spec.files[*].name")
    assert not is_fact("Model.sources")
    assert is_stated("Model.spec.source required")
    assert not is_stated("Model.spec.source optional")
    assert not is_stated("Model.spec.source enum")
    assert not is_stated("Model.spec.sources optional")
    assert not is_test("policies/llmaz/cases/openmodel.yaml::OM99")
    assert not is_test("tests/tools/test_coverage.py::test_nothing")
    assert is_test("tests/tools/test_coverage.py::test_a_name_that_does_not_exist_is_not_accepted_as_a_proof")


SPECIFICATION = """
# Title
No rule.
## 1. First (of two)
Prose.
1. one 2. two
   a. part
- point
  goes on
| id | |
|---|---|
| A-B1 `[X]` | |
| **2a** | |
| none | |
### 1.1 Below
```yaml
- {id: 7, x: y}
- {id: X07, x: y}
```
## Corrections: to it
## 2. Second
Prose.
"""


def test_ids_are_found_in_headings_lists_tables_and_facts() -> None:
    specification = read_specification(SPECIFICATION)
    assert {*specification.rules} == {
        "§1",
        "§1#1",
        "§1#2",
        "§1#2a",
        "§1 point 1",
        "A-B1",
        "§1 row 3",
        "§1.1#7",
        "X07",
        "§2",
    }
    assert specification.rules["X07"] == ("§1", "§1.1")
    assert specification.sections == {"§1", "§1.1", "§Corrections", "§2"}


def test_a_section_that_says_why_not_speaks_for_what_stands_under_it() -> None:
    specification = read_specification(SPECIFICATION)
    found = {
        "§1": Answer.model_validate({"not": "reason"}),
        "§2": Answer.model_validate({"codes": ["LK101"]}),
    }
    assert unanswered(specification, found) == set()
    assert unanswered(specification, {"§1": found["§2"]}) == {*specification.rules} - {"§1"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A1..3: {codes: [LK101]}\nA2: {not: reason}", "A2 is answered twice"),
        ("A1: {note: none}", "A1 has no answer"),
        ("A1: {code: [LK101]}", "A1: 1 validation error"),
    ],
)
def test_invalid_answers_are_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "x.yaml").write_text(text)
    with pytest.raises(ValueError, match=message):
        answers(tmp_path / "x.yaml")


def test_ranges_and_names_of_tests_are_taken_apart(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(yaml.safe_dump({"OM08..10": {"tests": ["a::{id}"]}}))
    found = answers(tmp_path / "x.yaml")
    assert {rule: answer.tests for rule, answer in found.items()} == {
        "OM08": ("a::OM08",),
        "OM09": ("a::OM09",),
        "OM10": ("a::OM10",),
    }
