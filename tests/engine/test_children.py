"""What the API server says of the objects that an operator makes, told at the field of the object that is the cause."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from modelgate import Gate
from tests.crds import crd, spec_schema
from tests.files import written
from webhook.cluster import Kind, MemoryView, NotedView
from webhook.engine.children import ChildFault

STRING, LABELS = {"type": "string"}, {"type": "object", "additionalProperties": {"type": "string"}}
ENV = {"type": "array", "items": {"type": "object", "properties": {"name": STRING, "value": STRING}}}
METRICS = {"type": "array", "items": {"type": "object", "properties": {"name": STRING, "average": STRING}}}
SERVER = crd(
    "acme.example.com",
    "Server",
    spec_schema(
        image=STRING,
        labels=LABELS,
        env=ENV,
        metrics=METRICS,
        size=STRING,
        priority=STRING,
        few={"type": "integer"},
        many={"type": "integer"},
        claim={"type": "boolean"},
    ),
)
FINE = {"name": "a", "average": "1"}
CHILDREN = """\
apiVersion: modelgate.dev/v1alpha1
kind: Policy
metadata: {name: servers}
spec:
  target: {group: acme.example.com, versions: [v1], kind: Server}
  children:
  - name: deployment
    becomes: the Deployment is refused, and the server stays Failed
    object:
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: "${object.metadata.name}"}
      spec:
        selector: {matchLabels: {app: "${object.metadata.name}"}}
        template:
          metadata:
            labels: {$all: "${object.spec.?labels}", app: "${object.metadata.name}"}
          spec:
            priorityClassName: ${object.spec.?priority}
            containers:
            - name: server
              image: ${object.spec.?image.orValue('server')}
              env: [{name: PORT, value: "80"}, {$all: "${object.spec.?env}"}]
  - name: autoscaler
    when: has(object.spec.many)
    becomes: the autoscaler is refused
    object:
      apiVersion: autoscaling/v2
      kind: HorizontalPodAutoscaler
      metadata: {name: "${object.metadata.name}"}
      spec:
        scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: "${object.metadata.name}"}
        minReplicas: ${object.spec.?few.orValue(1)}
        maxReplicas: ${object.spec.many}
        metrics:
        - $each: spec.metrics
          type: Pods
          pods: {metric: {name: "${self.?name}"}, target: {type: AverageValue, averageValue: "${self.?average}"}}
  - name: claim
    when: object.spec.?claim.orValue(false)
    becomes: the claim is refused
    object:
      apiVersion: v1
      kind: PersistentVolumeClaim
      metadata:
        name: ${object.metadata.name}-data
        annotations: {share: "${string(10 / object.spec.?few.orValue(1))}"}
      spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: "${object.spec.size}"}}}
"""


def pack_at(folder: Path, children: str = CHILDREN, **files: Any) -> Path:
    """A pack whose operator makes these children of a server, with further files."""
    described = {"crds/servers.yaml": SERVER, "servers.children.yaml": children}
    return written(folder / "acme", {**described, **{f"{name}.yaml": file for name, file in files.items()}})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pack_at(tmp_path_factory.mktemp("packs"))


@pytest.fixture(scope="module")
def gate(folder: Path) -> Gate:
    return Gate(policies=[folder])


def server(name: str = "s", **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "acme.example.com/v1", "kind": "Server", "metadata": {"name": name}, "spec": spec}


def told(gate: Gate, obj: dict[str, Any]) -> list[tuple[str, str]]:
    return [(each.code, each.field) for each in gate.check(obj).findings]


@pytest.mark.parametrize(
    ("spec", "findings"),
    [
        ({}, []),
        ({"labels": {"a": "b"}, "env": [{"name": "A", "value": "b"}], "many": 3, "few": 2}, []),
        ({"env": [{"name": "A"}, {"name": "a=b"}]}, [("KP001", "spec.env[1].name")]),
        ({"priority": "Very High"}, [("KP001", "spec.priority")]),
        ({"labels": {"a b": "c"}}, [("KP001", "spec.labels")]),
        ({"image": " a:1"}, [("KP001", "spec.image")]),
        ({"many": 2, "few": 3}, [("KC002", "spec.many")]),
        ({"many": 2, "metrics": [{"name": "a", "average": "0"}]}, [("KC002", "spec.metrics[0].average")]),
        ({"many": 2, "metrics": [FINE, {"name": "/", "average": "1"}]}, [("KC002", "spec.metrics[1].name")]),
        ({"many": 2, "metrics": [{"average": "1"}]}, [("KC002", "spec.metrics[0].name")]),
        ({"claim": True, "size": "-5Gi"}, [("KC004", "spec.size")]),
        ({"claim": True}, [("KC004", "spec.size")]),
        ({"claim": True, "size": "1Gi", "few": 0}, [("KC009", "")]),
    ],
)  # fmt: skip
def test_a_fault_of_a_child_is_told_at_its_cause(gate: Gate, spec: dict[str, Any], findings: list[Any]) -> None:
    assert told(gate, server(**spec)) == findings


def test_a_name_is_told_once_though_many_children_have_it(gate: Gate) -> None:
    assert told(gate, server("a" * 64, many=2)) == [("KC001", "metadata.name")]


def test_a_finding_says_what_becomes_of_it_and_where_in_the_child(gate: Gate) -> None:
    (exact,) = gate.check(server(env=[{"name": "a=b"}])).findings
    assert exact.message.endswith("; the Deployment is refused, and the server stays Failed")
    (of_pods,) = gate.check(server(image="a:1 ")).findings
    assert of_pods.message.endswith("each Pod is refused, which only an event of the ReplicaSet says")
    (derived,) = gate.check(server("a" * 64)).findings
    assert "of the Deployment" in derived.message


def test_strict_refuses_and_spares_what_the_stored_object_had(folder: Path) -> None:
    wrong = server(priority="Very High")
    gate, stored = (Gate(policies=[folder], profile="strict", view=view) for view in ([], [wrong]))
    assert not gate.check(wrong).allowed
    assert stored.check({**wrong, "metadata": {"name": "s", "labels": {"a": "b"}}}).allowed
    assert gate.check(server(claim=True, size="1Gi", few=0)).allowed, "a fault of a description refuses nothing"


def test_a_fault_is_that_of_the_stored_object_also_beside_other_fields() -> None:
    text, beside = "Required value; the claim is refused", " (see also metadata.labels)"
    fault = ChildFault("KC004", "spec.claims[1].size", "FieldValueRequired", text)
    assert fault._replace(text=text + beside, beside=beside, field="spec.claims[0].size").unplaced() == fault.unplaced()
    assert fault._replace(text=f"{text}!").unplaced() != fault.unplaced()


def test_rules_of_a_definition_that_did_not_run_say_nothing_of_a_child(tmp_path: Path) -> None:
    (finding,) = Gate(policies=[pack_at(tmp_path, ROUTED)]).check(server(claim=True)).findings
    assert (finding.code, finding.field) == ("KC003", "spec.image")


def test_what_was_right_is_judged_again_where_something_that_is_read_changes(gate: Gate) -> None:
    assert told(gate, server(few=1, many=2)) == []
    assert told(gate, server(few=1, many=2)) == []
    assert told(gate, server(few=3, many=2)) == [("KC002", "spec.many")]


def test_what_is_remembered_of_a_name_of_letters_is_not_said_of_a_number(tmp_path: Path) -> None:
    """The name has the digits of the number of letters."""
    gate = Gate(policies=[pack_at(tmp_path, NAMED)])
    assert told(gate, server("abcde")) == []
    assert [field for _, field in told(gate, server("5"))] == ["metadata.name"]
    assert told(gate, server("fghij")) == []


def test_an_object_is_judged_again_where_another_one_that_a_fact_has_read_changes() -> None:
    kind = Kind("", "ConfigMap")
    one, other = ({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}} for name in "ab")
    view = NotedView(MemoryView([one, other]))
    assert view.get(kind, "", "a") is one
    assert view.get(kind, "", "c") is None
    assert [*view.list(kind)] == [one, other]
    assert view.notes.is_same_in(MemoryView([one, other]))
    assert not view.notes.is_same_in(MemoryView([dict(one), other]))
    assert not view.notes.is_same_in(MemoryView([one]))
    assert not view.notes.is_same_in(MemoryView([one, other, {**one, "metadata": {"name": "c"}}]))


NAMED = """\
apiVersion: modelgate.dev/v1alpha1
kind: Policy
metadata: {name: servers}
spec:
  target: {group: acme.example.com, versions: [v1], kind: Server}
  children:
  - name: pod
    becomes: the Pod is refused
    object:
      apiVersion: v1
      kind: Pod
      metadata: {name: server}
      spec:
        containers: [{name: server, image: a, ports: [{name: "${object.metadata.name}", containerPort: 80}]}]
"""

ROUTED = """\
apiVersion: modelgate.dev/v1alpha1
kind: Policy
metadata: {name: servers}
spec:
  target: {group: acme.example.com, versions: [v1], kind: Server}
  children:
  - name: route
    when: object.spec.?claim.orValue(false)
    becomes: the HTTPRoute is refused
    object:
      apiVersion: gateway.networking.k8s.io/v1
      kind: HTTPRoute
      metadata: {name: "${object.metadata.name}"}
      spec: {parentRefs: [{name: "${object.spec.?image}"}]}
"""

COPIED = """\
apiVersion: modelgate.dev/v1alpha1
kind: Policy
metadata: {name: servers}
spec:
  target: {group: acme.example.com, versions: [v1], kind: Server}
  podTypes: {"spec.env[*]": whole EnvVar}
  children:
  - name: service
    becomes: the InferenceService is refused
    object:
      apiVersion: serving.kserve.io/v1beta1
      kind: InferenceService
      metadata: {name: "${object.metadata.name}", annotations: "${object.spec.?labels}"}
      spec:
        predictor:
          minReplicas: ${object.spec.?few}
          model: {modelFormat: {name: acme}, env: "${object.spec.?env}"}
"""


@pytest.mark.parametrize(
    ("spec", "findings"),
    [
        ({"few": 1, "env": [{"name": "A", "value": "b"}], "labels": {"a": "b"}}, []),
        ({"env": [{"name": "A"}, {"name": "A"}]}, [("KC006", "spec.env[1]")]),
        ({"labels": {"a b": "c"}}, [("KC006", "spec.labels")]),
        ({"env": [{"name": "a=b"}]}, [("KP001", "spec.env[0].name")]),
    ],
)
def test_a_definition_that_modelgate_has_judges_a_child_and_pods_stay_with_kubernetes(
    tmp_path: Path, spec: dict[str, Any], findings: list[Any]
) -> None:
    assert told(Gate(policies=[pack_at(tmp_path, COPIED)]), server(**spec)) == findings


def test_a_rule_stands_for_what_the_api_server_says_of_a_child(tmp_path: Path) -> None:
    most = "self >= object.spec.?few.orValue(1)"
    rule = {"code": "AC301", "at": "spec.many", "rule": most, "message": "is below few; use more", "docs": "Few."}
    head = yaml.safe_load(CHILDREN)
    spec = {"target": head["spec"]["target"], "validations": [{**rule, "action": "Warn", "explains": "children"}]}
    gate = Gate(policies=[pack_at(tmp_path, servers={**head, "metadata": {"name": "few"}, "spec": spec})])
    assert told(gate, server(few=3, many=2)) == [("AC301", "spec.many")]
    assert told(gate, server(few=2, many=2, metrics=[{"average": "1"}])) == [("KC002", "spec.metrics[0].name")]
    wrong = server(few=3, many=2, claim=True, size="-1Gi")
    assert {*told(gate, wrong)} == {("AC301", "spec.many"), ("KC004", "spec.size")}
