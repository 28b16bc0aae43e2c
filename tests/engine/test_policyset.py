"""A folder of policies: what is said of policies that are sound, but hardly meant so."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.vap.documents import binding, policy
from webhook import catalog
from webhook.engine import policyset

LOADED = catalog.load()


def remarks(folder: Path, *documents: dict[str, Any]) -> list[str]:
    (folder / "policies.yaml").write_text(yaml.safe_dump_all(documents, sort_keys=False))
    return list(map(str, policyset.load(folder).remarks(LOADED)))


def about(resource: str, expression: str, group: str = "inference.llmkube.dev", version: str = "v1alpha1") -> Any:
    rule = {"apiGroups": [group], "apiVersions": [version], "operations": ["*"], "resources": [resource]}
    return policy("p", validations=[{"expression": expression}], matchConstraints={"resourceRules": [rule]})


@pytest.mark.parametrize(
    "expression",
    [
        "object.metadata.labels['team'] == 'a' && 'b' in object.metadata.annotations",
        "object.metadata.creationTimestamp > timestamp('2026-01-01T00:00:00Z')",
        "object.metadata.ownerReferences.all(o, o.kind == 'Job') && object.metadata.generation > 1",
        "object.metadata.name != '' && object.spec.source.startsWith('pvc://')",
    ],
)
def test_what_every_object_has_can_be_asked_of_each_kind(tmp_path: Path, expression: str) -> None:
    assert remarks(tmp_path, about("models", expression), binding("p")) == []


@pytest.mark.parametrize(
    ("expression", "remark"),
    [
        ("object.metadata.lables['team'] == 'a'", "undefined field 'lables'"),
        ("object.spec.sorce == ''", "undefined field 'sorce'"),
        ("object.spec.source == 1", "found no matching overload for '_==_' applied to '(string, int)'"),
    ],
)
def test_what_a_kind_does_not_have_is_said_with_its_line(tmp_path: Path, expression: str, remark: str) -> None:
    (found,) = remarks(tmp_path, about("models", expression), binding("p"))
    line = (tmp_path / "policies.yaml").read_text().split("\n").index(f"  - expression: {expression}") + 1
    place = "ValidatingAdmissionPolicy p: spec.validations[0].expression"
    start = f"{tmp_path}/policies.yaml:{line}: {place}: inference.llmkube.dev/v1alpha1, Kind=Model: ERROR: "
    assert found.startswith(start)
    assert remark in found


def test_nothing_is_said_of_kinds_that_the_catalog_does_not_know(tmp_path: Path) -> None:
    assert remarks(tmp_path, about("deployments", "object.sorce == 1", "apps", "v1"), binding("p")) == []


def test_the_digest_is_that_of_the_documents_and_not_of_their_files(tmp_path: Path) -> None:
    first, second = about("models", "true"), binding("p")
    remarks(tmp_path, first, second)
    digest = policyset.load(tmp_path).digest
    for name, value in (("a.yaml", first), ("b.yaml", second)):
        (tmp_path / name).write_text(yaml.safe_dump(value))
    (tmp_path / "policies.yaml").unlink()
    assert policyset.load(tmp_path).digest == digest
    (tmp_path / "b.yaml").write_text(yaml.safe_dump(binding("p", validationActions=["Warn"])))
    assert policyset.load(tmp_path).digest != digest
