"""The chart on a real node: our image in real pods, called through the Service that the chart made."""

from __future__ import annotations

import json
import os
import subprocess
from functools import partial

import pytest

from tests.e2e.crds import install_crds
from tests.e2e.gate import CHART, CHECKOUT, NAME, NAMESPACE, STAMP, in_effect, out_of_effect
from tests.e2e.given import GivenCluster
from tests.e2e.models import bad_model, model
from tests.e2e.processes import wait_until
from tests.e2e.programs import modelgate
from tests.e2e.registry import pushed
from tests.e2e.release import GATES, installed, names

pytestmark = pytest.mark.usefixtures("release")

HEALTH = 9440  # gate.healthPort of the chart
RECONCILER_HEALTH = 8080  # reconciler.healthPort
RECONCILER = f"{NAME}-reconciler"
REFUSED = '--for=jsonpath={.status.conditions[?(@.type=="Normalised")].reason}=Refused'
# Whose token the server has: the middle part of a JWT.
WHOSE = """
import base64, json
token = open("/var/run/secrets/kubernetes.io/serviceaccount/token").read()
print(json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))["sub"])
"""
# A policy that reads everything that a policy may read: a param, the namespace, and the rights of a user.
POLICY = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: few}
spec:
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}
  validations:
  - expression: >-
      object.spec.replicas <= int(params.data.most)
      || !authorizer.group('apps').resource('deployments').namespace(request.namespace).check('create').allowed()
    messageExpression: "'at most ' + params.data.most + ' in ' + namespaceObject.metadata.name"
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: few}
spec:
  policyName: few
  paramRef: {name: limits, parameterNotFoundAction: Allow}
  validationActions: [Deny]
"""
CLUSTER_WIDE = (
    "mutatingwebhookconfigurations",
    "validatingwebhookconfigurations",
    "clusterroles",
    "clusterrolebindings",
)


@pytest.fixture(scope="module")
def kubectl(node):
    """A kubectl in a namespace for Models."""
    node.kubectl("create", "namespace", "models")
    yield node.kubectl.within("models")
    node.kubectl("delete", "namespace", "models", "--wait=false")


@pytest.fixture(scope="module")
def release(node, image, kubectl):
    """Our chart, installed as a user installs it, in a cluster where Models were before."""
    install_crds(node.kubectl)
    kubectl.send("create", model("older"))
    kubectl.send("create", bad_model("older-and-bad"))
    with installed(node, image) as release:
        yield release


@pytest.fixture
def scaled_to_zero(node, release):
    """No gate; afterwards as many as before."""
    replicas = release.json("get", "deployment", NAME)["spec"]["replicas"]
    release("scale", "deployment", NAME, "--replicas=0")
    release("wait", "--for=delete", "pod", GATES, "--timeout=60s")
    yield
    release("scale", "deployment", NAME, f"--replicas={replicas}")
    release("rollout", "status", "deployment", NAME, "--timeout=60s")
    wait_until(lambda: in_effect(node.kubectl), "the API server to call the gate again")


def test_every_pod_of_the_chart_is_ready_without_a_manual_step(release):
    pods = release.json("get", "pods")["items"]
    ready = [c["status"] for pod in pods for c in pod["status"]["conditions"] if c["type"] == "Ready"]
    assert ready
    assert set(ready) == {"True"}


def test_a_model_applied_through_the_service_is_defaulted(kubectl):
    applied = kubectl.send("apply", model("applied"))
    assert applied["spec"]["hardware"]["gpu"]["resourceName"] == "devic.es/dri-render"


def test_a_bad_model_is_refused_with_every_cause(kubectl):
    printed = kubectl.refusal("apply", bad_model("bad"))
    assert "spec.source: " in printed
    assert "spec.hardware.memoryFraction: " in printed


def test_a_server_side_dry_run_leaves_nothing(kubectl):
    dry = kubectl.send("create", model("dry"), "--dry-run=server")
    assert dry["spec"]["hardware"]["accelerator"] == "vulkan"
    assert kubectl.find("model", "dry") is None


def test_the_status_is_written_by_the_reconcilers_pod(release, kubectl):
    kubectl.send("apply", model("observed"))
    kubectl("wait", "model/observed", "--for=jsonpath={.status.phase}=Ready", "--timeout=30s")
    written = kubectl.json("get", "model", "observed", "--show-managed-fields")["metadata"]["managedFields"]
    assert [(w["manager"], w["operation"]) for w in written if w.get("subresource") == "status"] == [(NAME, "Update")]
    leader = release.find("lease", RECONCILER)["spec"]["holderIdentity"]
    assert any(pod.startswith(RECONCILER) and pod in leader for pod in names(release, "pods"))


def test_a_model_older_than_the_gate_is_normalised_before_anything_is_made_of_it(kubectl):
    kubectl("wait", "model/older", "--for=jsonpath={.status.phase}=Ready", "--timeout=30s")
    older = kubectl.find("model", "older")
    assert STAMP in older["metadata"]["annotations"]
    assert older["spec"]["hardware"]["gpu"]["resourceName"] == "devic.es/dri-render"
    generations = {condition["observedGeneration"] for condition in older["status"]["conditions"]}
    assert generations == {2}, "1 is what was there before the gate"


def test_a_bad_model_older_than_the_gate_is_told_why_nothing_is_made_of_it(kubectl):
    kubectl("wait", "model/older-and-bad", REFUSED, "--timeout=60s")
    told = kubectl("describe", "model", "older-and-bad")
    assert "spec.source: Invalid value: " in told
    assert "spec.hardware.memoryFraction: Invalid value: " in told
    assert "phase" not in kubectl.find("model", "older-and-bad")["status"]


def test_the_doctor_finds_nothing_wrong_inside_and_outside_of_the_cluster(node):
    node.helm("test", NAME, f"--namespace={NAMESPACE}", "--timeout=2m")
    outside = modelgate("doctor", f"--kubeconfig={node.kubectl.kubeconfig}")
    done = subprocess.run([*node.kubectl.enter, *outside], cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "nothing is wrong\n"), done.stdout + done.stderr


def faults(node):
    """What doctor finds: check and command."""
    command = modelgate("doctor", f"--kubeconfig={node.kubectl.kubeconfig}", "--output=json")
    done = subprocess.run([*node.kubectl.enter, *command], cwd=CHECKOUT, capture_output=True, text=True, check=False)
    return [(each["check"], each["run"]) for each in json.loads(done.stdout)["findings"]]


def obey(node, command):
    """Run a command of doctor, as a shell does."""
    path = os.pathsep.join([str(node.program("kubectl").parent), str(node.program("helm").parent), os.environ["PATH"]])
    environment = os.environ | {"KUBECONFIG": str(node.kubeconfig), "PATH": path, "HOME": str(node.kubeconfig.parent)}
    shell = [*node.kubectl.enter, "sh", "-c", command.replace(" CHART ", f" {CHART} ")]
    subprocess.run(shell, env=environment, check=True, capture_output=True)


@pytest.mark.long
def test_an_account_that_was_deleted_is_made_again_and_its_pods_too_by_the_commands_of_the_doctor(node, release):
    """Minutes: a sidecar whose token is refused says so when it next reads what it follows."""
    if isinstance(node, GivenCluster):
        pytest.skip("changes the release")
    release("delete", "serviceaccount", NAME)
    wait_until(lambda: faults(node)[:1] and faults(node)[0][0] == "right-missing", "the cause")
    obey(node, faults(node)[0][1])
    troubled = wait_until(
        lambda: [run for check, run in faults(node) if check == "replica-troubled" and run], "401", 200
    )
    obey(node, troubled[0])
    release("rollout", "status", "deployment", NAME, "--timeout=60s")
    wait_until(lambda: faults(node) == [], "the end of it", 60)


def ome(kind, name, spec):
    return {"apiVersion": "ome.io/v1beta1", "kind": kind, "metadata": {"name": name}, "spec": spec}


FORMAT = {"modelFormat": {"name": "safetensors"}, "modelFramework": {"name": "transformers"}}


def test_a_service_without_a_runtime_gets_the_one_that_the_gate_sees_in_the_cluster(kubectl):
    kubectl.send("create", ome("BaseModel", "llama", {**FORMAT, "storage": {"storageUri": "hf://org/model"}}))
    for name, format_ in (("fits", "safetensors"), ("other", "onnx")):
        supported = {**FORMAT, "modelFormat": {"name": format_}, "autoSelect": True}
        kubectl.send("create", ome("ServingRuntime", name, {"supportedModelFormats": [supported]}))
    service = json.dumps(ome("InferenceService", "chat", {"model": {"name": "llama"}, "engine": {}}))
    # Both replicas have heard of the runtime a moment later.
    wait_until(lambda: kubectl.run("create", "-f", "-", stdin=service).code == 0, "a runtime to be chosen")
    assert kubectl.find("inferenceservice.ome.io", "chat")["spec"]["runtime"]["name"] == "fits"


def test_a_reference_that_leads_nowhere_is_refused(kubectl):
    refusal = kubectl.refusal("create", ome("InferenceService", "lost", {"model": {"name": "nowhere"}, "engine": {}}))
    assert 'spec.model.name: Invalid value: "nowhere": referenced model "nowhere" not found' in refusal


def test_the_servers_token_is_enough_for_what_it_does_and_opens_no_secret(node, release):
    assert "forbidden" not in release("logs", f"deployment/{NAME}", "--container=gate", "--tail=-1")
    account = f"--as=system:serviceaccount:{NAMESPACE}:{NAME}-view"
    assert node.kubectl.run("auth", "can-i", "get", f"secret/{NAME}-ca", f"-n={NAMESPACE}", account).out == "no\n"
    read = ("exec", f"deployment/{NAME}", "--container=gate", "--", "python3", "-c", WHOSE)
    assert release(*read).strip() == f"system:serviceaccount:{NAMESPACE}:{NAME}-view"


@pytest.fixture(scope="module")
def pack(node, tmp_path_factory):
    """A pack in a registry; None on a given cluster, where no registry is near."""
    return (
        None if isinstance(node, GivenCluster) else pushed(node, "gateway-inference", tmp_path_factory.mktemp("pack"))
    )


@pytest.fixture
def policies(node, kubectl, pack):
    """The release with admission policies about Deployments, and with a pack from a registry; afterwards without."""
    kubectl("create", "configmap", "limits", "--from-literal=most=2")
    about = {"apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments"]}
    given = {
        "documents": {"mine.yaml": POLICY},
        "rules": [about],
        "failurePolicy": "Fail",
        "paramKinds": [{"group": "", "resources": ["configmaps"]}],
    }
    flags = [f"--namespace={NAMESPACE}", "--wait", "--timeout=2m"]
    volume = f"--set-json=packs.volume={json.dumps({'image': {'reference': pack.reference}} if pack else {})}"
    node.helm("upgrade", NAME, CHART, "--reuse-values", f"--set-json=policies={json.dumps(given)}", volume, *flags)
    yield
    node.helm("rollback", NAME, "1", *flags)
    kubectl("delete", "configmap", "limits")


def page(release, component, port, path):
    """What a pod of the release answers; empty if it is an error."""
    pods = release.json("get", "pods", f"--selector=app.kubernetes.io/component={component}")["items"]
    name = next(pod["metadata"]["name"] for pod in pods if "deletionTimestamp" not in pod["metadata"])
    return release.run("get", "--raw", f"/api/v1/namespaces/{NAMESPACE}/pods/{name}:{port}/proxy{path}").out


def replicas(kubectl, count):
    """What the API server says to a Deployment."""
    return kubectl.run(
        "create", "deployment", "web", "--image=localhost/none", f"--replicas={count}", "--dry-run=server"
    )


@pytest.mark.usefixtures("policies")
def test_policies_of_the_users_judge_what_they_are_about_and_ask_the_cluster(node, kubectl, release, pack):
    wait_until(lambda: replicas(kubectl, 3).code != 0, "the policy to be asked")
    refused = replicas(kubectl, 3).err
    assert "validate-policies.modelgate.dev" in refused
    assert "at most 2 in models" in refused
    assert replicas(kubectl, 2).code == 0
    assert replicas(node.kubectl.within("kube-system"), 3).code == 0, "never sent"
    assert in_effect(node.kubectl), "Models are judged as before"
    if pack:
        assert f"pack {pack.api} {pack.digest}\n" in page(release, "gate", HEALTH, "/readyz")
        assert f'packs="{pack.api}:{pack.digest}"' in page(release, "gate", HEALTH, "/metrics")
        reconciler = partial(page, release, "reconciler", RECONCILER_HEALTH, "/readyz")
        wait_until(lambda: "leading" in reconciler(), "the reconciler to lead without rights for the pack's kind")
        lacks = "but the installed definitions of inferencepools.inference.networking.k8s.io cannot be read"
        assert lacks in reconciler()


@pytest.mark.usefixtures("policies")
def test_policies_that_are_refused_are_an_event_about_each_pod(release, kubectl):
    broken = POLICY.replace("object.spec.replicas <=", "object.spec.replicas <= <=")
    (documents,) = [name for name in names(release, "configmaps") if name.startswith(f"{NAME}-policies-")]
    release.patch("configmap", documents, {"data": {"mine.yaml": broken}})
    release("annotate", "pod", GATES, "looked-at=now")  # the kubelet then looks at its volumes at once

    def told():
        pods = [each["metadata"] for each in release.json("get", "pods", GATES)["items"]]
        found = release.json("get", "events.events.k8s.io")["items"]
        about = {each["regarding"]["name"] for each in found if each["reason"] == "AdmissionPoliciesRefused"}
        return about and about >= {each["name"] for each in pods if "deletionTimestamp" not in each}

    wait_until(told, "an Event about each pod", 150)
    assert "AdmissionPoliciesRefused" in release("describe", "pod", GATES, "--show-events")
    wait_until(lambda: replicas(kubectl, 3).code != 0, "the policies before to be used")


def test_policies_that_are_taken_away_leave_nothing(node, kubectl):
    assert replicas(kubectl, 3).code == 0
    for kind in CLUSTER_WIDE[:2]:
        found = node.kubectl.json("get", kind)["items"]
        called = {hook["name"] for each in found for hook in each["webhooks"] if hook.get("rules")}
        assert not {name for name in called if "policies" in name}


@pytest.mark.usefixtures("scaled_to_zero")
def test_without_a_gate_models_are_refused_and_every_other_kind_is_untouched(kubectl):
    assert "validate.modelgate.dev" in kubectl.refusal("create", model("late"))
    kubectl("create", "configmap", "untouched")
    kubectl("create", "deployment", "untouched", "--image=localhost/none")
    kubectl("delete", "deployment", "untouched")


def test_an_uninstalled_chart_leaves_a_cluster_that_accepts_everything(release, node, kubectl):
    node.helm("uninstall", NAME, f"--namespace={NAMESPACE}", "--wait", "--timeout=2m")
    assert out_of_effect(node.kubectl)
    kubectl.send("create", bad_model("accepted"))
    kubectl("delete", "model", "applied")
    release("wait", "--for=delete", "pod", "--all", "--timeout=60s")
    assert [name for kind in CLUSTER_WIDE for name in names(node.kubectl, kind) if NAME in name] == []
    assert names(release, "deployments,services,serviceaccounts,roles,rolebindings") == ["default"]
    assert names(release, "secrets") == [f"{NAME}-ca"], "the CA stays for the next install"
