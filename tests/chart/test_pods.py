"""The pods: locked down, wired to each other, and started with arguments that our own command takes."""

import argparse
import json
from hashlib import sha256

import pytest

import webhook.cli.certs
import webhook.cli.reconcile
import webhook.cli.serve
from reconciler import audit
from tests.chart.helm import NAMESPACE, POLICIES, configurations, containers, of_kind, pods, webhooks
from tests.definitions import definitions
from tools.release.project import version
from webhook.cli.choices import chosen
from webhook.facts.settings import DEFAULT_SETTINGS, Behaviour, Settings

DOCUMENTS = "modelgate-policies-" + sha256(b'{"mine.yaml":"kind: ValidatingAdmissionPolicy"}').hexdigest()[:8]
TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount"
COMMANDS = {"certs": webhook.cli.certs, "serve": webhook.cli.serve, "reconcile": webhook.cli.reconcile}


def parsed(arguments):
    parser = argparse.ArgumentParser(exit_on_error=False)
    COMMANDS[arguments[0]].add_parser(parser.add_subparsers())
    return parser.parse_args(arguments)


def container(component, name):
    return next(each for each in containers(pods()[component]) if each["name"] == name)


def volumes_of(each):
    return {mount["name"]: mount for mount in each.get("volumeMounts", [])}


@pytest.mark.parametrize("component", ["gate", "reconciler"])
def test_a_pod_passes_the_restricted_standard(component):
    pod = pods()[component]
    security = pod["securityContext"]
    assert (security["runAsNonRoot"], security["runAsUser"]) == (True, 65532)
    assert security["seccompProfile"] == {"type": "RuntimeDefault"}
    assert not {"hostNetwork", "hostPID", "hostIPC"} & pod.keys()
    assert all({"emptyDir", "projected"} & volume.keys() for volume in pod.get("volumes", []))
    for each in containers(pod):
        assert each["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }


@pytest.mark.parametrize("component", ["gate", "reconciler"])
def test_no_pod_inherits_variables_that_look_like_settings(component):
    assert pods()[component]["enableServiceLinks"] is False


@pytest.mark.parametrize("component", ["gate", "reconciler"])
def test_every_container_has_a_memory_limit_and_no_cpu_limit(component):
    for each in containers(pods()[component]):
        assert list(each["resources"]["limits"]) == ["memory"]
        assert each["resources"]["requests"].keys() == {"cpu", "memory"}
        assert each["imagePullPolicy"] == "IfNotPresent"


def test_the_pods_own_token_is_for_the_certificates_only_and_the_server_cannot_write_its_key():
    assert pods()["gate"]["automountServiceAccountToken"] is False
    server = volumes_of(container("gate", "gate"))
    assert server.keys() == {"tls", "view-access"}
    assert server["tls"]["readOnly"] is True
    for name in ("issue", "certs"):
        assert volumes_of(container("gate", name))["api-access"]["mountPath"] == TOKEN


def test_the_server_reads_a_token_of_the_viewing_account_where_the_sidecar_writes_it():
    server = container("gate", "gate")
    assert volumes_of(server)["view-access"] == {"name": "view-access", "mountPath": TOKEN, "readOnly": True}
    assert parsed(server["args"]).view == "live"
    account = next(each for each in of_kind("ServiceAccount") if each["metadata"]["name"] == "modelgate-view")
    for name in ("issue", "certs"):
        options = parsed(container("gate", name)["args"])
        assert options.account == f"{NAMESPACE}/{account['metadata']['name']}"
        assert volumes_of(container("gate", name))["view-access"]["mountPath"] == str(options.account_dir)


@pytest.mark.parametrize(("component", "name"), [("gate", "certs"), ("reconciler", "reconciler")])
def test_a_token_lasts_ten_minutes_so_that_an_account_that_was_made_again_is_served_by_then(component, name):
    pod = pods()[component]
    assert pod["automountServiceAccountToken"] is False
    assert volumes_of(container(component, name))["api-access"]["mountPath"] == TOKEN
    (volume,) = [each["projected"]["sources"] for each in pod["volumes"] if each["name"] == "api-access"]
    assert volume[0]["serviceAccountToken"] == {"path": "token", "expirationSeconds": 600}


def test_pods_have_user_namespaces_of_their_own_on_request():
    assert {each.get("hostUsers") for each in pods().values()} == {None}
    assert {each["hostUsers"] for each in pods("hostUsers=false").values()} == {False}


def test_a_server_that_sees_nothing_has_no_token():
    pod = pods('gate.view="none"')["gate"]
    assert parsed(pod["containers"][0]["args"]).view == "none"
    assert volumes_of(pod["containers"][0]).keys() == {"tls"}
    assert "view" not in repr([each["args"] for each in (*pod["initContainers"], pod["containers"][1])])


def test_every_container_logs_at_the_level_of_the_values():
    for given, level in ((), "info"), (('logLevel="warning"',), "warning"):
        args = [each["args"] for pod in pods(*given).values() for each in containers(pod)]
        assert [parsed(each).log_level for each in args] == [level] * 4


def test_the_server_is_started_with_the_settings_of_the_values():
    server = pods(
        'gate.ome={"behaviour":"doc-era","migration":false,"namespace":"o"}',
        'gate.aim={"documentedPrecision":false,"autoSelection":true,"namespace":"a"}',
        'releases={"llmkube":"0.9.19"}',
        'operators.llmkube={"hostPathRoots":["/a","/b c"],"defaultFSGroup":1000700000,"sharedPool":{"b":"2","a":"1"}}',
    )["gate"]["containers"][0]
    assert chosen(parsed(server["args"])) == Settings(
        ome=Behaviour.DOC_ERA,
        ome_migration=False,
        ome_namespace="o",
        aim_documented_precision=False,
        aim_auto_selection=True,
        aim_namespace="a",
        releases=(("llmkube", "0.9.19"),),
        operators=(
            ("llmkube.defaultFSGroup", "1000700000"),
            ("llmkube.hostPathRoots", "/a,/b c"),
            ("llmkube.sharedPool", "a=1,b=2"),
        ),
    )
    assert chosen(parsed(container("gate", "gate")["args"])) == DEFAULT_SETTINGS


@pytest.mark.parametrize(
    ("sets", "sources"),
    [
        ((POLICIES,), [DOCUMENTS]),
        (('policies.configMap="mine"',), ["mine"]),
        (('policies.configMap="7"',), ["7"]),
        ((POLICIES, 'policies.configMap="mine"'), ["mine", DOCUMENTS]),
    ],
)
def test_the_server_reads_policies_of_the_users_from_config_maps(sets, sources):
    pod = pods(*sets)["gate"]
    server = pod["containers"][0]
    folder = parsed(server["args"]).admission_policies
    assert volumes_of(server)["policies"] == {"name": "policies", "mountPath": str(folder), "readOnly": True}
    volume = next(each for each in pod["volumes"] if each["name"] == "policies")
    assert [each["configMap"]["name"] for each in volume["projected"]["sources"]] == sources
    made = {
        each["metadata"]["name"]: each["data"] for each in of_kind("ConfigMap", *sets) if "owner" not in each["data"]
    }
    assert made == ({DOCUMENTS: {"mine.yaml": "kind: ValidatingAdmissionPolicy"}} if POLICIES in sets else {})
    published = parsed(pod["initContainers"][0]["args"]).publish
    assert set(published) == {
        f"{each['kind'].removesuffix('WebhookConfiguration').lower()}/{each['metadata']['name']}"
        for each in configurations(*sets)
    }


def test_without_policies_nothing_of_them_is_there():
    assert "policies" not in volumes_of(container("gate", "gate"))
    assert parsed(container("gate", "gate")["args"]).admission_policies is None
    assert [each["metadata"]["name"] for each in of_kind("ConfigMap")] == ["modelgate-webhooks"]


def test_neither_key_nor_token_is_ever_on_a_disk():
    kept = {
        volume["name"]: volume["emptyDir"]["medium"] for volume in pods()["gate"]["volumes"] if "emptyDir" in volume
    }
    assert kept == {"tls": "Memory", "view-access": "Memory"}


def test_the_certificate_is_there_before_the_server_and_is_renewed_beside_it():
    pod = pods()["gate"]
    assert [each["name"] for each in pod["initContainers"]] == ["issue"]
    assert [each["name"] for each in pod["containers"]] == ["gate", "certs"]
    issue, certs = container("gate", "issue"), container("gate", "certs")
    assert certs["args"] == [*issue["args"], "--watch"]
    assert parsed(certs["args"]).watch


def test_the_arguments_of_the_certificates_speak_of_what_the_chart_installs():
    options = parsed(container("gate", "issue")["args"])
    (service,) = of_kind("Service")
    assert options.service == f"{NAMESPACE}/{service['metadata']['name']}"
    kinds = {
        f"{each['kind'].removesuffix('WebhookConfiguration').lower()}/{each['metadata']['name']}"
        for each in configurations()
    }
    assert set(options.publish) == kinds
    assert volumes_of(container("gate", "issue"))["tls"]["mountPath"] == str(options.tls_dir)


def test_the_server_listens_where_the_service_and_the_probes_look():
    server, (service,) = container("gate", "gate"), of_kind("Service")
    options = parsed(server["args"])
    assert (options.host, str(options.tls_dir)) == (None, "/tls")  # every address: it is in a pod
    ports = {"https": options.listen_port, "health": options.health_port}
    assert {port["name"]: port["containerPort"] for port in server["ports"]} == ports
    assert service["spec"]["ports"] == [
        {"name": "https", "port": 443, "targetPort": "https"},
        {"name": "health", "port": options.health_port, "targetPort": "health"},
    ]
    assert probes(server) == [{"path": path, "port": "health"} for path in ("/healthz", "/readyz", "/healthz")]


def test_without_a_health_port_the_probes_ask_the_port_of_the_webhooks():
    server = pods("gate.healthPort=0")["gate"]["containers"][0]
    assert [port["name"] for port in server["ports"]] == ["https"]
    assert parsed(server["args"]).health_port is None
    assert [(each["port"], each["scheme"]) for each in probes(server)] == [("https", "HTTPS")] * 3
    (service,) = of_kind("Service", "gate.healthPort=0")
    assert [port["name"] for port in service["spec"]["ports"]] == ["https"]


def probes(server):
    return [server[f"{kind}Probe"]["httpGet"] for kind in ("startup", "readiness", "liveness")]


def test_the_server_logs_and_traces_as_the_values_say():
    options = parsed(container("gate", "gate")["args"])
    assert (options.log_format, options.trace_endpoint) == ("text", None)
    sets = 'logFormat="json"', 'gate.traceEndpoint="http://collector:4318/v1/traces"'
    options = parsed(pods(*sets)["gate"]["containers"][0]["args"])
    assert (options.log_format, options.trace_endpoint) == ("json", "http://collector:4318/v1/traces")


def test_callers_prove_who_they_are_by_a_certificate():
    sets = ('gate.caller="mtls"', 'gate.clientCA="callers"', 'gate.clientNames=["kube-apiserver","a: b"]')
    pod = pods(*sets)["gate"]
    options = parsed(pod["containers"][0]["args"])
    assert (options.caller, options.client_name) == ("mtls", ["kube-apiserver", "a: b"])
    assert volumes_of(pod["containers"][0])["clients"]["mountPath"] == str(options.client_ca.parent)
    (source,) = next(each for each in pod["volumes"] if each["name"] == "clients")["projected"]["sources"]
    assert source["configMap"]["name"] == "callers"
    assert [each["path"] for each in source["configMap"]["items"]] == [options.client_ca.name]


def test_callers_prove_who_they_are_by_a_token_for_the_address_of_the_webhooks():
    options = parsed(pods('gate.caller="token"')["gate"]["containers"][0]["args"])
    services = {
        (each["clientConfig"]["service"]["name"], each["clientConfig"]["service"]["namespace"]) for each in webhooks()
    }
    assert options.token_audience == [f"https://{name}.{namespace}.svc:443" for name, namespace in services]


def test_the_reconciler_judges_as_the_gate_does():
    """By the same view and settings, and the kinds of the webhooks."""
    options = parsed(container("reconciler", "reconciler")["args"])
    rules = audit.load(options.profile, chosen(options), guarded=options.kinds, references=options.view == "live")
    assert {(each.group, each.kind) for each in rules.kinds()} == {
        (each["spec"]["group"], each["spec"]["names"]["kind"]) for each in definitions()
    }
    fewer = 'kinds=[{"group":"llmd.ai","versions":["v1alpha1"],"resources":["variantautoscalings"]}]'
    options = parsed(pods(fewer, 'gate.view="none"')["reconciler"]["containers"][0]["args"])
    assert (options.view, options.kinds) == ("none", {"variantautoscalings.llmd.ai"})


def test_the_reconciler_is_started_with_what_it_takes():
    options = parsed(container("reconciler", "reconciler")["args"])
    assert (options.health_port, options.namespace, options.lease) == (8080, NAMESPACE, "modelgate-reconciler")
    assert (options.allowed_host_path_root, options.apis) == (None, ("llmaz",))
    assert parsed(pods("reconciler.apis.llmkube=true")["reconciler"]["containers"][0]["args"]).apis == (
        "llmaz",
        "llmkube",
    )
    prometheus = ('reconciler.llmd.prometheus="http://p:9090"', "reconciler.llmd.interval=30")
    scaling = ("reconciler.apis.llmd=true", 'reconciler.namespaces=["a","b"]', *prometheus)
    options = parsed(pods(*scaling)["reconciler"]["containers"][0]["args"])
    assert options.only_namespaces == ("a", "b")
    assert (options.prometheus, options.llmd_interval, options.scale_to_zero_after) == ("http://p:9090", 30, 0)
    arguments = pods('reconciler.allowedHostPathRoots=["/models","/a b: c"]')["reconciler"]["containers"][0]["args"]
    assert parsed(arguments).allowed_host_path_root == ["/models", "/a b: c"]


def test_gate_and_reconciler_judge_by_the_same_rules():
    ours = ('gate.ome.behaviour="doc-era"', "gate.aim.autoSelection=true", 'gate.nodes="fixed"')
    sets = ('gate.profile="strict"', *ours, POLICIES)
    found = []
    for component in ("gate", "reconciler"):
        (each,) = [one for one in pods(*sets)[component]["containers"] if one["name"] == component]
        options = parsed(each["args"])
        assert volumes_of(each)["policies"]["mountPath"] == str(options.admission_policies)
        found.append((options.profile, str(options.admission_policies), chosen(options)))
    assert found[0] == found[1]
    assert found[0][0] == "strict"
    assert found[0][2] == Settings(ome=Behaviour.DOC_ERA, aim_auto_selection=True, nodes="fixed")


def test_the_service_selects_the_gate_and_not_the_reconciler():
    (service,) = of_kind("Service")
    selected = [
        each["metadata"]["name"]
        for each in of_kind("Deployment")
        if service["spec"]["selector"].items() <= each["spec"]["template"]["metadata"]["labels"].items()
    ]
    assert selected == ["modelgate"]


def test_a_deployment_selects_its_own_pods():
    for each in of_kind("Deployment"):
        labels = each["spec"]["template"]["metadata"]["labels"]
        assert each["spec"]["selector"]["matchLabels"].items() <= labels.items()
        assert not any("version" in key or "chart" in key for key in each["spec"]["selector"]["matchLabels"])


def test_of_the_gates_one_at_a_time_is_asked_to_leave_its_node():
    (budget,) = of_kind("PodDisruptionBudget")
    gate = next(each for each in of_kind("Deployment") if each["metadata"]["name"] == "modelgate")
    assert budget["spec"]["selector"] == gate["spec"]["selector"]
    assert budget["spec"]["maxUnavailable"] == 1
    assert budget["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow"


def test_an_upgrade_never_has_fewer_gates_than_before():
    gate = next(each for each in of_kind("Deployment") if each["metadata"]["name"] == "modelgate")
    assert gate["spec"]["replicas"] == 2
    assert gate["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}


@pytest.mark.parametrize(
    ("sets", "image"),
    [
        ((), f"localhost/modelgate:{version()}"),
        (('image.tag="x"',), "localhost/modelgate:x"),
        (('image.repository="r.example/a/b"', f'image.digest="sha256:{"0" * 64}"'), f"r.example/a/b@sha256:{'0' * 64}"),
    ],
)
def test_every_container_runs_the_one_image(sets, image):
    assert {each["image"] for pod in pods(*sets).values() for each in containers(pod)} == {image}


def test_pull_secrets_reach_both_deployments():
    for pod in pods('image.pullSecrets=["a","7"]').values():
        assert pod["imagePullSecrets"] == [{"name": "a"}, {"name": "7"}]


def test_the_format_of_the_log_and_environment_variables_reach_every_container():
    proxy = [{"name": "HTTPS_PROXY", "value": "http://p"}]
    sets = [f"{each}.extraEnv={json.dumps(proxy)}" for each in ("gate", "certs", "reconciler")]
    found = [
        container
        for each in of_kind("Deployment", 'logFormat="json"', *sets)
        for part in ("initContainers", "containers")
        for container in each["spec"]["template"]["spec"].get(part, ())
    ]
    assert len(found) == 4
    for each in found:
        assert "--log-format=json" in each["args"]
        assert proxy[0] in each["env"]
