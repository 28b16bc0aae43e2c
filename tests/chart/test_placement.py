"""What every administrator sets: where pods run, how they are named and labelled, who may connect to them."""

import json

import pytest

from tests.chart.helm import (
    CHART,
    NAMESPACE,
    configurations,
    containers,
    of_kind,
    pods,
    rendered,
    run,
    values,
    webhooks,
)
from tests.chart.test_pods import parsed
from tests.chart.test_rights import rights

COMPONENTS = pytest.mark.parametrize("component", ["gate", "reconciler"])
TOLERATION = {"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}
CONSTRAINT = {"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule"}
AFFINITY = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": []}}


def main(component, *sets):
    pod = pods(*sets)[component]
    return next(each for each in containers(pod) if each["name"] == component)


def deployment(component, *sets):
    return next(
        each
        for each in of_kind("Deployment", *sets)
        if each["metadata"]["labels"]["app.kubernetes.io/component"] == component
    )


@COMPONENTS
@pytest.mark.parametrize(
    ("name", "given", "field"),
    [
        ("nodeSelector", {"pool": "system"}, "nodeSelector"),
        ("tolerations", [TOLERATION], "tolerations"),
        ("affinity", AFFINITY, "affinity"),
        ("topologySpreadConstraints", [CONSTRAINT], "topologySpreadConstraints"),
        ("priorityClassName", "system-cluster-critical", "priorityClassName"),
        ("extraVolumes", [{"name": "extra", "emptyDir": {}}], "volumes"),
    ],
)
def test_a_value_reaches_the_pods_of_its_component_and_no_others(component, name, given, field):
    found = pods(f"{component}.{name}={json.dumps(given)}")
    other = next(each for each in found if each != component)
    assert found[other] == pods()[other]
    assert found[component][field] == given or given[0] in found[component][field]


@COMPONENTS
def test_replicas_prefer_different_nodes_and_zones_and_start_anyway(component):
    constraints = pods()[component]["topologySpreadConstraints"]
    assert [each["topologyKey"] for each in constraints] == ["kubernetes.io/hostname", "topology.kubernetes.io/zone"]
    assert {each["whenUnsatisfiable"] for each in constraints} == {"ScheduleAnyway"}
    selected = deployment(component)["spec"]["selector"]
    assert all(each["labelSelector"] == selected for each in constraints)
    assert "topologySpreadConstraints" not in pods(f"{component}.spread=false")[component]


@COMPONENTS
def test_flags_variables_and_mounts_are_added_to_the_main_container_only(component):
    mount = {"name": "extra", "mountPath": "/extra"}
    added = (
        f'{component}.extraArgs=["--workers=4", "--profile=a: b"]',
        f'{component}.extraEnv=[{{"name":"HTTPS_PROXY","value":"http://p"}}]',
        f"{component}.extraVolumeMounts=[{json.dumps(mount)}]",
    )
    container = main(component, *added)
    assert container["args"] == [*main(component)["args"], "--workers=4", "--profile=a: b"]
    assert container["env"] == [*main(component).get("env", ()), {"name": "HTTPS_PROXY", "value": "http://p"}]
    assert mount in container["volumeMounts"]
    rest = [each for each in containers(pods(*added)[component]) if each["name"] != component]
    assert rest == [each for each in containers(pods()[component]) if each["name"] != component]


@COMPONENTS
def test_labels_and_annotations_of_pods_do_not_reach_the_selector(component):
    sets = (f'{component}.podLabels={{"team":"a"}}', f'{component}.podAnnotations={{"scrape":"no"}}')
    found = deployment(component, *sets)
    assert found["spec"]["template"]["metadata"]["labels"]["team"] == "a"
    assert found["spec"]["template"]["metadata"]["annotations"] == {"scrape": "no"}
    assert found["spec"]["selector"] == deployment(component)["spec"]["selector"]
    assert found["metadata"] == deployment(component)["metadata"]


def test_common_labels_and_annotations_are_on_everything():
    sets = ('commonLabels={"team":"a"}', 'commonAnnotations={"owner":"b"}', "rbac.aggregate=true")
    monitors = tuple(f"monitoring.{each}=true" for each in ("serviceMonitor", "podMonitor", "prometheusRule"))
    for each in (*rendered(*sets), *rendered(*sets, *monitors)):
        assert each["metadata"]["labels"]["team"] == "a", each["metadata"]["name"]
        if "-kinds-" not in each["metadata"]["name"]:
            assert each["metadata"]["annotations"]["owner"] == "b", each["kind"]
        if each["kind"] == "Deployment":
            assert each["spec"]["template"]["metadata"]["labels"]["team"] == "a"
            assert "team" not in each["spec"]["selector"]["matchLabels"]


def test_accounts_can_have_another_name_everywhere():
    sets = ('gate.serviceAccount={"name":"mine","annotations":{"role":"r"}}', 'reconciler.serviceAccount.name="theirs"')
    accounts = {each["metadata"]["name"]: each["metadata"] for each in of_kind("ServiceAccount", *sets)}
    assert accounts.keys() == {"mine", "mine-view", "theirs", "modelgate-test"}
    assert accounts["mine"]["annotations"] == {"role": "r"}
    found = pods(*sets)
    assert (found["gate"]["serviceAccountName"], found["reconciler"]["serviceAccountName"]) == ("mine", "theirs")
    assert parsed(found["gate"]["initContainers"][0]["args"]).account == f"{NAMESPACE}/mine-view"
    for new, old in ("mine-view", "modelgate-view"), ("theirs", "modelgate-reconciler"):
        assert rights(new, *sets) == rights(old)
    tokens = ("Role", "", "serviceaccounts/token", ("mine-view",))
    assert rights("mine", *sets)[tokens] == ["create"]
    conditions = [each["spec"]["matchConditions"] for each in of_kind("ValidatingAdmissionPolicy", *sets)]
    mine, theirs = (f"'system:serviceaccount:{NAMESPACE}:{each}'" for each in ("mine", "theirs"))
    assert [each["expression"] for (each,) in conditions] == [
        f"request.userInfo.username == {mine}",
        f"request.userInfo.username in [{mine}, {theirs}]",
    ]


@pytest.mark.parametrize(
    ("sets", "image"),
    [
        (('image.registry="r.example:5000/team"',), "r.example:5000/team/localhost/modelgate:"),
        (('global.imageRegistry="g.example"', 'image.registry="r.example"'), "g.example/localhost/modelgate:"),
    ],
)
def test_the_registry_is_put_before_the_repository(sets, image):
    for pod in pods(*sets).values():
        assert all(each["image"].startswith(image) for each in containers(pod))


def test_an_autoscaler_takes_the_number_of_replicas_over():
    assert of_kind("HorizontalPodAutoscaler") == []
    sets = ("gate.autoscaling.enabled=true", "gate.autoscaling.maxReplicas=7")
    (scaler,) = of_kind("HorizontalPodAutoscaler", *sets)
    assert (scaler["spec"]["minReplicas"], scaler["spec"]["maxReplicas"]) == (2, 7)
    assert scaler["spec"]["scaleTargetRef"]["name"] == deployment("gate", *sets)["metadata"]["name"]
    assert "replicas" not in deployment("gate", *sets)["spec"]


def test_in_the_network_of_the_node_and_on_another_port_everything_is_told():
    sets = ("gate.hostNetwork=true", "gate.port=8443", "gate.healthPort=8444", "reconciler.healthPort=8445")
    pod = pods(*sets)["gate"]
    assert (pod["hostNetwork"], pod["dnsPolicy"]) == (True, "ClusterFirstWithHostNet")
    options = parsed(main("gate", *sets)["args"])
    assert (options.listen_port, options.health_port) == (8443, 8444)
    assert parsed(main("reconciler", *sets)["args"]).health_port == 8445
    assert {each["clientConfig"]["service"]["port"] for each in webhooks(*sets)} == {443}
    assert allowed(*sets) == ports(*sets)
    done = run("template", "modelgate", str(CHART), "--set=gate.healthPort=9443")
    assert "gate.healthPort: 9443 is gate.port, too" in done.stderr


def ports(*sets):
    return {
        name: {port["containerPort"] for each in containers(pod) for port in each.get("ports", [])}
        for name, pod in pods(*sets).items()
    }


def allowed(*sets):
    """Component → the ports that its NetworkPolicy opens."""
    label = "app.kubernetes.io/component"
    return {
        each["spec"]["podSelector"]["matchLabels"][label]: {
            port["port"] for rule in each["spec"]["ingress"] for port in rule["ports"]
        }
        for each in of_kind("NetworkPolicy", *sets)
    }


@pytest.mark.parametrize("sets", [(), ("gate.healthPort=0",), ("reconciler.enabled=false",)])
def test_network_policies_open_the_ports_of_the_pods_and_no_others(sets):
    assert allowed(*sets) == ports(*sets)
    for each in of_kind("NetworkPolicy", *sets):
        assert each["spec"]["policyTypes"] == ["Ingress"]
        assert all("from" not in rule for rule in each["spec"]["ingress"])
    assert of_kind("NetworkPolicy", "networkPolicy.enabled=false") == []


def test_where_the_api_servers_are_given_pods_connect_to_nothing_else():
    dns = {"ports": [{"protocol": "UDP", "port": 53}]}
    callers = [{"ipBlock": {"cidr": "10.0.0.0/24"}}]
    sets = (
        'networkPolicy.apiServers=[{"cidr":"10.0.0.1/32","port":6443}]',
        f"networkPolicy.egress=[{json.dumps(dns)}]",
        f"networkPolicy.callers={json.dumps(callers)}",
    )
    server = {"to": [{"ipBlock": {"cidr": "10.0.0.1/32"}}], "ports": [{"protocol": "TCP", "port": 6443}]}
    for each in of_kind("NetworkPolicy", *sets):
        assert each["spec"]["policyTypes"] == ["Ingress", "Egress"]
        assert each["spec"]["egress"] == [server, dns]
    gate = next(each for each in of_kind("NetworkPolicy", *sets) if each["metadata"]["name"] == "modelgate")
    assert [rule.get("from") for rule in gate["spec"]["ingress"]] == [callers, None]


def test_a_selector_of_namespaces_is_in_both_webhooks_if_it_is_given():
    selector = {"matchLabels": {"gate": "on"}}
    for each in webhooks(f"webhooks.namespaceSelector={json.dumps(selector)}"):
        assert each["namespaceSelector"] == selector


def test_users_get_the_kinds_through_the_clusters_own_roles_if_wanted():
    roles = {each["metadata"]["name"]: each for each in of_kind("ClusterRole", "rbac.aggregate=true")}
    for name, verbs in (("view", {"get", "list", "watch"}), ("edit", {"create", "update", "patch", "delete"})):
        role = roles[f"modelgate-kinds-{name}"]
        assert role["metadata"]["labels"][f"rbac.authorization.k8s.io/aggregate-to-{name}"] == "true"
        guarded = {resource for rule in webhooks()[0]["rules"] for resource in rule["resources"]}
        assert {resource for rule in role["rules"] for resource in rule["resources"]} == guarded
        assert all(verbs <= set(rule["verbs"]) for rule in role["rules"])
    assert not any("-kinds-" in each["metadata"]["name"] for each in of_kind("ClusterRole"))


def test_new_policies_are_a_new_config_map_so_that_pods_with_the_old_one_keep_it():
    def name(text):
        sets = (f"policies.documents={json.dumps({'mine.yaml': text})}",)
        (found,) = [each for each in of_kind("ConfigMap", *sets) if "mine.yaml" in each["data"]]
        sources = next(each for each in pods(*sets)["gate"]["volumes"] if each["name"] == "policies")
        assert sources["projected"]["sources"] == [{"configMap": {"name": found["metadata"]["name"]}}]
        return found["metadata"]["name"]

    assert name("a") == name("a") != name("b")


def test_every_value_is_described_in_the_schema():
    schema = json.loads((CHART / "values.schema.json").read_text())

    def described(value, node, path):
        node = schema["definitions"][node["$ref"].rpartition("/")[2]] if "$ref" in node else node
        for key, below in value.items() if isinstance(value, dict) else ():
            named = node.get("properties") or dict.fromkeys(value, node["additionalProperties"])
            assert key in named, f"{path}.{key}"
            described(below, named[key], f"{path}.{key}")

    described(values(), schema, "")
    assert configurations()
