"""The gate follows the definitions of the cluster: it judges by them, and says once what differs."""

import asyncio
import json
import logging
import threading
from contextlib import contextmanager
from dataclasses import replace

import pytest
import yaml
from starlette.testclient import TestClient

from tests.catalog.test_installed import changed, with_prefetch
from tests.cluster.test_live import until
from tests.definitions import definition, definition_files
from tests.reconciler.apiserver import ApiServer
from tests.vap.documents import binding, policy
from webhook.admission.errors import NotReady
from webhook.catalog import load
from webhook.catalog.kinds import NO_POLICY
from webhook.cluster.api import Reader
from webhook.engine import policyset
from webhook.facts.settings import Settings
from webhook.serve.app import application
from webhook.serve.gate import Gate
from webhook.serve.gate.state import State
from webhook.serve.installed import InstalledDefinitions

NAME = "models.inference.llmkube.dev"
LATER = {"source": "s3://bucket/model.gguf", "prefetch": True}


@pytest.fixture
def server():
    with ApiServer() as started:
        yield started


@pytest.fixture
def loaded(loaded):
    """The installed catalog as a server has it."""
    return loaded.compiled()


@pytest.fixture
def gate(loaded):
    return Gate(catalog=loaded)


@pytest.fixture
def installed(gate, server):
    found = InstalledDefinitions(gate, lambda: Reader(server.client()))
    gate.readiness.needs.append(found.unready)
    return found


def put(server, change):
    document = changed("Model", change)
    server.put("customresourcedefinitions", {"apiVersion": "apiextensions.k8s.io/v1", **document})


def verdict(gate, spec):
    meta = {
        "apiVersion": "inference.llmkube.dev/v1alpha1",
        "kind": "Model",
        "metadata": {"name": "m", "namespace": "n"},
    }
    request = {
        "uid": "1",
        "kind": {"group": "inference.llmkube.dev", "version": "v1alpha1", "kind": "Model"},
        "resource": {"group": "inference.llmkube.dev", "version": "v1alpha1", "resource": "models"},
        "operation": "CREATE",
        "name": "m",
        "namespace": "n",
        "object": {**meta, "spec": spec},
    }
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    with TestClient(application(gate)) as client:
        answer = client.post("/validate", content=json.dumps(review), headers={"content-type": "application/json"})
        return answer.json()["response"]["allowed"]


def ready(gate):
    with TestClient(application(gate)) as client:
        answer = client.get("/readyz")
        return answer.status_code, answer.text


def test_a_definition_that_is_installed_replaced_and_removed_under_the_gate(gate, installed, server, loaded, caplog):
    caplog.set_level(logging.WARNING, "modelgate")
    installed.look()
    assert gate.state.catalog is loaded
    assert not verdict(gate, LATER)
    put(server, with_prefetch)
    installed.look()
    assert verdict(gate, LATER)
    assert ready(gate)[0] == 200
    said = "the installed definition of Model.v1alpha1.inference.llmkube.dev differs from Modelgate's: also with"
    assert f"{said} spec.prefetch" in ready(gate)[1]
    assert 'modelgate_definition_differs{kind="Model.v1alpha1.inference.llmkube.dev"} ' in gate.metrics.text().decode()
    told = 'modelgate_release_info{api="llmkube",by="definitions",release="unknown"} 1.0'
    assert told in gate.metrics.text().decode()
    installed.look()
    *unsure, differs = (record.getMessage() for record in caplog.records)
    assert "the release of LLMKube is not known (set releases.llmkube), so that rules are not applied: L" in " ".join(
        unsure
    )
    assert differs.startswith(said)
    put(server, lambda _: None)
    installed.look()
    assert not verdict(gate, LATER)
    assert gate.state.catalog is loaded
    assert "differs" not in ready(gate)[1]
    assert "modelgate_definition_differs{" not in gate.metrics.text().decode()
    put(server, with_prefetch)
    installed.look()
    server.delete("customresourcedefinitions", NAME, "")
    installed.look()
    assert gate.state.catalog is loaded


def test_a_release_that_is_not_known_is_an_event_once(gate, installed, server):
    told = []
    gate.report = lambda reason, note: told.append((reason, note))
    installed.look()
    put(server, with_prefetch)
    installed.look()
    installed.look()
    assert [reason for reason, _ in told] == ["ReleaseUnknown", "ReleaseUnknown"]  # of services, and of Models
    assert all(
        "the release of LLMKube is not known (set releases.llmkube), so that rules are" in note for _, note in told
    )
    assert "not applied: LK101" in told[1][1]


def test_a_release_newer_than_all_is_said_where_deviations_are(server, caplog):
    caplog.set_level(logging.WARNING, "modelgate")
    gates, told = [Gate(), Gate()], []
    gates[0].report = lambda reason, note: told.append((reason, note))
    for each in gates:
        each.use(load(settings=Settings(releases=(("llmkube", "0.9.28"),))).compiled())
        InstalledDefinitions(each, lambda: Reader(server.client())).look()
    said = "LLMKube 0.9.28 is newer than 0.9.19, the newest that is known"
    assert told == [("ReleaseUnknown", said)]
    assert said in [record.getMessage() for record in caplog.records]
    assert ready(gates[0])[1].endswith(f"LLMKube 0.9.28 (setting)\n{said}\n")
    assert 'modelgate_release_info{api="llmkube",by="setting",release="0.9.28"} 1.0' in gates[0].metrics.text().decode()
    assert verdict(gates[0], {**LATER, "brandNew": 1})
    assert gates[0].state.catalog.digest == gates[1].state.catalog.digest


def test_the_absence_of_a_definition_is_told_and_one_that_may_not_be_read_says_nothing(gate, installed, server):
    server.fail("GET", "gpuquotas.inference.llmkube.dev", 403, "forbidden")
    installed.look()
    _, further = gate.state.definition_names()
    assert gate.state.absent == further - {"gpuquotas.inference.llmkube.dev"}
    assert ready(gate)[0] == 200


def test_other_rules_are_judged_by_the_same_definitions(gate, installed, server, loaded):
    put(server, with_prefetch)
    installed.look()
    gate.use(loaded)
    assert verdict(gate, LATER)


def test_the_gate_is_not_ready_before_the_first_look(gate, installed, server):
    assert ready(gate) == (503, "the installed definitions are not read yet\n")
    server.fail("GET", NAME, 500, "busy")
    installed.look()
    assert ready(gate)[0] == 503
    assert "500" in ready(gate)[1]
    installed.look()
    assert ready(gate)[0] == 200


def names(gate: Gate) -> int:
    """How many definitions a look asks for."""
    return sum(map(len, gate.state.definition_names()))


def test_without_the_right_to_read_one_the_others_count_and_it_is_named(gate, installed, server, caplog):
    caplog.set_level(logging.WARNING, "modelgate")
    put(server, with_prefetch)
    other = "openmodels.llmaz.io"
    assert other in gate.state.definition_names()[0]
    server.fail("GET", other, 403, "no rights", times=2)
    installed.look()
    installed.look()
    assert verdict(gate, LATER)
    assert f"ok, but the installed definitions of {other} cannot be read: 403" in ready(gate)[1]
    (message,) = (each.getMessage() for each in caplog.records if "cannot be read" in each.getMessage())
    assert message.endswith("; Modelgate judges these kinds by its own")
    installed.look()
    assert "cannot be read" not in ready(gate)[1]


def test_without_the_right_to_read_them_the_gate_judges_by_its_own_and_says_so(gate, installed, server, loaded, caplog):
    caplog.set_level(logging.WARNING, "modelgate")
    server.fail("GET", "customresourcedefinitions", 403, "no rights", times=2 * names(gate))
    installed.look()
    installed.look()
    status, text = ready(gate)
    assert status == 200
    assert "ok, but the installed definitions cannot be read: 403" in text
    assert gate.state.catalog is loaded
    (record,) = caplog.records
    assert record.getMessage().endswith("; Modelgate judges by its own")
    installed.look()
    assert "cannot be read" not in ready(gate)[1]


def test_a_later_failure_keeps_what_was_read(gate, installed, server):
    put(server, with_prefetch)
    installed.look()
    server.fail("GET", NAME, 500, "busy")
    installed.look()
    assert verdict(gate, LATER)
    assert ready(gate)[0] == 200


def test_without_a_connection_the_gate_is_not_ready(gate):
    def nowhere():
        raise NotReady("no kubeconfig")

    found = InstalledDefinitions(gate, nowhere)
    found.look()
    assert found.unready() == ["the installed definitions cannot be read: no kubeconfig"]


@contextmanager
def followed(installed):
    """What the server does: follow the definitions while it serves."""
    stop, started = threading.Event(), threading.Event()

    async def follow():
        async with installed.following():
            started.set()
            await asyncio.to_thread(stop.wait)

    thread = threading.Thread(target=lambda: asyncio.run(follow()))
    thread.start()
    started.wait()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    until(lambda: not [each.name for each in threading.enumerate() if each.name.startswith("definitions")])


def looks(server):
    return sum(path.endswith(f"/{NAME}") for _, path in server.requests)


def test_a_watch_tells_what_was_installed_replaced_and_removed(gate, installed, server, loaded, monkeypatch):
    monkeypatch.setattr("webhook.serve.installed.SECONDS", 600.0)
    with followed(installed):
        until(installed._watched)
        put(server, with_prefetch)
        until(lambda: gate.state.catalog is not loaded)
        assert verdict(gate, LATER)
        put(server, lambda _: None)
        until(lambda: gate.state.catalog is loaded)
        put(server, with_prefetch)
        until(lambda: gate.state.catalog is not loaded)
        server.delete("customresourcedefinitions", NAME, "")
        until(lambda: gate.state.catalog is loaded)


def fresh(catalog):
    """The catalog with no kind compiled by it yet."""
    return replace(catalog, kinds=catalog.kinds.replaced(catalog.kinds.listed))


def compiled(gate):
    kinds = gate.state.catalog.kinds
    return {gvk.kind for gvk in kinds if kinds.current(gvk).policy is not NO_POLICY}


def put_all(server, api):
    """Install the definitions of an API as they are; their kinds."""
    found = [definition(path) for path in definition_files() if path.parent.parent.name == api]
    for document in found:
        server.put("customresourcedefinitions", {"apiVersion": "apiextensions.k8s.io/v1", **document})
    return {document["spec"]["names"]["kind"] for document in found}


def test_only_the_rules_of_kinds_that_are_installed_are_compiled(server, loaded, tmp_path, monkeypatch):
    monkeypatch.setattr("webhook.serve.installed.SECONDS", 600.0)
    gate, settled = Gate(catalog=fresh(loaded)), []
    gate.metrics.count_undecided(gate.state.catalog.undecided)
    installed = InstalledDefinitions(gate, lambda: Reader(server.client()), lambda: settled.append(compiled(gate)))
    llmaz = put_all(server, "llmaz")
    with followed(installed):
        until(lambda: not installed.unready())
        assert compiled(gate) == llmaz
        native = policy("p", validations=[{"expression": "true"}]), binding("p")
        (tmp_path / "policies.yaml").write_text(yaml.safe_dump_all(native))
        gate.use_policies(policyset.load(tmp_path))
        assert gate.metrics.text().count(b"modelgate_rules_one_by_one_total{") == len(loaded.kinds)
        assert f"ok\ncatalog {loaded.digest}\n" in ready(gate)[1]
        assert compiled(gate) == llmaz
        until(installed._watched)
        aim = put_all(server, "aim")  # these come later: they are compiled without a review of them
        until(lambda: compiled(gate) == llmaz | aim)
        gate.use(fresh(loaded))
        assert compiled(gate) == llmaz | aim
    assert settled == [llmaz]


def test_if_it_is_not_known_what_is_installed_the_rules_of_all_kinds_are_compiled(server, loaded):
    gate, every_kind, settled = Gate(catalog=fresh(loaded)), {gvk.kind for gvk in loaded.kinds}, []
    server.fail("GET", "customresourcedefinitions", 403, "no rights", times=names(gate))
    InstalledDefinitions(gate, lambda: Reader(server.client()), lambda: settled.append(compiled(gate))).look()
    assert settled == [every_kind]
    gate.use(fresh(loaded))
    assert compiled(gate) == every_kind


def test_a_change_of_another_definition_leads_to_no_look(gate, installed, server, loaded, monkeypatch):
    monkeypatch.setattr("webhook.serve.installed.SECONDS", 600.0)
    with followed(installed):
        until(installed._watched)
        before = looks(server)
        other = {"apiVersion": "apiextensions.k8s.io/v1", "metadata": {"name": "others.example.com"}, "spec": {}}
        server.put("customresourcedefinitions", other)
        put(server, with_prefetch)
        until(lambda: gate.state.catalog is not loaded)
    assert looks(server) - before == 2  # the metadata and the definition, once


def test_without_the_right_to_watch_it_looks_again_and_again(gate, installed, server, loaded, monkeypatch):
    monkeypatch.setattr("webhook.serve.installed.SECONDS", 0.02)
    server.fail("GET", "customresourcedefinitions?", 403, "no rights", times=1000)
    with followed(installed):
        until(lambda: looks(server) > 1)
        put(server, with_prefetch)
        until(lambda: gate.state.catalog is not loaded)
        assert not installed._watched()


def test_an_unexpected_error_is_not_the_last_look(gate, installed, server, loaded, monkeypatch, caplog):
    monkeypatch.setattr("webhook.serve.polling.AGAIN", 0.02)
    once, real = iter([ZeroDivisionError()]), State.definition_names
    monkeypatch.setattr(State, "definition_names", lambda state: broken(once) or real(state))
    put(server, with_prefetch)
    with followed(installed):
        until(lambda: gate.state.catalog is not loaded)
    assert "a look at the installed definitions has failed" in caplog.text


def broken(errors):
    for error in errors:
        raise error
