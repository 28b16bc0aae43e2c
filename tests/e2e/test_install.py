"""Modelgate's charts take nothing from others.

Definitions belong to their projects, and a cluster has one gate.
"""

from __future__ import annotations

import json
import re
import subprocess
from base64 import b64encode
from functools import partial

import pytest
import yaml

from tests.chart.test_snapshots import SETS
from tests.e2e.gate import CHART, CHECKOUT, NAME, NAMESPACE
from tests.e2e.kubectl import Refused
from tests.e2e.plane import Plane
from tests.e2e.processes import wait_until
from tests.e2e.programs import modelgate
from tests.shared import shared

DEFINITIONS = CHECKOUT / "chart-crds"
PROJECTS = ("llmkube", "ome")


@pytest.fixture(scope="module")
def bare(plane_assets):
    """A control plane without any definition; a test leaves it as it was."""
    with Plane(plane_assets) as started:
        yield started


@pytest.fixture(scope="module")
def charts(tmp_path_factory):
    """A chart of each project, with upstream's definitions as templates, as their own charts have them."""
    folder = tmp_path_factory.mktemp("charts")
    for project in PROJECTS:
        templates = folder / project / "templates"
        templates.mkdir(parents=True)
        (folder / project / "Chart.yaml").write_text(f"apiVersion: v2\nname: {project}\nversion: 1.0.0\n")
        for path in shared(f"upstream-crds/{project}").glob("*.yaml"):
            (templates / path.name).write_text(path.read_text().replace("{{", '{{ "{{" }}'))
    return folder


@pytest.fixture
def cluster(request, plane_assets):
    """A plane without releases and definitions.

    For ``charts`` it is a new one: it starts within the time that upstream's definitions need to go.
    """
    if "charts" in request.fixturenames:
        with Plane(plane_assets) as started:
            yield started
        return
    bare = request.getfixturevalue("bare")
    yield bare
    for release in json.loads(bare.helm("list", "--all-namespaces", "-o=json")):
        bare.helm("uninstall", release["name"], f"--namespace={release['namespace']}")
    bare.kubectl("delete", "crd", "--all", "--timeout=3m")


def install(plane, *flags):
    plane.helm("install", NAME, CHART, f"--namespace={NAMESPACE}", "--create-namespace", *flags)


def definitions(plane):
    """Name → generation and owning release of each definition."""
    found = plane.kubectl.json("get", "crd")["items"]
    return {
        each["metadata"]["name"]: (
            each["metadata"]["generation"],
            each["metadata"].get("annotations", {}).get("meta.helm.sh/release-name"),
        )
        for each in found
    }


def upstream(*projects):
    files = [path for project in projects for path in shared(f"upstream-crds/{project}").glob("*.yaml")]
    return {yaml.safe_load(path.read_text())["metadata"]["name"] for path in files}


def test_ours_first_then_each_project_installs_its_own_definitions(cluster, charts):
    install(cluster)
    assert definitions(cluster) == {}
    for project in PROJECTS:
        cluster.helm("install", project, charts / project)
    assert definitions(cluster).keys() == upstream(*PROJECTS)


def test_theirs_first_then_ours_changes_nothing_by_any_way_of_installing(cluster, charts):
    for project in PROJECTS:
        cluster.helm("install", project, charts / project)
    before = definitions(cluster)
    install(cluster)
    stream = cluster.helm("template", NAME, CHART, f"--namespace={NAMESPACE}")
    cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=stream)
    assert definitions(cluster) == before
    notes = cluster.helm("get", "notes", NAME, f"--namespace={NAMESPACE}")
    assert "aimservices.aim.silogen.ai" in notes
    assert "models.inference.llmkube.dev" not in notes


def test_the_chart_of_definitions_adds_what_is_missing_and_leaves_the_rest_to_its_owner(cluster, charts):
    cluster.helm("install", "llmkube", charts / "llmkube")
    before = definitions(cluster)
    printed = cluster.helm("install", "crds", DEFINITIONS, "--set=apis.llmkube=true,apis.llmaz=true")
    assert "models.inference.llmkube.dev" in printed.partition("Left as they are")[2]
    added = {"inferenceservices.inference.llmkube.dev": (1, "crds"), "openmodels.llmaz.io": (1, "crds")}
    assert definitions(cluster) == {**before, **added}
    cluster.helm("uninstall", "crds")
    assert definitions(cluster).keys() == {*before, *added}, "they stay"


def test_a_second_release_for_the_same_kinds_is_refused_in_words_and_one_for_others_is_not(cluster):
    install(cluster, "--set=apis.ome.enabled=false")
    second = ("install", "second", CHART, "--namespace=elsewhere", "--create-namespace")
    with pytest.raises(Refused, match=f'release "{NAME}" in namespace "{NAMESPACE}" guards aim.silogen.ai already'):
        cluster.helm(*second)
    others = [f"--set=apis.{api}.enabled=false" for api in ("aim", "llmaz", "llmd", "llmkube")]
    cluster.helm(*second, *others)
    with pytest.raises(Refused, match=r"guards ome\.io already"):
        cluster.helm("upgrade", NAME, CHART, f"--namespace={NAMESPACE}", "--reset-values")


def bundle_of(plane):
    """Any CA as caBundle: here the API server's."""
    system = plane.kubectl.within("kube-system")
    found = wait_until(lambda: system.find("configmap", "kube-root-ca.crt"), "the API server's CA")
    return b64encode(found["data"]["ca.crt"].encode()).decode()


def differences(diff: str) -> list[str]:
    """The lines of `kubectl diff` that differ, but for the generation: an empty list of rules is stored as none at all,
    and each apply counts as a change to the API server. Argo CD and Flux do not compare it.
    """
    changed = [line for line in diff.splitlines() if re.match(r"[-+](?![-+])", line)]
    return [line for line in changed if not re.fullmatch(r"[-+]  generation: \d+", line)]


@pytest.mark.parametrize(
    ("manager", "flags"), [("argocd-controller", ()), ("kustomize-controller", ("--force-conflicts",))]
)
def test_a_rendered_stream_is_applied_once_and_then_in_sync_with_the_bundle_that_we_published(cluster, manager, flags):
    """What Argo CD and Flux do: apply on the server's side, compare, apply again."""
    cluster.kubectl.send("apply", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    stream = cluster.helm("template", NAME, CHART, f"--namespace={NAMESPACE}", "--skip-tests")
    ours = ("--server-side", f"--field-manager={manager}", *flags, "-f", "-")
    cluster.kubectl("apply", *ours, stdin=stream)
    bundle = bundle_of(cluster)
    try:
        for kind, webhook in (("Mutating", "mutate"), ("Validating", "validate")):
            published = {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": f"{kind}WebhookConfiguration",
                "metadata": {"name": NAME},
                "webhooks": [{"name": f"{webhook}.modelgate.dev", "clientConfig": {"caBundle": bundle}}],
            }
            cluster.kubectl.send("apply", published, "--server-side", "--field-manager=modelgate-certs")
        in_sync = partial(cluster.kubectl.run, "diff", *ours, stdin=stream)
        wait_until(lambda: differences(in_sync().out) == [], "no difference, once what the cluster writes has settled")
        cluster.kubectl("apply", *ours, stdin=stream)
        for kind in ("mutating", "validating"):
            kept = cluster.kubectl.json("get", f"{kind}webhookconfiguration", NAME)["webhooks"][0]
            assert kept["clientConfig"]["caBundle"] == bundle
    finally:
        cluster.kubectl("delete", "-f", "-", stdin=stream)


def diagnosed(plane, *flags):
    """The checks that fail, each with what it is about."""
    command = modelgate("doctor", f"--kubeconfig={plane.kubeconfig}", "-o=json", *flags)
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert done.returncode in {0, 1}, done.stderr
    return {(each["check"], each["about"]) for each in json.loads(done.stdout)["findings"]}


def test_doctor_sees_what_a_real_api_server_has(cluster, charts):
    assert diagnosed(cluster) == {("gate-missing", "any namespace")}
    for project in PROJECTS:
        cluster.helm("install", project, charts / project)
    install(cluster, "--set=apis.aim.enabled=false,apis.llmaz.enabled=false,apis.llmd.enabled=false")
    found = diagnosed(cluster)
    # No node, so no pod: what follows from that, and nothing about rights, network, rules or definitions of upstream.
    assert {check for check, _ in found} <= {
        *("gate-down", "reconciler-down", "bundle-missing", "secret-missing", "canary-failed", "definition-differs"),
        "definition-missing",  # of the InferenceService, which the chart of LLMKube here does not have
    }
    assert ("gate-down", f"Deployment {NAMESPACE}/{NAME}") in found
    cluster.kubectl("delete", f"validatingwebhookconfiguration/{NAME}", f"clusterrolebinding/{NAME}-view")
    more = diagnosed(cluster, f"--namespace={NAMESPACE}")
    assert ("configuration-missing", f"ValidatingWebhookConfiguration {NAME}") in more
    assert ("right-missing", f"ServiceAccount {NAMESPACE}/{NAME}-view") in more


CHOICES = (
    'gate.strategy={"rollingUpdate":{"maxSurge":"100%","maxUnavailable":"100%"}}',
    'gate.probes={"startup":{"failureThreshold":1},"readiness":{"successThreshold":3},"liveness":{"timeoutSeconds":1}}',
    'gate.dnsPolicy="None"',
    'gate.dnsConfig={"nameservers":["10.0.0.1"]}',
    'gate.extraContainers=[{"name":"more","image":"x"}]',
    'reconciler.strategy={"type":"Recreate"}',
    'service={"annotations":{"a":"b"},"ipFamilyPolicy":"PreferDualStack","ipFamilies":["IPv4"]}',
    'webhooks.annotations={"a":"b"}',
    "runAsUser=null",
)
INSTALLED = ("cert-manager.io/", "monitoring.coreos.com/")  # kinds of programs that are not in this cluster


@pytest.mark.parametrize("name", [*SETS, "choices"])
def test_what_the_charts_schema_accepts_the_api_server_accepts(cluster, name):
    sets = [f"--set-json={each}" for each in SETS.get(name, CHOICES)]
    text = cluster.helm("template", NAME, CHART, f"--namespace={NAMESPACE}", "--skip-tests", *sets)
    every = [each for each in yaml.load_all(text, Loader=yaml.CSafeLoader) if each]
    objects = [each for each in every if not each["apiVersion"].startswith(INSTALLED)]
    places = {place for each in objects if (place := each["metadata"].get("namespace"))} - {"default"}
    for place in places:
        cluster.kubectl.send("apply", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": place}})
    stream = yaml.dump_all(objects, Dumper=yaml.CSafeDumper)
    cluster.kubectl("apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-", stdin=stream)
