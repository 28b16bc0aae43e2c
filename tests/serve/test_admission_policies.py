"""Kubernetes' own policies in the serving gate: what they ask of a cluster, and a folder of them that changes."""

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from starlette.testclient import TestClient

from tests.serve.conftest import Served, asked_all_the_time, until
from tests.vap.documents import binding, policy
from webhook import catalog
from webhook.admission.decision import GroupVersionKind, Request
from webhook.admission.errors import CatalogError, Unavailable
from webhook.cluster import Kind, MemoryView
from webhook.cluster.readthrough import AccessReview, ClusterAnswer, ClusterQuestion, LabelSelection, Reference
from webhook.cluster.readthrough import ServedKind as Scope
from webhook.serve.app import application
from webhook.serve.gate import Gate, state
from webhook.serve.liveview import ViewRunner
from webhook.serve.reload import Reloader, admission_policies

LOADED = catalog.load()
PODS = {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["pods"]}]}


def validating(name: str, expression: str, paramRef: Any = None, **spec: Any) -> list[dict[str, Any]]:  # noqa: N803 - the field's name
    given = {} if paramRef is None else {"paramRef": paramRef}
    spec = {"validations": [{"expression": expression}], "matchConstraints": PODS, **spec}
    return [policy(name, **spec), binding(name, **given)]


def write(folder: Path, *values: dict[str, Any]) -> None:
    """Put a set in place, in one step, as the kubelet does with a ConfigMap."""
    number = len(list(folder.glob("..*")))
    new = folder / f"..{number}"
    new.mkdir()
    (new / "policies.yaml").write_text(yaml.safe_dump_all(values, sort_keys=False))
    (folder / "link").symlink_to(new.name)
    (folder / "link").rename(folder / "..data")
    if not (folder / "policies.yaml").is_symlink():
        (folder / "policies.yaml").symlink_to("..data/policies.yaml")


def loaded(folder: Path, **more: Any) -> tuple[Gate, Reloader[Any]]:
    gate = Gate(**more)
    gate.use(LOADED)
    reloader = admission_policies(gate, folder)
    reloader.load()
    return gate, reloader


def review(**metadata: Any) -> dict[str, Any]:
    obj = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "team", **metadata}}
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "1",
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "operation": "CREATE",
            "name": "p",
            "namespace": "team",
            "userInfo": {"username": "jane", "groups": ["system:authenticated"]},
            "object": obj,
        },
    }


class Cluster(MemoryView):
    """A cluster in which memory holds nothing; ``answers`` is what the API server says, ``asked`` what it was asked."""

    def __init__(self, answers: dict[ClusterQuestion, ClusterAnswer]) -> None:
        super().__init__()
        self.answers = answers
        self.asked: list[ClusterQuestion] = []

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def freshness(self) -> list[Any]:
        return []

    def unready(self) -> list[str]:
        return []

    def listed(self, _kind: Kind) -> bool:
        return True

    def follows(self, _kind: Kind) -> bool:
        return False

    def cached(self, _question: ClusterQuestion) -> tuple[bool, ClusterAnswer]:
        return False, None

    def read(self, question: ClusterQuestion, timeout: float) -> ClusterAnswer:
        assert timeout > 0
        self.asked.append(question)
        if question not in self.answers:
            raise Unavailable(f"{question} cannot be read")
        return self.answers[question]


@contextmanager
def live(folder: Path, answers: dict[ClusterQuestion, ClusterAnswer]) -> Iterator[tuple[TestClient, Cluster]]:
    cluster = Cluster(answers)
    live_view = ViewRunner(lambda: cluster)
    gate, _ = loaded(folder, live_view=live_view)
    with TestClient(application(gate, [live_view.running]), raise_server_exceptions=False) as client:
        live_view._thread.join()
        yield client, cluster


@contextmanager
def alone(folder: Path) -> Iterator[TestClient]:
    gate, _ = loaded(folder)
    with TestClient(application(gate), raise_server_exceptions=False) as client:
        yield client


def allowed(client: TestClient, **metadata: Any) -> bool:
    answer = client.post("/validate", json=review(**metadata), params={"timeout": "5s"})
    assert answer.status_code == 200, answer.text
    return bool(answer.json()["response"]["allowed"])


TEAM = Reference(Kind("", "Namespace"), "", "team", "v1")
LABELS = {**PODS, "namespaceSelector": {"matchLabels": {"tier": "gold"}}}


@pytest.mark.parametrize(("tier", "verdict"), [("gold", False), ("tin", True)])
def test_the_labels_of_a_namespace_are_read(tmp_path: Path, tier: str, verdict: bool) -> None:
    write(tmp_path, *validating("p", "false", matchConstraints=LABELS))
    with live(tmp_path, {TEAM: {"metadata": {"name": "team", "labels": {"tier": tier}}}}) as (client, cluster):
        assert allowed(client) is verdict
    assert cluster.asked == [TEAM]


def test_a_namespace_is_read_only_for_a_policy_that_says_something_of_it(tmp_path: Path) -> None:
    write(tmp_path, *validating("p", "true"))
    with live(tmp_path, {}) as (client, cluster):
        assert allowed(client)
    assert cluster.asked == []
    write(tmp_path, *validating("p", "namespaceObject.metadata.name == 'team'"))
    with live(tmp_path, {TEAM: {"metadata": {"name": "team"}}}) as (client, cluster):
        assert allowed(client)
    assert cluster.asked == [TEAM]


def test_whether_a_policy_is_about_a_resource_is_remembered_for_some_resources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "CONCERNED", 3)
    write(tmp_path, *validating("p", "true"))
    gate, _ = loaded(tmp_path)
    assert gate.state.catalog is not None
    prepared = gate.state.native
    assert prepared is not None
    pod = Request(GroupVersionKind("", "v1", "Pod"), "pods", "CREATE", {})
    others = [replace(pod, resource=f"pods{number}") for number in range(5)]
    for _ in range(2):
        assert prepared.affords("validate", pod) is not None
        assert prepared.affords("mutate", pod) is None
        assert prepared.affords("validate", replace(pod, resource_api=("apps", "v1"))) is None
        assert all(prepared.affords("validate", each) is None for each in others)
        assert len(prepared.concerned) <= 3


LIMIT = {"apiVersion": "limits.example/v1", "kind": "Limit"}
KIND = Kind("limits.example", "Limit")
SCOPE = Scope(KIND, "v1")


def limit(name: str, most: int) -> dict[str, Any]:
    return {**LIMIT, "metadata": {"name": name, "namespace": "team"}, "most": most}


@pytest.mark.parametrize(("most", "verdict"), [(1, True), (9, False)])
def test_a_param_is_read_where_its_kind_is_served(tmp_path: Path, most: int, verdict: bool) -> None:
    write(tmp_path, *validating("p", "params.most < 5", {"name": "l"}, paramKind=LIMIT))
    of_team = Reference(KIND, "team", "l", "v1")
    with live(tmp_path, {SCOPE: {"namespaced": True}, of_team: limit("l", most)}) as (client, cluster):
        assert allowed(client) is verdict
    assert cluster.asked == [SCOPE, of_team]


def test_params_of_cluster_scope_are_read_without_a_namespace(tmp_path: Path) -> None:
    write(tmp_path, *validating("p", "params.most < 5", {"name": "l"}, paramKind=LIMIT))
    answers = {SCOPE: {"namespaced": False}, Reference(KIND, "", "l", "v1"): limit("l", 1)}
    with live(tmp_path, answers) as (client, _):
        assert allowed(client)


@pytest.mark.parametrize(("action", "verdict"), [("Allow", True), ("Deny", False)])
def test_a_param_that_is_not_there_is_what_the_binding_says(tmp_path: Path, action: str, verdict: bool) -> None:
    ref = {"name": "l", "parameterNotFoundAction": action}
    write(tmp_path, *validating("p", "params.most < 5", ref, paramKind=LIMIT))
    with live(tmp_path, {SCOPE: {"namespaced": True}, Reference(KIND, "team", "l", "v1"): None}) as (client, _):
        assert allowed(client) is verdict


def test_a_kind_of_params_that_is_not_served_is_what_the_failure_policy_says(tmp_path: Path) -> None:
    for failure, verdict in (("Fail", False), ("Ignore", True)):
        write(tmp_path, *validating("p", "true", {"name": "l"}, paramKind=LIMIT, failurePolicy=failure))
        with live(tmp_path, {SCOPE: None}) as (client, _):
            assert allowed(client) is verdict


def test_selected_params_are_those_of_the_cluster_and_of_the_folder_which_come_first(tmp_path: Path) -> None:
    ref = {
        "selector": {"matchLabels": {"for": "pods"}, "matchExpressions": [{"key": "old", "operator": "DoesNotExist"}]}
    }
    beside = limit("b", 1)
    beside["metadata"]["labels"] = {"for": "pods"}
    write(tmp_path, *validating("p", "params.most < 5", ref, paramKind=LIMIT), beside)
    selection = LabelSelection(KIND, "v1", "team", "for in (pods),!old")
    for others, verdict in (([limit("a", 2)], True), ([limit("a", 9)], False), ([limit("b", 9)], True)):
        with live(tmp_path, {selection: {"items": others}}) as (client, _):
            assert allowed(client) is verdict


def access(verb: str, **more: Any) -> AccessReview:
    attributes = {"resource": "pods", "namespace": "team", "version": "*", "name": "p", "verb": verb, **more}
    spec = {"user": "jane", "groups": ["system:authenticated"], "resourceAttributes": attributes}
    return AccessReview(json.dumps(spec, sort_keys=True, separators=(",", ":")))


def test_who_may_do_what_is_asked_of_the_api_server(tmp_path: Path) -> None:
    may = "authorizer.requestResource.check('%s').allowed()"
    write(tmp_path, *validating("p", f"{may % 'get'} && {may % 'exec'}"))
    for last in (True, False):
        answers = {access("get"): {"allowed": True}, access("exec"): {"allowed": last}}
        with live(tmp_path, answers) as (client, cluster):
            assert allowed(client) is last
        assert cluster.asked == [access("get"), access("exec")]


def test_who_may_do_what_is_asked_of_service_accounts_and_of_paths(tmp_path: Path) -> None:
    expression = "authorizer.serviceAccount('ns', 'sa').path('/metrics').check('get').allowed()"
    write(tmp_path, *validating("p", expression))
    groups = ["system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"]
    spec = {
        "groups": groups,
        "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
        "user": "system:serviceaccount:ns:sa",
    }
    asked = AccessReview(json.dumps(spec, separators=(",", ":")))
    with live(tmp_path, {asked: {"allowed": True}}) as (client, _):
        assert allowed(client)


@pytest.mark.parametrize(
    "documents",
    [
        validating("p", "true", matchConstraints=LABELS),
        validating("p", "true", {"name": "l"}, paramKind=LIMIT),
        validating("p", "true", {"name": "l"}, paramKind={"apiVersion": "v1", "kind": "ConfigMap"}),
        validating("p", "true", {"selector": {}}, paramKind={"apiVersion": "v1", "kind": "ConfigMap"}),
        validating("p", "authorizer.path('/x').check('get').allowed() || true"),
    ],
    ids=["namespace", "scope", "param", "params", "access"],
)
def test_what_the_api_server_does_not_say_is_a_503_and_not_a_denial(
    tmp_path: Path, documents: list[dict[str, Any]]
) -> None:
    write(tmp_path, *documents)
    with live(tmp_path, {}) as (client, cluster):
        answer = client.post("/validate", json=review())
    assert (answer.status_code, len(cluster.asked)) == (503, 1)
    assert "cannot be read" in answer.text


def test_without_a_view_nothing_is_known_but_what_lies_beside_the_policies(tmp_path: Path) -> None:
    may = validating("may", "!authorizer.path('/x').check('get').allowed()")
    param = validating("param", "params.most < 5", {"name": "l"}, paramKind=LIMIT)
    labels = validating("labels", "false", matchConstraints=LABELS)
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team", "labels": {"tier": "tin"}}}
    write(tmp_path, *may, *param, *labels)
    with alone(tmp_path) as client:
        message = client.post("/validate", json=review()).json()["response"]["status"]["message"]
    assert "no params found for policy binding with `Deny`" in message
    assert 'namespaces "team" not found' in message
    assert "'may'" not in message
    write(tmp_path, *may, *param, *labels, limit("l", 1), namespace)
    with alone(tmp_path) as client:
        assert allowed(client)


def test_denials_are_counted_and_logged_by_policy(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "modelgate")
    write(tmp_path, *validating("secretive", "object.metadata.name == 'x'"))
    with alone(tmp_path) as client:
        assert not allowed(client)
        counted = client.get("/metrics").text
    assert 'kind="other",operation="CREATE",outcome="denied"} 1.0' in counted
    assert 'modelgate_findings_total{action="deny",code="policy"} 1.0' in counted
    assert any(each.startswith("denied CREATE Pod team/p: policy secretive (decision ") for each in caplog.messages)


def test_what_is_doubtful_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    models = {"apiGroups": ["ome.io"], "apiVersions": ["v1beta1"], "operations": ["*"], "resources": ["basemodels"]}
    wrong = policy(
        "typo", validations=[{"expression": "object.spec.strage == 1"}], matchConstraints={"resourceRules": [models]}
    )
    write(tmp_path, wrong, binding("typo"), policy("loose", validations=[{"expression": "true"}]))
    loaded(tmp_path)
    assert any("loose has no binding: it never applies" in line for line in caplog.messages)
    assert any("Kind=BaseModel: ERROR: <input>:1:12: undefined field 'strage'" in line for line in caplog.messages)


def test_a_broken_set_is_refused_and_the_old_one_stays(tmp_path: Path) -> None:
    write(tmp_path, *validating("p", "object.metadata.name == 'p'"))
    gate, reloader = loaded(tmp_path)
    first = gate.state.policies
    write(tmp_path, *validating("p", "object.metadata.name"), *validating("q", "1"))
    for _ in range(3):
        reloader.refresh()
    assert gate.state.policies is first
    assert "the new admission policies in" in gate.readiness.refused
    assert gate.readiness.refused.count("must evaluate to bool") == 2
    assert gate.unready() == []
    assert b'modelgate_admission_policies_loads_total{outcome="refused"} 1.0' in gate.metrics.text()
    write(tmp_path, *validating("p", "object.metadata.name == 'q'"))
    reloader.refresh()
    reloader.refresh()
    assert gate.state.policies is not first
    assert gate.readiness.refused == ""
    assert gate.state.policies is not None
    assert (
        f'modelgate_admission_policies_info{{digest="{gate.state.policies.digest}"}} 1.0'.encode()
        in gate.metrics.text()
    )


def test_rules_and_policies_are_refused_each_for_itself(tmp_path: Path) -> None:
    write(tmp_path, *validating("p", "true"))
    gate, reloader = loaded(tmp_path)
    gate.refuse("rules", "the new rules are broken")
    write(tmp_path, *validating("p", "false"))
    reloader.refresh()
    reloader.refresh()
    assert gate.readiness.refused == "the new rules are broken"


def test_a_set_that_changes_while_it_is_read_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, *validating("a", "true"))
    gate, reloader = loaded(tmp_path)
    first = gate.state.policies
    load = reloader._watched._load

    def meanwhile() -> Any:
        found = load()
        write(tmp_path, *validating("c", "true"))
        return found

    monkeypatch.setattr(reloader._watched, "_load", meanwhile)
    write(tmp_path, *validating("b", "true"))
    reloader.refresh()
    reloader.refresh()
    assert gate.state.policies is first
    monkeypatch.setattr(reloader._watched, "_load", load)
    reloader.refresh()
    reloader.refresh()
    assert gate.state.policies is not None
    assert [hook.policy.compiled.name for hook in gate.state.policies.policies.validators] == ["c"]


def test_a_folder_that_vanishes_leaves_the_policies_in_use(tmp_path: Path) -> None:
    folder = tmp_path / "policies"
    folder.mkdir()
    write(folder, *validating("p", "true"))
    gate, reloader = loaded(folder)
    first = gate.state.policies
    shutil.rmtree(folder)
    reloader.refresh()
    reloader.refresh()
    assert gate.state.policies is first
    assert gate.readiness.refused


def test_a_gate_does_not_start_without_its_folder_or_with_a_broken_set(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match="cannot be read: No such file"):
        loaded(tmp_path / "nowhere")
    write(tmp_path, *validating("p", "1"))
    with pytest.raises(
        CatalogError, match=r"policies.yaml:\d+: spec.validations\[0\].expression: must evaluate to bool"
    ):
        loaded(tmp_path)


def test_a_reload_under_load_loses_nothing_and_is_never_half_done(serve: Callable[..., Served], tmp_path: Path) -> None:
    """The two policies of a set are seen together or not at all."""
    folder = tmp_path / "policies"
    folder.mkdir()

    def put(*names: str) -> None:
        write(
            folder,
            *(each for name in names for each in validating(name, "false", validations=[{"expression": "false"}])),
        )

    put("old-a", "old-b")
    served = serve("--admission-policies", str(folder), MODELGATE_POLICIES_POLL_SECONDS="0.05")
    old, new = frozenset({"old-a", "old-b"}), frozenset({"new-a", "new-b"})

    def said(response: Any) -> frozenset[str]:
        return frozenset(name for name in old | new if f"'{name}' with" in response["status"]["message"])

    with asked_all_the_time(served, json.dumps(review()), said) as seen:
        put("new-a", "new-b")
        until(lambda: new in seen[-4:], "the new set is used")
        write(folder, *validating("new-a", "1"))
        until(lambda: "ok, but the new admission policies" in served.get("/readyz")[1], "the broken set is refused")
        count = len(seen)
        until(lambda: len(seen) > count + 50, "requests are answered with the last good set")
        assert "\nadmission policies " in served.get("/readyz")[1]
    assert set(seen) == {old, new}
    assert set(seen[count:]) == {new}
