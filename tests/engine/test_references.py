"""`refs.x` in users' ValidatingAdmissionPolicies: other objects, which no policy of Kubernetes can read."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from starlette.testclient import TestClient

from modelgate import Gate, Verdict
from tests.cli.test_references import an_object as a_widget
from tests.cli.test_references import pack_at
from tests.serve.test_admission_policies import Cluster, allowed, live, write
from tests.vap.documents import binding, policy
from webhook import catalog
from webhook.admission import patch
from webhook.admission.errors import CatalogError
from webhook.cluster import Kind, LabelSelection, Reference
from webhook.cluster.view import TOO_MANY, UNREADABLE
from webhook.engine import policyset
from webhook.engine.references import ANNOTATION
from webhook.serve.app import application
from webhook.serve.gate import Gate as ServingGate
from webhook.serve.liveview import ViewRunner

ROUTES = [{"apiGroups": ["x.example.com"], "apiVersions": ["*"], "operations": ["*"], "resources": ["routes"]}]
PORTS = {"expression": "object.spec.ports.filter(p, p.port > 0).map(p, p.port)", "type": "integers"}
SERVICE = {"name": "service", "kind": "Service", "path": "spec.backend", "fields": {"ports": PORTS}}
ALIKE = {"name": "alike", "group": "x.example.com", "kind": "Route", "path": "spec.host", "by": "spec.host"}
THERE = "refs.service.found && object.spec.port in refs.service.ports"


def with_references(expression: str, *references: Any, text: str = "", **spec: Any) -> list[dict[str, Any]]:
    spec = {"matchConstraints": {"resourceRules": ROUTES}, **spec}
    found = policy("p", validations=[{"expression": expression}], **spec)
    found["metadata"]["annotations"] = {ANNOTATION: text or yaml.safe_dump([*references], sort_keys=False)}
    return [found, binding("p")]


def an_object(kind: str, name: str, group: str = "x.example.com", **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "team"}
    return {"apiVersion": f"{group}/v1" if group else "v1", "kind": kind, "metadata": metadata, "spec": spec}


WEB = an_object("Service", "web", group="", ports=[{"port": 80}, {"port": 443}])


def checked(folder: Path, obj: dict[str, Any], *there: dict[str, Any], **more: Any) -> Verdict:
    return Gate(admission_policies=folder, view=[*there], **more).check(obj)


@pytest.mark.parametrize(("port", "is_allowed"), [(80, True), (81, False)])
def test_an_expression_asks_for_the_port_of_a_service(tmp_path: Path, port: int, is_allowed: bool) -> None:
    write(tmp_path, *with_references(THERE, SERVICE))
    verdict = checked(tmp_path, an_object("Route", "r", backend="web", port=port), WEB)
    assert verdict.allowed is is_allowed


def test_it_asks_who_else_has_the_same_host(tmp_path: Path) -> None:
    write(tmp_path, *with_references("!refs.alike.found", ALIKE))
    own, other = an_object("Route", "r", host="a.example"), an_object("Route", "other", host="a.example")
    assert checked(tmp_path, own, own).allowed
    assert not checked(tmp_path, own, other).allowed


def test_what_is_not_among_the_files_is_not_judged_and_refuses_nothing(tmp_path: Path) -> None:
    write(tmp_path, *with_references(THERE, SERVICE))
    route = an_object("Route", "r", backend="web", port=80)
    verdict = checked(tmp_path, route, complete=False)
    assert verdict.allowed
    (text,) = (each.message for each in verdict.findings if "not judged" in each.message)
    assert text.endswith("with binding 'p' is not judged: refs.service: web is not among the files given")
    assert not checked(tmp_path, route, complete=True).allowed


def test_type_errors_are_told_as_of_every_policy_and_refs_are_known_to_them(tmp_path: Path) -> None:
    write(tmp_path, *with_references("refs.service.portz.size() > 0", SERVICE))
    with pytest.raises(CatalogError, match="undefined field 'portz'"):
        policyset.load(tmp_path)


PODS: Any = {"matchConstraints": {"resourceRules": [{**ROUTES[0], "apiGroups": [""], "resources": ["pods"]}]}}
NAMED = {"name": "service", "kind": "Service", "path": "metadata.labels.service"}
LABELLED = {"name": "others", "kind": "Service", "labels": {"tier": "gold"}}
ASKED = Reference(Kind("", "Service"), "team", "web", is_sought=True)
LISTED = LabelSelection(Kind("", "Service"), "", "team", "")


@pytest.mark.parametrize(("answer", "is_allowed"), [(WEB, True), (None, False)])
def test_a_gate_reads_them_from_the_api_server(tmp_path: Path, answer: Any, is_allowed: bool) -> None:
    write(tmp_path, *with_references("refs.service.found", NAMED, **PODS))
    with live(tmp_path, {ASKED: answer}) as (client, cluster):
        assert allowed(client, labels={"service": "web"}) is is_allowed
    assert cluster.asked == [ASKED]


@pytest.mark.parametrize("answer", [UNREADABLE, TOO_MANY])
@pytest.mark.parametrize("failure", ["Fail", "Ignore"])
def test_what_a_gate_may_not_see_is_decided_by_the_failure_policy(tmp_path: Path, answer: Any, failure: str) -> None:
    write(tmp_path, *with_references("refs.others.count < 9", LABELLED, failurePolicy=failure, **PODS))
    with live(tmp_path, {LISTED: answer}) as (client, _):
        assert allowed(client) is (failure == "Ignore")


def test_objects_beside_the_policies_count_too(tmp_path: Path) -> None:
    gold = an_object("Service", "gold", group="")
    gold["metadata"]["labels"] = {"tier": "gold"}
    write(tmp_path, *with_references("refs.others.count == 1", LABELLED, **PODS), gold)
    with live(tmp_path, {LISTED: {"items": []}}) as (client, _):
        assert allowed(client)


QUEUE = Reference(Kind("acme.example.com", "Queue"), "b", "fast", is_sought=True)


@pytest.mark.parametrize("size", [None, 9])
def test_a_rule_of_a_pack_that_may_not_see_others_is_not_judged_and_what_was_filled_in_stays(
    tmp_path: Path, size: int | None
) -> None:
    cluster = Cluster({QUEUE: {"metadata": {"name": "fast", "namespace": "b"}, "spec": {"most": 5}}})
    runner = ViewRunner(lambda: cluster)
    gate = ServingGate(live_view=runner, installed=None)
    gate.use(catalog.load(packs=[pack_at(tmp_path)]))
    widget = yaml.safe_load(a_widget("Widget", "a", queue="fast", **({"size": size} if size else {})))
    with TestClient(application(gate, [runner.running]), raise_server_exceptions=False) as client:
        runner._thread.join()
        stored = patched(client, widget)
        assert stored["spec"] == {"queue": "fast", "size": size or 5}
        cluster.answers[QUEUE] = UNREADABLE
        assert patched(client, stored, stored)["spec"] == stored["spec"]
        answer = client.post("/validate", json=a_review(widget)).json()["response"]
    assert answer["allowed"]
    (text,) = answer["warnings"]
    assert "not judged (nor by AC402): Queue objects may not be read: grant the right to get them" in text


def patched(client: TestClient, obj: dict[str, Any], old: dict[str, Any] | None = None) -> Any:
    answer = client.post("/mutate", json=a_review(obj, old)).json()["response"]
    assert answer["allowed"], answer
    operations = json.loads(base64.b64decode(answer["patch"])) if "patch" in answer else []
    return patch.apply(obj, operations)


def a_review(obj: dict[str, Any], old: dict[str, Any] | None = None) -> dict[str, Any]:
    kind = {"group": "acme.example.com", "version": "v1", "kind": "Widget"}
    resource = {"group": "acme.example.com", "version": "v1", "resource": "widgets"}
    asked = {"uid": "1", "kind": kind, "resource": resource, "name": "a", "namespace": "b", "object": obj}
    request = {**asked, "operation": "UPDATE" if old else "CREATE", **({"oldObject": old} if old else {})}
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


MANY = [{**SERVICE, "name": f"s{number}"} for number in range(33)]
WRONG = [
    (with_references(THERE, text="a: b: c"), "metadata.annotations[modelgate.dev/references]"),
    (with_references(THERE, text="- &a [*a]"), "metadata.annotations[modelgate.dev/references]"),
    (with_references(THERE, text="[" * 5_000), "metadata.annotations[modelgate.dev/references]"),
    (with_references(THERE, text="[]"), "references: "),
    (with_references(THERE, text="service"), "references: "),
    (with_references(THERE, {**SERVICE, "pathh": "a"}), "references[0].pathh: unknown field"),
    (with_references(THERE, SERVICE, SERVICE), "there are two references service"),
    (with_references("refs.s1.found", *MANY), "references: has 33 items; use 32 at most"),
    (
        with_references(THERE, {**SERVICE, "fields": {"ports": {**PORTS, "expression": "object.("}}}),
        "references[0].fields.ports.expression: Syntax error",
    ),
]


@pytest.mark.parametrize(("documents", "message"), WRONG)
def test_a_mistake_is_an_error_with_its_line(tmp_path: Path, documents: Any, message: str) -> None:
    write(tmp_path, *documents)
    with pytest.raises(CatalogError) as caught:
        policyset.load(tmp_path)
    assert message in str(caught.value)
    assert "policies.yaml:" in str(caught.value)


def test_only_a_validating_policy_may_have_them(tmp_path: Path) -> None:
    patch = {"patchType": "JSONPatch", "jsonPatch": {"expression": "[]"}}
    found = policy("m", mutating=True, mutations=[patch], matchConstraints={"resourceRules": ROUTES})
    found["metadata"]["annotations"] = {ANNOTATION: "[]"}
    write(tmp_path, found)
    with pytest.raises(CatalogError, match="only a ValidatingAdmissionPolicy may have references"):
        policyset.load(tmp_path)
