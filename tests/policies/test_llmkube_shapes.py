"""The definitions of LLMKube's releases: each release has its own, and objects are judged by it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.shared import ROOT, shared
from tools.follow.draft import draft
from webhook import catalog
from webhook.catalog import Catalog, KnownKind, chosen
from webhook.cluster import MemoryView
from webhook.engine import Options
from webhook.library.review import decide
from webhook.policy.ranges import version

LOADED = catalog.load()
PACK = LOADED.packs["llmkube"]
PLURALS = {"Model": "models", "InferenceService": "inferenceservices"}
WHOLE: dict[str, dict[str, Any]] = {
    "Model": {
        "source": "https://example.com/m.gguf",
        "sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "hardware": {"accelerator": "rocm", "gpu": {"count": 2, "vendor": "amd", "runtime": "rocm"}},
    },
    "InferenceService": {"modelRef": "m", "runtime": "vllm", "skipModelInit": True, "bindAddress": "0.0.0.0"},
}
LEAST: dict[str, dict[str, Any]] = {
    "Model": {"source": "https://example.com/m.gguf"},
    "InferenceService": {"modelRef": "m"},
}
ODD: dict[str, dict[str, Any]] = {
    "Model": {"source": [1]},
    "InferenceService": {"modelRef": 7, "replicas": "x", "endpoint": []},
}
SINCE = {"spec.sha256": "0.5.1", "spec.runtime": "0.6.0", "spec.skipModelInit": "0.6.0", "spec.bindAddress": "0.9.11"}


def under(release: str) -> Catalog:
    return LOADED.under(chosen(LOADED.packs, [("llmkube", release)]))


def judged(loaded: Catalog, kind: str, spec: dict[str, Any]) -> list[str]:
    """The refusals of an object, as a check of files words them."""
    (gvk,) = (each for each in loaded.kinds if (each.group, each.kind) == ("inference.llmkube.dev", kind))
    value = {"apiVersion": f"{gvk.group}/{gvk.version}", "kind": kind, "metadata": {"name": "m", "namespace": "n"}}
    known: KnownKind | None = loaded.find(gvk)
    decision = decide(
        {**value, "spec": spec}, None, known, loaded, MemoryView(), Options(strict_fields=True, faults_told=True)
    )
    return [f"{each.field}: {each.message}" for each in decision.validation.causes]


@pytest.mark.parametrize("release", [*PACK.releases, "unknown", "0.3.0", "0.9.28"])
def test_objects_are_judged_by_the_definition_of_each_release(release: str) -> None:
    loaded = under(release)
    assert (
        judged(loaded, "Model", LEAST["Model"]) == judged(loaded, "InferenceService", LEAST["InferenceService"]) == []
    )
    found = [each for kind in WHOLE for each in judged(loaded, kind, WHOLE[kind])]
    assert not [each for each in found if "Internal error" in each]
    unknown = {each.partition(":")[0] for each in found if "unknown field" in each}
    place = version(PACK.releases[-1] if release == "unknown" else release)
    is_old = release != "0.3.0"
    assert unknown & SINCE.keys() == {name for name, since in SINCE.items() if is_old and place < version(since)}
    for kind, spec in ODD.items():
        found = judged(loaded, kind, spec)
        assert bool(found) == is_old
        assert not [each for each in found if "Internal error" in each]


def test_a_field_says_in_which_releases_it_exists() -> None:
    (runtime,) = (
        each for each in judged(under("0.4.0"), "InferenceService", WHOLE["InferenceService"]) if "runtime" in each
    )
    assert runtime.endswith("unknown field; runtime is a field of LLMKube 0.6.0 and later, and not of LLMKube 0.4.0")
    assert PACK.releases_with("models", ("spec", "files")) == ">=0.8.18"
    assert PACK.releases_with("models", ("spec", "filez")) == ""


@pytest.mark.parametrize("kind", PLURALS)
def test_the_form_of_the_documented_release_is_the_one_in_crds(kind: str) -> None:
    forms = [each for each in PACK.files.forms(PLURALS[kind]) if version(each[0]) <= version(str(PACK.documented))]
    (file,) = (ROOT / "policies" / "llmkube" / "crds").glob(f"{PLURALS[kind]}.*")
    ours = yaml.load(file.read_text(), Loader=yaml.CSafeLoader)
    assert _schemas(forms[-1][1]) == _schemas(draft(ours))


def _schemas(definition: Any) -> Any:
    return [each["schema"] for each in definition["spec"]["versions"]]


def recorded() -> Iterator[Path]:
    folder = shared("releases", "crds")
    yield from (each for plural in PLURALS.values() for each in sorted(folder.glob(f"{plural}-*.json")))


def test_the_forms_are_those_that_were_read_of_upstream() -> None:
    for file in recorded():
        plural, first = file.stem.split("-")[:2]
        ours = {since: definition for since, definition in PACK.files.forms(plural) if _covers(since, first)}
        _, form = max(ours.items(), key=lambda each: version(each[0]))
        assert _schemas(form) == _schemas(json.loads(file.read_text())), file.name


def _covers(since: str, release: str) -> bool:
    return version(since) <= version(release)
