"""Everything that says what is wrong with an object spends its budget: none can take long without being noticed."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import pytest

from tests.kinds import known_kind
from tests.shared import ROOT
from webhook import catalog
from webhook.admission import Request
from webhook.cluster import Kind, MemoryView
from webhook.engine import Options, mutate, validate
from webhook.engine.children import child_findings
from webhook.engine.decisions import _stamped
from webhook.engine.filling.defaulting import normalise
from webhook.engine.findings import Findings, findings_of_faults
from webhook.engine.placement import fit_findings
from webhook.engine.pods.findings import pod_findings
from webhook.engine.pods.whole import PodFault
from webhook.engine.review import ObjectReview, Subject
from webhook.engine.rules import validate_rules
from webhook.engine.schema import add_unknown_fields
from webhook.ground.budget import SpentError, Stretch
from webhook.policy import PolicyScope

LOADED = catalog.load()
RUNTIME = known_kind("ServingRuntime", LOADED)
OBJECT: Final[dict[str, Any]] = {
    "apiVersion": "ome.io/v1beta1",
    "kind": "ServingRuntime",
    "metadata": {"name": "a", "namespace": "b"},
    "spec": {
        "supportedModelFormats": [{"name": "x", "modelFormat": {"name": "x", "version": "1"}, "autoSelect": True}],
        "engineConfig": {"runner": {"name": "_", "image": "a", "env": [{"name": "="}]}, "nowhere": 1},
    },
}


def subject(review: ObjectReview) -> Subject:
    return Subject(review, review.obj, None, catalog.NOTHING_ASIDE, ["spec.engineConfig.nowhere"])


def of_rules(review: ObjectReview) -> object:
    return validate_rules(subject(review), review.scope(review.obj, None))


def of_fact(review: ObjectReview) -> object:
    return review.scope(review.obj, None).fact("overlaps")


SERVICE = known_kind("InferenceService", LOADED)
OF_MODEL: Final[dict[str, Any]] = {
    "apiVersion": "ome.io/v1beta1",
    "kind": "InferenceService",
    "metadata": {"name": "a", "namespace": "b"},
    "spec": {"model": {"name": "m"}, "runtime": {"name": "a"}, "engine": {"runner": {"name": "_", "image": "a"}}},
}


def of_service(review: ObjectReview) -> Subject:
    """A service over the runtime, with the same budget."""
    request = Request(SERVICE.gvk, SERVICE.plural, "CREATE", OF_MODEL, name="a", namespace="b")
    made = ObjectReview.of(SERVICE, request, LOADED, MemoryView([OBJECT]), review.options)
    return Subject(made, OF_MODEL, None, catalog.NOTHING_ASIDE, [])


def with_scope(subject: Subject) -> tuple[Subject, PolicyScope]:
    """An object, and the scope of the rules about it."""
    return subject, subject.review.scope(subject.obj, subject.old)


SOURCES: Final[dict[str, Callable[[ObjectReview], object]]] = {
    "validate_rules": of_rules,
    "pod_findings": lambda review: pod_findings(subject(review)),
    "child_findings": lambda review: child_findings(*with_scope(of_service(review)), Findings()),
    "fit_findings": lambda review: fit_findings(of_service(review), b""),
    "add_unknown_fields": lambda review: add_unknown_fields(subject(review), Findings()),
    "normalise": normalise,
    "fact": of_fact,
    "the view": lambda review: review.view.list(Kind("ome.io", "ServingRuntime")),
    "_stamped": _stamped,
    "findings_of_faults": lambda review: findings_of_faults(
        [PodFault("FieldValueInvalid", "spec", "a")], lambda _: True, tuple, review.budget
    ),
}
"""All that looks at an object, or makes a text about it, as often as it has parts."""

BOUNDED: Final = {
    "validate_schema": "the judgement spends its bytes before; its rules spend a step for each round of a loop",
    "metadata_errors": "the judgement spends its bytes before",
    "missing_spec": "it is one warning",
    "refusal_of": "it is one cause",
    "fault_cause": "it is one cause",
    "refusals_as_warnings": "there are as many as causes",
    "relax": "there are as many as causes",
    "tolerated": "there are as many as causes",
    "with_findings": "there are as many as causes",
    "heard": "there are as many as warnings",
    "of": "it passes on the refusal of the size",
}
"""What returns findings and does not spend by itself, and why it needs not to."""


def a_review(steps: int) -> ObjectReview:
    request = Request(RUNTIME.gvk, RUNTIME.plural, "CREATE", OBJECT, name="a", namespace="b")
    return ObjectReview.of(RUNTIME, request, LOADED, MemoryView([OBJECT] * 2), Options(steps=steps))


@pytest.mark.parametrize("source", SOURCES)
def test_a_source_of_findings_spends_the_budget(source: str) -> None:
    with pytest.raises(SpentError):
        SOURCES[source](a_review(0))
    SOURCES[source](a_review(10_000))


SERVER: Final = known_kind("llmkube/InferenceService", LOADED)


@pytest.mark.parametrize(
    ("source", "least"), [(pod_findings, 64), (lambda of: child_findings(*with_scope(of), Findings()), 192)]
)
def test_a_line_about_pods_or_children_spends_before_it_is_made(
    source: Callable[[Subject], object], least: int
) -> None:
    """There may be a thousand: made in one go, they would hold up the reviews of others for a tenth of a second."""

    def spent(faults: int) -> int:
        spec = {"modelRef": "m", "image": "i", "env": [{"name": f"={number}"} for number in range(faults)]}
        head = {"apiVersion": "inference.llmkube.dev/v1alpha1", "kind": "InferenceService"}
        obj = {**head, "metadata": {"name": "a", "namespace": "b"}, "spec": spec}
        request = Request(SERVER.gvk, SERVER.plural, "CREATE", obj, name="a", namespace="b")
        review = ObjectReview.of(SERVER, request, LOADED, MemoryView(), Options())
        source(Subject(review, obj, None, catalog.NOTHING_ASIDE, []))
        return review.options.steps - review.budget.left

    assert spent(101) - spent(1) >= 100 * least


def test_a_large_child_is_announced_before_it_is_copied() -> None:
    """A review is small by its own bytes; what it is merged with may not be."""
    looks: list[str] = []
    volumes = [{"name": f"v{number}", "emptyDir": {"medium": "m" * 100}} for number in range(2_000)]
    spec = {"modelRef": "m", "image": "i", "extraVolumes": volumes}
    obj = {
        "apiVersion": "inference.llmkube.dev/v1alpha1",
        "kind": "InferenceService",
        "metadata": {"name": "a", "namespace": "b"},
        "spec": spec,
    }
    request = Request(SERVER.gvk, SERVER.plural, "CREATE", obj, name="a", namespace="b")
    review = ObjectReview.of(SERVER, request, LOADED, MemoryView(), Options(checkpoint=looks.append))
    child_findings(*with_scope(Subject(review, obj, None, catalog.NOTHING_ASIDE, [])), Findings())
    assert "Deployment" in [look for look in looks if isinstance(look, Stretch)]


@pytest.mark.parametrize("steps", [0, 1])
def test_an_object_whose_budget_is_spent_is_refused_with_its_place(steps: int) -> None:
    request = Request(RUNTIME.gvk, RUNTIME.plural, "CREATE", OBJECT, name="a", namespace="b")
    call = partial(validate, request, LOADED, MemoryView([OBJECT]), Options(steps=steps))
    (cause,) = call().causes
    assert cause.refusal is not None
    assert (cause.refusal.code, cause.reason) == (413, "FieldValueTooMany")
    assert f"more than {steps:,} steps" in cause.message
    assert "they ended at" in cause.message
    assert mutate(request, LOADED, MemoryView([OBJECT]), Options(steps=steps)).object == OBJECT


def test_each_function_of_the_engine_that_returns_findings_is_a_source() -> None:
    """One that is new comes into a table above: it spends, or what it does has a bound."""
    returning = set()
    for file in (ROOT / "webhook/engine").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and _is_about_findings(node):
                returning.add(node.name)
    assert returning <= SOURCES.keys() | BOUNDED.keys()


def _is_about_findings(function: ast.FunctionDef) -> bool:
    given = [each.annotation for each in (*function.args.args, *function.args.kwonlyargs)]
    shown = " ".join(ast.unparse(each) for each in (*given, function.returns) if each is not None)
    return any(word in shown for word in ("Findings", "Cause", "Warn"))
