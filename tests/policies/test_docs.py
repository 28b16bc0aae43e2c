"""What people read of the rules: the page of each API names them all, and what they say fits into a warning."""

import re
from pathlib import Path

import pytest

from tests.shared import ROOT
from tools.rules.pages import made_pages
from webhook.admission.decision import GroupVersionKind
from webhook.catalog import Catalog
from webhook.cli.cases import CasesDocument, parse_cases, run
from webhook.engine import POD_CODES
from webhook.manifests import documents

CASES = sorted((ROOT / "policies").glob("*/cases/*.yaml"))

LONGEST = 256
"""Characters of one warning: the API server cuts longer ones when there are many (endpoints/filters/warning.go)."""

LISTS = {"OM405", *POD_CODES}
"""Refusals that name several objects, and what Kubernetes says of pods, in its words."""


def test_the_page_of_an_api_names_every_rule(loaded: Catalog) -> None:
    for api in {known.api for known in loaded.kinds.values() if known.policy.codes}:
        page = (ROOT / "docs" / "rules" / f"{api}.md").read_text()
        kinds = [known for known in loaded.kinds.values() if known.api == api]
        codes = {code for known in kinds for source in known.sources for code in source.document.codes}
        assert set(re.findall(r"^\| ([A-Z]{2}[0-9]{3}) \|", page, re.MULTILINE)) == codes


def test_the_pages_are_up_to_date(loaded: Catalog) -> None:
    for page, text in made_pages(loaded):
        assert page.read_text() == text, "run `make docs`"


@pytest.mark.parametrize("file", CASES, ids=lambda file: f"{file.parent.parent.name}/{file.stem}")
def test_what_rules_say_fits_into_a_warning(file: Path, loaded: Catalog) -> None:
    for document in map(parse_cases, documents.read(file)):
        for text in printed(document, loaded):
            assert len(text) <= LONGEST, text
            assert "\n" not in text


def printed(document: CasesDocument, loaded: Catalog) -> list[str]:
    target = document.target
    known = loaded.find(GroupVersionKind(target.group, target.version, target.kind))
    assert known is not None
    results = [run(case, known, loaded).validation for case in document.cases]
    said = [item for result in results for item in (*result.causes, *result.warnings)]
    return [str(item) for item in said if item.code and item.code not in LISTS]
