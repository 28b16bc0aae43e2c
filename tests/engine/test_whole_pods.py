"""The pod that an operator makes of an object and of what completes it: what no part of it shows."""

import re

import pytest
import yaml

from tests.kubernetes.fillings import calls
from webhook import engine
from webhook.admission import GroupVersionKind, Request
from webhook.cluster import MemoryView
from webhook.engine import Options
from webhook.policy import Profile

_ENDS = re.compile(r"; (the Deployment|the Job|the LeaderWorkerSet|each Pod) [^(]*")
"""What becomes of it."""

SERVICE = GroupVersionKind("ome.io", "v1beta1", "InferenceService")
SERVING = GroupVersionKind("ome.io", "v1beta1", "ServingRuntime")
BENCHMARK = GroupVersionKind("ome.io", "v1beta1", "BenchmarkJob")

RUNTIME = yaml.safe_load("""
apiVersion: ome.io/v1beta1
kind: ClusterServingRuntime
metadata: {name: r}
spec:
  engineConfig:
    tolerations: [{key: a, operator: Is}]
    volumes: [{name: cache, emptyDir: {}}, {name: data, hostPath: {path: /data}}]
    containers: [{name: proxy, image: p, ports: [{name: proxy, containerPort: 9000}]}]
    runner:
      name: ome-container
      image: r
      ports: [{name: http, containerPort: 8080, protocol: TCP}]
      readinessProbe: {httpGet: {path: /h, port: 8080}}
      env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}, {name: B, value: "{{.Name}}"}]
      resources: {limits: {cpu: "2", nvidia.com/gpu: 1}, requests: {cpu: "1"}}
      volumeMounts: [{name: cache, mountPath: /cache}]
  routerConfig:
    runner: {name: router, image: r, volumeMounts: [{name: absent, mountPath: /x}]}
""")

TRAPS = {
    "requests above limits": (
        "{runner: {resources: {requests: {cpu: '4'}}}}",
        "spec.engine.runner.resources.requests",
        'Invalid value: "4": must be less than or equal to cpu limit of 2',
        "",
    ),
    "limits below requests": (
        "{runner: {resources: {limits: {cpu: 500m}}}}",
        "spec.engine.runner.resources",
        'Invalid value: "1": must be less than or equal to cpu limit of 500m',
        "requests.cpu",
    ),
    "a GPU without a limit": (
        "{runner: {resources: {requests: {amd.com/gpu: 1}}}}",
        "spec.engine.runner.resources",
        "Required value: Limit must be set for non overcommitable resources",
        "limits",
    ),
    "another source before the runtime's": (
        "{volumes: [{name: data, emptyDir: {}}]}",
        "spec.engine.volumes[0]",
        "Forbidden: may not specify more than 1 volume type",
        "hostPath",
    ),
    "another source after the runtime's": (
        "{volumes: [{name: own, emptyDir: {}}, {name: data, nfs: {server: s, path: /p}}]}",
        "spec.engine.volumes[1].nfs",
        "Forbidden: may not specify more than 1 volume type",
        "",
    ),
    "another handler": (
        "{runner: {readinessProbe: {tcpSocket: {port: 8080}}}}",
        "spec.engine.runner.readinessProbe.tcpSocket",
        "Forbidden: may not specify more than 1 handler type",
        "",
    ),
    "a value beside a source": (
        "{runner: {env: [{name: C, value: c}, {name: A, value: x}]}}",
        "spec.engine.runner.env[1]",
        'Invalid value: "": may not be specified when `value` is not empty',
        "valueFrom",
    ),
    "two ports of a name": (
        "{runner: {ports: [{name: http, containerPort: 9090}]}}",
        "spec.engine.runner.ports[0].name",
        'Duplicate value: "http"',
        "",
    ),
    "two containers of a name": (
        "{initContainers: [{name: proxy, image: x}]}",
        "spec.engine.initContainers[0].name",
        'Duplicate value: "proxy"',
        "",
    ),
    "a host port of two": (
        "{containers: [{name: proxy, ports: [{containerPort: 90, hostPort: 80}, {containerPort: 91, hostPort: 80}]}]}",
        "spec.engine.containers[0].ports[1].hostPort",
        'Duplicate value: "TCP//80"',
        "",
    ),
    "a mount without a volume": (
        "{runner: {volumeMounts: [{name: nope, mountPath: /n}]}}",
        "spec.engine.runner.volumeMounts[0].name",
        'Not found: "nope"',
        "",
    ),
    "a container without an image": (
        "{containers: [{name: side}]}",
        "spec.engine.containers[0]",
        "Required value",
        "image",
    ),
    "a claim that the pod lacks": (
        "{runner: {resources: {claims: [{name: g}]}}}",
        "spec.engine.runner.resources.claims[0]",
        'Not found: "g": must be one of the names in pod.spec.resourceClaims which is empty',
        "",
    ),
    "no name server": (
        "{dnsPolicy: None}",
        "spec.engine",
        "Required value: must provide `dnsConfig` when `dnsPolicy` is None",
        "dnsConfig",
    ),
    "a placeholder for a label that is not there": (
        "{runner: {volumeMounts: [{name: '{{.Labels.none}}', mountPath: /x}]}}",
        "spec.engine.runner.volumeMounts[0].name",
        "Required value",
        "",
    ),
    "workers without an image": (
        "{leader: {runner: {name: l, image: x}}, worker: {size: 1, runner: {name: w}}}",
        "spec.engine.worker.runner",
        "Required value",
        "image",
    ),
}
"""A component, the field of the finding, Kubernetes' text, and what the fault is at below the field."""

QUIET = {
    "nothing": "{}",
    "another image": "{runner: {image: other}}",
    "lower requests": "{runner: {resources: {requests: {cpu: 500m}}}}",
    "higher limits, too": "{runner: {resources: {requests: {cpu: '4'}, limits: {cpu: '4'}}}}",
    "the same source": "{volumes: [{name: data, hostPath: {path: /other}}]}",
    "the same handler": "{runner: {readinessProbe: {httpGet: {path: /x, port: 8081}}}}",
    "another value": "{runner: {env: [{name: B, value: b}]}}",
    "a container of the runner's name": "{containers: [{name: ome-container, image: x}]}",
    "mounts of the runtime's volume and of the model's": (
        "{runner: {volumeMounts: [{name: cache, mountPath: /c2}, {name: m, mountPath: /m}]}}"
    ),
    "a placeholder": "{runner: {volumeMounts: [{name: '{{.Labels.volume}}', mountPath: /x}]}}",
    "what Go does not write": "{runner: {image: '', env: []}, hostNetwork: false, tolerations: []}",
    "Knative, whose rules are its own": "{minReplicas: 0, runner: {volumeMounts: [{name: nope, mountPath: /x}]}}",
    "another mode": "{annotations: {ome.io/deploymentMode: VirtualDeployment}, containers: [{name: side}]}",
}


def decided(
    catalog, component, *, old=None, options=None, role="engine", runtime="r", others=(RUNTIME,), model="m", mode=""
):
    def service(text):
        meta = {"name": "a", "namespace": "default", "labels": {"volume": "cache"}}
        meta["annotations"] = {"ome.io/deploymentMode": mode} if mode else {}
        named = {"name": runtime, "kind": "ClusterServingRuntime", "apiGroup": "ome.io"}
        spec = {"engine": {}, role: yaml.safe_load(text), "model": {"name": model}, "runtime": named}
        return {"apiVersion": "ome.io/v1beta1", "kind": "InferenceService", "metadata": meta, "spec": spec}

    stored = None if old is None else service(old)
    request = Request(SERVICE, "", "UPDATE" if stored else "CREATE", service(component), stored)
    return engine.validate(request, catalog, MemoryView(others), options or Options())


def pods(decision, code="KP001"):
    return [(each.field, _ENDS.sub("", each.message)) for each in decision.warnings if each.code == code]


@pytest.mark.parametrize("name", TRAPS)
def test_a_fault_that_only_the_merged_pod_has_is_said_where_the_service_has_its_share(name, loaded):
    component, field, text, rest = TRAPS[name]
    at = f"at {rest}, " if rest else ""
    ((place, message),) = pods(decided(loaded, component))
    assert place == field
    assert message.startswith(text)
    assert message.endswith(f' ({at}merged with ClusterServingRuntime "r")')


@pytest.mark.parametrize("name", QUIET)
def test_a_service_that_goes_well_with_its_runtime_is_not_blamed(name, loaded):
    assert pods(decided(loaded, QUIET[name])) == []


def test_what_a_part_says_is_not_said_again(loaded):
    found = pods(decided(loaded, "{runner: {imagePullPolicy: Bad, resources: {requests: {cpu: '4'}}}}"))
    assert sorted(field for field, _ in found) == [
        "spec.engine.runner.imagePullPolicy",
        "spec.engine.runner.resources.requests",
    ]


def test_the_faults_of_a_runtime_are_not_those_of_its_services(loaded):
    assert pods(decided(loaded, "{runner: {image: other}}", role="router")) == []
    assert pods(decided(loaded, "{tolerations: [{key: b, operator: Is}]}")) == [
        (
            "spec.engine.tolerations[0].operator",
            'Unsupported value: "Is": supported values: "Equal", "Exists" (merged with ClusterServingRuntime "r")',
        )
    ]


def test_a_runtime_with_more_faults_than_are_looked_at_is_not_the_fault_of_its_services(loaded):
    own = RUNTIME["spec"]["engineConfig"]
    many = {**RUNTIME, "spec": {"engineConfig": {**own, "tolerations": own["tolerations"] * 1500}}}
    assert pods(decided(loaded, "{runner: {image: other}}", others=[many])) == []
    names = [field for field, _ in pods(decided(loaded, "{hostname: A_b}", others=[many]))]
    assert names == ["spec.engine.hostname"]


def test_the_places_of_twice_as_many_faults_take_twice_the_steps(loaded):
    """Each fault of the pod is looked up in the lists of the object, and each claim in those of the runtime."""

    def judged(count):
        own = RUNTIME["spec"]["engineConfig"]
        claims = [{"name": f"c{n}", "resourceClaimName": "x"} for n in range(count)]
        variables = [{"name": f"v{n}", "value": "x"} for n in range(count)]
        runner = {**own["runner"], "env": [*own["runner"]["env"], *variables]}
        runtime = {**RUNTIME, "spec": {"engineConfig": {**own, "resourceClaims": claims, "runner": runner}}}
        env = [{"name": f"v{n}", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}} for n in range(count)]
        used = {"claims": [{"name": f"x{n}"} for n in range(count)]}
        component = yaml.safe_dump({"runner": {"env": env, "resources": used}})
        decisions = []
        steps = calls(lambda: decisions.append(decided(loaded, component, others=[runtime])))
        return len(pods(decisions[0])), steps - calls(lambda: yaml.safe_load(component))

    (few, once), (many, twice) = judged(150), judged(300)
    assert (few, many) == (300, 600)
    assert twice <= 2.3 * once


def test_without_the_runtime_only_the_parts_are_judged(loaded):
    trap = TRAPS["requests above limits"][0]
    assert pods(decided(loaded, trap, runtime="other")) == []
    assert pods(decided(loaded, trap, others=[], options=Options(references=False))) == []


def test_the_strict_profile_refuses_the_pod_unless_it_is_stored_so(loaded):
    strict, trap = Options(profile=Profile.STRICT), TRAPS["another handler"][0]
    refused = decided(loaded, trap, options=strict)
    assert [(each.field, each.reason) for each in refused.causes if each.code == "KP001"] == [
        ("spec.engine.runner.readinessProbe.tcpSocket", "FieldValueForbidden")
    ]
    again = decided(loaded, trap, old=trap, options=strict)
    assert not [each for each in again.causes if each.code == "KP001"]
    assert "not refused, because this update does not change it" in pods(again)[0][1]


def test_kubernetes_warnings_of_the_whole_are_told(loaded):
    component = "{containers: [{name: side, image: x, ports: [{name: http, containerPort: 8081}]}]}"
    runtime = {**RUNTIME, "spec": {"engineConfig": {"runner": RUNTIME["spec"]["engineConfig"]["runner"]}}}
    runtime["spec"]["engineConfig"]["volumes"] = [{"name": "cache", "emptyDir": {}}]
    ((field, text),) = pods(decided(loaded, component, others=[runtime]), "KP002")
    assert field == "spec.engine"
    assert 'duplicate port name "http"' in text
    assert text.endswith('(at runner.ports[0], merged with ClusterServingRuntime "r")')


@pytest.mark.parametrize(
    ("override", "fields"),
    [
        ("{image: x}", []),
        (
            "{volumeMounts: [{name: v, mountPath: /x}, {name: benchmark-output-storage, mountPath: /y}]}",
            ["volumeMounts[0].name"],
        ),
        ("{volumeMounts: [{name: v, mountPath: /x}], volumes: [{name: v, emptyDir: {}}]}", []),
        ("{resources: {requests: {nvidia.com/gpu: 1}}}", ["resources"]),
        ("{resources: {limits: {nvidia.com/gpu: 1}}}", []),
    ],
)
def test_the_override_of_a_benchmark_is_judged_with_its_pod(override, fields, loaded):
    spec = {
        "endpoint": {"endpoint": {"url": "http://x", "apiFormat": "openai", "modelName": "m"}},
        "task": "text-to-text",
        "maxTimePerIteration": 1,
        "maxRequestsPerIteration": 1,
        "outputLocation": {"storageUri": "pvc://c/x"},
        "podOverride": yaml.safe_load(override),
    }
    meta = {"name": "a", "namespace": "default"}
    job = {"apiVersion": "ome.io/v1beta1", "kind": "BenchmarkJob", "metadata": meta, "spec": spec}
    decision = engine.validate(Request(BENCHMARK, "", "CREATE", job), loaded, MemoryView([]))
    assert [field for field, _ in pods(decision)] == [f"spec.podOverride.{field}" for field in fields]


def test_a_service_is_judged_again_over_another_version_of_its_runtime(loaded):
    component = "{runner: {volumeMounts: [{name: data, mountPath: /d}]}}"
    engine_ = RUNTIME["spec"]["engineConfig"]
    other = {**RUNTIME, "spec": {"engineConfig": {**engine_, "volumes": engine_["volumes"][:1]}}}
    for runtime, fields in ((RUNTIME, []), (other, ["spec.engine.runner.volumeMounts[0].name"]), (RUNTIME, [])):
        for _ in range(2):  # the second time it is known
            assert [field for field, _ in pods(decided(loaded, component, others=[runtime]))] == fields


def test_a_service_of_another_model_lacks_the_volume_of_the_first(loaded):
    component = "{runner: {volumeMounts: [{name: m, mountPath: /m}]}}"
    for model, found in (("m", 0), ("n", 1), ("m", 0)):
        assert len(pods(decided(loaded, component, model=model))) == found


def test_another_mode_of_the_same_service_is_judged_for_itself(loaded):
    trap = TRAPS["a mount without a volume"][0]
    for mode, found in (("VirtualDeployment", 0), ("RawDeployment", 1), ("VirtualDeployment", 0)):
        assert len(pods(decided(loaded, trap, mode=mode))) == found


PORTS = "ports: [{name: h, containerPort: 1}, {name: h, containerPort: 2}]"
ALONE = {
    f"{{engineConfig: {{runner: {{{PORTS}}}}}}}": ("engineConfig.runner.ports[1].name", 'Duplicate value: "h"'),
    f"{{routerConfig: {{containers: [{{name: a, image: x, {PORTS}}}]}}}}": (
        "routerConfig.containers[0].ports[1].name",
        'Duplicate value: "h"',
    ),
    f"{{engineConfig: {{leader: {{runner: {{}}}}, worker: {{runner: {{{PORTS}}}}}}}}}": (
        "engineConfig.worker.runner.ports[1].name",
        'Duplicate value: "h"',
    ),
    f"{{containers: [{{name: side, image: x, {PORTS}}}, {{name: ome-container}}]}}": (
        "containers[0].ports[1].name",
        'Duplicate value: "h"',
    ),
    "{decoderConfig: {runner: {resources: {requests: {nvidia.com/gpu: 1}}}}}": (
        "decoderConfig.runner.resources",
        "Required value: Limit must be set for non overcommitable resources; set the same number in limits (at limits)",
    ),
    "{engineConfig: {runner: {resources: {claims: [{name: g}]}}}}": (
        "engineConfig.runner.resources.claims[0]",
        'Not found: "g": must be one of the names in pod.spec.resourceClaims which is empty',
    ),
}
"""The specification of a runtime, the field of the finding, and its text."""

LATER = (
    "{engineConfig: {runner: {volumeMounts: [{name: model, mountPath: /m}]}}}",
    "{engineConfig: {volumes: [{name: v, emptyDir: {}}]}}",
    "{containers: [{name: ome-container}]}",
    f"{{engineConfig: {{minReplicas: 0, runner: {{{PORTS}}}}}}}",
)
"""What a service or its model completes, and what Knative judges."""


def of_runtime(catalog, spec):
    head = {"apiVersion": "ome.io/v1beta1", "kind": "ServingRuntime", "metadata": {"name": "r", "namespace": "d"}}
    request = Request(SERVING, "", "CREATE", {**head, "spec": yaml.safe_load(spec)})
    return pods(engine.validate(request, catalog, MemoryView(), Options()))


@pytest.mark.parametrize("spec", ALONE)
def test_a_runtime_is_judged_as_the_pods_of_a_service_that_overrides_nothing(spec, loaded):
    field, text = ALONE[spec]
    ((place, message),) = of_runtime(loaded, spec)
    assert place == f"spec.{field}"
    assert message.startswith(text)


@pytest.mark.parametrize("spec", LATER)
def test_what_completes_a_runtime_is_not_asked_of_it(spec, loaded):
    assert of_runtime(loaded, spec) == []


def test_no_component_of_any_shape_ends_in_an_error(loaded):
    named = "{volumes: [{name: [a]}], containers: [{name: [b], env: [{name: [c]}], ports: [{name: {}}]}]}"
    for wrong in ("null", "[]", "1", "{containers: 1, runner: []}", "{containers: [null, 1], volumes: {a: b}}", named):
        assert not decided(loaded, wrong).allowed or wrong == "null"
