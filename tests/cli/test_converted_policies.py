"""Policies of Kyverno and Gatekeeper, converted: what the documents decide, and what is said of the rest."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from tests.shared import ROOT
from webhook.admission import GroupVersionKind, Request
from webhook.cli import FAILED, FINDINGS, GOOD, main
from webhook.cli import policies as native
from webhook.manifests.documents import Document
from webhook.policy import DEFAULT_RELEASE, Release
from webhook.vap import MemoryContext, NativePolicies

FOLDER = ROOT / "tests" / "fixtures" / "policies"
KYVERNO, GATEKEEPER = FOLDER / "kyverno.yaml", FOLDER / "gatekeeper.yaml"
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace"}
NAMESPACES = [
    {**NAMESPACE, "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}}}
    for name in ("default", "kube-public", "kube-system")
]
Converted = Callable[..., tuple[list[dict[str, Any]], str, int]]


@pytest.fixture
def converted(capsys: pytest.CaptureFixture[str]) -> Converted:
    """What the command prints: the documents, standard error, and its exit code."""

    def run(*paths: Path | str, release: str = str(DEFAULT_RELEASE)) -> tuple[list[dict[str, Any]], str, int]:
        code = main(["policies", "convert", f"--kubernetes={release}", *map(str, paths)])
        out, err = capsys.readouterr()
        return list(yaml.safe_load_all(out)), err, code

    return run


def loaded(documents: list[dict[str, Any]]) -> NativePolicies:
    return NativePolicies.load(Document("", 1, document) for document in documents)


def request(kind: str, name: str, namespace: str = "kube-public", **content: Any) -> Request:
    metadata = {"name": name, "namespace": namespace, **content.pop("metadata", {})}
    obj = {"apiVersion": "v1", "kind": kind, "metadata": metadata, **content}
    resource = f"{kind.lower()}s"
    return Request(GroupVersionKind("", "v1", kind), resource, "CREATE", obj, name=name, namespace=namespace, user={})


def denials(policies: NativePolicies, asked: Request) -> list[str]:
    return [denial.text for denial in policies.validate(asked, MemoryContext(NAMESPACES)).denials]


def test_kyvernos_policies_decide_as_they_are_written(converted) -> None:
    policies = loaded(converted(KYVERNO)[0])
    assert "no owner of converted-a" in denials(policies, request("ConfigMap", "converted-a"))[0]
    assert denials(policies, request("ConfigMap", "converted-a", metadata={"labels": {"owner": "a"}})) == []
    assert denials(policies, request("ConfigMap", "another")) == []
    mutated = policies.mutate(request("ConfigMap", "converted-a"), MemoryContext(NAMESPACES))
    assert mutated.object is not None
    assert mutated.object["data"] == {"marked": "yes"}


def test_a_policy_of_a_namespace_stays_in_it(converted) -> None:
    policies, data = loaded(converted(KYVERNO)[0]), {"a": "", "b": "", "c": ""}
    assert "too many keys" in denials(policies, request("ConfigMap", "other", data=data))[0]
    assert denials(policies, request("ConfigMap", "other", "default", data=data)) == []


def test_what_does_not_translate_is_listed_by_line(converted) -> None:
    documents, err, code = converted(KYVERNO)
    lines = [line.removeprefix(f"{KYVERNO}:") for line in err.splitlines()]
    assert [line.partition(": ")[0] for line in lines[:-1]] == ["7", "46", "48", "51", "55"]
    texts = ": ".join(lines)
    assert "ValidatingPolicy owned-configmaps: differs: spec.evaluation.background.enabled: stored objects" in texts
    assert "ValidatingPolicy looks-elsewhere: differs: spec.webhookConfiguration: the API server" in texts
    assert "differs: spec.matchConstraints.resourceRules: pods are covered, but not the Deployments" in texts
    assert "not converted: spec.validations[0].expression: Kubernetes' admission policies do not have resource" in texts
    assert "ClusterPolicy patterns: not converted: kind: this kind does not translate: convert takes" in texts
    assert lines[-1] == "3 of 5 converted"
    assert code == FINDINGS
    assert len(documents) == 6
    assert "looks-elsewhere" not in str(documents)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"evaluation": {"mode": "JSON"}}, 'spec.evaluation.mode: "JSON"'),
        (
            {"evaluation": {"admission": {"enabled": False}}},
            "spec.evaluation.admission.enabled: it is not evaluated at",
        ),
        ({"targetMatchConstraints": {}}, "spec.targetMatchConstraints: the mutation is of other objects"),
        ({"surprise": 1}, "spec.surprise: a MutatingAdmissionPolicy has no such field"),
        ({"mutations": 7}, "spec.mutations: Input should be a valid list"),
        ({"matchConstraints": None}, "spec.matchConstraints: Field required"),
    ],
)
def test_what_changes_the_meaning_leaves_the_policy_out(converted, tmp_path, change, text) -> None:
    policy = list(yaml.safe_load_all(KYVERNO.read_text()))[1]
    file = tmp_path / "one.yaml"
    file.write_text(yaml.safe_dump(policy | {"spec": policy["spec"] | change}))
    documents, err, code = converted(file)
    assert (documents, code) == ([], FINDINGS)
    assert f"MutatingPolicy marked-configmaps: not converted: {text}" in err


def test_a_constraint_becomes_a_policy_with_its_parameters(converted) -> None:
    documents, err, code = converted(GATEKEEPER)
    policies = loaded(documents)
    (text,) = denials(policies, request("Secret", "converted-a"))
    assert "set team, so that it is found" in text  # with the default of the schema
    assert denials(policies, request("Secret", "converted-a", metadata={"labels": {"team": "a"}})) == []
    for name, namespace in (
        ("another", "kube-public"),
        ("converted-free", "kube-public"),
        ("converted-a", "default"),
        ("converted-a", "kube-system"),
    ):
        assert denials(policies, request("Secret", name, namespace)) == [], (name, namespace)
    assert denials(policies, request("ConfigMap", "converted-a")) == []
    assert "ConstraintTemplate" not in str(documents)
    assert err.splitlines() == [
        (
            f"{GATEKEEPER}:61: OnlyRego all: not converted: kind: its template ({GATEKEEPER}:53) has no code for "
            "K8sNativeValidation: Rego cannot be translated"
        ),
        "2 of 3 converted",
    ]
    assert code == FINDINGS


def test_parameters_of_any_types_are_read_as_they_are(converted) -> None:
    documents = converted(GATEKEEPER)[0]
    policy = next(each for each in documents if each["metadata"]["name"] == "needslabels-routes")
    policy["spec"]["validations"] = [
        {"expression": expression}
        for expression in (
            "variables.params.labels == ['a \"quoted\" one'] && variables.params.reason == 'it is asked for'",
            "variables.params.limits[0].most == 3 && variables.params.limits[1] == 1.5",
            "variables.params.limits[2] == null && variables.params.deep.er.est && !has(variables.params.none)",
        )
    ]
    policy["spec"]["matchConditions"] = []
    assert denials(loaded(documents), request("ConfigMap", "a")) == []
    policy["spec"]["validations"].append({"expression": "variables.params.reason == ''"})
    binding = next(each for each in documents if each["spec"].get("policyName") == "needslabels-routes")
    assert binding["spec"]["validationActions"] == ["Audit"]
    binding["spec"]["validationActions"] = ["Deny"]
    assert denials(loaded(documents), request("ConfigMap", "a"))


def test_a_fault_in_a_template_is_at_its_line(converted, tmp_path) -> None:
    file = tmp_path / "faulty.yaml"
    file.write_text(GATEKEEPER.read_text().replace("size(variables.missing) == 0", "size(variables.lost) == 0"))
    _, err, _ = converted(file)
    assert (
        f"{file}:28: ConstraintTemplate needslabels: not converted: spec.targets[0].code[1].source.validations[0]"
        in err
    )


def test_an_older_cluster_gets_its_version_of_mutating_policies(converted) -> None:
    documents = converted(KYVERNO, release="1.34")[0]
    apis = {each["kind"]: each["apiVersion"].partition("/")[2] for each in documents}
    assert (apis["MutatingAdmissionPolicy"], apis["ValidatingAdmissionPolicy"]) == ("v1beta1", "v1")


def test_two_policies_never_share_a_name(converted, tmp_path) -> None:
    again = tmp_path / "again.yaml"
    again.write_text(KYVERNO.read_text())
    documents, err, _ = converted(KYVERNO, again)
    names = [(each["kind"], each["metadata"]["name"]) for each in documents]
    assert len(names) == len(set(names))
    assert 'another policy has become ValidatingAdmissionPolicy "owned-configmaps"' in err


def test_files_without_policies_are_an_error(converted, tmp_path) -> None:
    file = tmp_path / "one.yaml"
    file.write_text(yaml.safe_dump(NAMESPACES[0]))
    assert converted(file)[1:] == (
        "modelgate policies convert: no policy of Kyverno or Gatekeeper is among the files\n",
        FAILED,
    )


def test_good_policies_alone_end_well(converted, tmp_path) -> None:
    file = tmp_path / "one.yaml"
    file.write_text(yaml.safe_dump(next(yaml.safe_load_all(KYVERNO.read_text()))))
    assert converted(file)[2] == GOOD


JSON = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats() | some.text(max_size=4),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
ORIGINALS = [
    json.loads(json.dumps(each)) for file in (KYVERNO, GATEKEEPER) for each in yaml.safe_load_all(file.read_text())
]


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(some.data())
def test_no_document_ends_the_command(data) -> None:
    """One value anywhere below the metadata is replaced: the policy is converted or left out with a reason."""
    documents = copy.deepcopy(ORIGINALS)
    place, key = data.draw(some.sampled_from(documents)), "spec"
    while isinstance(inner := (place.get(key) if isinstance(place, dict) else place[key]), dict | list) and inner:
        if data.draw(some.booleans(), label="stop"):
            break
        place, key = inner, data.draw(some.sampled_from([*inner] if isinstance(inner, dict) else range(len(inner))))
    place[key] = data.draw(JSON)
    release = Release.parse(str(DEFAULT_RELEASE))
    policies = list(native.converted([Document("f", 1, each) for each in documents], release))
    good, remarks = native.sorted_out(policies, release)
    loaded([document for policy in good for document in policy.documents])
    assert all(str(remark) for remark in remarks)
    assert all(policy in good or any(remark.whole for remark in remarks) for policy in policies)
