"""AIM's own manifests get the right verdict, each folder seen as one cluster."""

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
from webhook.decision import Decision
from webhook.engine import Options
from webhook.request import GroupVersionKind, Request, group_version

STRICT_FIELDS = Options(strict_fields=True)
NAMESPACE = "chainsaw"
"""Of manifests that name none: upstream's tests put them into one of their own."""


@dataclass(frozen=True)
class Expected:
    """Of one file: how many documents, which are refused (line → field of each cause), how often each rule warns."""

    documents: int
    denied: dict[int, list[str]] = field(default_factory=dict)
    warned: dict[str, int] = field(default_factory=dict)


FILES: dict[str, Expected] = {
    "a5ef626b/AIMClusterImage.yaml": Expected(
        15,
        denied={57: ["spec.resources"]},  # of the release after, which asks for none
        warned={"AI421": 4},
    ),
    "a5ef626b/AIMClusterServiceTemplate.yaml": Expected(19, warned={"AI441": 7}),
    "a5ef626b/AIMImage.yaml": Expected(2, warned={"AI421": 1}),
    "a5ef626b/AIMService.yaml": Expected(10, warned={"AI402": 6, "AI403": 3}),
    "doc-revision/AIMClusterImage.yaml": Expected(4, warned={"AI421": 2}),
    "doc-revision/AIMClusterRuntimeConfig.yaml": Expected(1),
    "doc-revision/AIMClusterServiceTemplate.yaml": Expected(8, warned={"AI441": 6}),
    "doc-revision/AIMImage.yaml": Expected(1),
    "doc-revision/AIMRuntimeConfig.yaml": Expected(4),
    "doc-revision/AIMService.yaml": Expected(
        22, warned={"AI401": 1, "AI402": 15, "AI403": 3, "AI405": 3, "AI406": 2, "AI407": 1, "AI408": 1}
    ),
    "doc-revision/AIMServiceTemplate.yaml": Expected(3, warned={"AI431": 2}),
    "doc-revision-docs/AIMClusterImage.yaml": Expected(
        2,
        denied={
            3: ["spec.modelId"],  # the name of the model in an earlier release
            20: ["spec.runtimeConfigName"],  # of a later release
        },
        warned={"AI322": 2},
    ),
    "doc-revision-docs/AIMClusterRuntimeConfig.yaml": Expected(1),
    "doc-revision-docs/AIMClusterServiceTemplate.yaml": Expected(
        2,
        denied={3: ["spec.aimImageName", "spec.modelId"]},  # the name of the image in an earlier release
        warned={"AI342": 1, "AI442": 1},
    ),
    "doc-revision-docs/AIMImage.yaml": Expected(
        1,
        denied={3: ["spec.runtimeConfigName"]},  # of a later release
        warned={"AI322": 1, "AI421": 1},
    ),
    "doc-revision-docs/AIMRuntimeConfig.yaml": Expected(2, warned={"AI471": 1}),
    "doc-revision-docs/AIMService.yaml": Expected(
        7,
        denied={  # names of the image in earlier releases
            3: ["spec.aimImageName", "spec.aimModelId"],
            13: ["spec.aimImageName", "spec.aimModelId"],
            23: ["spec.aimImageName", "spec.aimModelId"],
            38: ["spec.aimImageName", "spec.aimModelId"],
            50: ["spec.aimImageName", "spec.modelId"],
            65: ["spec.aimImageName", "spec.aimModelId"],
        },
        warned={"AI209": 1, "AI307": 6, "AI403": 1, "AI404": 1, "AI406": 1},
    ),
    "doc-revision-docs/AIMServiceTemplate.yaml": Expected(
        5,
        denied={  # the name of the image in an earlier release
            3: ["spec.aimImageName", "spec.modelId"],
            17: ["spec.aimImageName", "spec.modelId"],
            33: ["spec.aimImageName", "spec.modelId"],
        },
        warned={"AI334": 3, "AI431": 2, "AI432": 2},
    ),
    "doc-revision-docs/AIMTemplateCache.yaml": Expected(1),
}


@pytest.fixture(scope="module")
def loaded() -> Catalog:
    return catalog.load()


def objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each document of a file, with its line."""
    for document in documents.read(path):
        value: dict[str, Any] = document.value
        if value["kind"].startswith("AIMCluster"):
            yield document.line, value
        else:
            yield document.line, {**value, "metadata": {"namespace": NAMESPACE, **value["metadata"]}}


def decisions(path: Path, loaded: Catalog) -> Iterator[tuple[int, Decision]]:
    view = MemoryView(value for file in sorted(path.parent.glob("*.yaml")) for _, value in objects(file))
    for line, value in objects(path):
        known = loaded.find(GroupVersionKind(*group_version(value["apiVersion"]), value["kind"]))
        assert known is not None
        request = Request(known.gvk, known.plural, "CREATE", value)
        mutated = engine.mutate(request, loaded, view, STRICT_FIELDS)
        yield line, engine.validate(replace(request, object=mutated.object), loaded, view, STRICT_FIELDS)


@pytest.mark.parametrize(("path", "expected"), FILES.items(), ids=FILES)
def test_samples_get_their_verdicts(path: str, expected: Expected, loaded: Catalog) -> None:
    found = dict(decisions(shared("samples", "aim", *path.split("/")), loaded))
    assert len(found) == expected.documents
    assert {line: sorted(c.field for c in it.causes) for line, it in found.items() if it.causes} == expected.denied
    assert Counter(warning.code for it in found.values() for warning in it.warnings) == expected.warned
