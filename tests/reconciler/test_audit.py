"""The judge: a stored object as if it were created now, under the definitions that are installed."""

import copy
from dataclasses import replace

import pytest
import yaml

from reconciler import audit
from reconciler.audit import Outlet, Standing, judge, outlet
from tests.definitions import definitions
from tests.reconciler.models import model
from tests.reconciler.world import Gate, rules
from tests.shared import shared
from webhook.admission.errors import CatalogError
from webhook.admission.stamp import ANNOTATION, Stamp
from webhook.cluster.view import MemoryView
from webhook.facts.settings import DEFAULT_SETTINGS

NOWHERE = MemoryView()

OUTLETS = {
    Outlet.APPLY: {
        "AIMClusterImage",
        "AIMClusterServiceTemplate",
        "AIMImage",
        "AIMModelCache",
        "AIMService",
        "AIMServiceTemplate",
        "AIMTemplateCache",
        "InferenceService.inference.llmkube.dev",
        "Model",
        "VariantAutoscaling",
    },
    Outlet.REPLACE: {"InferenceService.ome.io", "OpenModel"},
    Outlet.NONE: {
        "AIMClusterRuntimeConfig",
        "AIMRuntimeConfig",
        "BaseModel",
        "BenchmarkJob",
        "ClusterBaseModel",
        "ClusterServingRuntime",
        "FineTunedWeight",
        "ServingRuntime",
    },
}


def outlets(by):
    found = {}
    for each in by.kinds():
        found.setdefault(outlet(by, each), set()).add(
            f"{each.kind}.{each.group}" if each.kind == "InferenceService" else each.kind
        )
    return found


def test_each_kind_has_the_outlet_that_its_definition_has_room_for():
    assert outlets(rules()) == OUTLETS


def test_the_outlets_are_the_same_under_the_definitions_of_upstream():
    paths = sorted(shared("upstream-crds").glob("*/*.yaml"))
    found = [yaml.load(path.read_text(), Loader=yaml.CSafeLoader) for path in paths]
    assert len(found) == 18
    assert outlets(rules().under(found)) == OUTLETS


def without(kind, change):
    crd = copy.deepcopy(next(each for each in definitions() if each["spec"]["names"]["kind"] == kind))
    change(crd["spec"]["versions"][0])
    return rules().under([crd])


@pytest.mark.parametrize(
    "change",
    [
        lambda version: version.pop("subresources"),
        lambda version: version["schema"]["openAPIV3Schema"]["properties"].pop("status"),
        lambda version: version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"].pop("conditions"),
        lambda version: version.update(name="v9"),
    ],
    ids=["subresource", "status", "conditions", "version"],
)
def test_a_definition_without_room_for_a_condition_leaves_event_and_report(change):
    by = without("Model", change)
    resource = next(each for each in by.kinds() if each.kind == "Model")
    assert outlet(by, resource) is Outlet.NONE


def test_a_version_that_is_not_installed_is_not_judged():
    by = without("Model", lambda version: version.update(name="v9"))
    assert judge(model(), by, NOWHERE) is None


def stored(obj, profile="strict"):
    return Gate(rules(profile), NOWHERE)(obj)


def test_what_the_gate_has_stamped_is_valid_and_clean():
    verdict = judge(stored(model()), rules("strict"), NOWHERE)
    assert (verdict.clean, verdict.standing) == (True, Standing.VALID)


@pytest.mark.parametrize("steps", [1, 60])
def test_an_object_whose_judgement_ends_is_not_clean(steps):
    """60 steps are enough for its defaults, and too few for its rules."""
    usual = rules("strict")
    few = replace(usual, options=replace(usual.options, steps=steps))
    verdict = judge(stored(model()), few, NOWHERE)
    assert "judging the object takes more than" in verdict.causes[0].message
    assert not verdict.clean


def test_an_object_is_judged_with_the_defaults_that_it_will_get():
    obj = model(hardware={"gpu": {"enabled": True, "count": 1, "vendor": "amd", "runtime": "vulkan"}})
    verdict = judge(obj, rules("strict"), NOWHERE)
    assert (verdict.clean, verdict.standing) == (True, Standing.VOID)


def test_a_stamp_of_other_rules_is_outdated_and_one_of_another_profile_is_not():
    obj = stored(model(), "standard")
    assert judge(obj, rules("strict"), NOWHERE).standing is Standing.VALID
    stamp = Stamp.read(obj)
    other = copy.deepcopy(obj)
    other["metadata"]["annotations"][ANNOTATION] = Stamp(stamp.spec, "older", {}).encode()
    assert judge(other, rules("standard"), NOWHERE).standing is Standing.OUTDATED


@pytest.mark.parametrize("spoil", [{"refreshPolicy": "Always"}, {"source": "hf://other/repo"}])
def test_a_stamp_of_another_specification_is_void(spoil):
    obj = stored(model())
    obj["spec"] |= spoil
    assert judge(obj, rules("strict"), NOWHERE).standing is Standing.VOID


def test_the_same_judgement_serves_a_list_of_objects():
    objects = [model("a"), model("b", hardware={"memoryFraction": 1.5})]
    verdicts = [judge(each, rules("strict"), MemoryView(objects)) for each in objects]
    assert [verdict.clean for verdict in verdicts] == [True, False]
    assert verdicts[1].codes >= {verdicts[1].causes[0].code}


def test_the_verdict_names_what_was_chosen_if_there_are_findings():
    service = {
        "apiVersion": "aim.silogen.ai/v1alpha1",
        "kind": "AIMService",
        "metadata": {"name": "s", "namespace": "default"},
        "spec": {"aimImageName": "llama", "templateRef": "missing"},
    }
    verdict = judge(service, rules("strict"), NOWHERE)
    assert not verdict.clean
    assert verdict.chosen["resolved.config.name"] == "default"


POLICY = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {{name: {name}}}
spec:
  matchConstraints:
    resourceRules: [{{apiGroups: ["*"], apiVersions: ["*"], operations: [CREATE], resources: ["*"]}}]
  validations: [{{expression: "{expression}", message: {name}}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {{name: {name}}}
spec: {{policyName: {name}, validationActions: [Deny]}}
---
"""


def test_native_policies_judge_but_not_those_that_ask_who_the_caller_is(tmp_path):
    texts = (POLICY.format(name="refused", expression="false"), POLICY.format(name="ours", expression=BY_CALLER))
    (tmp_path / "policies.yaml").write_text("".join(texts))
    by = rules("strict").with_policies(audit.native_policies(tmp_path))
    assert [cause.message.rpartition(": ")[2] for cause in judge(model(), by, NOWHERE).causes] == ["refused"]
    assert by.digest != rules("strict").digest


BY_CALLER = "request.userInfo.username == 'me'"


def test_rules_that_cannot_be_loaded_are_an_error(tmp_path):
    (tmp_path / "policies.yaml").write_text(POLICY.format(name="broken", expression="object."))
    with pytest.raises(CatalogError):
        audit.native_policies(tmp_path)
    with pytest.raises(ValueError, match="lenient"):
        audit.load("lenient", DEFAULT_SETTINGS)


def test_a_gate_without_a_view_judges_no_references_and_neither_does_the_reconciler():
    service = {
        "apiVersion": "aim.silogen.ai/v1alpha1",
        "kind": "AIMService",
        "metadata": {"name": "s", "namespace": "default"},
        "spec": {"aimImageName": "llama", "templateRef": "missing"},
    }
    blind = audit.load("strict", DEFAULT_SETTINGS, references=False)
    assert not judge(service, rules("strict"), NOWHERE).clean
    assert judge(service, blind, NOWHERE).clean


def test_only_the_kinds_that_the_gate_reviews_are_reconciled():
    by = audit.load("strict", DEFAULT_SETTINGS, guarded=frozenset({"models.inference.llmkube.dev", "pods."}))
    assert [each.kind for each in by.kinds()] == ["Model"]
    assert by.definitions() == rules().definitions()  # the digest of the rules depends on all
