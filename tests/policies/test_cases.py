"""Every case of every kind, and the promise that every rule has one that fires and one that does not."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree

import orjson
import pytest

from webhook import engine
from webhook.admission.request import GroupVersionKind, Request
from webhook.admission.status import STATUS_LENGTH, status
from webhook.cli.cases import Case, CasesDocument, catalogs, parse_cases, run
from webhook.cluster import MemoryView
from webhook.engine import Options, catalog
from webhook.engine.catalog import Catalog, KnownKind
from webhook.engine.releases.operators import forms
from webhook.manifests import documents
from webhook.policy import Profile
from webhook.policy.path import MISSING

ROOT = Path(__file__).resolve().parents[2] / "policies"


def files() -> list[Path]:
    return sorted(ROOT.glob("*/cases/*.yaml"))


def read(file: Path) -> Iterator[CasesDocument]:
    return (parse_cases(document) for document in documents.read(file))


def target(document: CasesDocument, loaded: Catalog) -> KnownKind:
    known = loaded.find(GroupVersionKind(document.target.group, document.target.version, document.target.kind))
    assert known is not None, f"no CRD for {document.target}"
    return known


def under_each_release(
    document: CasesDocument, case: Case, loaded: Catalog
) -> Iterator[tuple[Catalog, KnownKind, Case]]:
    """The catalog of each release that a case names, its kind in it, and the case without releases."""
    known = target(document, loaded)
    alone = case.model_copy(update={"release": None})
    for found in list(catalogs(case, known.api, loaded)) or [loaded]:
        yield found, found.kinds[known.gvk], alone


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


@pytest.mark.parametrize("file", files(), ids=lambda file: f"{file.parent.parent.name}/{file.stem}")
def test_a_second_pass_over_a_new_object_changes_nothing(file: Path, loaded: Catalog) -> None:
    for document in read(file):
        for case in (each for each in document.cases if each.oldObject is None and each.oldSpec is MISSING):
            for found, known, alone in under_each_release(document, case, loaded):
                first = run(alone, known, found).mutation.object
                assert first is not None
                options = Options(Profile(case.profile), strict_fields=True, settings=case.settings)
                request = Request(known.gvk, known.plural, "CREATE", first)
                assert engine.mutate(request, found, MemoryView(case.others), options).object == first, case.name


@pytest.mark.parametrize("api", sorted({file.parent.parent.name for file in files()}))
def test_every_rule_has_a_case_that_fires_and_one_that_does_not(api: str, loaded: Catalog) -> None:
    """Of an API together: a policy may be for several kinds, each with cases of its own. Of rules of one code that are
    true of different releases, each one.
    """
    kinds = [known for found in forms(loaded) for known in found.kinds.values() if known.api == api]
    rules = {(rule.code, rule.operator) for known in kinds for rule in known.policy.rules}
    fired: dict[tuple[str, str], set[bool]] = {rule: set() for rule in rules}
    for document in (each for file in files() if file.parent.parent.name == api for each in read(file)):
        for case in document.cases:
            for under, known, alone in under_each_release(document, case, loaded):
                result = run(alone, known, under)
                found = {item.code for item in result.validation.warnings}
                found |= {label for cause in result.validation.causes for label in cause.labels}
                found |= {item.code for item in result.mutation.defaults}
                for rule in known.policy.rules:
                    fired[rule.code, rule.operator].add(rule.code in found)
    assert {rule for rule, outcomes in fired.items() if outcomes != {True, False}} == set()


def test_every_api_has_cases(loaded: Catalog) -> None:
    assert {known.api for known in loaded.kinds.values()} == {file.parent.parent.name for file in files()}


def test_the_names_of_cases_are_unique() -> None:
    for file in files():
        names = [case.name for document in read(file) for case in document.cases]
        assert len(names) == len(set(names)), file
