"""Certificates on a real API server: one CA for all replicas, a bundle that is ours, the rest still Helm's."""

from __future__ import annotations

import base64
import json
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
import yaml

from certs.api import Api
from certs.authority import Authority
from certs.errors import ApiServerError, StoreError
from certs.keeper import Keeper
from certs.names import LOCAL
from certs.publish import FIELD_MANAGER, Configuration, publish, read
from certs.report import Events
from certs.store import SecretStore
from certs.token import Account, provide
from tests.e2e.programs import modelgate
from tests.e2e.widgets import CHART, GUARDED

NOW = datetime.now(UTC)
RELEASE = "certs"
NAME = f"{RELEASE}-modelgate"
VIEWER = f"{NAME}-view"
BOTH = [Configuration("mutating", NAME), Configuration("validating", NAME)]


@pytest.fixture(autouse=True)
def cluster(plane, monkeypatch):
    """What we connect to is the plane."""
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setenv("KUBECONFIG", str(plane.kubeconfig))
    return plane


@pytest.fixture
def namespace(kubectl):
    return kubectl.flags[-1]


@pytest.fixture
def chart(plane, namespace):
    """Our chart's objects but for its Deployments, applied as Helm 4 applies them; gone after the test."""
    flags = [f"--namespace={namespace}", GUARDED]
    text = plane.helm("template", RELEASE, CHART, *flags)
    objects = [each for each in yaml.safe_load_all(text) if each and each["kind"] != "Deployment"]
    plane.kubectl("apply", "--server-side", "--field-manager=helm", "-f", "-", stdin=yaml.safe_dump_all(objects))
    yield objects
    plane.kubectl("delete", "--wait=false", "-f", "-", stdin=yaml.safe_dump_all(objects))


def live(plane, configuration):
    found = plane.kubectl.json("get", configuration.kind, configuration.name, "--show-managed-fields")
    return found["webhooks"], {entry["manager"]: entry for entry in found["metadata"]["managedFields"]}


def bundles(plane):
    return [webhook["clientConfig"].get("caBundle") for each in BOTH for webhook in live(plane, each)[0]]


def store(namespace):
    return SecretStore(namespace, "modelgate-ca", Api())


def keeper(namespace, folder):
    return Keeper(folder, LOCAL, store(namespace), lambda: NOW)


def published(bundle, configuration):
    """Whether there was something to publish."""
    before = read(configuration, Api())
    return not before.carries(bundle) and publish(bundle, before, Api())


def test_replicas_that_start_together_agree_on_one_ca(namespace, kubectl, tmp_path):
    with ThreadPoolExecutor(6) as pool:
        looks = list(pool.map(lambda number: keeper(namespace, tmp_path / str(number)).look(), range(6)))
    made = {each.state.bundle for each in looks}
    assert len(made) == 1
    secret = kubectl.json("get", "secret", "modelgate-ca")
    assert secret["type"] == "kubernetes.io/tls"
    assert {base64.b64decode(secret["data"]["ca.crt"])} == made


def test_a_ca_that_lives_in_the_cluster_is_read_again(namespace, tmp_path):
    made = keeper(namespace, tmp_path / "a").look().state
    assert keeper(namespace, tmp_path / "b").look().state.files() == made.files()


def test_a_secret_is_changed_only_as_it_was_read(namespace, kubectl, tmp_path):
    keeper(namespace, tmp_path).look()
    kubectl("annotate", "secret", "modelgate-ca", "theirs=kept")
    before = store(namespace).read()
    assert store(namespace).write({**before.files, "next.crt": b"1"}, before)
    assert not store(namespace).write({**before.files, "next.crt": b"2"}, before)
    found = kubectl.json("get", "secret", "modelgate-ca")
    assert base64.b64decode(found["data"]["next.crt"]) == b"1"
    assert found["metadata"]["annotations"] == {"theirs": "kept"}


def secret_of(files, kind="kubernetes.io/tls"):
    data = {name: base64.b64encode(content).decode() for name, content in files.items()}
    return {"apiVersion": "v1", "kind": "Secret", "type": kind, "metadata": {"name": "modelgate-ca"}, "data": data}


def a_leaf():
    return Authority.create(NOW).issue(LOCAL, NOW).files()


@pytest.mark.parametrize(
    ("files", "kind", "complaint"),
    [
        (dict, "Opaque", "tls.crt is missing or empty"),
        (lambda: {"tls.crt": b"", "tls.key": b""}, "kubernetes.io/tls", "tls.crt is missing or empty"),
        (lambda: {"password": b"x"}, "Opaque", "tls.crt is missing or empty"),
        (a_leaf, "kubernetes.io/tls", r"tls.crt \(CN=modelgate\) is not a CA certificate"),
    ],
)
def test_a_spoiled_secret_is_refused_and_left_as_it_is(namespace, kubectl, tmp_path, files, kind, complaint):
    before = kubectl.send("create", secret_of(files(), kind))
    with pytest.raises(StoreError, match=rf"Secret {namespace}/modelgate-ca: .*{complaint}"):
        keeper(namespace, tmp_path).look()
    assert (
        kubectl.json("get", "secret", "modelgate-ca")["metadata"]["resourceVersion"]
        == before["metadata"]["resourceVersion"]
    )


def test_a_namespace_that_does_not_exist_is_reported_in_the_api_servers_words(namespace, tmp_path):
    with pytest.raises(ApiServerError, match=r'HTTP 404: namespaces "absent-.*" not found'):
        keeper(f"absent-{namespace}", tmp_path).look()


def test_no_api_server_is_reported_in_a_sentence(tmp_path, monkeypatch, plane):
    config = json.loads(plane.kubeconfig.read_text())
    config["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    (tmp_path / "kubeconfig").write_text(json.dumps(config))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    with pytest.raises(ApiServerError, match="the API server cannot be reached"):
        store("default").read()


@pytest.mark.usefixtures("chart")
def test_a_bundle_is_published_once_and_read_back(plane):
    bundle = Authority.create(NOW).bundle
    assert [published(bundle, each) for each in BOTH] == [True, True]
    assert [published(bundle, each) for each in BOTH] == [False, False]
    assert [base64.b64decode(each) for each in bundles(plane)] == [bundle] * 2


@pytest.mark.usefixtures("chart")
def test_a_bundle_is_never_put_over_one_that_is_newer_than_what_was_read(plane):
    older, newer = Authority.create(NOW).bundle, Authority.create(NOW).bundle
    seen = read(BOTH[0], Api())
    assert published(newer, BOTH[0])
    assert not publish(older, seen, Api())
    assert base64.b64decode(bundles(plane)[0]) == newer


@pytest.mark.usefixtures("chart")
@pytest.mark.parametrize("configuration", BOTH, ids=str)
def test_we_own_the_bundle_and_nothing_else(plane, configuration):
    (before,), managers = live(plane, configuration)
    published(Authority.create(NOW).bundle, configuration)
    (after,), owned = live(plane, configuration)
    ours = owned[FIELD_MANAGER]
    assert ours["operation"] == "Apply"
    assert ours["fieldsV1"] == {
        "f:webhooks": {
            f'k:{{"name":"{before["name"]}"}}': {".": {}, "f:clientConfig": {"f:caBundle": {}}, "f:name": {}}
        }
    }
    assert owned["helm"]["fieldsV1"] == managers["helm"]["fieldsV1"]
    assert after["clientConfig"].pop("caBundle")
    assert after == before


def test_the_charts_next_version_keeps_the_bundle(plane, chart):
    bundle = Authority.create(NOW).bundle
    for each in BOTH:
        published(bundle, each)
    changed = [each for each in chart if each["kind"].endswith("WebhookConfiguration")]
    for each in changed:
        each["webhooks"][0]["timeoutSeconds"] = 7
    plane.kubectl("apply", "--server-side", "--field-manager=helm", "-f", "-", stdin=yaml.safe_dump_all(changed))
    assert [base64.b64decode(each) for each in bundles(plane)] == [bundle] * 2
    assert [live(plane, each)[0][0]["timeoutSeconds"] for each in BOTH] == [7, 7]


@pytest.mark.usefixtures("chart")
@pytest.mark.parametrize("theirs", ["", "Cg==", base64.b64encode(Authority.create(NOW).bundle).decode()])
def test_what_others_write_over_it_is_put_right(plane, theirs):
    bundle = Authority.create(NOW).bundle
    published(bundle, BOTH[1])
    patch = [{"op": "replace", "path": "/webhooks/0/clientConfig/caBundle", "value": theirs}]
    plane.kubectl("patch", BOTH[1].kind, NAME, "--type=json", "-p", json.dumps(patch))
    assert published(bundle, BOTH[1])
    assert base64.b64decode(bundles(plane)[1]) == bundle


def test_a_configuration_that_does_not_exist_has_nothing_to_publish_to():
    found = read(Configuration("mutating", "absent"), Api())
    assert (found.webhooks, found.error) == ({}, None)


@contextmanager
def as_the_gate(plane, namespace, folder):
    """A kubeconfig with the token of the chart's ServiceAccount, and nothing of the administrator's."""
    yield kubeconfig_of(plane, plane.kubectl("create", "token", NAME, "--namespace", namespace).strip(), folder)


def kubeconfig_of(plane, token, folder):
    config = json.loads(plane.kubeconfig.read_text())
    config["users"] = [{"name": "admin", "user": {"token": token}}]
    path = folder / "gate.kubeconfig"
    path.write_text(json.dumps(config))
    return path


def issued(kubeconfig, namespace, folder):
    """What an init container of the chart runs, in a process of its own."""
    publications = [f"--publish={each}" for each in BOTH]
    command = modelgate("certs", "issue", f"--tls-dir={folder}", f"--store=secret:{namespace}/{NAME}-ca", *publications)
    command += [f"--service={namespace}/{NAME}", f"--account={namespace}/{VIEWER}", f"--account-dir={folder}/view"]
    environment = {"KUBECONFIG": str(kubeconfig), "PYTHONPATH": str(CHART.parent)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.usefixtures("chart")
def test_the_charts_rights_are_enough_for_the_command(plane, namespace, tmp_path):
    with as_the_gate(plane, namespace, tmp_path) as kubeconfig:
        first, second = (issued(kubeconfig, namespace, tmp_path / each) for each in "ab")
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert f"issued for {NAME}.{namespace}.svc, " in first.stdout
    assert first.stdout.count("published to ") == 2
    assert first.stdout.count("has been read back everywhere") == 1
    assert "published" not in second.stdout
    assert f"token for {namespace}/{VIEWER} (there was none)\n" in second.stdout
    assert (tmp_path / "a" / "ca.crt").read_bytes() == (tmp_path / "b" / "ca.crt").read_bytes()
    assert {base64.b64decode(each) for each in bundles(plane)} == {(tmp_path / "a" / "ca.crt").read_bytes()}


@pytest.mark.usefixtures("chart")
def test_the_servers_token_is_that_of_an_account_that_sees_models_and_no_secret(plane, namespace, tmp_path):
    account = Account(namespace, VIEWER)
    assert provide(tmp_path, account, Api(), NOW) == "there was none"
    assert provide(tmp_path, account, Api(), NOW) == ""
    bearer = replace(plane.kubectl, kubeconfig=kubeconfig_of(plane, (tmp_path / "token").read_text(), tmp_path))
    assert f"system:serviceaccount:{namespace}:{VIEWER}" in bearer("auth", "whoami")
    assert bearer("get", "basemodels", "--all-namespaces") == ""
    assert "forbidden" in bearer.run("get", "secret", f"{NAME}-ca", f"--namespace={namespace}").err
    assert "forbidden" in bearer.run("create", "token", VIEWER, f"--namespace={namespace}").err


@pytest.mark.usefixtures("chart")
def test_a_token_is_renewed_before_it_ends(namespace, tmp_path):
    account = Account(namespace, VIEWER)
    now = datetime.now(UTC)  # the token's own time, however long the tests before took
    provide(tmp_path, account, Api(), now)
    first = (tmp_path / "token").read_text()
    assert provide(tmp_path, account, Api(), now + timedelta(minutes=50)) == "the one before ends soon"
    assert (tmp_path / "token").read_text() != first


# Each right of the gate, and what the command says without it.
RIGHTS = [
    ("Role", 0, "create", 'cannot create resource "secrets"'),
    ("Role", 1, "get", 'cannot get resource "secrets"'),
    ("Role", 1, "update", 'cannot update resource "secrets"'),
    ("Role", 2, "create", 'no Event was created: .* cannot create resource "events"'),
    ("Role", 4, "create", 'cannot create resource "serviceaccounts/token"'),
    ("ClusterRole", 0, "get", 'cannot get resource "mutatingwebhookconfigurations"'),
    ("ClusterRole", 0, "patch", 'cannot patch resource "mutatingwebhookconfigurations"'),
]


# Needed where a configuration was deleted or changed: test_restore.py. Without the right to watch, a sidecar asks again
# and again: test_quiet.py.
RESTORING = [
    ("Role", 1, "watch"),
    ("Role", 3, "get"),
    ("Role", 3, "watch"),
    ("ClusterRole", 0, "create"),
    ("ClusterRole", 0, "watch"),
    ("ClusterRole", 1, "get"),
]


@pytest.mark.parametrize(("kind", "rule", "verb", "complaint"), RIGHTS)
def test_each_right_of_the_chart_is_needed(plane, namespace, tmp_path, chart, kind, rule, verb, complaint):
    role = next(each for each in chart if each["kind"] == kind and each["metadata"]["name"] == NAME)
    assert verb in role["rules"][rule]["verbs"]
    role["rules"][rule]["verbs"].remove(verb)
    role["rules"] = [each for each in role["rules"] if each["verbs"]]
    plane.kubectl("replace", "-f", "-", stdin=yaml.safe_dump(role))
    if "Event" in complaint:  # there is one only where something else is wrong
        plane.kubectl("create", "secret", "generic", f"{NAME}-ca", "--namespace", namespace)
    with as_the_gate(plane, namespace, tmp_path) as kubeconfig:
        done = issued(kubeconfig, namespace, tmp_path / "tls")
    assert done.returncode == 2
    assert re.search(complaint, done.stderr)
    assert "Traceback" not in done.stderr


def test_a_fault_is_an_event_about_the_secret(namespace, kubectl):
    path = f"/api/v1/namespaces/{namespace}/secrets/modelgate-ca"
    Events(Api(), namespace).create("Warning", "ClockWrong", path, "the clock is behind", NOW)
    (event,) = kubectl.json("get", "events.events.k8s.io")["items"]
    assert (event["reason"], event["note"], event["type"]) == ("ClockWrong", "the clock is behind", "Warning")
    assert (event["regarding"]["kind"], event["regarding"]["name"]) == ("Secret", "modelgate-ca")


def test_the_time_is_that_of_the_api_server():
    api = Api()
    api.get("/version")
    assert abs(api.now() - datetime.now(UTC)) < timedelta(seconds=5)


def test_no_right_is_missing_from_this_table(chart):
    roles = [each for each in chart if each["kind"] in {"Role", "ClusterRole"} and each["metadata"]["name"] == NAME]
    rules = [(role["kind"], index, rule) for role in roles for index, rule in enumerate(role["rules"])]
    rights = [(kind, index, verb) for kind, index, rule in rules for verb in rule["verbs"]]
    assert sorted(rights) == sorted([*RESTORING, *(each[:3] for each in RIGHTS)])
