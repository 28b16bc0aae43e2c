"""Every case of every kind."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree

import orjson
import pytest

from webhook import catalog
from webhook.admission.decision import GroupVersionKind
from webhook.admission.status import STATUS_LENGTH, status
from webhook.catalog import Catalog, KnownKind
from webhook.cli.cases import Case, CasesDocument, parse_cases, run
from webhook.manifests import documents

ROOT = Path(__file__).resolve().parents[2] / "policies"


def files() -> list[Path]:
    return sorted(ROOT.glob("*/cases/*.yaml"))


def read(file: Path) -> Iterator[CasesDocument]:
    return (parse_cases(document) for document in documents.read(file))


def target(document: CasesDocument, loaded: Catalog) -> KnownKind:
    known = loaded.find(GroupVersionKind(document.target.group, document.target.version, document.target.kind))
    assert known is not None, f"no CRD for {document.target}"
    return known


def every_case() -> Iterator[object]:
    for file in files():
        for document in read(file):
            for case in document.cases:
                yield pytest.param(document, case, id=f"{file.parent.parent.name}: {case.name}")


@pytest.mark.parametrize(("document", "case"), list(every_case()))
def test_a_case_gets_what_it_expects(document: CasesDocument, case: Case, loaded: Catalog) -> None:
    result = run(case, target(document, loaded), loaded)
    assert not result.failures, "\n".join(result.failures)
    if causes := result.validation.causes:
        assert len(orjson.dumps(status(result.request, causes))) <= STATUS_LENGTH
        assert len({str(cause) for cause in causes}) == len(causes)


def test_a_default_that_an_existing_case_now_gets_fails_that_case(tmp_path: Path) -> None:
    """Shown with a new default of LLMKube's Model. A case of an error needs to name it only if it names others."""
    copytree(ROOT / "llmkube", tmp_path / "llmkube")
    policy = tmp_path / "llmkube" / "model.yaml"
    new = "  - {code: LK199, path: spec.quantization, value: \"'F16'\", because: new}\n"
    policy.write_text(policy.read_text().replace("  defaults:\n", f"  defaults:\n{new}", 1))
    changed = catalog.load(tmp_path)
    (document,) = read(tmp_path / "llmkube" / "cases" / "model.yaml")
    outcomes = Counter()
    for case in document.cases:
        result = run(case, target(document, changed), changed)
        got = any(item.code == "LK199" for item in result.mutation.defaults)
        told = [
            each for each in result.failures if each.startswith("spec.quantization: set to 'F16' (LK199), but not in")
        ]
        states = bool(case.expect.set) or case.expect.defaults is not None or case.expect.spec is not None
        assert bool(told) == (got and (result.validation.allowed or states)), case.name
        assert all("add `defaults: [LK" in each and "LK199" in each for each in told)
        outcomes[got, bool(told), result.validation.allowed] += 1
    assert outcomes[True, True, True] > 100
    assert outcomes[True, False, True] == 0
    assert sum(outcomes.values()) == len(document.cases)


def test_there_are_as_many_cases_as_before() -> None:
    assert sum(len(document.cases) for file in files() for document in read(file)) >= 1_401


def test_every_api_has_cases(loaded: Catalog) -> None:
    assert {known.api for known in loaded.kinds.values()} == {file.parent.parent.name for file in files()}
