"""Every rule that refuses ratchets: an object that was stored with the fault may change in everything else."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.policies.test_cases import files, read, target
from webhook import engine
from webhook.admission.decision import Request
from webhook.catalog import Catalog, KnownKind
from webhook.cli.cases import Case, catalogs, run
from webhook.cluster import MemoryView
from webhook.engine import Options
from webhook.policy import FACTS, MISSING, OBJECT, Path, Profile, ValidationRule

CHANGES: dict[str, list[tuple[str, Any]]] = {
    "Model": [("spec.quantization", "Q4_K_M"), ("spec.refreshPolicy", "OnChange")],
    "OpenModel": [("spec.ownedBy", "team-blue")],
    "VariantAutoscaling": [("spec.variantProfile.maxBatchSize", 77), ("spec.sloClassRef.key", "other.yaml")],
    "BaseModel": [("spec.vendor", "other"), ("spec.displayName", "Other")],
    "ClusterBaseModel": [("spec.vendor", "other"), ("spec.displayName", "Other")],
    "FineTunedWeight": [("spec.vendor", "other"), ("spec.displayName", "Other")],
    "ServingRuntime": [("spec.protocolVersions", ["v9"]), ("spec.hostIPC", True)],
    "ClusterServingRuntime": [("spec.protocolVersions", ["v9"]), ("spec.hostIPC", True)],
    "InferenceService": [("spec.engine.timeout", 77), ("spec.router.timeout", 77)],
    "BenchmarkJob": [("spec.maxTimePerIteration", 77), ("spec.resultFolderName", "other")],
    "AIMImage": [("spec.defaultServiceTemplate", "other"), ("spec.resources.requests.cpu", "7")],
    "AIMClusterImage": [("spec.defaultServiceTemplate", "other"), ("spec.resources.requests.cpu", "7")],
    "AIMService": [("spec.replicas", 7), ("spec.resources.requests.cpu", "7")],
    "AIMServiceTemplate": [("spec.resources.requests.cpu", "7"), ("spec.imagePullSecrets", [{"name": "other"}])],
    "AIMClusterServiceTemplate": [("spec.resources.requests.cpu", "7"), ("spec.imagePullSecrets", [{"name": "other"}])],
    "AIMModelCache": [("spec.modelDownloadImage", "other:1"), ("spec.env", [{"name": "A", "value": "b"}])],
    "AIMTemplateCache": [("spec.env", [{"name": "A", "value": "b"}]), ("spec.storageClassName", "other")],
    "AIMRuntimeConfig": [("spec.defaultStorageClassName", "other"), ("spec.routing.enabled", True)],
    "AIMClusterRuntimeConfig": [("spec.defaultStorageClassName", "other"), ("spec.routing.enabled", True)],
}
"""Changes that hardly any rule reads, by kind: one that a rule does not read is made."""


def rules(known: KnownKind) -> list[ValidationRule]:
    return [rule for rule in known.policy.validations if Profile.STRICT in rule.denied_by]


def firing(loaded: Catalog) -> Iterator[tuple[KnownKind, ValidationRule, Case, dict[str, Any]]]:
    """Every rule with each of its cases that fire, and the object of the case as it is stored."""
    for file in files():
        for document in read(file):
            known = target(document, loaded)
            for case in document.cases:
                strict = case.model_copy(update={"profile": "strict"})
                result = run(strict, known, loaded)
                codes = {cause.code for cause in result.validation.causes}
                for rule in rules(known):
                    if rule.code in codes and result.mutation.object is not None:
                        yield known, rule, case, result.mutation.object


def denied(known: KnownKind, case: Case, stored: dict[str, Any], new: dict[str, Any], loaded: Catalog) -> set[str]:
    (*_, judging) = (loaded, *catalogs(case, known.api, loaded))
    view, options = MemoryView(case.others), Options(Profile.STRICT, strict_fields=True, settings=case.settings)
    request = Request(known.gvk, known.plural, "UPDATE", new, stored)
    new = engine.mutate(request, judging, view, options).object
    request = Request(known.gvk, known.plural, "UPDATE", new, stored)
    return {cause.code for cause in engine.validate(request, judging, view, options).causes}


def is_named(path: Path, known: KnownKind, rule: ValidationRule) -> bool:
    """Whether findings of the rule name the field. A fact does not tell what it reads: what is below counts, too."""
    named = (*rule.at.keys, *Path.parse(rule.field_path.removeprefix(".")).keys)
    has_facts = any(each[0] == FACTS for each in known.policy.reads(rule).values)
    return path.keys == named or (has_facts and len(named) > 1 and path.keys[: len(named)] == named)


READ_BY_A_FACT = {("OM321", "spec.protocolVersions")}
"""It leaves to OM223 what that refuses, for which runtimes need a common protocol."""

OF_THE_GATES_CHOICE = {"OM432", "OM433"}
"""They fire only where the stamp says that the gate has chosen."""


def labelled(obj: dict[str, Any]) -> dict[str, Any]:
    return Path(("metadata", "labels", "team")).set(obj, "blue")


@pytest.fixture(scope="module")
def every(loaded: Catalog) -> list[tuple[KnownKind, ValidationRule, Case, dict[str, Any]]]:
    return list(firing(loaded))


def test_a_label_can_be_set_on_an_object_with_any_fault(every, loaded):
    refused = {
        (rule.code, case.name)
        for known, rule, case, stored in every
        if rule.code in denied(known, case, stored, labelled(stored), loaded)
    }
    assert refused == set()


def test_a_field_that_a_rule_does_not_read_can_be_changed(every, loaded):
    refused, tried = set(), set()
    for known, rule, case, stored in every:
        reads = known.policy.reads(rule)
        for text, value in CHANGES[known.gvk.kind]:
            path = Path.parse(text)
            if (OBJECT, *path.keys) in reads or (rule.code, text) in READ_BY_A_FACT or is_named(path, known, rule):
                continue
            if path.parent(stored) is MISSING or path.get(stored) == value:
                continue
            tried.add(rule.code)
            if rule.code in denied(known, case, stored, path.set(stored, value), loaded):
                refused.add((rule.code, case.name, text))
    assert refused == set()
    assert {rule.code for _, rule, _, _ in every} - tried == set()


def test_every_rule_has_been_tried(every, loaded):
    codes = {rule.code for known in loaded.kinds.values() for rule in rules(known)}
    assert codes - {rule.code for _, rule, _, _ in every} == OF_THE_GATES_CHOICE
