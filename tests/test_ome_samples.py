"""OME's own manifests get the right verdict, each folder seen as one cluster."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from tests.shared import shared
from webhook import catalog, documents, engine
from webhook.catalog import Catalog
from webhook.cluster import MemoryView
from webhook.documents import Document
from webhook.engine import Options
from webhook.request import GroupVersionKind, Request, group_version

STRICT_FIELDS = Options(strict_fields=True)
SERVED = {"InferenceService", "BenchmarkJob"}
Codes = tuple[str, ...]


@dataclass(frozen=True)
class Expected:
    """Of one file: how often objects are refused for these reasons, rules warn, and a runtime is chosen."""

    documents: int
    denied: dict[Codes, int] = field(default_factory=dict)
    warned: dict[str, int] = field(default_factory=dict)
    chosen: int = 0


FILES = {
    "ome/head/BenchmarkJob.yaml": Expected(1, warned={"OM451": 1}),
    "ome/head/ClusterBaseModel.yaml": Expected(161),
    "ome/head/ClusterServingRuntime.yaml": Expected(
        141,
        # operator, a field of a later release
        {
            (
                "spec.supportedModelFormats[0].modelFormat.operator",
                "spec.supportedModelFormats[0].modelFramework.operator",
            ): 1
        },
        {"OM325": 86, "OM321": 4, "OM326": 1},
    ),
    "ome/head/InferenceService.yaml": Expected(
        110,
        {
            # a part of the samples is held out, and with it models and runtimes that services refer to
            ("OM401",): 16,
            ("OM407",): 18,
            ("OM401", "OM407"): 5,
            ("OM405",): 14,  # models whose format the agent has yet to find
            ("spec.deployment", "spec.model.modelName", "spec.model.name", "spec.model.runtime"): 1,
            ("spec.maxReplicas", "spec.minReplicas", "spec.modelRef", "spec.scaleTarget"): 1,
        },
        {"OM413": 1, "OM317": 2},
        12,
    ),
    "ome/doc-era/BenchmarkJob.yaml": Expected(3, warned={"OM451": 3}),
    "ome/doc-era/ClusterBaseModel.yaml": Expected(17, warned={"OM336": 1}),
    "ome/doc-era/ClusterServingRuntime.yaml": Expected(19, warned={"OM325": 10, "OM326": 9}),
    "ome/doc-era/InferenceService.yaml": Expected(9, {("OM401",): 3, ("OM405",): 2, ("OM407",): 2}, {"OM409": 1}, 1),
}

# Fragments of documentation: most have fields that there are not, or lack what is not the point there.
FRAGMENTS = {
    f"ome/head-docs/{kind}.yaml"
    for kind in (
        "BaseModel",
        "BenchmarkJob",
        "ClusterBaseModel",
        "ClusterServingRuntime",
        "InferenceService",
        "ServingRuntime",
    )
}


@pytest.fixture(scope="module")
def loaded() -> Catalog:
    return catalog.load()


def cluster(folder: Path) -> MemoryView:
    files = [file for file in folder.glob("*.yaml") if file.stem not in SERVED]
    return MemoryView(document.value for file in files for document in documents.read(file))


def decisions(path: Path, view: MemoryView, loaded: Catalog) -> Iterator[tuple[Codes, list[str], bool]]:
    for document in documents.read(path):
        request = creation(document, loaded)
        mutated = engine.mutate(request, loaded, view, STRICT_FIELDS)
        decided = engine.validate(replace(request, object=mutated.object), loaded, view, STRICT_FIELDS)
        causes = tuple(sorted(cause.code or cause.field for cause in decided.causes))
        chosen = any(default.code == "OM112" for default in mutated.defaults)
        yield causes, [warning.code or warning.field for warning in decided.warnings], chosen


def creation(document: Document, loaded: Catalog) -> Request:
    value: dict[str, Any] = document.value
    gvk = GroupVersionKind(*group_version(value["apiVersion"]), value["kind"])
    known = loaded.find(gvk)
    assert known is not None, gvk
    return Request(gvk, known.plural, "CREATE", value)


@pytest.mark.parametrize(("path", "expected"), FILES.items(), ids=FILES)
def test_samples_get_their_verdicts(path: str, expected: Expected, loaded: Catalog) -> None:
    file = shared("samples", *path.split("/"))
    found = list(decisions(file, cluster(file.parent), loaded))
    assert len(found) == expected.documents
    assert Counter(causes for causes, _, _ in found if causes) == expected.denied
    assert Counter(code for _, warnings, _ in found for code in warnings) == expected.warned
    assert sum(chosen for _, _, chosen in found) == expected.chosen


@pytest.mark.parametrize("path", sorted(FRAGMENTS))
def test_fragments_are_answered(path: str, loaded: Catalog) -> None:
    file = shared("samples", *path.split("/"))
    for document in documents.read(file):
        request = creation(document, loaded)
        mutated = engine.mutate(request, loaded, MemoryView(), STRICT_FIELDS).object
        causes = engine.validate(replace(request, object=mutated), loaded, MemoryView(), STRICT_FIELDS).causes
        assert all(str(cause) for cause in causes)
