"""Files are read as kubectl's own code reads them, and it is said where kustomize's own code reads another value."""

import json
from typing import Any

import pytest

from tests.conformance.reading_ops import content, read
from tests.conformance.runner import Listed
from tests.shared import shared
from webhook.manifests.documents import decode

NOT_SAID = {
    "json/": "objects one after the other, of which kustomize reads the first: such files are for other programs",
    "quoted/14": "breaks of Unicode in quotes, which kustomize folds",
    "character/key-2029": "a break of Unicode in a key",
    "tag/48 !": "the tag ! before nothing",
    "list/list-then-object": "kustomize sorts the objects",
    "idiom/empty-values": "kustomize leaves out empty labels",
}
"""What kustomize reads otherwise, and no remark says."""


def rows() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(shared("corpora", "yaml.json").read_text())["cases"]
    return found


def test_every_row_is_read_as_kubectl_reads_it() -> None:
    answers = {case["id"]: read(case) for case in rows()}
    assert {name: said for name, said in answers.items() if said and not isinstance(said, Listed)} == {}
    assert sum(isinstance(said, Listed) for said in answers.values()) < 0.06 * len(answers)


def test_a_remark_is_where_kustomize_reads_another_value_and_nowhere_else() -> None:
    said = {True: 0, False: 0}
    for case in rows():
        scan, expected = decode(content(case["in"]), "f"), case["expect"]
        if scan.faults or "errors" in expected["kubectl"] or "errors" in expected["kustomize"]:
            continue
        differs = "kustomize-reads-otherwise" in case.get("flags", ())
        if not (differs and any(case["id"].startswith(name) for name in NOT_SAID)):
            assert any(each.remarks for each in scan.documents) == differs, case["id"]
            said[differs] += 1
    assert said[True] > 50
    assert said[False] > 500


@pytest.mark.parametrize("name", ["typed-list-items", "yaml-anchor-again", "yaml-merge-override"])
def test_a_case_that_users_met_is_read(name: str) -> None:
    (document,) = decode(shared("cases", "repositories", f"{name}.yaml").read_bytes(), "f").documents
    assert document.value["kind"] == "OpenModel"
    assert document.remarks == ()
