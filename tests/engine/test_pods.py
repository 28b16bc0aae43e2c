"""What Kubernetes says of pods inside objects: where they are, under which profile, and on an update."""

import json
from dataclasses import replace
from itertools import product

import pytest
import yaml

from tests.bench import objects
from tests.bench import pods as bench
from tests.crds import crd
from tests.shared import ROOT
from webhook import engine
from webhook.admission import Cause, GroupVersionKind, Request
from webhook.catalog import NOTHING_ASIDE
from webhook.cluster import MemoryView, Notes
from webhook.engine import Options, children
from webhook.engine.findings import Findings
from webhook.engine.pods import findings
from webhook.engine.review import Subject, review_of
from webhook.engine.ruling import vocabulary
from webhook.engine.seen import LIMIT, MOST, Judgements, json_of
from webhook.facts.settings import Behaviour, Settings
from webhook.ground.budget import STEPS, Budget
from webhook.kubernetes import pod_places, spots, validate, warned
from webhook.policy import Profile
from webhook.schema import load_crd

SERVICE = GroupVersionKind("ome.io", "v1beta1", "InferenceService")
RUNTIME = GroupVersionKind("ome.io", "v1beta1", "ServingRuntime")
BASE = GroupVersionKind("ome.io", "v1beta1", "BaseModel")
MACHINE = GroupVersionKind("example.com", "v1", "Machine")
SEEN = Options(references=False)
VIEW = MemoryView()
STRICT = Options(profile=Profile.STRICT, references=False)

POD = {
    "hostname": "My_Host",
    "priorityClassName": "Very High",
    "tolerations": [{"key": "a", "operator": "Is"}],
    "volumes": [{"name": "v", "emptyDir": {}, "hostPath": {"path": "/x"}}],
}
CONTAINER = {
    "name": "ome-container",
    "image": "x",
    "imagePullPolicy": "Sometimes",
    "ports": [{"name": "h", "containerPort": 0}, {"name": "h", "containerPort": 70000}],
    "resources": {"requests": {"cpu": "2", "nvidia.com/gpu": 1}, "limits": {"cpu": "1"}},
    "env": [{"name": "A", "value": "1", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
    "securityContext": {"runAsUser": -1},
}
OF_POD = ("hostname", "priorityClassName", "tolerations[0].operator", "volumes[0].hostPath")
OF_CONTAINER = (
    *("imagePullPolicy", "ports[0].containerPort", "ports[1].containerPort", "resources.requests", "env[0].valueFrom"),
    "securityContext.runAsUser",
)


@pytest.fixture(scope="module")
def machines(loaded):
    """The catalog with a kind of a user that embeds a pod and a container under names of its own."""
    crd = json.loads((ROOT / "policies/ome/crds/inferenceservices.json").read_text())
    component = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["engine"]
    own = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"body": component}}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": own}}
    names = {"kind": "Machine", "plural": "machines", "singular": "machine", "listKind": "MachineList"}
    made = {"group": "example.com", "names": names, "scope": "Namespaced", "versions": [version]}
    head = {"apiVersion": crd["apiVersion"], "kind": crd["kind"], "metadata": {"name": "machines.example.com"}}
    return loaded.extended([load_crd({**head, "spec": made})])


def decided(catalog, gvk, spec, old=None, options=SEEN):
    def whole(each):
        meta = {"name": "a", "namespace": "default"}
        return {"apiVersion": f"{gvk.group}/{gvk.version}", "kind": gvk.kind, "metadata": meta, "spec": each}

    stored = None if old is None else whole(old)
    request = Request(gvk, "", "UPDATE" if old else "CREATE", whole(spec), stored)
    return engine.validate(request, catalog, MemoryView([]), options)


def said(findings, code="KP001"):
    return sorted(each.field for each in findings if each.code == code)


@pytest.mark.parametrize(
    ("gvk", "place", "runner"),
    [
        (SERVICE, ("engine",), ("engine", "runner")),
        (SERVICE, ("decoder", "worker"), ("decoder", "worker", "runner")),
        (SERVICE, ("predictor",), ("predictor", "model")),
        (RUNTIME, ("engineConfig",), ("engineConfig", "runner")),
        (MACHINE, ("body",), ("body", "leader", "runner")),
    ],
)
def test_a_pod_is_judged_wherever_a_definition_has_one(machines, gvk, place, runner):
    spec = {}
    for keys, values in ((place, POD), (runner, CONTAINER)):
        at = spec
        for key in keys:
            at = at.setdefault(key, {})
        at |= values
    decision = decided(machines, gvk, spec)
    wanted = [".".join(("spec", *place, field)) for field in OF_POD]
    wanted += [".".join(("spec", *runner, field)) for field in OF_CONTAINER]
    whole = ("ports[1].name", "resources.limits")  # what only the whole pod shows
    more = [f"spec.engineConfig.runner.{field}" for field in whole] if gvk is RUNTIME else []
    assert said(decision.warnings) == sorted([*wanted, *more])
    assert said(decision.causes) == []


def test_nothing_is_asked_of_a_pod_that_only_its_owner_asks_if_no_rule_says_who_that_is(machines):
    spec = {"body": {"restartPolicy": "Never", "activeDeadlineSeconds": 60}}
    assert said(decided(machines, MACHINE, spec).warnings) == []
    assert said(decided(machines, RUNTIME, {"engineConfig": spec["body"]}).warnings) == [
        "spec.engineConfig.activeDeadlineSeconds",
        "spec.engineConfig.restartPolicy",
    ]


def test_the_fields_of_a_pod_in_a_runtime_are_judged_too(loaded):
    spec = {
        "dnsPolicy": "Cluster",
        "containers": [{"name": "C_x", "image": "a"}],
        "workers": {"nodeSelector": {"a b": "c"}},
    }
    fields = ["spec.containers[0].name", "spec.dnsPolicy", "spec.workers.nodeSelector"]
    assert said(decided(loaded, RUNTIME, spec).warnings) == fields


def test_the_text_and_the_reason_are_those_of_kubernetes(loaded):
    (cause,) = decided(
        loaded, SERVICE, {"engine": {"tolerations": [{"key": "a", "operator": "Is"}]}}, None, STRICT
    ).causes
    assert cause.reason == "FieldValueNotSupported"
    text = 'spec.engine.tolerations[0].operator: Unsupported value: "Is": supported values: "Equal", "Exists" (KP001)'
    assert str(cause) == text


def test_a_fault_of_the_stored_object_is_not_refused(loaded):
    old = {"engine": {"hostname": "My_Host", "tolerations": [{"operator": "Is"}]}}
    new = {
        "engine": {
            "hostname": "My_Host",
            "tolerations": [{"operator": "Exists"}, {"operator": "Is"}],
            "nodeName": "A_b",
        }
    }
    decision = decided(loaded, SERVICE, new, old, STRICT)
    assert said(decision.causes) == ["spec.engine.nodeName"]
    assert "spec.engine.hostname" in said(decision.warnings)


def test_what_the_audit_profile_finds_is_a_warning(loaded):
    options = Options(profile=Profile.AUDIT, references=False)
    decision = decided(loaded, SERVICE, {"engine": {"hostname": "My_Host"}}, None, options)
    assert decision.allowed
    assert said(decision.warnings) == ["spec.engine.hostname"]


def test_a_container_beside_the_list_belongs_to_the_pod(loaded):
    spec = {"engine": {"os": {"name": "windows"}, "runner": {"name": "a", "securityContext": {"runAsUser": 1}}}}
    assert said(decided(loaded, SERVICE, spec).warnings) == ["spec.engine.runner.securityContext.runAsUser"]


def test_a_part_of_a_pod_that_a_runtime_completes_is_not_blamed(loaded):
    runner = {"volumeMounts": [{"name": "v", "mountPath": "/a"}], "args": ["{{.ModelPath}}"], "env": [{"name": "A"}]}
    assert said(decided(loaded, SERVICE, {"engine": {"runner": runner, "nodeName": "{{.Node}}"}}).warnings) == []


def test_upstream_does_not_judge_pods_of_ome(loaded):
    options = Options(references=False, settings=Settings(ome=Behaviour.UPSTREAM_HEAD))
    assert said(decided(loaded, SERVICE, {"engine": {"hostname": "My_Host"}}, None, options).warnings) == []


def test_a_benchmark_is_a_job(loaded):
    job = GroupVersionKind("ome.io", "v1beta1", "BenchmarkJob")
    assert loaded.kinds[job].policy.pod_owner == "job"
    spec = {"podOverride": {"tolerations": [{"operator": "Is"}], "volumeMounts": [{"name": "a", "mountPath": ""}]}}
    fields = ["spec.podOverride.tolerations[0].operator", "spec.podOverride.volumeMounts[0].mountPath"]
    assert set(fields) <= set(said(decided(loaded, job, spec).warnings))


def test_kubernetes_own_warnings_are_told(loaded):
    spec = {"engine": {"terminationGracePeriodSeconds": -1, "nodeSelector": {"beta.kubernetes.io/os": "linux"}}}
    fields = ["spec.engine.nodeSelector[beta.kubernetes.io/os]", "spec.engine.terminationGracePeriodSeconds"]
    assert said(decided(loaded, SERVICE, spec).warnings, "KP002") == fields


def test_of_a_field_that_the_schema_refuses_only_the_schema_speaks(loaded):
    decision = decided(loaded, SERVICE, {"engine": {"hostname": 5, "subdomain": "A_b"}})
    assert said(decision.warnings) == ["spec.engine.subdomain"]


def test_kinds_without_pods_have_no_places(loaded):
    without = {known.gvk.kind for known in loaded.kinds.values() if loaded.prepared(known).pods is None}
    assert without >= {"VariantAutoscaling", "OpenModel", "AIMRuntimeConfig"}


SMALL = yaml.safe_load("""
type: object
properties:
  spec:
    type: object
    properties:
      headers: {type: array, items: {type: object, properties: {name: {type: string}, value: {type: string}}}}
      selector: {type: object, properties: {matchLabels: {type: object, additionalProperties: {type: string}}}}
      size: {type: object, properties: {limits: {type: integer}, requests: {type: integer}}}
      nodeSelector: {type: object, additionalProperties: {type: string}}
      affinity:
        type: object
        properties:
          preferredDuringSchedulingIgnoredDuringExecution: {type: array, items: {type: string}}
          requiredDuringSchedulingIgnoredDuringExecution: {type: array, items: {type: string}}
""")


def test_small_types_that_only_look_like_parts_of_pods_are_left_alone():
    definition = load_crd(crd("example.com", "Small", SMALL))
    assert pod_places(definition.versions["v1"].schema.root, {}) is None


def test_a_pod_that_was_right_is_judged_by_its_own_place_and_owner(loaded):
    pod = {"engine": {"restartPolicy": "Always", "runner": CONTAINER | {"imagePullPolicy": "Always"}}}
    for _ in range(2):  # the second time it is known
        right = {"engine": {"restartPolicy": "Always", "hostname": "a"}}
        assert not said(decided(loaded, SERVICE, right).warnings)
        assert "spec.engine.runner.ports[0].containerPort" in said(decided(loaded, SERVICE, pod).warnings)
        assert not said(decided(loaded, SERVICE, {"engine": {}, "decoder": right["engine"]}).warnings)


def test_what_was_right_is_forgotten_when_there_is_too_much_of_it():
    seen = Judgements()
    keys = [(json_of(number, "x" * (LIMIT // 4)),) for number in range(5)]
    for key in keys:
        seen.add(key, Notes(), True)
    assert seen.verdict(keys[-1], VIEW)
    assert seen.verdict(keys[0], VIEW) is None
    assert json_of(2**70) == b""
    seen.add(("a", b""), Notes(), True)
    assert seen.verdict(("a", b""), VIEW) is None
    for number in range(MOST + 1):
        seen.add((json_of(number),), Notes(), True)
    assert seen.verdict((json_of(MOST),), VIEW)
    assert seen.verdict((json_of(0),), VIEW) is None


def test_what_is_said_counts_as_well_and_what_is_said_again_counts_once():
    seen = Judgements()
    for _ in range(9):
        seen.add((b"a",), Notes(), "x" * (LIMIT // 4))
    seen.add((b"b",), Notes(), "x" * (LIMIT // 2))
    assert [bool(seen.verdict((key,), VIEW)) for key in (b"a", b"b")] == [True, True]
    seen.add((b"c",), Notes(), "x" * (LIMIT // 2))
    assert [bool(seen.verdict((key,), VIEW)) for key in (b"a", b"b", b"c")] == [False, False, True]
    seen.add((b"d",), Notes(), "x" * LIMIT)
    assert [bool(seen.verdict((key,), VIEW)) for key in (b"c", b"d")] == [True, False]


def test_what_was_right_is_so_with_the_same_values_only():
    seen, one, other = Judgements(), {"a": 1}, {"a": 1}
    seen.add((b"x",), Notes(), True, one)
    assert seen.verdict((b"x",), VIEW, one)
    assert seen.verdict((b"x",), VIEW, other) is None


def test_what_was_right_with_one_value_stays_known_beside_another():
    seen, one, other = Judgements(), {"a": 1}, {"a": 1}
    seen.add((b"x",), Notes(), True, one)
    seen.add((b"x",), Notes(), True, other)
    assert seen.verdict((b"x",), VIEW, one)
    assert seen.verdict((b"x",), VIEW, other)


def test_a_healthy_service_is_right_and_not_judged_again(loaded, monkeypatch):
    right = Judgements()
    for module in (findings, children):
        monkeypatch.setattr(module, "RIGHT", right)
    service, runtime = objects.service(1), bench.RUNTIME
    service["spec"] |= bench.NAMED
    request, views = Request(SERVICE, "", "CREATE", service), (MemoryView([]), MemoryView([runtime, bench.MODEL]))
    for view, judges in product(views, ((findings._left, children._Judge._all), (None, None))):
        monkeypatch.setattr(findings, "_left", judges[0])
        monkeypatch.setattr(children._Judge, "_all", judges[1])
        warnings = engine.validate(request, loaded, view, Options()).warnings
        assert not said(warnings)
        assert not said(warnings, "KP002")


def test_an_object_is_remembered_by_its_parts_of_pods_or_by_what_is_judged_of_it(loaded, monkeypatch):
    right = Judgements()
    monkeypatch.setattr(findings, "RIGHT", right)
    for kind, specs in ((BASE, ({}, {"disabled": True})), (SERVICE, ({}, {}, {}))):
        for spec in specs:
            assert not said(decided(loaded, kind, spec).warnings)
        assert len(right) == (kind is SERVICE)
    for value, number in (("a", 2), ("a", 2), ("b", 3)):
        assert not said(decided(loaded, BASE, {"storage": {"nodeSelector": {"k": value}}}).warnings)
        assert len(right) == number


def test_a_long_value_is_cut_and_another_one_with_the_same_start_is_another_fault(loaded):
    old, new = ({"engine": {"hostname": "A" * 5000 + end}} for end in "xy")
    kept = [warning for warning in decided(loaded, SERVICE, old, old, STRICT).warnings if warning.code == "KP001"]
    assert kept[0].message.startswith(f'Invalid value: "{"A" * 59}…": must be no more than 63 characters, ')
    assert all(warning.message.endswith("(not refused, because this update does not change it)") for warning in kept)
    assert {cause.field for cause in decided(loaded, SERVICE, new, old, STRICT).causes} == {"spec.engine.hostname"}


def test_a_fault_behind_a_thousand_warnings_is_refused(loaded):
    aliases = [{"ip": "2001:DB8::1", "hostnames": ["a"]}] * 1500
    spec = {"engine": {"hostAliases": aliases}, "decoder": {"hostname": "A_b"}}
    decision = decided(loaded, SERVICE, spec, None, STRICT)
    assert said(decision.causes) == ["spec.decoder.hostname"]
    assert len(said(decision.warnings, "KP002")) == 1000


def test_what_comes_after_a_thousand_faults_is_a_fault_that_an_update_may_keep(loaded):
    old = {"engine": {"tolerations": [{"operator": "Is", "key": "a"}] * 1001}}
    assert len(decided(loaded, SERVICE, old, None, STRICT).causes) == 1000
    assert decided(loaded, SERVICE, old, old, STRICT).allowed


def test_pods_spend_the_budget_of_their_review(loaded):
    spec = {"engine": {"tolerations": [{"operator": "Is", "key": "a"}] * 900}}
    options = replace(STRICT, steps=3000)
    (cause,) = decided(loaded, SERVICE, spec, None, options).causes
    assert cause.refusal.code == 413


def test_pods_that_are_only_warned_of_are_warned_of_each_time(loaded):
    spec = {"engine": {"nodeSelector": {"beta.kubernetes.io/arch": "amd64"}}}
    for _ in range(2):
        fields = said(decided(loaded, SERVICE, spec).warnings, "KP002")
        assert fields == ["spec.engine.nodeSelector[beta.kubernetes.io/arch]"]


def reviewed(loaded, spec):
    obj = {"apiVersion": "ome.io/v1beta1", "kind": "InferenceService", "metadata": {"name": "a"}, "spec": spec}
    review = review_of(Request(SERVICE, "", "CREATE", obj), loaded, VIEW, SEEN)
    return Subject(review, obj, None, NOTHING_ASIDE, [])


def spent(loaded, spec, judged=None):
    """The steps that the pods of a service take."""
    subject = reviewed(loaded, spec)
    before = subject.review.budget.left
    findings.pod_findings(subject, judged)
    return before - subject.review.budget.left


BAD, OLD = {"operator": "Is", "key": "a"}, {"beta.kubernetes.io/arch": "amd64"}
ALIAS = {"ip": "2001:DB8::1", "hostnames": ["a"]}


def test_a_part_spends_its_judgement_twice_and_the_text_of_each_warning(loaded):
    spec = {"engine": {"tolerations": [{"operator": "Exists"}] * 100, "nodeSelector": OLD}}
    subject = reviewed(loaded, spec)
    alone, budget = Budget(), Budget()
    for spot in spots(subject.review.prepared.pods, subject.obj):
        validate(spot.place.kind, spot.value, spot.path, part=True, templates=True, budget=alone)
        warned(spot.place.kind, spot.value, spot.path, part=True, budget=budget)
    assert budget.left < STEPS
    assert spent(loaded, spec) == 2 * (STEPS - alone.left) + STEPS - budget.left


def test_after_a_thousand_findings_no_further_part_is_judged(loaded):
    many = {"engine": {"tolerations": [BAD] * 1000}}
    assert spent(loaded, {**many, "decoder": {"tolerations": [BAD] * 100}}) == spent(loaded, many)
    old, new = ({"engine": {"hostAliases": [ALIAS] * 1000}, "decoder": {"nodeSelector": {k: "a"}}} for k in (*OLD, "k"))
    assert spent(loaded, old) == spent(loaded, new)


def test_of_the_warnings_of_several_parts_a_thousand_are_told(loaded):
    aliases = {"hostAliases": [ALIAS] * 600}
    assert len(said(decided(loaded, SERVICE, {"engine": aliases, "decoder": aliases}).warnings, "KP002")) == 1000


def test_a_part_is_not_warned_of_what_another_may_heal(loaded):
    spec = {"engine": {"hostAliases": [{"ip": "1.1.1.1", "hostnames": ["a"]}] * 2}}
    assert said(decided(loaded, SERVICE, spec).warnings, "KP002") == []


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        (("spec", "engine"), []),
        (("spec", "engine", ""), ["spec.engine.leader.hostname"]),
        (("spec", "engine", "*"), ["spec.engine.hostname"]),
        (("spec", "decoder"), ["spec.engine.hostname", "spec.engine.leader.hostname"]),
    ],
)
def test_parts_that_are_judged_in_a_child_are_left_out(loaded, path, fields):
    subject = reviewed(loaded, {"engine": {"hostname": "My_Host", "leader": {"hostname": "My_Host"}}})
    found = findings.pod_findings(subject, findings.JudgedParts(frozenset({path})))
    assert (said(found.warnings) if found else []) == fields


@pytest.mark.parametrize("refused", ["securityContext.supplementalGroups", "securityContext.supplementalGroups[0]"])
def test_of_what_the_schema_refuses_nothing_is_said_nor_of_its_items(loaded, refused):
    subject = reviewed(loaded, {"engine": {"securityContext": {"supplementalGroups": [-1]}}})
    assert said(findings.pod_findings(subject).warnings) == ["spec.engine.securityContext.supplementalGroups[0]"]
    cause = Cause(f"spec.engine.{refused}", "FieldValueInvalid", "no")
    assert said(findings.pod_findings(subject.with_findings(Findings([cause]))).warnings) == []


def test_enforcements_may_name_both_codes(loaded):
    decision = decided(loaded, SERVICE, {"engine": {"hostname": "My_Host", "nodeSelector": OLD}})
    assert {warning.code for warning in decision.warnings} == {"KP001", "KP002"}
    assert {"KP001", "KP002"} <= vocabulary(loaded).codes
