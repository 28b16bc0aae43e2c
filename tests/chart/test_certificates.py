"""Where certificates come from: an own CA, cert-manager, or the administrator's files."""

import base64
import json

import pytest

from tests.chart.helm import CHART, NAMESPACE, POLICIES, configurations, of_kind, pods, run, webhooks
from tests.chart.test_rights import BLIND, rights

PEM = "-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n"
MANAGED = 'certs.mode="cert-manager"'
FILES = "certs=" + json.dumps({"mode": "files", "files": {"secretName": "theirs", "caBundle": PEM}})
OTHERS = pytest.mark.parametrize("mode", [MANAGED, FILES])


def leaf_volume(*sets):
    return next(each for each in pods(*sets)["gate"]["volumes"] if each["name"] == "tls")


@OTHERS
def test_where_others_publish_the_bundle_the_gate_has_no_right_to_a_configuration_or_a_secret(mode):
    tokens = ("Role", "", "serviceaccounts/token", ("modelgate-view",))
    assert rights("modelgate", mode) == {tokens: ["create"]}
    assert rights("modelgate", mode, BLIND) == {}


@OTHERS
def test_where_others_issue_the_sidecar_makes_tokens_only_and_without_a_view_there_is_none(mode):
    pod = pods(mode)["gate"]
    (token,) = pod["initContainers"]
    assert token["name"] == "token"
    assert token["args"] == [
        "certs",
        "token",
        "--log-level=info",
        "--log-format=text",
        f"--account={NAMESPACE}/modelgate-view",
        "--account-dir=/view",
    ]
    assert pod["containers"][1]["args"] == [*token["args"], "--watch"]
    assert "tls" not in {each["name"] for each in token["volumeMounts"]}
    blind = pods(mode, BLIND)["gate"]
    assert "initContainers" not in blind
    assert [each["name"] for each in blind["containers"]] == ["gate"]
    assert [each["name"] for each in blind["volumes"]] == ["tls"]


@pytest.mark.parametrize(("mode", "secret"), [(MANAGED, "modelgate-tls"), (FILES, "theirs")])
def test_the_leaf_of_others_is_mounted_from_their_secret(mode, secret):
    assert leaf_volume(mode)["secret"] == {"secretName": secret}


def test_cert_manager_injects_the_ca_of_the_served_certificate_into_every_configuration():
    by_name = {each["metadata"]["name"]: each["spec"] for each in of_kind("Certificate", MANAGED)}
    assert by_name["modelgate"]["secretName"] == "modelgate-tls"
    assert f"modelgate.{NAMESPACE}.svc" in by_name["modelgate"]["dnsNames"]
    assert by_name["modelgate"]["issuerRef"] == {"name": "modelgate", "kind": "Issuer"}
    for each in configurations(MANAGED, POLICIES):
        assert each["metadata"]["annotations"] == {"cert-manager.io/inject-ca-from": f"{NAMESPACE}/modelgate"}
        assert "caBundle" not in repr(each)


def test_the_ca_of_cert_manager_keeps_its_key_so_that_both_versions_verify_the_same_leaves():
    by_name = {each["metadata"]["name"]: each["spec"] for each in of_kind("Certificate", MANAGED)}
    assert by_name["modelgate-ca"]["privateKey"]["rotationPolicy"] == "Never"
    assert by_name["modelgate-ca"]["issuerRef"] == {"name": "modelgate-self", "kind": "Issuer"}


def test_another_issuer_of_cert_manager_can_sign():
    issuer = {"name": "corporate", "kind": "ClusterIssuer"}
    sets = (MANAGED, f"certs.certManager.issuerRef={json.dumps(issuer)}")
    (certificate,) = of_kind("Certificate", *sets)
    assert certificate["spec"]["issuerRef"] == issuer
    assert of_kind("Issuer", *sets) == []


def test_a_bundle_that_is_given_is_in_every_webhook():
    for webhook in webhooks(FILES, POLICIES):
        assert base64.b64decode(webhook["clientConfig"]["caBundle"]).decode() == PEM


def test_without_cert_manager_nothing_of_it_is_rendered():
    assert of_kind("Certificate") == of_kind("Issuer") == []
    assert all("annotations" not in each["metadata"] for each in configurations())


@pytest.mark.parametrize(
    ("sets", "complaint"),
    [
        (["mode=vault"], "mode"),
        (["mode=files"], "secretName"),
        (["mode=files", "files.secretName=x"], "caBundle"),
        (["mode=files", "files.secretName=x", "files.caBundle=LS0tLS1CRUdJTg=="], "caBundle"),
        (["certManager.issuerRef.kind=Issuer"], "issuerRef"),
    ],
)
def test_a_mode_that_lacks_something_is_refused(sets, complaint):
    done = run("template", "modelgate", str(CHART), *(f"--set=certs.{each}" for each in sets))
    assert done.returncode != 0
    assert complaint in done.stderr


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("certs.mode=own", "replaces its CA in time"),
        ("certs.mode=cert-manager", "get certificate modelgate"),
        (f"certs.mode=files,certs.files.secretName=theirs,certs.files.caBundle={PEM}", "certificate of Secret theirs"),
    ],
)
def test_the_notes_are_about_the_mode(mode, said):
    done = run("install", "modelgate", str(CHART), "--namespace", NAMESPACE, "--dry-run=client", f"--set={mode}")
    assert said in done.stdout
