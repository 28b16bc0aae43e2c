"""What the reconciler makes of AIM's and OME's objects, on a real node: Jobs to their end, a server that serves."""

from __future__ import annotations

import json
import re
from functools import partial

import pytest

from tests.e2e.crds import install_crds
from tests.e2e.gate import CHART, NAME, NAMESPACE
from tests.e2e.given import GivenCluster
from tests.e2e.processes import wait_until
from tests.e2e.reconciling import condition
from tests.e2e.release import installed, names
from tests.e2e.tools import IMAGE, tools

AIM, OME = "aim.silogen.ai/v1alpha1", "ome.io/v1beta1"
SPACE = "acting"
SETS = [f"--set=reconciler.apis.{each}=true" for each in ("aim", "ome")] + ["--set=reconciler.namespaces={*}"]
FORMATS = {"modelFormat": {"name": "safetensors"}, "modelFramework": {"name": "transformers"}}
SAID = re.compile(r"Warning: [^ ]+: (?P<text>.*?)(?:; .*?)?(?: \((?:at [^)]*, )?merged with [^)]*\))? \(KP001\)")
REPORT = '{"name": "tiny", "status": "Ready"}'


@pytest.fixture(scope="module")
def kubectl(node):
    """A kubectl in a namespace for the objects, on a node with an image for their pods."""
    if isinstance(node, GivenCluster):
        pytest.skip("needs a node of its own, to load an image")
    for namespace in (SPACE, "ome"):
        node.kubectl("create", "namespace", namespace)
    yield node.kubectl.within(SPACE)
    node.kubectl("delete", "namespace", SPACE, "ome", "--wait=false")


@pytest.fixture(scope="module")
def release(node, image, kubectl, archive, tmp_path_factory):  # noqa: ARG001  (after the namespaces)
    """Our chart, with the projections of AIM and OME."""
    file = tmp_path_factory.mktemp("tools") / "tools.tar"
    file.write_bytes(tools(archive))
    node.load(file)
    install_crds(node.kubectl)
    with installed(node, image, *SETS) as release:
        yield release


def obj(api, kind, name, spec):
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name}, "spec": spec}


@pytest.fixture
def volumes(node, release):  # noqa: ARG001
    """Two volumes on the node."""
    storage = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "local"}}
    node.kubectl.send("create", {**storage, "provisioner": "kubernetes.io/no-provisioner"})
    for name in ("good", "missing"):
        spec = {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteMany"],
            "hostPath": {"path": f"/tmp/{name}", "type": "DirectoryOrCreate"},
            "storageClassName": "local",
        }
        node.kubectl.send("create", obj("v1", "PersistentVolume", f"volume-{name}", spec))
    yield
    node.kubectl("delete", "persistentvolume", "volume-good", "volume-missing", "--wait=false")
    node.kubectl("delete", "storageclass", "local")


@pytest.mark.usefixtures("volumes")
def test_a_cache_runs_its_download_as_a_job_and_takes_everything_along_when_it_is_deleted(kubectl):
    for name in ("good", "missing"):
        spec = {"size": "1Gi", "storageClassName": "local", "modelDownloadImage": IMAGE}
        kubectl.send("create", obj(AIM, "AIMModelCache", name, {**spec, "sourceUri": f"hf://org/{name}"}))
    for name, status in (("good", "Available"), ("missing", "Failed")):
        kubectl("wait", f"aimmodelcache/{name}", f"--for=jsonpath={{.status.status}}={status}", "--timeout=150s")
    assert condition(kubectl.find("aimmodelcache", "missing"), "Failure")["reason"] == "DownloadFailed"
    kubectl("delete", "aimmodelcache", "good", "missing")
    wait_until(lambda: names(kubectl, "jobs,pods,persistentvolumeclaims") == [], "the children to go", seconds=60)


@pytest.mark.usefixtures("release")
def test_a_template_learns_its_profile_from_a_job_that_runs_its_image(kubectl):
    resources = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "1Gi"}}
    kubectl.send("create", obj(AIM, "AIMImage", "image", {"image": IMAGE, "resources": resources}))
    spec = {"aimImageName": "image", "metric": "latency"}
    kubectl.send("create", obj(AIM, "AIMServiceTemplate", "template", spec))
    kubectl("wait", "aimservicetemplate/template", "--for=jsonpath={.status.status}=Available", "--timeout=60s")
    template = kubectl.find("aimservicetemplate", "template")
    status = template["status"]
    assert status["modelSources"] == [{"name": "org/tiny", "sourceUri": "hf://org/tiny", "size": "536870912"}]
    assert status["profile"]["metadata"]["metric"] == "latency"
    assert status["profile"]["engine_args"] == {"tensor-parallel-size": 1}
    assert condition(template, "Discovered")["status"] == "True"
    assert condition(template, "Ready")["reason"] == "DependencyMissing", "KServe is not installed on the node"
    kubectl("delete", "aimservicetemplate", "template")
    wait_until(lambda: names(kubectl, "jobs,pods") == [], "the Job and its pod to go", seconds=60)


def engine(sentence, **more):
    runner = {
        "name": "ome-container",
        "image": IMAGE,
        "command": ["serve"],
        "env": [{"name": "SENTENCE", "value": sentence}],
        "ports": [{"containerPort": 8080, "name": "http"}],
        "readinessProbe": {"tcpSocket": {"port": 8080}, "periodSeconds": 1},
    }
    return {"minReplicas": 1, "maxReplicas": 3, "terminationGracePeriodSeconds": 1, "runner": runner, **more}


@pytest.fixture(scope="module")
def service(node, kubectl, release):  # noqa: ARG001
    """An InferenceService whose model is on the node, as the agent of the node says."""
    report = {"apiVersion": "v1", "kind": "ConfigMap", "data": {f"{SPACE}.basemodel.tiny": REPORT}}
    labels = {"models.ome/basemodel-status": "true"}
    (name,) = names(node.kubectl, "nodes")
    node.kubectl("label", "node", name, f"models.ome.io/{SPACE}.basemodel.tiny=Ready")
    node.kubectl.within("ome").send("create", {**report, "metadata": {"name": name, "labels": labels}})
    model = {**FORMATS, "storage": {"storageUri": "hf://org/tiny", "path": "/srv"}}
    kubectl.send("create", obj(OME, "BaseModel", "tiny", model))
    spec = {"model": {"name": "tiny"}, "engine": engine("as created")}
    chat = json.dumps(obj(OME, "InferenceService", "chat", spec))
    wait_until(lambda: kubectl.run("create", "-f", "-", stdin=chat).code == 0, "the gate to know the model")
    kubectl("wait", "inferenceservice.ome.io/chat", "--for=condition=Ready", "--timeout=60s")
    return "chat"


def answer(kubectl):
    """What the service says through its own Service."""
    return kubectl("get", "--raw", f"/api/v1/namespaces/{SPACE}/services/chat:http/proxy/")


def replicas(kubectl, least):
    kubectl.patch("inferenceservice.ome.io", "chat", {"spec": {"engine": {"minReplicas": least}}})


def running(kubectl):
    return (kubectl.find("deployment", "chat-engine")["status"] or {}).get("readyReplicas")


def test_a_service_is_ready_scaled_by_its_autoscaler_and_updated(kubectl, service):
    assert answer(kubectl) == "as created"
    kubectl("wait", "basemodel/tiny", "--for=jsonpath={.status.state}=Ready", "--timeout=60s")
    status = kubectl.find("inferenceservice.ome.io", service)["status"]
    assert status["modelStatus"]["modelRevisionStates"] == {"activeModelState": "Loaded", "targetModelState": "Loaded"}
    # Without metrics, the autoscaler keeps to its limits; the Deployment has no number of its own.
    replicas(kubectl, 2)
    wait_until(lambda: running(kubectl) == 2, "the autoscaler to scale to its new minimum", seconds=60)
    kubectl("scale", "deployment", "chat-engine", "--replicas=3")
    wait_until(lambda: running(kubectl) == 3, "three pods")
    kubectl.patch("inferenceservice.ome.io", service, {"spec": {"engine": engine("as updated", minReplicas=2)}})
    kubectl("rollout", "status", "deployment", "chat-engine", "--timeout=60s")
    wait_until(lambda: answer(kubectl) == "as updated", "the new pods to answer")
    assert kubectl.find("deployment", "chat-engine")["spec"]["replicas"] == 3, "the number is the autoscaler's"
    kubectl("wait", "inferenceservice.ome.io/chat", "--for=condition=Ready", "--timeout=60s")


def benchmark(name, folder, **endpoint):
    spec = {
        "endpoint": endpoint,
        "task": "text-to-text",
        "maxTimePerIteration": 1,
        "maxRequestsPerIteration": 1,
        "resultFolderName": folder,
        "outputLocation": {"storageUri": "s3://bucket/results"},
        "podOverride": {"image": IMAGE, "resources": {"requests": {"cpu": "10m"}}},
    }
    return obj(OME, "BenchmarkJob", name, spec)


@pytest.mark.usefixtures("service")
def test_a_benchmark_measures_a_server_and_says_how_its_job_ended(kubectl):
    address = kubectl.find("service", "chat")["spec"]["clusterIP"]
    given = {"endpoint": {"url": f"http://{address}:8080", "apiFormat": "openai", "modelName": "tiny"}}
    for name, folder in (("good", "run"), ("bad", "nowhere")):
        kubectl.send("create", benchmark(name, folder, **given))
    for name, state in (("good", "Completed"), ("bad", "Failed")):
        kubectl("wait", f"benchmarkjob/{name}", f"--for=jsonpath={{.status.state}}={state}", "--timeout=60s")
    good, bad = (kubectl.find("benchmarkjob", name)["status"] for name in ("good", "bad"))
    assert good["startTime"] <= good["completionTime"]
    assert bad["failureMessage"] == "Job has reached the specified backoff limit"
    kubectl("delete", "benchmarkjob", "good", "bad")
    wait_until(lambda: names(kubectl, "jobs") == [], "the Jobs to go")


@pytest.fixture
def audited(node, service):  # noqa: ARG001
    """The release under the audit profile, which accepts what the strict one refuses; afterwards under that one."""
    flags = [f"--namespace={NAMESPACE}", "--wait", "--timeout=2m"]
    node.helm("upgrade", NAME, CHART, "--reuse-values", "--set=gate.profile=audit", *flags)
    yield
    node.helm("rollback", NAME, *flags)


RUNNER = engine("never said")["runner"]
PODS = {
    "part": {"tolerations": [{"key": "a", "operator": "Is"}], "runner": RUNNER},
    "runner": {"runner": {**RUNNER, "resources": {"limits": {"nvidia.com/gpu": "0.5"}}}},
    "merged": {"runner": {"readinessProbe": {"httpGet": {"path": "/", "port": 8080}}}},
}
"""What is wrong with the engine of a service: in a part, in the runner, and only in the pod that is made of both."""


@pytest.mark.usefixtures("audited")
def test_pods_that_the_audit_profile_accepts_fail_in_the_deployment_with_the_words_of_the_gate(kubectl):
    runtime = {"supportedModelFormats": [{"name": "safetensors", **FORMATS}]}
    kubectl.send("create", obj(OME, "ServingRuntime", "probed", {**runtime, "engineConfig": engine("of the runtime")}))
    named = {"name": "probed", "kind": "ServingRuntime", "apiGroup": "ome.io"}
    for name, component in PODS.items():
        over = {"runtime": named} if name == "merged" else {}
        sent = json.dumps(obj(OME, "InferenceService", name, {"model": {"name": "tiny"}, "engine": component, **over}))
        said = wait_until(lambda sent=sent: accepted(kubectl, sent), "the gate to say what Kubernetes will refuse")
        kubectl("wait", f"inferenceservice.ome.io/{name}", "--for=condition=Ready=False", "--timeout=60s")
        told = partial(failure, kubectl, name)
        assert said in wait_until(told, f"the Deployment of {name} to be refused")
        assert kubectl.find("deployment", f"{name}-engine") is None
        kubectl("delete", "inferenceservice.ome.io", name)
    kubectl("delete", "servingruntime", "probed")


def accepted(kubectl, sent):
    """The sentence of Kubernetes in the gate's warning about an object, which is created then."""
    found = SAID.search(kubectl.run("create", "--dry-run=server", "-f", "-", stdin=sent).err)
    if found:
        kubectl("create", "-f", "-", stdin=sent)
    return found and found["text"]


def failure(kubectl, name):
    """What the operator says of a Deployment that the API server has refused."""
    message = condition(kubectl.find("inferenceservice.ome.io", name), "Ready").get("message", "")
    return message if message.startswith("Apply failed: ") else ""


def test_a_deleted_service_leaves_nothing(kubectl, service):
    kubectl("delete", "inferenceservice.ome.io", service)
    kinds = "deployments,replicasets,services,horizontalpodautoscalers,pods,jobs"
    wait_until(lambda: names(kubectl, kinds) == [], "all of it to go", seconds=60)


def test_the_chart_gave_every_right_that_was_needed_and_nothing_went_wrong(release):
    log = release("logs", f"deployment/{NAME}-reconciler", "--tail=-1")
    assert "forbidden" not in log
    assert "Traceback" not in log
