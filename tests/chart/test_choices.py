"""What administrators can decide about the objects of the chart, as in other charts."""

import json

import pytest

from tests.chart.helm import CHART, containers, of_kind, pods, rendered, run

ROUTE = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "{{ .Release.Name }}-more"}, "data": {"a": "b"}}
MONITORS = ("monitoring.serviceMonitor=true", "monitoring.podMonitor=true")


def endpoints(*sets):
    for each in (*of_kind("ServiceMonitor", *sets), *of_kind("PodMonitor", *sets)):
        yield from each["spec"].get("endpoints") or each["spec"]["podMetricsEndpoints"]


def test_annotations_of_webhooks_are_on_all_configurations_and_on_nothing_else():
    sets = ('webhooks.annotations={"admissions.enforcer/disabled":"true"}',)
    annotated = {each["kind"] for each in rendered(*sets) if "annotations" in each["metadata"]}
    assert annotated == {"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}


def test_further_objects_are_rendered():
    assert {"modelgate-more"} < {
        each["metadata"]["name"] for each in of_kind("ConfigMap", f"extraObjects={json.dumps([ROUTE])}")
    }


def test_services_take_annotations_and_families():
    sets = ('service={"annotations":{"a":"b"},"ipFamilyPolicy":"PreferDualStack","ipFamilies":["IPv6","IPv4"]}',)
    services = of_kind("Service", *sets, *MONITORS)
    assert len(services) == 2
    for each in services:
        assert each["metadata"]["annotations"] == {"a": "b"}
        assert (each["spec"]["ipFamilyPolicy"], each["spec"]["ipFamilies"]) == ("PreferDualStack", ["IPv6", "IPv4"])
    assert not [each for each in of_kind("Service", *MONITORS) if "ipFamilies" in each["spec"]]


def test_monitors_take_timeouts_and_relabelings():
    chosen = {
        "interval": "30s",
        "scrapeTimeout": "10s",
        "relabelings": [{"targetLabel": "cluster", "replacement": "a"}],
        "metricRelabelings": [{"action": "drop", "regex": "python_.*", "sourceLabels": ["__name__"]}],
    }
    found = list(endpoints(*MONITORS, *(f"monitoring.{name}={json.dumps(value)}" for name, value in chosen.items())))
    assert len(found) == 4
    assert all(chosen.items() <= each.items() for each in found)
    assert not [each for each in endpoints(*MONITORS) if chosen.keys() & each.keys()]


def test_the_dashboard_takes_labels_and_annotations():
    sets = (
        'monitoring.dashboardLabels={"grafana_dashboard":null,"mine":"1"}',
        'monitoring.dashboardAnnotations={"folder":"x"}',
    )
    (found,) = [
        each for each in of_kind("ConfigMap", "monitoring.dashboard=true", *sets) if "modelgate.json" in each["data"]
    ]
    assert found["metadata"]["annotations"] == {"folder": "x"}
    assert found["metadata"]["labels"]["mine"] == "1"
    assert "grafana_dashboard" not in found["metadata"]["labels"]


@pytest.mark.parametrize("component", ["gate", "reconciler"])
def test_strategy_probes_dns_and_containers_of_each_component(component):
    sets = (
        f'{component}.strategy={{"type":"Recreate"}}',
        f'{component}.probes={{"readiness":{{"periodSeconds":11}},"liveness":{{"timeoutSeconds":7}}}}',
        f'{component}.dnsPolicy="Default"',
        f'{component}.dnsConfig={{"options":[{{"name":"ndots","value":"1"}}]}}',
        f'{component}.extraContainers=[{{"name":"more","image":"x"}}]',
    )
    name = {"gate": "modelgate", "reconciler": "modelgate-reconciler"}[component]
    (found,) = [each for each in of_kind("Deployment", *sets) if each["metadata"]["name"] == name]
    assert found["spec"]["strategy"] == {"type": "Recreate"}
    pod = found["spec"]["template"]["spec"]
    assert (pod["dnsPolicy"], pod["dnsConfig"]["options"][0]["name"]) == ("Default", "ndots")
    assert pod["containers"][-1] == {"name": "more", "image": "x"}
    server = pod["containers"][0]
    assert server["readinessProbe"]["periodSeconds"] == 11
    assert (server["livenessProbe"]["timeoutSeconds"], server["livenessProbe"]["periodSeconds"]) == (7, 10)


def test_the_cluster_can_choose_the_user():
    for pod in pods("runAsUser=null").values():
        assert pod["securityContext"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    for pod in pods().values():
        assert (pod["securityContext"]["runAsUser"], pod["securityContext"]["runAsGroup"]) == (65532, 65532)
    assert not [one for pod in pods().values() for one in containers(pod) if "runAsUser" in one["securityContext"]]


def test_names_of_services_and_labels_are_as_long_as_kubernetes_allows():
    sets, release = MONITORS, "r" * 53  # the longest that Helm allows
    assert max(len(each["metadata"]["name"]) for each in of_kind("Service", *sets, release=release)) == 63
    for each in rendered(*sets, release=release):
        assert len(each["metadata"]["name"]) <= 253
        assert all(len(text) <= 63 for text in each["metadata"]["labels"].values())


def test_values_of_0_1_are_accepted():
    done = run("template", "modelgate", str(CHART), "--set=crds.install=false")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "given",
    [
        'gate.probes={"liveness":{"successThreshold":2}}',
        'gate.strategy={"type":"Recreate","rollingUpdate":{"maxSurge":1}}',
        'gate.strategy={"rollingUpdate":{"maxSurge":"many"}}',
        'reconciler.dnsPolicy="None"',
        'service.ipFamilies=["IPv4","IPv4"]',
    ],
)
def test_what_the_api_server_would_refuse_the_charts_schema_refuses(given):
    done = run("template", "modelgate", str(CHART), f"--set-json={given}")
    assert "don't meet the specifications of the schema" in done.stderr
