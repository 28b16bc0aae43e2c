"""Offline, an object that is in no file may exist: with fewer files a check warns, but refuses nothing more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.policies.test_cases import files, read, target
from webhook import engine
from webhook.admission.decision import Decision, Request
from webhook.catalog import Catalog, KnownKind
from webhook.cli.cases import Case
from webhook.cluster import MemoryView
from webhook.engine import Options
from webhook.engine.rules import UNSEEN
from webhook.policy import Profile
from webhook.policy.path import MISSING

SEEN = {"OM402", "OM403"}
"""The object itself is at fault: it names no model, or an empty name."""


def creations(file: Path, loaded: Catalog) -> Iterator[tuple[KnownKind, Case]]:
    for document in read(file):
        known = target(document, loaded)
        for case in document.cases:
            if case.oldObject is None and case.oldSpec is MISSING:
                yield known, case


def checked(case: Case, known: KnownKind, loaded: Catalog, others: Sequence[Any], *, complete: bool) -> Decision:
    """What a strict check says of a case with these objects beside it."""
    head = {"apiVersion": f"{known.gvk.group}/{known.gvk.version}", "kind": known.gvk.kind}
    metadata = {"name": "case", **({"namespace": "default"} if known.namespaced else {})}
    spec = {} if case.spec is MISSING else {"spec": case.spec}
    obj = {**head, "metadata": metadata, **(case.object or spec)}
    options = Options(Profile.STRICT, strict_fields=True, complete=complete, settings=case.settings)
    view = MemoryView(others)
    request = Request(known.gvk, known.plural, "CREATE", obj)
    stored = engine.mutate(request, loaded, view, options).object
    return engine.validate(replace(request, object=stored), loaded, view, options)


def about_others(decision: Decision) -> set[str]:
    return {cause.code for cause in decision.causes if cause.code[2:3] == "4"}


@pytest.mark.parametrize("file", files(), ids=lambda file: f"{file.parent.parent.name}/{file.stem}")
def test_an_object_alone_is_not_refused_for_what_it_refers_to(file: Path, loaded: Catalog) -> None:
    for known, case in creations(file, loaded):
        alone = checked(case, known, loaded, (), complete=False)
        assert about_others(alone) <= SEEN, case.name
        texts = [(item.code, item.message) for item in alone.warnings if item.code[2:3] == "4"]
        assert all(text.endswith(UNSEEN) for code, text in texts if code not in SEEN), (case.name, texts)
        assert len(set(texts)) == len(texts), case.name


@pytest.mark.parametrize("file", files(), ids=lambda file: f"{file.parent.parent.name}/{file.stem}")
def test_with_one_object_less_nothing_more_is_refused(file: Path, loaded: Catalog) -> None:
    for known, case in creations(file, loaded):
        if not case.others:
            continue
        all_seen = about_others(checked(case, known, loaded, case.others, complete=True))
        for index in range(len(case.others)):
            others = [*case.others[:index], *case.others[index + 1 :]]
            less = about_others(checked(case, known, loaded, others, complete=False))
            assert less <= all_seen, f"{case.name}, without {case.others[index]['kind']}"


def test_most_references_are_covered(loaded: Catalog) -> None:
    """At least each kind that refers to others has a rule that tells unseen objects."""
    kinds = {gvk.kind for gvk, known in loaded.kinds.items() if any(rule.unseen for rule in known.policy.validations)}
    assert kinds >= {
        "InferenceService",
        "BenchmarkJob",
        "FineTunedWeight",
        "AIMService",
        "AIMServiceTemplate",
        "AIMClusterServiceTemplate",
        "AIMTemplateCache",
        "AIMModelCache",
        "AIMImage",
    }
