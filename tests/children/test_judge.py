"""What the API server says of a child: its metadata, its fields, its Pods, and those of kinds that make workloads."""

from __future__ import annotations

from typing import Any

import pytest

from tests.crds import crd, spec_schema
from webhook import catalog
from webhook.admission import GroupVersionKind, kind_of
from webhook.children import (
    child_errors,
    judges_pods,
    placed,
    pod_errors,
    pod_warnings,
    template_errors,
)
from webhook.children.judge import defined_errors
from webhook.ground.budget import STEPS, Budget, SpentError
from webhook.schema import FieldError, load_crd

CONTAINER = {"name": "a", "image": "i"}


def deployment(pod: Any = None, **metadata: Any) -> dict[str, Any]:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod or {"containers": [CONTAINER]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", **metadata}, "spec": spec}


def fields(errors: Any) -> list[str]:
    return [error.field for error in errors]


@pytest.mark.parametrize(
    ("child", "namespace", "metadata"),
    [
        (deployment(), "team", {"name": "d", "namespace": "team"}),
        (deployment(), "", {"name": "d", "namespace": "default"}),
        (deployment(namespace="other"), "team", {"name": "d", "namespace": "other"}),
        (deployment(namespace=""), "team", {"name": "d"}),
        ({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "d"}}, "team", {"name": "d"}),
        ({"apiVersion": "v1", "kind": "ConfigMap"}, "team", {"namespace": "team"}),
        ({"apiVersion": "v1", "kind": "ConfigMap", "metadata": "none"}, "team", {"namespace": "team"}),
    ],
)
def test_a_child_is_in_the_namespace_of_its_owner(child: dict[str, Any], namespace: str, metadata: Any) -> None:
    before = repr(child)
    assert placed(child, namespace)["metadata"] == metadata
    assert repr(child) == before, "what the description has made stays as it is"


def test_a_whole_float_is_sent_as_an_integer_wherever_it_is() -> None:
    child = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": [1.0, 1.5, {"b": 2.0}], "c": "1.0"}}
    assert repr(placed(child, "n")["data"]) == "{'a': [1, 1.5, {'b': 2}], 'c': '1.0'}"


@pytest.mark.parametrize(
    ("child", "expected"),
    [
        (deployment(), []),
        ({**deployment(), "sepc": 1}, ["sepc"]),
        ({**deployment(), "spec": {"replicas": "1"}}, ["spec.replicas"]),
        ({**deployment(), "spec": {**deployment()["spec"], "replicas": -1}}, ["spec.replicas"]),
        (deployment(name="A b"), ["metadata.name"]),
        (deployment(lables={}), ["metadata.lables"]),
        (
            {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a.b"}, "spec": {"ports": [{"port": 1}]}},
            ["metadata.name"],
        ),
    ],
)
def test_the_decoder_speaks_first_and_then_the_validation(child: dict[str, Any], expected: list[str]) -> None:
    assert fields(child_errors(placed(child, "n"), Budget())) == expected


def test_a_child_of_the_cluster_has_no_namespace() -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a", "namespace": "b"}}
    assert fields(child_errors(namespace, Budget())) == ["metadata.namespace"]
    assert fields(child_errors(deployment(), Budget())) == ["metadata.namespace"]


def test_decoding_takes_a_step_for_sixteen_bytes_and_one_more() -> None:
    child = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "b"}, "data": {"k": ""}}
    size = len('{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"b"},"data":{"k":""}}')
    budget = Budget()
    before = budget.left
    next(child_errors(child, budget), None)
    assert before - budget.left >= 1 + size // 16
    child["data"]["k"] = "x" * (320 - size)
    with pytest.raises(SpentError, match="at ConfigMap"):
        next(child_errors(child, Budget(limit=20)), None)
    child["data"]["k"] = 2**70
    with pytest.raises(SpentError):
        next(child_errors(child, Budget(limit=1)), None)
    next(child_errors(child, Budget(limit=2)), None)


MODEL = GroupVersionKind("inference.llmkube.dev", "v1alpha1", "Model")


def of_definition(spec: Any, budget: Budget | None = None, *, namespaced: bool = True, **more: Any) -> list[FieldError]:
    metadata = {"name": "m", "namespace": "n", **more.pop("metadata", {})}
    child = {
        "apiVersion": "inference.llmkube.dev/v1alpha1",
        "kind": "Model",
        "metadata": metadata,
        "spec": spec,
        **more,
    }
    schema = catalog.load().kinds[MODEL].schema
    return [*defined_errors(child, schema, budget or Budget(), namespaced=namespaced)]


@pytest.mark.parametrize(
    ("spec", "more", "expected"),
    [
        ({"source": "hf://a/b"}, {}, []),
        ({}, {}, ["spec.source"]),
        ({"source": "hf://a/b", "sorce": 1}, {}, ["spec.sorce"]),
        ({"source": "hf://a/b"}, {"metadata": {"name": "A b"}}, ["metadata.name"]),
        ({"source": "hf://a/b"}, {"namespaced": False}, ["metadata.namespace"]),
        (1, {}, ["spec"]),
    ],
)
def test_a_definition_judges_a_child_of_its_kind(spec: Any, more: dict[str, Any], expected: list[str]) -> None:
    assert fields(of_definition(spec, **more)) == expected


def test_what_a_definition_judges_spends_as_well() -> None:
    with pytest.raises(SpentError, match="at Model"):
        of_definition({"source": "hf://a/b"}, Budget(limit=1))
    head = '{"apiVersion":"inference.llmkube.dev/v1alpha1","kind":"Model","metadata":{"name":"m","namespace":"n"}'
    steps = 1 + len(f'{head},"spec":{{}}}}') // 16
    of_definition({}, Budget(limit=steps))
    with pytest.raises(SpentError):
        of_definition({}, Budget(limit=steps - 1))


def test_a_child_that_cannot_be_decoded_is_one_error() -> None:
    deep: Any = {}
    for _ in range(5_000):
        deep = {"a": deep}
    (error,) = of_definition({"source": deep})
    assert (error.field, error.detail) == ("", "the object is nested too deeply")


def test_metadata_of_another_type_is_as_good_as_none() -> None:
    assert fields(child_errors({"apiVersion": "v1", "kind": "ConfigMap", "metadata": 1}, Budget())) == [
        "metadata.name",
        "metadata.namespace",
    ]


def test_only_the_pods_of_a_child_are_refused_for_what_only_pods_are_refused_for() -> None:
    wrong = {"containers": [CONTAINER], "nodeName": "A b", "restartPolicy": "Always"}
    assert fields(pod_errors(deployment(), Budget())) == []
    assert fields(pod_errors({"apiVersion": "v1", "kind": "ConfigMap"}, Budget())) == []
    assert fields(pod_errors(deployment({"containers": [{**CONTAINER, "image": " i"}]}), Budget())) == [
        "spec.template.spec.containers[0].image"
    ]
    assert all(field.startswith("spec.template.spec.") for field in fields(pod_errors(deployment(wrong), Budget())))
    named = deployment()
    named["spec"]["template"]["metadata"]["name"] = "A b"
    assert fields(pod_errors(named, Budget())) == [], "the controller names the pods"
    assert fields(pod_errors(deployment({"containers": 1}), Budget())) == [], "the decoder has said it"
    named["spec"]["template"]["metadata"] = None
    assert fields(pod_errors(named, Budget())) == []


def leader(**template: Any) -> dict[str, Any]:
    spec = {"leaderWorkerTemplate": {"workerTemplate": {"spec": {"containers": [CONTAINER]}}, **template}}
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "l"},
        "spec": spec,
    }


@pytest.mark.parametrize(
    ("child", "expected"),
    [
        (leader(), []),
        (leader(leaderTemplate=1), []),
        (leader(leaderTemplate={"metadata": {"labels": {"c": "d"}}, "spec": {"containers": [CONTAINER]}}), []),
        (
            leader(leaderTemplate={"metadata": {"labels": {"a b": "c"}}, "spec": {"containers": [CONTAINER]}}),
            ["spec.leaderWorkerTemplate.leaderTemplate.labels"],
        ),
        (leader(leaderTemplate={"metadata": 1, "spec": {"containers": [CONTAINER]}}), []),
        (
            leader(leaderTemplate={"spec": {"containers": [{"name": "A", "image": "i"}]}}),
            ["spec.leaderWorkerTemplate.leaderTemplate.spec.containers[0].name"],
        ),
        (
            leader(workerTemplate={"spec": {"containers": [{**CONTAINER, "image": " i"}]}}),
            ["spec.leaderWorkerTemplate.workerTemplate.spec.containers[0].image"],
        ),
        ({**leader(), "spec": 1}, []),
        (deployment({"containers": []}), []),
    ],
)
def test_the_templates_of_another_kind_are_judged_as_those_of_a_workload(child: Any, expected: list[str]) -> None:
    assert fields(template_errors(child, Budget())) == expected


def test_the_pods_of_built_in_kinds_and_of_leader_worker_sets_are_judged() -> None:
    assert judges_pods(deployment())
    assert judges_pods(leader())
    assert not judges_pods({"apiVersion": "example.com/v1", "kind": "Widget"})
    assert kind_of(leader()) == GroupVersionKind("leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet")


def test_warnings_about_pods_are_told_at_their_place() -> None:
    pod = {"containers": [CONTAINER], "nodeSelector": {"beta.kubernetes.io/arch": "amd64"}}
    assert [field for field, _ in pod_warnings(deployment(pod), Budget())] == [
        "spec.template.spec.nodeSelector[beta.kubernetes.io/arch]"
    ]
    assert [*pod_warnings(deployment(), Budget())] == []
    nothing = {"containers": [CONTAINER], "volumes": [{"name": "v", "projected": {"sources": [{}]}}]}
    assert [field for field, _ in pod_warnings(deployment(nothing), Budget())] == ["spec.template.spec"]
    assert [*pod_warnings({"apiVersion": "v1", "kind": "ConfigMap"}, Budget())] == []
    assert [*pod_warnings({**deployment(), "spec": {"template": {"spec": 1}}}, Budget())] == []


def spent(judge: Any, child: Any) -> int:
    """The steps that a judgement of a child takes beside those of its bytes."""
    budget = Budget()
    list(judge(child, budget))
    return STEPS - budget.left


MANY = {"containers": [CONTAINER], "tolerations": [{}] * 100, "nodeSelector": {"beta.kubernetes.io/arch": "amd64"}}


@pytest.mark.parametrize(("judge", "least"), [(child_errors, 1_600), (pod_errors, 1_600), (pod_warnings, 4)])
def test_what_kubernetes_says_of_a_child_spends_too(judge: Any, least: int) -> None:
    assert spent(judge, placed(deployment(MANY), "n")) >= least


def test_a_rule_of_a_definition_spends_its_rounds_and_none_is_run_where_the_fields_are_wrong() -> None:
    rule = {"rule": "self.all(word, '%s'.format([word]) != 'b')", "message": "b"}
    words = {"type": "array", "maxItems": 200, "items": {"type": "string"}, "x-kubernetes-validations": [rule]}
    schema = spec_schema(words=words, size={"type": "integer"})
    whole = {"rule": "!has(self.spec.size) || self.spec.size < 9", "message": "big"}
    definition = crd("acme.example.com", "Gauge", {**schema, "x-kubernetes-validations": [whole]})
    version = load_crd(definition).versions["v1"]

    def judged(budget: Budget, **spec: Any) -> list[str]:
        child = {"apiVersion": "acme.example.com/v1", "kind": "Gauge", "metadata": {"name": "g"}, "spec": spec}
        return fields(defined_errors(child, version.schema, budget, namespaced=False))

    few, many = Budget(), Budget()
    assert judged(few, words=["a"]) == judged(many, words=["a"] * 100) == []
    assert few.left - many.left >= 100
    assert judged(Budget(), words=["b"]) == ["spec.words"]
    assert judged(Budget(), words=["a"], size=9) == [""], "of the whole object"
    assert judged(Budget(), words=["b"], size="1") == ["spec.size"]


def test_the_annotations_of_a_template_are_those_of_its_pods() -> None:
    child = deployment()
    child["spec"]["template"]["metadata"]["annotations"] = {"container.seccomp.security.alpha.kubernetes.io/a": "bad"}
    (field,) = fields(pod_errors(child, Budget()))
    assert field.startswith("spec.template.metadata.annotations")
