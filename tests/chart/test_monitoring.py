"""Monitors, alerts and the dashboard: they look where the pods serve metrics, and name metrics that exist.

The alerts are also tested by promtool, where it is there: ``make alerts`` builds it.
"""

import json
import os
import re
import shutil
import subprocess

import pytest
import yaml

from tests.chart.helm import CHART, NAMESPACE, ROOT, of_kind, rendered
from tests.chart.test_certificates import FILES, MANAGED
from tests.e2e.assets import found

MONITORS = {"ServiceMonitor": "endpoints", "PodMonitor": "podMetricsEndpoints"}
METRIC = re.compile(r"\b((?:modelgate|inferno|apiserver)_[a-z_]+)")
DOCUMENTED = {*METRIC.findall((ROOT / "docs" / "metrics.md").read_text())}


def switched(kind):
    return f"monitoring.{kind[0].lower()}{kind[1:]}=true"


def monitors(kind, *sets):
    return {each["metadata"]["name"]: each["spec"] for each in of_kind(kind, switched(kind), *sets)}


def test_nothing_of_prometheus_operator_is_rendered_unless_it_is_wanted():
    assert not {each["kind"] for each in rendered()} & {*MONITORS, "PrometheusRule"}


@pytest.mark.parametrize("kind", MONITORS)
def test_a_monitor_finds_the_metrics_of_gate_and_reconciler(kind):
    spec = monitors(kind)
    assert spec.keys() == {"modelgate", "modelgate-reconciler"}
    for name, each in spec.items():
        (endpoint,) = each[MONITORS[kind]]
        assert (endpoint["port"], endpoint["path"]) == ("health", "/metrics")
        assert "tlsConfig" not in endpoint
        selected = targets(kind, each["selector"]["matchLabels"])
        assert [one["metadata"]["name"] for one in selected] == [name]
    assert monitors(kind, "reconciler.enabled=false").keys() == {"modelgate"}
    assert monitors(kind, 'monitoring.interval="15s"')["modelgate"][MONITORS[kind]][0]["interval"] == "15s"


def targets(kind, labels):
    """What a monitor selects, with a port of that name: Services, or the pods of Deployments."""
    if kind == "ServiceMonitor":
        services = of_kind("Service", switched(kind))
        named = [each for each in services if "health" in {port["name"] for port in each["spec"]["ports"]}]
        return [each for each in named if labels.items() <= each["metadata"]["labels"].items()]
    deployments = of_kind("Deployment", switched(kind))
    pods = [(each, each["spec"]["template"]) for each in deployments]
    named = [
        (each, pod)
        for each, pod in pods
        if "health" in {port["name"] for one in pod["spec"]["containers"] for port in one.get("ports", ())}
    ]
    return [each for each, pod in named if labels.items() <= pod["metadata"]["labels"].items()]


@pytest.mark.parametrize(
    ("sets", "secret"), [((), "modelgate-ca"), ((MANAGED,), "modelgate-tls"), ((FILES,), "theirs")]
)
@pytest.mark.parametrize("kind", MONITORS)
def test_on_the_port_of_the_webhooks_the_monitor_verifies_the_certificate(kind, sets, secret):
    (endpoint,) = monitors(kind, "gate.healthPort=0", *sets)["modelgate"][MONITORS[kind]]
    assert (endpoint["port"], endpoint["scheme"]) == ("https", "https")
    assert endpoint["tlsConfig"] == {
        "serverName": f"modelgate.{NAMESPACE}.svc",
        "ca": {"secret": {"name": secret, "key": "ca.crt"}},
    }


def test_labels_by_which_prometheus_selects_are_on_monitors_and_rules():
    wanted = 'monitoring.labels={"release":"prometheus"}'
    for kind in (*MONITORS, "PrometheusRule"):
        for each in of_kind(kind, switched(kind), wanted):
            assert each["metadata"]["labels"]["release"] == "prometheus"


def alerts():
    groups = yaml.safe_load((CHART / "files" / "alerts.yaml").read_text())["groups"]
    return {each["alert"]: each for group in groups for each in group["rules"]}


def test_the_rules_of_prometheus_are_the_file_that_is_tested():
    (rule,) = of_kind(
        "PrometheusRule", "monitoring.prometheusRule=true", 'monitoring.runbook="https://d.example/runbook"'
    )
    assert [each["annotations"].pop("runbook_url") for group in rule["spec"]["groups"] for each in group["rules"]] == [
        f"https://d.example/runbook#{name.lower()}" for name in alerts()
    ]
    assert rule["spec"] == yaml.safe_load((CHART / "files" / "alerts.yaml").read_text())
    (alone,) = of_kind("PrometheusRule", "monitoring.prometheusRule=true", "reconciler.enabled=false")
    assert [each["name"] for each in alone["spec"]["groups"]] == ["modelgate"]


def test_every_alert_has_a_severity_a_summary_and_a_unit_test():
    for each in alerts().values():
        assert each["labels"]["severity"] in {"info", "warning", "critical"}
        assert each["annotations"]["summary"].endswith(".")
        assert " First: " in each["annotations"]["description"]
    tests = yaml.safe_load((ROOT / "tests" / "chart" / "alerts.yaml").read_text())["tests"]
    fired = {one["alertname"] for test in tests for one in test["alert_rule_test"] if one["exp_alerts"]}
    assert fired == alerts().keys()


def test_the_runbook_has_one_heading_for_each_alert_and_steps_below_it():
    page = (ROOT / "docs" / "runbook.md").read_text()
    headed = {part.partition("\n")[0]: part for part in page.split("\n## ")[1:]}
    assert [*headed] == [*alerts()]
    for name, part in headed.items():
        assert re.search(r"^1\. .{20}", part, re.MULTILINE), name
        assert set(METRIC.findall(part)) <= DOCUMENTED, name


def test_alerts_and_dashboard_name_metrics_that_the_documentation_has():
    dashboard = json.loads((CHART / "files" / "dashboard.json").read_text())
    expressions = [each["expr"] for each in alerts().values()]
    expressions += [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    used = {name.removesuffix("_bucket") for text in expressions for name in METRIC.findall(text)}
    assert len(used) > 15
    assert used <= DOCUMENTED
    assert {"apiserver_admission_webhook_admission_duration_seconds", "modelgate_refused_since_seconds"} <= used
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])


def test_every_alert_of_the_documentation_is_in_the_chart():
    page = (ROOT / "docs" / "metrics.md").read_text()
    advised = [line.partition("#")[0] for line in page.splitlines() if line.startswith("    ") and METRIC.search(line)]
    assert len(advised) == 15
    expressions = " ".join(each["expr"] for each in alerts().values())
    for line in advised:
        assert set(METRIC.findall(line)) <= set(METRIC.findall(expressions)), line


def test_the_dashboard_is_a_config_map_that_grafana_takes_up():
    (found_map,) = [
        each for each in of_kind("ConfigMap", "monitoring.dashboard=true") if "modelgate.json" in each["data"]
    ]
    assert found_map["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert json.loads(found_map["data"]["modelgate.json"])["title"] == "Modelgate"


VARIABLES = {"$namespace": "n", "$__rate_interval": "1m", "$__range": "1h"}


def queries():
    """The expressions of the dashboard, as Grafana sends them."""
    panels = json.loads((CHART / "files" / "dashboard.json").read_text())["panels"]
    expressions = [target["expr"] for panel in panels for target in panel["targets"]]
    return [re.sub(r"[$]\w+", lambda match: VARIABLES[match[0]], each) for each in expressions]


def test_promtool_accepts_the_queries_of_the_dashboard(tmp_path):
    rules = [{"record": f"query:{number}", "expr": text} for number, text in enumerate(queries())]
    (tmp_path / "queries.yaml").write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    checked(tmp_path, ["check", "rules", "queries.yaml"])


def checked(folder, *commands):
    """Run promtool in a folder; skip without it."""
    promtool = shutil.which("promtool") or found("promtool")
    if promtool is None:
        (pytest.fail if os.environ.get("MODELGATE_PROMTOOL") == "require" else pytest.skip)(
            "needs promtool: make alerts"
        )
    for command in commands:
        done = subprocess.run([promtool, *command], cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_promtool_accepts_the_alerts_and_passes_their_unit_tests(tmp_path):
    shutil.copy(CHART / "files" / "alerts.yaml", tmp_path / "alerts-as-they-are.yaml")
    rules = yaml.safe_load((CHART / "files" / "alerts.yaml").read_text())
    for each in (rule for group in rules["groups"] for rule in group["rules"]):
        del each["annotations"]["description"]  # which has no variable, so that the tests need not repeat it
    (tmp_path / "alerts-under-test.yaml").write_text(yaml.safe_dump(rules))
    shutil.copy(ROOT / "tests" / "chart" / "alerts.yaml", tmp_path)
    checked(tmp_path, ["check", "rules", "alerts-as-they-are.yaml"], ["test", "rules", "alerts.yaml"])
