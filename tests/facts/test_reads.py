"""What facts read in the cluster is what they declare: the gate watches that, and has no right to anything else."""

from pathlib import Path
from typing import Any

import pytest

from tests.definitions import FETCHED
from webhook import catalog
from webhook.admission.decision import GroupVersionKind
from webhook.cli import cases
from webhook.cluster import Kind, MemoryView
from webhook.facts import FIT_FETCHED, FIT_WATCHED, WATCHED
from webhook.manifests import documents

ROOT = Path(__file__).resolve().parents[2] / "policies"
API_OF = {
    "": "aim",
    "aim.silogen.ai": "aim",
    "inference.llmkube.dev": "llmkube",
    "llmd.ai": "llmd",
    "ome.io": "ome",
    "storage.k8s.io": "aim",
}


class Recording(MemoryView):
    """Notes which kinds are asked for by name, and which are listed."""

    by_name: set[Kind]
    listed: set[Kind]

    def get(self, kind: Kind, namespace: str, name: str) -> dict[str, Any] | None:
        self.by_name.add(kind)
        return super().get(kind, namespace, name)

    def list(self, kind: Kind, namespace: str | None = None) -> Any:
        self.listed.add(kind)
        return super().list(kind, namespace)


@pytest.fixture(scope="module")
def asked() -> type[Recording]:
    """What all cases together have asked for."""
    Recording.by_name, Recording.listed = set(), set()
    loaded = catalog.load()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cases, "MemoryView", Recording)
        for file in sorted(ROOT.glob("*/cases/*.yaml")):
            for document in documents.read(file):
                table = cases.parse_cases(document)
                known = loaded.find(GroupVersionKind(table.target.group, table.target.version, table.target.kind))
                assert known is not None
                for case in table.cases:
                    cases.run(case, known, loaded)
    return Recording


def test_no_fact_reads_what_is_not_declared(asked: type[Recording]) -> None:
    policies = (known.policy for known in catalog.load().kinds.values())
    referenced = {Kind(each.group, each.kind) for policy in policies for each in policy.references}
    assert asked.by_name - WATCHED - FETCHED - FIT_FETCHED - referenced == set()
    assert asked.listed - WATCHED - FIT_WATCHED - FIT_FETCHED == set()


def test_nothing_is_watched_that_no_case_reads(asked: type[Recording]) -> None:
    tested = {api for api in API_OF.values() if (ROOT / api / "cases").is_dir()}
    needless = WATCHED - asked.by_name - asked.listed
    assert {kind for kind in needless if API_OF[kind.group] in tested} == set()
