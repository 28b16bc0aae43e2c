"""Kubernetes' validation of pods: its tables, bad input, and parts that another part completes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conformance.runner import load_ops, load_skips, run_file
from tests.laws import examples
from tests.shared import shared
from webhook.ground.budget import STEPS, Budget, SpentError
from webhook.ground.fieldpath import ROOT, FieldPath
from webhook.kubernetes import advised_warning, template_warnings, validate, values, warned
from webhook.kubernetes.formats import FORMATS
from webhook.kubernetes.judge import DATA

TABLES = ("hand", "generated", "upstream", "jobs", "parts")
EDGES = Path(__file__).with_name("edges.json")
"""Small pods at the edges of rules, and what Kubernetes' own code answers: the limit, and one more; each part alone."""
MAIN = {"name": "main", "image": "a"}
AT = ROOT.child("a").index(0)
SPEC = ROOT.child("spec")
WRONG = (None, 0, -1, 1.5, "", "x", [], [None], [[]], ["x"], {}, {"x": None}, True, 10**30, "\ud800")


@pytest.mark.parametrize("name", TABLES)
def test_every_row_is_answered_as_kubernetes_answers_it(name):
    outcomes = run_file(shared("corpora", "pods", f"{name}.json"), load_ops(), load_skips())
    assert [o.message for o in outcomes if o.state in ("failed", "missing")] == []
    assert sum(o.state == "skipped" for o in outcomes) <= len(outcomes) // 20


def test_at_the_edge_of_each_rule_a_pod_is_answered_as_kubernetes_answers_it():
    outcomes = run_file(EDGES, load_ops(), load_skips())
    assert len(outcomes) > 100
    assert [f"{o.id}: {o.message}" for o in outcomes if o.state != "passed"] == []


def _texts(kind, value, **options):
    return [str(error) for error in validate(kind, value, **options)]


def test_a_part_is_silent_about_what_only_the_whole_shows():
    container = {"volumeMounts": [{"name": "v", "mountPath": "/a"}], "resources": {"requests": {"nvidia.com/gpu": 1}}}
    assert _texts("Container", container, part=True) == []
    assert len(_texts("Container", container)) == 4


def test_a_part_says_what_is_present_and_wrong():
    container = {"ports": [{"containerPort": 0}], "imagePullPolicy": "Sometimes"}
    policies = 'supported values: "Always", "IfNotPresent", "Never"'
    assert sorted(_texts("Container", container, path=ROOT.child("spec", "runner"), part=True)) == [
        f'spec.runner.imagePullPolicy: Unsupported value: "Sometimes": {policies}',
        "spec.runner.ports[0].containerPort: Required value",
    ]


def test_a_placeholder_is_unknown():
    spec = {"hostname": "{{.Name}}", "subdomain": "A_b"}
    assert [error.field for error in validate("PodSpec", spec, part=True, templates=True)] == ["subdomain"]


def test_the_owner_decides_on_the_restart_policy():
    spec = {"restartPolicy": "Never"}
    assert [error.field for error in validate("PodSpec", spec, part=True)] == ["restartPolicy"]
    assert validate("PodSpec", spec, part=True, owner="job") == []


@pytest.mark.parametrize("kind", sorted(DATA["types"]))
def test_a_value_of_a_wrong_type_does_not_fail(kind):
    fields = [*DATA["types"][kind], *DATA["types"]["PodSpec"], "volumes", "containers", "limits", "x"]
    for field in fields:
        for value in WRONG:
            validate(kind, {field: value}, AT)
            validate(kind, {field: [{field: value}]}, AT, part=True)
            validate(kind, {field: {field: value}}, AT, part=True)


NAMES = sorted(
    {name for fields in DATA["types"].values() for name in fields} | {"volumes", "containers", "limits", "a/b"}
)
VALUES = st.recursive(
    st.sampled_from(WRONG),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.sampled_from(NAMES), below, max_size=5),
    max_leaves=40,
)


@given(st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=8))
@settings(max_examples=examples(2000), deadline=None)
def test_a_random_template_is_judged_and_its_part_says_nothing_more(spec):
    template = {"spec": spec | {"containers": [spec]}, "metadata": spec}
    whole = set(_texts("PodTemplateSpec", template))
    assert set(_texts("PodTemplateSpec", template, part=True)) <= whole
    list(template_warnings(template, ROOT))


def test_an_enormous_list_is_judged_in_time_that_grows_with_it():
    many = [{"name": f"v{i}"} for i in range(20_000)]
    assert _texts("PodSpec", {"volumes": many, "containers": [MAIN]}) == []


def test_what_two_keys_of_a_mount_say_is_judged():
    """A mount of two keys is usually a name and a path."""
    mount = {"name": "v", "mountPropagation": "Up"}
    fields = [error.field for error in validate("Container", {"volumeMounts": [mount]}, part=True)]
    assert fields == ["volumeMounts[0].mountPath", "volumeMounts.mountPropagation"]


def test_a_null_quantity_is_zero():
    resources = {"limits": {"memory": None}, "requests": {"memory": "1Gi"}}
    (error,) = validate("ResourceRequirements", resources, part=True)
    assert error.detail == "must be less than or equal to memory limit of 0"


def test_without_a_server_that_a_policy_needs_dns_is_not_judged_further():
    spec = {"dnsPolicy": "None", "dnsConfig": {"searches": ["_"]}, "containers": [MAIN]}
    assert [error.field for error in validate("PodSpec", spec)] == ["dnsConfig.nameservers"]


def test_a_whole_float_is_an_integer():
    assert _texts("PodSpec", {"activeDeadlineSeconds": -1.0}) == _texts("PodSpec", {"activeDeadlineSeconds": -1})


@pytest.mark.parametrize("amount", ["9" * 400, "1e300", "-" + "9" * 90 + "m", "1E", "0.000000000001", "9" * 60 + ".5"])
def test_an_enormous_quantity_does_not_fail(amount):
    amounts = dict.fromkeys(("memory", "nvidia.com/gpu", "hugepages-2Mi", "cpu"), amount)
    resources = {"limits": {**amounts, f"hugepages-{amount}": 1}, "requests": amounts}
    validate("ResourceRequirements", resources)
    spec = {"resources": resources, "overhead": resources["limits"], "containers": [MAIN | {"resources": resources}]}
    validate("PodSpec", spec | {"initContainers": spec["containers"]})
    list(template_warnings({"spec": spec}, ROOT))


def test_a_warning_of_resources_has_the_place_that_the_definition_gives_them():
    path = ROOT.child("spec", "podResources")
    (warning,) = warned("ResourceRequirements", {"limits": {"memory": "0.5"}}, path)
    assert warning[0] == "spec.podResources.limits[memory]"


def test_a_source_of_variables_that_is_not_in_a_list_has_the_place_of_its_parent():
    (error,) = validate("EnvFromSource", {}, ROOT.child("spec", "source"))
    assert error.field == "spec"


@pytest.mark.parametrize(
    "names", [["A", "B"], ["A", "="], ["", "B"], ["A=B"], ["A", "é"], ["A", "\n"], ["=", ""], [""]]
)
def test_the_names_of_variables_are_judged_together_as_each_by_itself(names):
    variables = [{"name": name, "value": "x"} for name in names]
    for more in ([], [{"name": "C", "valueFrom": {}}], [{"name": "C", "valueFrom": {"fieldRef": {}}}], [{}], [None]):
        alone = [
            text
            for index, each in enumerate([*variables, *more])
            for text in _texts("EnvVar", each or {}, path=ROOT.child("env").index(index))
        ]
        assert _texts("Container", {"name": "a", "image": "b", "env": [*variables, *more]}) == alone


def test_the_first_overlapping_paths_and_ports_have_kubernetes_words_and_the_others_are_counted():
    files = [{"key": "k", "path": "a/b" if n % 2 else "a"} for n in range(300)]
    pairs = [text for _, text in warned("Volume", {"name": "v", "configMap": {"name": "c", "items": files}})]
    start = 'volume "v" (ConfigMap "c")'
    assert pairs[0] == f'{start}: overlapping paths: "a/b" with "a"'
    assert len(pairs) == 21
    assert pairs[-1] == f"{start}: {300 * 299 // 2 - 20} more overlapping paths"
    container = {"name": "a", "ports": [{"containerPort": 80, "hostPort": n % 3} for n in range(60)]}
    texts = [text for _, text in warned("PodSpec", {"containers": [container]})]
    assert texts[0] == "overlapping port definition with containers[0].ports[0]"
    conflicts = sum(n % 3 == m % 3 or not n % 3 or not m % 3 for n in range(60) for m in range(n))
    assert (len(texts), texts[-1]) == (21, f"{conflicts - 20} more conflicting port definitions")


def test_a_claim_of_another_name_is_told_a_few_of_the_names_and_how_many_more_there_are():
    claims = [{"name": f"c{n:03}", "resourceClaimName": "x"} for n in range(500)]
    main = MAIN | {"resources": {"claims": [{"name": "x"}]}}
    (error,) = validate("PodSpec", {"containers": [main], "resourceClaims": claims})
    names = ", ".join(f"c{n:03}" for n in range(20))
    assert error.detail == f"must be one of the names in pod.spec.resourceClaims: {names} and 480 more"


def test_after_a_thousand_errors_one_says_that_there_are_more():
    spec = {"containers": [MAIN], "tolerations": [{"operator": "Is", "key": "a"}] * 1001}
    errors = validate("PodSpec", spec, SPEC)
    assert len(errors) == 1001
    assert str(errors[-1]) == "spec: Too many: it has more than 1,000 faults, so what comes after them is not judged"
    del spec["tolerations"][0]
    assert [error.type for error in validate("PodSpec", spec, SPEC)] == ["FieldValueNotSupported"] * 1000


IQN = re.compile(r"iqn\.[0-9]{4}-[0-9]{2}\.([A-Za-z0-9.-]+)(:[^,;*&$|\s]+)\Z")
PIECES = st.sampled_from(["iqn.", "2001-01.", "iqn.2001-01.c", "ab", "a.b", ":", ",", " ", "\n", "é"])


@given(st.lists(PIECES, max_size=8).map("".join))
@settings(max_examples=examples(1000), deadline=None)
def test_an_iqn_is_what_gos_pattern_finds(rest):
    volume = {"name": "v", "iscsi": {"iqn": f"iqn.{rest}", "targetPortal": "a", "lun": 1}}
    assert (not validate("Volume", volume)) == bool(IQN.search(f"iqn.{rest}"))


def test_a_long_iqn_is_judged_in_time_that_grows_with_it():
    volume = {"name": "v", "iscsi": {"iqn": "iqn.2001-01.a" * 40_000 + ",", "targetPortal": "a", "lun": 1}}
    assert len(validate("Volume", volume)) == 1


@pytest.mark.parametrize("owner", ["deployment", "job"])
def test_a_long_value_that_many_errors_name_is_one_error_each(owner):
    items = [{"key": "k", "path": "a"}] * 3000
    volume = {"name": "v", "projected": {"sources": [{"configMap": {"name": "n" * 10_000, "items": items}}]}}
    errors = validate("Volume", volume, templates=True, owner=owner)
    assert [error.detail for error in errors] == ["conflicting duplicate paths"]


def test_the_largest_request_of_init_containers_counts_the_sidecars_before_them():
    def runs(cpu, **more):
        return {**MAIN, "name": f"i{cpu}{len(more)}", "resources": {"requests": {"cpu": cpu}}, **more}

    inits = [runs("1", restartPolicy="Always"), runs("2"), runs("3", restartPolicy="Always"), runs("4"), MAIN]
    inits[-1] = MAIN | {"name": "last"}
    spec = {"resources": {"requests": {"cpu": "7"}}, "initContainers": inits, "containers": [MAIN]}
    (error,) = validate("PodSpec", spec)
    assert error.detail == "must be greater than or equal to aggregate container requests of 8"


@pytest.mark.parametrize(
    ("more", "steps"),
    [
        ({}, 10),
        ({"containers": [MAIN] * 10}, 163),
        ({"nodeSelector": {f"k{n}": "v" for n in range(10)}}, 21),
        ({"nodeSelector": {"a b": "v"}}, 20),
        ({"tolerations": [{}] * 10}, 181),
        ({"hostname": "A_b"}, 19),
        ({"securityContext": {"supplementalGroups": [1] * 10}}, 21),
        ({"dnsConfig": {"searches": ["a"] * 10, "nameservers": ["1.1.1.1"]}}, 108),
        ({"containers": [{**MAIN, "args": ["a"] * 10}]}, 90),
    ],
)
def test_each_item_and_each_error_has_its_steps(more, steps):
    budget = Budget()
    validate("PodSpec", {"containers": [MAIN], **more}, budget=budget)
    assert STEPS - budget.left == steps


@pytest.mark.parametrize(("items", "place"), [(6, "its root"), (7, r"containers\[0\]")])
def test_what_is_counted_is_spent_at_the_latest_after_sixty_four_steps(items, place):
    spec = {"containers": [{**MAIN, "args": ["a"] * items}]}
    with pytest.raises(SpentError, match=f"at {place}$"):
        validate("PodSpec", spec, budget=Budget(limit=50))


def test_a_warning_is_counted_with_its_text():
    budget = Budget()
    ((_, text),) = warned("PodSpec", {"nodeSelector": {"beta.kubernetes.io/arch": "a"}}, budget=budget)
    assert STEPS - budget.left == 1 + len(text) // 16


OLD = {"beta.kubernetes.io/arch": "a"}
TERM = {"matchExpressions": [{"key": "beta.kubernetes.io/arch", "operator": "In", "values": ["a b"]}]}
REQUIRED, PREFERRED = (f"{word}DuringSchedulingIgnoredDuringExecution" for word in ("required", "preferred"))
HALF = {"memory": "0.5", "ephemeral-storage": "0.5", "cpu": "0.5"}


@pytest.mark.parametrize(
    ("spec", "certain", "uncertain"),
    [
        ({"nodeSelector": OLD}, ["nodeSelector[beta.kubernetes.io/arch]"], []),
        (
            {"topologySpreadConstraints": [{"topologyKey": "beta.kubernetes.io/arch"}]},
            ["topologySpreadConstraints[0].topologyKey"],
            ["topologySpreadConstraints[0].labelSelector"],
        ),
        (
            {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [TERM]}}}},
            [f"affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0].matchExpressions[0].key"],
            [],
        ),
        (
            {"affinity": {"nodeAffinity": {PREFERRED: [{"preference": TERM}]}}},
            [
                f"affinity.nodeAffinity.{PREFERRED}[0].preference.matchExpressions[0].{field}"
                for field in ("key", "values[0]")
            ],
            [],
        ),
        (
            {"affinity": {"podAffinity": {REQUIRED: [{}], PREFERRED: [{}]}}},
            [
                f"affinity.podAffinity.{REQUIRED}[0].labelSelector",
                f"affinity.podAffinity.{PREFERRED}[0].podAffinityTerm.labelSelector",
            ],
            [],
        ),
        (
            {"affinity": {"podAntiAffinity": {REQUIRED: [{"labelSelector": {}}, {}]}}},
            [f"affinity.podAntiAffinity.{REQUIRED}[1].labelSelector"],
            [],
        ),
        ({"volumes": [{"name": "v", "gitRepo": {}}]}, ["volumes[0].gitRepo"], []),
        ({"volumes": [{"name": "v", "storageos": {}}]}, ["volumes[0].storageOS"], []),
        ({"volumes": [{"name": "v", "projected": {"sources": [{}]}}]}, ["the whole"], []),
        (
            {
                "volumes": [
                    {
                        "name": "v",
                        "ephemeral": {
                            "volumeClaimTemplate": {
                                "spec": {"resources": {"requests": {"storage": "0.5"}, "limits": {"storage": "1.5"}}}
                            }
                        },
                    }
                ]
            },
            [
                f"volumes[0].ephemeral.volumeClaimTemplate.spec.resources.{kind}[storage]"
                for kind in ("requests", "limits")
            ],
            [],
        ),
        ({"hostAliases": [{}]}, [], []),
        (
            {"hostAliases": [{"ip": "1.1.1.1"}, {"ip": "1.1.1.1"}, {"ip": "::01"}, {"ip": "nothing"}]},
            ["hostAliases[2].ip"],
            ["hostAliases[1].ip"],
        ),
        (
            {"imagePullSecrets": [{"name": "a"}, {"name": "a"}, {"name": ""}, {}]},
            ["imagePullSecrets[2].name", "imagePullSecrets[3].name"],
            ["imagePullSecrets[1].name", "imagePullSecrets[3].name"],
        ),
        ({"overhead": HALF}, ["overhead[memory]", "overhead[ephemeral-storage]"], []),
        ({"terminationGracePeriodSeconds": -1}, ["terminationGracePeriodSeconds"], []),
        ({"terminationGracePeriodSeconds": 0}, [], []),
        ({"dnsConfig": {"nameservers": ["::1", "::01"]}}, ["dnsConfig.nameservers[1]"], []),
        (
            {"containers": [{"name": "a", "resources": {"limits": HALF, "requests": {"memory": "0.5"}}}]},
            [
                "containers[0].resources.limits[memory]",
                "containers[0].resources.limits[ephemeral-storage]",
                "containers[0].resources.requests[memory]",
            ],
            [],
        ),
        (
            {"initContainers": [{"env": [{"name": "A"}, {"name": "A"}, {"name": "A", "value": "x $(A)"}]}]},
            [],
            ["initContainers[0].env[1]"],
        ),
        (
            {"containers": [{"env": [{"name": "A"}, {"name": "A", "value": "$(A)"}]}]},
            [],
            ["containers[0].env[1]"],
        ),
        (
            {"containers": [{"env": [{"name": "A"}, {"name": "A", "value": "x $(A)", "valueFrom": {}}]}]},
            [],
            ["containers[0].env[1]"],
        ),
        ({"containers": [{"env": [{"name": "A"}, {}, {}]}]}, [], ["containers[0].env[2]"]),
    ],
)
def test_a_part_is_warned_of_what_no_other_part_can_heal(spec, certain, uncertain):
    whole = FieldPath(ROOT, "the whole")
    told = [
        sorted(field.removeprefix("the whole.") for field, _ in warned("PodSpec", spec, whole, part=part))
        for part in (True, False)
    ]
    assert told == [sorted(certain), sorted([*certain, *uncertain])]


OF_POD = "seccomp.security.alpha.kubernetes.io/pod"
OF_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/a"
ARMOR = "container.apparmor.security.beta.kubernetes.io/a"
NOTES = {OF_POD: "x", OF_CONTAINER: "x", ARMOR: "unconfined"}


@pytest.mark.parametrize(
    ("pod", "container", "of"),
    [
        ({}, {}, [OF_POD, OF_CONTAINER, ARMOR]),
        ({"seccompProfile": {}}, {}, [OF_CONTAINER, ARMOR]),
        ({}, {"seccompProfile": {}}, [OF_POD, ARMOR]),
        ({}, {"appArmorProfile": {}}, [OF_POD, OF_CONTAINER]),
        ({"appArmorProfile": {"type": "Unconfined"}}, {}, [OF_POD, OF_CONTAINER]),
        ({"appArmorProfile": {"type": "RuntimeDefault"}}, {}, [OF_POD, OF_CONTAINER, ARMOR]),
    ],
)
def test_old_profiles_in_annotations_are_warned_of_unless_a_field_says_the_same(pod, container, of):
    spec = {"securityContext": pod, "containers": [{"name": "a", "securityContext": container}]}
    told = template_warnings({"metadata": {"annotations": NOTES}, "spec": spec}, ROOT)
    assert [str(place) for place, _, _ in told] == [f"metadata.annotations[{key}]" for key in of]


@pytest.mark.parametrize(
    ("note", "profile"),
    [
        ("runtime/default", {"type": "RuntimeDefault"}),
        ("localhost/p", {"type": "Localhost", "localhostProfile": "p"}),
        ("unconfined", {"type": "Unconfined"}),
        ("localhost/", None),
        ("other", None),
    ],
)
def test_a_note_of_app_armor_stands_for_a_profile(note, profile):
    for field in (profile or {}, {"type": "Other"}):
        spec = {"securityContext": {"appArmorProfile": field}, "containers": [{"name": "a"}]}
        told = [*template_warnings({"metadata": {"annotations": {ARMOR: note}}, "spec": spec}, ROOT)]
        assert bool(told) is (field != profile)


def test_no_warning_of_old_profiles_is_certain_in_a_part_and_a_value_is_a_whole_unless_it_is_said():
    template = {"metadata": {"annotations": NOTES}, "spec": {"containers": [{"name": "a"}]}}
    assert len(warned("PodTemplateSpec", template)) == 3
    assert warned("PodTemplateSpec", template, part=True) == []
    assert warned("EnvVar", {"name": ""}) == warned("PodSpec", None) == []


@pytest.mark.parametrize(
    ("signer", "seconds", "is_right"),
    [
        ("kubernetes.io/a", 86_400, True),
        ("kubernetes.io/a", 86_401, False),
        ("x.kubernetes.io/a", 86_401, False),
        ("xkubernetes.io/a", 86_401, True),
        ("example.com/a", 91 * 86_400, True),
        ("example.com/a", 91 * 86_400 + 1, False),
        ("example.com/a", 3_600, True),
        ("example.com/a", 3_599, False),
    ],
)
def test_a_certificate_of_kubernetes_lives_a_day_at_most_and_another_one_ninety_one(signer, seconds, is_right):
    certificate = {"signerName": signer, "keyType": "ED25519", "keyPath": "k", "maxExpirationSeconds": seconds}
    volume = {"name": "v", "projected": {"sources": [{"podCertificate": certificate}]}}
    assert (not validate("Volume", volume)) is is_right


@pytest.mark.parametrize("owner", ["pod", ""])
def test_a_pod_of_no_known_owner_may_end(owner):
    spec = {"restartPolicy": "Never", "activeDeadlineSeconds": 60}
    assert validate("PodSpec", spec, part=True, owner=owner) == []
    assert len(validate("PodSpec", spec, part=True)) == 2


@pytest.mark.parametrize(("amount", "is_right"), [(2**63 - 2, True), (2**63 - 1, False), (2**63, False)])
def test_huge_pages_are_counted_in_sixty_four_bits(amount, is_right):
    limits = {"hugepages-2": str(amount), "cpu": "1"}
    assert (not validate("ResourceRequirements", {"limits": limits})) is is_right


def test_a_context_is_printed_as_go_prints_it_whatever_is_null_in_it():
    wrong = {"allowPrivilegeEscalation": False, "privileged": True}
    for more, printed in (
        ({"capabilities": None, "seLinuxOptions": {"level": None}}, '"Level":""}'),
        ({"seccompProfile": 1, "seLinuxOptions": {"level": "a"}}, '"Level":"a"}'),
    ):
        (text,) = _texts("SecurityContext", {**wrong, **more})
        assert printed in text


AFFINITY = {REQUIRED: {"nodeSelectorTerms": [TERM]}}


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("PodTemplateSpec", {"spec": {"nodeSelector": OLD}}),
        ("PodSpec", {"nodeSelector": OLD}),
        ("Container", {"resources": {"limits": HALF}}),
        ("InitContainer", {"resources": {"limits": HALF}}),
        ("Container", {"env": [{"name": "A"}, {"name": "A"}]}),
        ("InitContainer", {"env": [{"name": "A"}, {"name": "A"}]}),
        ("Volume", {"name": "v", "gitRepo": {}}),
        ("Affinity", {"nodeAffinity": AFFINITY}),
        ("NodeAffinity", AFFINITY),
        ("ResourceRequirements", {"limits": HALF}),
    ],
)
def test_each_type_that_kubernetes_may_warn_of_is_warned_of_by_itself(kind, value):
    assert warned(kind, value) != []


def test_a_part_of_the_pods_of_a_job_need_not_say_when_they_restart():
    assert validate("PodSpec", {}, part=True, owner="job") == []
    (error,) = validate("PodSpec", {"restartPolicy": "Always"}, part=True, owner="job")
    assert (error.field, error.type) == ("restartPolicy", "FieldValueRequired")


def of_source(name, source):
    return _texts("Volume", {"name": "v", "projected": {"sources": [{name: source}]}})


def test_what_is_absent_in_a_projected_source_is_printed_or_required():
    (printed, _) = of_source("clusterTrustBundle", {"name": "a", "signerName": "b.c/d"})
    assert '"Path":"","User":null' in printed
    certificate = {"signerName": "a.b/c", "keyType": "ED25519", "keyPath": "k", "userAnnotations": {"": "x"}}
    assert of_source("podCertificate", certificate) == [
        "projected.sources[0].podCertificate.userAnnotations: Required value"
    ]


def test_the_ports_of_an_unknown_container_are_judged_each():
    (error,) = validate("Ports", [{"containerPort": 80, "protocol": "x"}])
    assert error.field == "[0].protocol"


@pytest.mark.parametrize("port", [True, [], {}])
def test_a_port_of_another_type_is_left_to_the_schema(port):
    assert validate("Probe", {"tcpSocket": {"port": port}}) == []


def test_a_warning_has_a_remedy_where_there_is_one():
    (warning,) = warned("ResourceRequirements", {"limits": {"memory": "0.5"}})
    assert advised_warning(*warning) == f"{warning[1]}; write a whole number of bytes"
    assert advised_warning("spec.a", "odd") == "odd"


@pytest.mark.parametrize(("length", "is_right"), [(253, True), (254, False)])
def test_the_name_of_a_sysctl_has_a_length(length, is_right):
    spec = {"containers": [MAIN], "securityContext": {"sysctls": [{"name": "a" * length, "value": "1"}]}}
    assert (not validate("PodSpec", spec)) is is_right


NO_TEXT, NO_LIST, NO_OBJECT = (1, True, [], {"a": "b"}), (1, "x", {"a": "b"}), (1, "x", ["x"])
OTHERS = {"enum": NO_TEXT, "is": NO_OBJECT, "each": (*NO_LIST, ["x", 1]), "formats": (*NO_LIST, [{}, True, None])}
OTHERS |= {"labels": (*NO_OBJECT, {"a": 1}, {"a": None})}


@pytest.mark.parametrize("kind", sorted(DATA["types"]))
def test_a_value_of_another_type_is_left_to_the_schema(kind):
    least = told(kind, {})
    for name, spec in DATA["types"][kind].items():
        for sort, others in {**OTHERS, "format": ("x", True, []) if _is_number(spec) else NO_TEXT}.items():
            for value in others if sort in spec else ():
                assert told(kind, {name: value}) <= least, (name, value)


def told(kind, value):
    return {(error.field, error.detail) for error in validate(kind, value)}


def _is_number(spec):
    return "format" in spec and FORMATS[spec["format"]][0] is int


@pytest.mark.parametrize(
    ("read", "answers"),
    [
        (values.number, [(1, 1), (1.0, 1), (-2.0, -2), (1.5, None), (True, None), ("1", None), (None, None)]),
        (values.flag, [(True, True), (False, False), (1, None), ("true", None)]),
        (values.text, [("a", "a"), ("", ""), (1, ""), (None, ""), (["a"], "")]),
        (values.field, [({"b": 1}, {"b": 1}), ({}, {}), (None, None), ([], None), ("a", None)]),
        (values.texts, [(["a", None, 1], ["a", "", ""]), ([], []), ("a", []), ({"b": 1}, [])]),
        (values.structs, [([{"b": 1}, None, 1, {}], [(0, {"b": 1}), (1, {}), (3, {})]), ("a", ()), ({"b": 1}, ())]),
    ],
)
def test_a_member_is_read_as_go_decodes_it_and_one_of_another_type_is_absent(read, answers):
    assert [read({"a": value}, "a") for value, _ in answers] == [wanted for _, wanted in answers]
    assert read({}, "a") == read({"a": 1 if read is values.text else "x"}, "a")


@pytest.mark.parametrize(
    ("value", "read"),
    [
        (1, "1"),
        (1.0, "1"),
        (0.0, "0"),
        (0.5, "500m"),
        (" 1 ", "1"),
        ("1.0001", "1001m"),
        *((other, "None") for other in (True, False, None, [], {}, "x", "")),
    ],
)
def test_an_amount_is_a_text_or_a_number(value, read):
    assert str(values.quantity(value)) == read
    assert [str(amount) for amount in values.quantities({"limits": {"a": value}}, "limits").values()] == (
        ["0"] if value is None else [read] if read != "None" else []
    )


@pytest.mark.parametrize(
    ("kind", "value", "fields"),
    [
        (
            "PodSecurityContext",
            {"supplementalGroups": [1.0, -1.0], "runAsUser": -1.0},
            ["supplementalGroups[1]", "runAsUser"],
        ),
        ("Probe", {"tcpSocket": {"port": 0.0}}, ["tcpSocket.port"]),
        ("Probe", {"tcpSocket": {"port": 80.0}, "periodSeconds": -1.0}, ["periodSeconds"]),
        ("Probe", {"tcpSocket": {"port": 80.5}}, []),
        ("Labels", {"a b": "c d"}, ["", ""]),
        ("Annotations", {"a b": "c d"}, [""]),
        ("VolumeMounts", [{"name": "v", "mountPath": "/a", "subPath": "/a"}], ["[0].name", "subPath"]),
        ("VolumeMounts", {"name": "v"}, []),
        ("VolumeDevices", [{"name": "v", "devicePath": "/a/../b"}], ["[0].name", "[0].devicePath"]),
        ("Ports", [{"containerPort": 0}, {"containerPort": 80, "hostPort": -1}], ["[0].containerPort", "[1].hostPort"]),
        ("Ports", "x", []),
        ("PodSpec", [], []),
        ("InitContainer", {**MAIN, "livenessProbe": {"exec": {"command": ["a"]}}}, ["livenessProbe"]),
        ("InitContainer", {**MAIN, "livenessProbe": {"stopSignal": "a"}}, ["livenessProbe"]),
        ("InitContainer", {**MAIN, "lifecycle": {"stopSignal": "a"}}, []),
        ("Volume", {"name": "A_", "nfs": "x"}, ["name"]),
        ("Volume", {"name": "a", "nfs": "x", "emptyDir": {}, "iscsi": 1}, []),
        ("PodTemplateSpec", {}, ["spec.containers"]),
        ("PodTemplateSpec", {"spec": None, "metadata": 1}, ["spec.containers"]),
        ("Container", {**MAIN, "restartPolicy": 1}, []),
    ],
)
def test_each_type_is_judged_by_itself(kind, value, fields):
    assert sorted(error.field for error in validate(kind, value)) == sorted(fields)


SAME_HOST_PORT = [{**MAIN, "ports": [{"containerPort": 80, "hostPort": 80}]}] * 2
SPREAD = {"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule"}


@pytest.mark.parametrize(
    ("kind", "value", "of_part", "of_whole"),
    [
        ("Container", {**MAIN, "ports": [{}]}, [], ["ports[0].containerPort"]),
        (
            "Container",
            {**MAIN, "ports": [{"containerPort": 0}]},
            ["ports[0].containerPort"],
            ["ports[0].containerPort"],
        ),
        ("PodSpec", {"containers": SAME_HOST_PORT}, [], ["containers[1].name", "containers[1].ports[0].hostPort"]),
        (
            "PodSpec",
            {"topologySpreadConstraints": [SPREAD] * 2, "containers": [MAIN]},
            [],
            ["topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}"],
        ),
        ("Volume", {"name": "v", "fc": {"targetWWNs": ["a"]}}, [], ["fc.lun"]),
        (
            "Volume",
            {"name": "v", "azureDisk": {"diskName": "a", "diskURI": "x"}},
            ["azureDisk.diskURI"],
            ["azureDisk.diskURI"],
        ),
        ("Volume", {"name": "v", "azureDisk": {"diskName": "a"}}, [], ["azureDisk.diskURI"] * 2),
        ("PodSpec", {}, [], ["containers"]),
        ("PodSpec", {"other": 1}, [], ["containers"]),
        ("PodSpec", {"containers": []}, [], ["containers"]),
        ("PodSpec", {"hostname": "A_"}, ["hostname"], ["containers", "hostname"]),
        (
            "PodSpec",
            {"securityContext": {"windowsOptions": {"hostProcess": True}}, "containers": [MAIN]},
            [],
            ["hostNetwork"],
        ),
        (
            "PodSpec",
            {"containers": [{**MAIN, "volumeMounts": [{"name": "v", "mountPath": "/a"}]}]},
            [],
            ["containers[0].volumeMounts[0].name"],
        ),
        (
            "PodSpec",
            {"resources": {"requests": {"cpu": 1}}, "containers": [{**MAIN, "resources": {"requests": {"cpu": 2}}}]},
            [],
            ["resources.requests[cpu]"],
        ),
        (
            "PodSpec",
            {"activeDeadlineSeconds": 5, "containers": [MAIN]},
            ["activeDeadlineSeconds"],
            ["activeDeadlineSeconds"],
        ),
        ("PodResourceClaim", {"name": "a"}, [], [""]),
        (
            "PodSpec",
            {"containers": [MAIN], "ephemeralContainers": [{**MAIN, "targetContainerName": "other"}]},
            ["ephemeralContainers"],
            ["ephemeralContainers", "ephemeralContainers[0].name", "ephemeralContainers[0].targetContainerName"],
        ),
        ("PodResourceClaim", {"resourceClaimName": "a", "resourceClaimTemplateName": "b"}, [""], [""]),
    ],
)
def test_what_another_part_may_heal_is_only_said_of_the_whole(kind, value, of_part, of_whole):
    assert sorted(error.field for error in validate(kind, value, part=True)) == sorted(of_part)
    assert sorted(error.field for error in validate(kind, value)) == sorted(of_whole)


RUNNERS = ("leader", "worker")


@pytest.mark.parametrize(
    ("spec", "fields"),
    [
        ({}, []),
        ({"leader": MAIN, "worker": None}, []),
        ({"leader": {**MAIN, "imagePullPolicy": "Odd"}}, ["leader.imagePullPolicy"]),
        ({"worker": {**MAIN, "livenessProbe": {}}}, ["worker.livenessProbe"]),
        (
            {"hostUsers": False, "worker": {**MAIN, "volumeDevices": [{"name": "v", "devicePath": "/a"}]}},
            ["worker.volumeDevices", "worker.volumeDevices[0].name"],
        ),
        (
            {"os": {"name": "windows"}, "leader": {**MAIN, "securityContext": {"runAsUser": 1}}},
            ["leader.securityContext.runAsUser"],
        ),
        (
            {"os": {"name": "linux"}, "leader": {**MAIN, "securityContext": {"windowsOptions": {}}}},
            ["leader.securityContext.windowsOptions"],
        ),
    ],
)
def test_a_container_beside_the_list_is_judged_as_one_of_it(spec, fields):
    whole = {"containers": [MAIN], **spec}
    assert sorted(error.field for error in validate("PodSpec", whole, runners=RUNNERS)) == sorted(fields)
    assert validate("PodSpec", {"leader": {**MAIN, "image": 1}}, part=True) == []


def test_an_error_names_the_owner_and_a_pod_by_itself_may_have_ephemeral_containers():
    (error,) = validate("PodSpec", {"containers": [MAIN], "activeDeadlineSeconds": 5}, owner="DaemonSet")
    assert error.detail == "activeDeadlineSeconds in DaemonSet is not Supported"
    spec = {
        "containers": [MAIN],
        "ephemeralContainers": [{**MAIN, "name": "a", "ports": []}, {**MAIN, "lifecycle": {}}],
    }
    fields = [error.field for error in validate("PodSpec", spec, owner="pod")]
    assert fields == ["ephemeralContainers[0].ports", "ephemeralContainers[1].name"]
    assert [error.field for error in validate("PodSpec", spec)] == [*fields, "ephemeralContainers"]


@pytest.mark.parametrize(("host", "inside", "is_right"), [(1, None, False), (1, 1, True), (2, 1, False), (0, 1, True)])
def test_a_port_of_the_host_is_the_port_of_the_container_where_they_share_the_network(host, inside, is_right):
    ports = [{"hostPort": host, "containerPort": inside}]
    spec = {"hostNetwork": True, "containers": [{**MAIN, "ports": ports}]}
    details = [error.detail for error in validate("PodSpec", spec, part=True)]
    assert details == ([] if is_right else ["must match `containerPort` when `hostNetwork` is true"])


def test_texts_of_surrogates_are_measured_too():
    odd = "\ud800"
    for kind, value in (
        ("KeySelector", {"name": "a", "key": odd}),
        ("PodDNSConfig", {"searches": [odd]}),
        ("SecurityContext", {"windowsOptions": {"gmsaCredentialSpec": odd, "runAsUserName": f"{odd}\\{odd}"}}),
        ("SecurityContext", {"appArmorProfile": {"type": "Localhost", "localhostProfile": odd}}),
        ("Ports", [{"containerPort": 80, "name": odd}]),
        ("Volume", {"name": "a", "csi": {"driver": odd}}),
        ("PodSpec", {"containers": [MAIN], "hostnameOverride": odd, "securityContext": {"sysctls": [{"name": odd}]}}),
    ):
        validate(kind, value)


@pytest.mark.parametrize(
    ("context", "size", "is_right"),
    [
        ({"windowsOptions": {"gmsaCredentialSpec": "a"}}, 64 * 1024, True),
        ({"windowsOptions": {"gmsaCredentialSpec": "a"}}, 64 * 1024 + 1, False),
        ({"appArmorProfile": {"type": "Localhost", "localhostProfile": "a"}}, 4095, True),
        ({"appArmorProfile": {"type": "Localhost", "localhostProfile": "a"}}, 4096, False),
    ],
)
def test_a_profile_has_a_length(context, size, is_right):
    ((key, profile),) = context.items()
    long = {name: item * size if item == "a" else item for name, item in profile.items()}
    assert (not validate("SecurityContext", {key: long})) is is_right


def test_a_sum_that_cannot_be_printed_is_not_compared():
    huge = {"name": "a", "image": "b", "resources": {"requests": {"cpu": "9" * 90}}}
    small = {"name": "c", "image": "b", "resources": {"requests": {"cpu": "1"}}}
    validate("PodSpec", {"resources": {"requests": {"cpu": "1"}}, "containers": [huge, small, huge]})


@pytest.mark.parametrize("note", ["[" * 100_000, "[" + "1" * 5_000 + "]", "[1, {", "[1}", '"'])
def test_of_odd_tolerations_in_an_annotation_only_what_ends_too_early_is_told(note):
    meta = {"annotations": {"scheduler.alpha.kubernetes.io/tolerations": note}}
    fields = [error.field for error in validate("PodTemplateSpec", {"metadata": meta, "spec": {"containers": [MAIN]}})]
    assert fields == (["annotations"] if note == "[1, {" else [])


def test_a_value_that_is_filled_in_later_is_unknown_and_only_then():
    value = {"hostname": "{{ a }}", "subdomain": "A_", "containers": [MAIN]}
    assert [error.field for error in validate("PodSpec", value, templates=True)] == ["subdomain"]
    assert [error.field for error in validate("PodSpec", value)] == ["hostname", "subdomain"]
    claim = {"name": "{{ a }}", "resourceClaimName": "b", "resourceClaimTemplateName": "c"}
    assert len(validate("PodResourceClaim", claim, templates=True)) == 1  # of the object, not of a text


@pytest.mark.parametrize("length", [199, 200, 201, 300])
def test_what_is_quoted_is_cut_at_two_hundred_characters(length):
    (text,) = [text for _, text in warned("PodSpec", {"imagePullSecrets": [{"name": "a" * length}] * 2})]
    assert text == f'duplicate name "{"a" * length if length <= 200 else "a" * 199 + "…"}"'


@pytest.mark.parametrize(("count", "more"), [(19, ""), (20, ""), (21, " and 1 more")])
def test_up_to_twenty_names_are_listed(count, more):
    claims = [{"name": f"c{n:03}", "resourceClaimName": "x"} for n in range(count)]
    main = MAIN | {"resources": {"claims": [{"name": "x"}]}}
    (error,) = validate("PodSpec", {"containers": [main], "resourceClaims": claims})
    assert error.detail.partition(": ")[2] == ", ".join(f"c{n:03}" for n in range(min(count, 20))) + more


def test_a_warning_is_of_a_type_and_its_number_is_bounded():
    container = {"env": [{"name": "A"}] * 2}
    for kind in ("Container", "InitContainer"):
        assert warned(kind, container, part=True) == []
        assert [field for field, _ in warned(kind, container)] == ["env[1]"]
    assert len(warned("Container", {"env": [{"name": "A"}] * 1_500})) == 1_000
    for kind, value in (("Labels", {"beta.kubernetes.io/os": "a"}), ("PodSpec", []), ("Container", {"env": None})):
        assert warned(kind, value) == []
    assert warned("Container", {"env": [{}, {"value": "x"}, 1, None]})[0][0] == "env[1]"


def test_a_note_without_the_word_for_a_local_profile_stands_for_none():
    profile = {"type": "Localhost", "localhostProfile": "p"}
    spec = {"securityContext": {"appArmorProfile": profile}, "containers": [{"name": "a"}]}
    for note, is_told in (("p", True), ("localhost/p", False)):
        template = {"metadata": {"annotations": {ARMOR: note}}, "spec": spec}
        assert bool([*template_warnings(template, ROOT)]) is is_told


CONFLICTS = [
    {"ports": [{"containerPort": 80}, {"containerPort": 80}]},
    {"ports": [{"containerPort": 80, "hostIP": "1.1.1.1"}]},
    {"ports": [{"containerPort": 80, "name": "a"}, {"containerPort": 81, "name": "a"}]},
    {"ports": [{"containerPort": 80}] * 30},
    {"env": [{"name": "A"}] * 2},
]


@pytest.mark.parametrize("container", CONFLICTS)
def test_what_hides_another_thing_is_not_certain_in_a_part(container):
    template = {"spec": {"containers": [container]}}
    assert warned("PodTemplateSpec", template) != []
    assert warned("PodTemplateSpec", template, part=True) == []


def test_ports_without_a_name_or_a_number_do_not_share_one():
    ports = [{"containerPort": 80}, {"containerPort": 81}, {"containerPort": 82, "name": ""}, {"containerPort": 1}, {}]
    assert warned("PodSpec", {"containers": [{"ports": ports}]}) == []
    (warning,) = warned("PodSpec", {"containers": [{"ports": [{"name": "a", "hostIP": "1.1.1.1"}]}]})
    assert warning[1].endswith("{Name:a HostPort:0 ContainerPort:0 Protocol:TCP HostIP:1.1.1.1}")


@pytest.mark.parametrize(
    ("name", "low", "high", "text"),
    [
        ("id", 0, 2**31 - 1, "must be between 0 and 2147483647, inclusive"),
        ("port", 1, 65535, "must be between 1 and 65535, inclusive"),
        ("lun", 0, 255, "must be between 0 and 255, inclusive"),
        ("deadline", 1, 2**31 - 1, "must be between 1 and 2147483647, inclusive"),
        ("mode", 0, 511, "must be a number between 0 and 0777 (octal), both inclusive"),
        ("partition", 0, 255, "must be between 1 and 255, inclusive"),
        ("weight", 1, 100, "must be in the range 1-100"),
        ("natural", 0, None, "must be greater than or equal to 0"),
        ("positive", 1, None, "must be greater than zero"),
        ("aboveZero", 1, None, "must be greater than 0"),
        ("one", 0, 1, "must be 1"),
    ],
)
def test_a_number_has_a_range(name, low, high, text):
    kind, problems_of = FORMATS[name]
    assert kind is int
    assert problems_of(low) == problems_of(2**63 if high is None else high) == []
    assert problems_of(low - 1) == [text]
    assert high is None or problems_of(high + 1) == [text]


def test_a_name_that_is_filled_in_later_hides_no_other_fault():
    spec = {
        "containers": [{**MAIN, "resources": {"claims": [{"name": "x"}]}}],
        "resourceClaims": [{"name": "{{ a }}", "resourceClaimName": "b"}],
    }
    assert [error.field for error in validate("PodSpec", spec, templates=True)] == ["containers[0].resources.claims[0]"]


def test_the_root_of_a_volume_hides_no_file_and_a_source_without_files_is_looked_past():
    items = [{"key": "k", "path": path} for path in ("x", "/", "x")]
    (warning,) = warned("Volume", {"name": "v", "configMap": {"name": "c", "items": items}})
    assert warning[1].endswith('overlapping paths: "x" with "x"')
    token = {"serviceAccountToken": {"path": "a"}}
    volume = {"name": "v", "projected": {"sources": [{"configMap": {"name": "c"}, **token}, token]}}
    (warning,) = warned("Volume", volume)
    assert warning[1].endswith('overlapping paths: "a" (ServiceAccountToken) with "a" (ServiceAccountToken)')


def test_what_kubernetes_does_not_read_is_not_judged():
    wrong = {"allowPrivilegeEscalation": False, "privileged": True}
    assert _texts("SecurityContext", {**wrong, "other": {}}) == _texts("SecurityContext", wrong)
    spread = {**SPREAD, "mismatchLabelKeys": ["a"]}
    assert validate("TopologySpreadConstraint", spread) == []
    assert validate("PodSpec", {"hostname": "a"}, part=True, owner="job") == []


def test_an_old_annotation_is_warned_of_in_a_part_too():
    for key in DATA["deprecatedAnnotations"]:
        template = {"metadata": {"annotations": {key: "a"}}}
        ((field, _),) = warned("PodTemplateSpec", template, part=True)
        assert field == f"metadata.annotations[{key}]"


@pytest.mark.parametrize(
    "other", ["configMap", "downwardAPI", "serviceAccountToken", "clusterTrustBundle", "podCertificate"]
)
def test_a_projected_source_is_of_one_type(other):
    volume = {"name": "v", "projected": {"sources": [{"secret": {"name": "a"}, other: {}}]}}
    assert "may not specify more than 1 volume type per source" in [
        error.detail for error in validate("Volume", volume)
    ]
