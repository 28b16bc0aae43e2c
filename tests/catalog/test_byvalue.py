"""A definition that accepts more than the catalog's: the values of each object decide which rules hold for it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import pytest
import yaml

from tests.catalog.test_installed import changed, decided, gpu_of, with_prefetch
from tests.definitions import POLICIES, definitions
from tests.shared import shared
from webhook import engine
from webhook.admission.decision import Decision, GroupVersionKind, Request
from webhook.catalog import Catalog, chosen, with_installed
from webhook.cli.cases import Case, CaseResult, CasesDocument, run
from webhook.cluster import MemoryView
from webhook.engine import Options
from webhook.policy import Profile

Json = dict[str, Any]
MODEL = GroupVersionKind("inference.llmkube.dev", "v1alpha1", "Model")
OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def under(loaded: Catalog, kind: str, change: Callable[[Json], object]) -> Catalog:
    """The catalog under our definition of a kind with a change of its specification."""
    return with_installed(loaded, [changed(kind, change)])[0]


def codes(decision: Decision) -> set[str]:
    return {each.code for each in (*decision.causes, *decision.warnings)}


def aside(decision: Decision) -> set[str]:
    return set(decision.audit.get("aside", "").split(",")) - {""}


def gpu(**fields: Any) -> Json:
    return {"source": "pvc://claim/m.gguf", "hardware": {"gpu": {"count": 1, **fields}}}


def another_vendor(spec: Json) -> None:
    spec["properties"]["hardware"]["properties"]["gpu"]["properties"]["vendor"]["enum"].append("qualcomm")


def judged(catalog: Catalog, spec: Json, before: Json) -> Decision:
    """The decision about an update of a Model."""
    head = {"apiVersion": f"{MODEL.group}/{MODEL.version}", "kind": "Model", "metadata": {"name": "a"}}
    request = Request(MODEL, "models", "UPDATE", {**head, "spec": spec}, {**head, "spec": before}, name="a")
    return engine.validate(request, catalog, MemoryView(), Options(Profile.STRICT))


def cases_of(kind: str) -> Iterator[tuple[GroupVersionKind, Case]]:
    for file in sorted(POLICIES.glob(f"*/cases/{kind}.yaml")):
        document = CasesDocument.model_validate(yaml.load(file.read_text(), Loader=yaml.CSafeLoader))
        target = document.target
        yield from ((GroupVersionKind(target.group, target.version, target.kind), each) for each in document.cases)


def of_rules(found: CaseResult) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """What rules say of a case, and what defaults set."""
    validation = found.validation
    said = {(each.code, each.field) for each in (*validation.causes, *validation.warnings) if each.code}
    return said, {(each.code, each.path) for each in found.mutation.defaults if each.code}


def documented(loaded: Catalog) -> Catalog:
    """The catalog under the documented release, whatever is installed."""
    return loaded.under(chosen(loaded.packs, [("llmkube", "0.9.5")]))


def test_a_wider_pattern_costs_nothing_to_an_object_that_does_not_use_it(loaded: Catalog) -> None:
    later, (deviation,) = with_installed(documented(loaded), [changed("Model", with_prefetch)])
    assert deviation.aside == ()
    assert "rules not applied" not in str(deviation)
    assert "more values for spec.source; each object decides by its values which rules apply to it" in str(deviation)
    for source in ("pvc://claim", "pvc://A_b/x.gguf", "/a/../b.gguf", "http:///x"):
        ours, theirs = (decided(each, "Model", {"source": source}) for each in (loaded, later))
        assert codes(ours) == codes(theirs) != set()
        assert not aside(theirs)


def test_the_rules_about_a_value_that_only_the_other_definition_has_are_left_out(loaded: Catalog) -> None:
    later = under(loaded, "Model", with_prefetch)
    spec = {"source": "s3://bucket/model.gguf", "files": ["/etc/passwd"]}
    decision = decided(later, "Model", spec)
    assert codes(decision) >= {"LK213"}  # another field: the rule holds
    assert not codes(decision) & {"LK201", "LK322", "LK326"}
    assert {"LK201", "LK211", "LK326"} <= aside(decision)
    assert "LK213" not in aside(decision)


def test_a_default_is_not_derived_from_a_value_that_only_the_other_definition_has(loaded: Catalog) -> None:
    wider = under(documented(loaded), "Model", another_vendor)
    assert gpu_of(decided(wider, "Model", gpu(vendor="amd")))["resourceName"] == "amd.com/gpu"
    decision = decided(wider, "Model", gpu(vendor="qualcomm"))
    assert "resourceName" not in gpu_of(decision)
    assert {"LK102", "LK103"} <= aside(decision)
    assert decision.allowed  # the stamp, too, is the one that the gate writes


def test_what_was_derived_goes_when_its_source_has_such_a_value(loaded: Catalog) -> None:
    wider = under(documented(loaded), "Model", another_vendor)
    stored = decided(wider, "Model", gpu(vendor="amd")).object
    assert stored is not None
    sent = deepcopy(stored)
    sent["spec"]["hardware"]["gpu"]["vendor"] = "qualcomm"
    request = Request(MODEL, "models", "UPDATE", sent, stored, name="a", namespace="n")
    found = engine.mutate(request, wider, MemoryView()).object
    assert found is not None
    assert "resourceName" not in found["spec"]["hardware"]["gpu"]
    assert engine.validate(Request(MODEL, "models", "UPDATE", found, stored), wider, MemoryView()).allowed


def test_a_new_field_leaves_no_rule_out(loaded: Catalog) -> None:
    later = under(loaded, "Model", with_prefetch)
    ours = decided(loaded, "Model", {"source": "pvc://claim"})
    theirs = decided(later, "Model", {"source": "pvc://claim", "prefetch": True})
    assert codes(ours) == codes(theirs)
    assert not aside(theirs)


def test_a_field_that_is_optional_there_is_not_taken_for_granted(loaded: Catalog) -> None:
    def optional(spec: Json) -> None:
        del spec["properties"]["hardware"]["properties"]["gpu"]["properties"]["resourceClaims"]["items"]["required"]

    looser = under(loaded, "Model", optional)
    named = decided(looser, "Model", gpu(resourceClaims=[{"name": "a"}, {"name": "a"}]) | {"x": 1})
    assert "LK232" in codes(named)
    decision = decided(looser, "Model", gpu(resourceClaims=[{}, {}]), profile=Profile.STANDARD)
    assert "LK232" in aside(decision)
    assert "LK232" not in codes(decision)


def test_a_default_of_the_catalogs_schema_alone_is_not_taken_for_granted(loaded: Catalog) -> None:
    def without_default(spec: Json) -> None:
        del spec["properties"]["replicas"]["default"]

    other = under(loaded, "AIMService", without_default)
    known = other.kinds[GroupVersionKind("aim.silogen.ai", "v1alpha1", "AIMService")]
    reading = {each.code for each in known.policy.validations if "replicas" in each.rule.source}
    assert reading <= aside(decided(other, "AIMService", {"aimImageName": "a"}))
    assert not reading & aside(decided(other, "AIMService", {"aimImageName": "a", "replicas": 1}))


def test_a_longer_list_than_ours_is_judged_by_no_rule_that_reads_it(loaded: Catalog) -> None:
    def longer(spec: Json) -> None:
        spec["properties"]["hardware"]["properties"]["gpu"]["properties"]["resourceClaims"]["maxItems"] = 100_000

    wider = under(loaded, "Model", longer)
    claims = [{"name": f"_{number}"} for number in range(9_000)]
    spec = {"source": "pvc://claim", "hardware": {"gpu": {"resourceClaims": claims}}}
    decision = decided(wider, "Model", spec, profile=Profile.STANDARD)
    assert {"LK231", "LK232"} <= aside(decision)
    assert not {"LK231", "LK232"} & codes(decision)
    assert "LK205" in codes(decision)


@pytest.mark.parametrize("number", [1, 3_000])
def test_many_such_values_are_judged(loaded: Catalog, number: int) -> None:
    def any_value(spec: Json) -> None:
        spec["properties"]["files"] = {"type": "array", "items": {"x-kubernetes-preserve-unknown-fields": True}}

    wider = under(loaded, "Model", any_value)
    values = [{"a": [None, {}]}, 5, ["x"]] * number
    assert decided(wider, "Model", {"source": "pvc://claim/m", "files": values}, profile=Profile.STANDARD).allowed


def test_a_deep_value_is_judged(loaded: Catalog) -> None:
    wider = under(loaded, "Model", lambda spec: spec["properties"].update(files=OPEN))
    value: Any = {}
    for _ in range(400):
        value = {"a": value}
    assert decided(wider, "Model", {"source": "pvc://claim/m", "files": value}, profile=Profile.STANDARD).allowed


def test_an_update_to_a_value_that_is_ours_is_judged_by_all_rules(loaded: Catalog) -> None:
    later = under(loaded, "Model", with_prefetch)
    theirs, ours = {"source": "s3://bucket/m.gguf"}, {"source": "pvc://claim"}
    assert "LK205" in codes(judged(later, ours, theirs))
    assert judged(later, theirs, ours).allowed
    assert judged(later, {**theirs, "quantization": "Q4"}, theirs).allowed


def template(**spec: Any) -> Json:
    metadata = {"name": "t", "namespace": "n"}
    return {"apiVersion": "aim.silogen.ai/v1alpha1", "kind": "AIMServiceTemplate", "metadata": metadata, "spec": spec}


def test_a_fact_about_an_object_with_such_a_value_is_unknown_for_this_review_alone(loaded: Catalog) -> None:
    def wider(spec: Json) -> None:
        spec["properties"]["precision"]["enum"].append("int2")

    later, deviations = with_installed(loaded, [changed("AIMServiceTemplate", wider)])
    assert {code for each in deviations for code in each.aside} == set()
    service = {"aimImageName": "llama", "templateRef": "t"}
    other = decided(later, "AIMService", service, template(aimImageName="other", precision="fp8"))
    assert codes(decided(loaded, "AIMService", service, template(aimImageName="other", precision="fp8"))) == codes(
        other
    )
    assert "AI404" in codes(other)
    unknown = decided(later, "AIMService", service, template(aimImageName="other", precision="int2"))
    assert "AI404" not in codes(unknown)
    assert "AI404" in aside(unknown)


def test_the_newest_definition_of_llmkube_puts_no_rule_aside(loaded: Catalog) -> None:
    definition = json.loads(shared("releases", "crds", "models-head.json").read_text())
    later, (deviation,) = with_installed(documented(loaded), [definition])
    assert deviation.aside == ()
    known, there = loaded.kinds[MODEL], later.kinds[MODEL]
    for gvk, case in cases_of("model"):
        if gvk == MODEL:
            ours, theirs = run(case, known, loaded), run(case, there, later)
            if {each.code for each in ours.validation.causes} - {""} or ours.validation.allowed:
                assert of_rules(ours) == of_rules(theirs), case.name


def opened(group: str) -> list[Json]:
    """The definitions of a group as they are without their schemas, as OME's ``minimal`` ones."""
    found = [deepcopy(each) for each in definitions() if each["spec"]["group"] == group]
    for each in found:
        for version in each["spec"]["versions"]:
            version["schema"]["openAPIV3Schema"]["properties"]["spec"] = OPEN
    return found


@pytest.mark.parametrize("kind", ["inferenceservice", "servingruntime", "basemodel", "benchmarkjob"])
def test_a_definition_that_says_nothing_loses_no_rule_and_no_default(loaded: Catalog, kind: str) -> None:
    without, deviations = with_installed(loaded, opened("ome.io"), trusted=False)
    assert {code for each in deviations for code in each.aside} == set()
    assert not [each for each in deviations if each.is_notable]
    compared = 0
    for gvk, case in cases_of(kind):
        ours, theirs = (run(case, each.kinds[gvk], each) for each in (loaded, without))
        if not [each for each in ours.validation.causes if not each.code] and not hidden(case, without):
            compared += 1
            assert of_rules(ours) == of_rules(theirs), case.name
    assert compared


def hidden(case: Case, without: Catalog) -> bool:
    """Whether another object of a case could not be stored under the full definitions."""
    known = {gvk.kind: each for gvk, each in without.kinds.items()}
    owns = ((known[each["kind"]].own, each) for each in case.others if each["kind"] in known)
    return any(own is not None and own.unexpected(each) for own, each in owns)
