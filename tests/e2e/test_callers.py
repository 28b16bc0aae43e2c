"""A gate that asks its callers for proof, on a real API server: a client certificate, or a token."""

from __future__ import annotations

import json

import pytest

from tests.e2e.crds import install_crds
from tests.e2e.gate import NAME, NAMESPACE, Gate, dry_run
from tests.e2e.models import model
from tests.e2e.plane import Plane
from tests.serve.certificates import ClientAuthority

CALLER = "system:serviceaccount:kube-system:webhooks"
ADDRESS = f"https://{NAME}.{NAMESPACE}.svc:443"


def admission_configuration(folder, user):
    """The flag and the files with which the API server proves to every webhook that it is this user."""
    version = "apiserver.config.k8s.io/v1"
    callers = folder / "callers.yaml"
    callers.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", "users": [{"name": "*", "user": user}]}))
    configuration = {"apiVersion": version, "kind": "WebhookAdmissionConfiguration", "kubeConfigFile": str(callers)}
    names = "MutatingAdmissionWebhook", "ValidatingAdmissionWebhook"
    plugins = [{"name": name, "configuration": configuration} for name in names]
    file = folder / "admission.yaml"
    file.write_text(json.dumps({"apiVersion": version, "kind": "AdmissionConfiguration", "plugins": plugins}))
    return f"--admission-control-config-file={file}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("callers")


@pytest.fixture(scope="module")
def proving(plane_assets, folder):
    """A plane whose API server sends a certificate and a token, and a gate that asks for neither yet."""
    certificate, key = ClientAuthority.create(folder).client("kube-apiserver")
    token = folder / "token"
    user = {"client-certificate": str(certificate), "client-key": str(key), "tokenFile": str(token)}
    with Plane(plane_assets, flags=[admission_configuration(folder, user)]) as plane:
        install_crds(plane.kubectl, "llmkube")
        plane.kubectl("create", "serviceaccount", "webhooks", "--namespace=kube-system")
        audiences = [f"--audience={ADDRESS}/{path}" for path in ("mutate", "validate")]
        token.write_text(plane.kubectl("create", "token", "webhooks", "--namespace=kube-system", *audiences).strip())
        with Gate(plane) as gate:
            yield plane, gate


def answered(proving, *flags):
    """What the API server says of a good Model, with these flags of the gate; empty if it is accepted."""
    plane, gate = proving
    gate.stop()
    gate.start(*flags)
    return dry_run(plane.kubectl, model("probe")).err


def test_the_certificate_of_the_api_server_opens_the_gate(proving, folder):
    proof = ["--caller=mtls", f"--client-ca={folder / 'clients.crt'}"]
    assert answered(proving, *proof) == ""
    assert answered(proving, *proof, "--client-name=kube-apiserver") == ""
    assert "no name in the client certificate is in --client-name" in answered(proving, *proof, "--client-name=another")


def test_the_certificate_of_another_ca_does_not(proving, folder):
    ClientAuthority.create(folder, "other")
    said = answered(proving, "--caller=mtls", f"--client-ca={folder / 'other.crt'}")
    assert (
        "failed calling webhook" in said
    )  # "unknown certificate authority" or "connection reset", whichever is seen first


def test_the_token_of_a_named_subject_opens_the_gate(proving):
    plane, _ = proving
    proof = ["--caller=token", f"--token-audience={ADDRESS}", f"--view-kubeconfig={plane.kubeconfig}"]
    assert answered(proving, *proof, f"--client-name={CALLER}") == ""
    assert "attests no admissionReviewAPIGroups" in answered(proving, *proof)
    proof[1] = "--token-audience=https://another.svc:443"
    assert "the token is for another audience" in answered(proving, *proof, f"--client-name={CALLER}")
