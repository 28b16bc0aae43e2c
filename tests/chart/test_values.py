"""The values: a typo is an error, and every name can be another."""

import pytest
import yaml

from tests.chart.helm import CHART, DEFINITIONS, NAMESPACE, ROOT, configurations, rendered, run


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ("imag.tag=x", "imag"),
        ("image.tagg=x", "tagg"),
        ("image.pullPolicy=Sometimes", "pullPolicy"),
        ("image.digest=sha256:0", "digest"),
        ("logLevel=loud", "logLevel"),
        ("gate.replica=3", "replica"),
        ("gate.replicas=two", "replicas"),
        ("gate.replicas=-1", "replicas"),
        ("gate.profile=lax", "profile"),
        ("gate.view=dead", "view"),
        ("logFormat=xml", "logFormat"),
        ("logUsers=all", "logUsers"),
        ("monitoring.namespaces=many", "namespaces"),
        ("reconciler.reports=none", "reports"),
        ("gate.traceEndpoint=collector:4318", "traceEndpoint"),
        ("gate.caller=cookie", "caller"),
        ("gate.caller=mtls", "clientCA"),
        ("gate.caller=token,gate.view=none", "view"),
        ("gate.clientCA=a/b", "clientCA"),
        ("gate.ome.behaviour=newest", "behaviour"),
        ("gate.ome.behavior=recommended", "behavior"),
        ("gate.ome.migration=perhaps", "migration"),
        ("gate.ome.namespace=a/b", "namespace"),
        ("gate.ome=null", "ome"),
        ("gate.aim.documentedPrecision=1", "documentedPrecision"),
        ("gate.aim.autoselection=true", "autoselection"),
        ("gate.aim.namespace=../x", "namespace"),
        ("gate.resources.limits.memroy=1Gi", "memroy"),
        ("gate.resources.limits.memory=1GiB", "memory"),
        ("gate.resources.limits.memory=1.5.5Gi", "memory"),
        ("gate.resources.limits.memory=.", "memory"),
        ("webhooks.timeoutSeconds=31", "timeoutSeconds"),
        ("webhooks.timeoutSeconds=0", "timeoutSeconds"),
        ("webhooks.validating.failurePolicy=fail", "failurePolicy"),
        ("webhooks.validating.caBundle=Cg==", "caBundle"),
        ("policies.document.a=x", "document"),
        ("policies.documents.a=x", "propertyName 'a'"),
        ("policies.failurePolicy=fail", "failurePolicy"),
        ("policies.rules[0].apiGroups={*}", "apiGroups"),
        ("policies.rules[0].apiGroups={coordination.k8s.io}", "apiGroups"),
        ("policies.rules[0].operations={create}", "operations"),
        ("policies.paramKinds[0].resources={secrets}", "resources"),
        ("certs.secret=x", "secret"),
        ("reconciler.enable=false", "enable"),
        ("reconciler.allowedHostPathRoots={models}", "allowedHostPathRoots"),
        ("crds.instal=true", "instal"),
        ("fullnameOverride=Upper", "fullnameOverride"),
        ("apis.aim=true", "/apis/aim"),
        ("gate.tolerations[0].efect=NoSchedule", "efect"),
        ("gate.nodeSelector.pool=1", "/gate/nodeSelector/pool"),
        ("gate.affinity.nodeAfinity.x=1", "nodeAfinity"),
        ("gate.extraEnv[0].value=x", "/gate/extraEnv/0"),
        ("gate.port=0", "/gate/port"),
        ("gate.autoscaling.min=2", "min"),
        ("reconciler.serviceAccount.annotation.a=b", "annotation"),
        ("networkPolicy.apiServers[0].cidr=10.0.0.1", "cidr"),
        ("networkPolicy.ingress=true", "ingress"),
        ("webhooks.namespaceSelector.matchLabel.a=b", "matchLabel"),
        ("monitoring.serviceMonitors=true", "serviceMonitors"),
        ("monitoring.interval=often", "interval"),
        ("commonLabels.a=1", "/commonLabels/a"),
        ("kinds[0].group=*", "group"),
        ("kinds[0].group=apps", "group"),
        ("kinds[0].resources={*}", "resources"),
        ("kinds[0].resources={models/status}", "resources"),
        ("kinds[0].versions={*}", "versions"),
        ("kinds=null", "kinds"),
    ],
)
def test_the_schema_refuses(value, complaint):
    done = run("template", "modelgate", str(CHART), f"--set={value}")
    assert done.returncode != 0
    assert complaint in done.stderr
    assert "schema" in done.stderr


@pytest.mark.parametrize("value", ["rules[0].apiGroups={apps}", "paramKinds[0].group=a.example"])
def test_what_is_for_policies_without_policies_is_refused(value):
    rest = ["rules[0].apiVersions={v1}", "rules[0].resources={deployments}"]
    sets = [value, *(rest if "rules" in value else ["paramKinds[0].resources={limits}"])]
    done = run("template", "modelgate", str(CHART), *(f"--set=policies.{each}" for each in sets))
    assert "give policies.configMap or policies.documents, too" in done.stderr


@pytest.mark.parametrize("chart", [CHART, DEFINITIONS], ids=lambda each: each.name)
def test_the_chart_passes_its_own_lint_without_a_word(chart):
    done = run("lint", "--strict", str(chart), *(["--set=apis.llmkube=true"] if chart == DEFINITIONS else []))
    assert done.returncode == 0, done.stdout
    assert done.stdout.split() == f"==> Linting {chart} 1 chart(s) linted, 0 chart(s) failed".split()


@pytest.mark.parametrize(
    ("release", "sets", "name"),
    [
        ("modelgate", (), "modelgate"),
        ("prod", (), "prod-modelgate"),
        ("modelgate-two", (), "modelgate-two"),
        ("prod", ('fullnameOverride="gate"',), "gate"),
    ],
)
def test_everything_is_named_after_the_release(release, sets, name):
    assert {each["metadata"]["name"] for each in configurations(*sets, release=release)} == {name, f"{name}-policies"}
    endings = ("", "-policies", "-view", "-reconciler", "-ca-bundle-only", "-creations", "-webhooks", "-test")
    for each in rendered(*sets, release=release):
        assert each["metadata"]["name"] in {f"{name}{ending}" for ending in endings}


def test_every_object_says_whose_it_is():
    for each in rendered():
        labels = each["metadata"]["labels"]
        assert labels["app.kubernetes.io/instance"] == "modelgate"
        assert labels["app.kubernetes.io/managed-by"] == "Helm"


def test_the_notes_say_what_is_guarded_and_what_stays():
    done = run("install", "modelgate", str(CHART), "--namespace", NAMESPACE, "--dry-run=client")
    assert done.returncode == 0, done.stderr
    assert (
        "openmodels (llmaz.io), variantautoscalings (llmd.ai), inferenceservices, models (inference.llmkube.dev), "
        in done.stdout
    )
    assert "delete secret modelgate-ca" in done.stdout


def test_the_version_of_the_chart_is_that_of_the_package():
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    project = (ROOT / "pyproject.toml").read_text()
    assert f'\nversion = "{chart["version"]}"\n' in project
    assert chart["appVersion"] == chart["version"]
