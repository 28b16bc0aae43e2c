"""`modelgate doctor` finds each planted fault by its name, and nothing wrong with the chart as it is."""

import io
import json
import re
import shlex
from copy import deepcopy
from dataclasses import replace
from functools import cache
from itertools import combinations

import pytest
import yaml

from tests.chart.faults import FAULTS, LISTED, MAY_READ, REFERS, secret_deleted
from tests.chart.helm import CHART, NAMESPACE, POLICIES, ROOT, documents, rendered, run
from tests.chart.test_certificates import MANAGED
from tests.chart.world import NOW, RULES, TRUE_FILES, World, judged
from tests.definitions import GROUPS, definitions
from tests.shared import shared
from webhook.admission.patch import apply as patched
from webhook.cli import main
from webhook.cli.doctor import examined
from webhook.cli.doctor.checks import definitions as definition_checks
from webhook.cli.doctor.finding import CHECKS, ERROR, WARNING
from webhook.cli.doctor.snapshot import Snapshot, policy_maps
from webhook.cli.test import read_cases


@pytest.fixture(autouse=True)
def cases_are_read_once(monkeypatch):
    monkeypatch.setattr(definition_checks, "read_cases", lambda folders, _catalog: _cases(*folders))


@cache
def _cases(folder):
    return list(read_cases([folder], RULES.catalog))


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found(name):
    check, sets, plant = FAULTS[name]
    world = World(*sets)
    plant(world)
    found = world.findings()
    assert {each.code for each in found} == ({check} if isinstance(check, str) else check)
    assert all(each.field and each.message for each in found)
    assert [each.severity for each in found] == sorted(each.severity for each in found)


def test_every_check_has_a_planted_fault():
    planted = [{check} if isinstance(check, str) else check for check, _, _ in FAULTS.values()]
    assert set().union(*planted) | {"object-twice"} == CHECKS.keys()


def test_two_releases_of_one_name_are_the_first_finding():
    """In manifests, and in a cluster, where the configurations call one of them."""
    both = yaml.safe_dump_all(
        [*rendered(), *yaml.safe_load_all(yaml.safe_dump_all(rendered()).replace(NAMESPACE, "b"))]
    )
    objects = [*yaml.safe_load_all(both)]
    found = list(examined(Snapshot(objects, NOW), RULES.catalog))
    assert found[0].code == "object-twice"
    world = World()
    gate = deepcopy(world.find("Deployment"))
    gate["metadata"]["namespace"] = "elsewhere"
    world.objects.append(gate)
    first = world.findings()[0]
    assert (first.code, first.helps) == ("second-gate", ("helm uninstall modelgate --namespace=elsewhere",))


def test_the_command_of_a_changed_configuration_is_a_patch_that_ends_it():
    world = World()
    FAULTS["rules_lack_an_operation"][2](world)
    FAULTS["it_has_a_condition"][2](world)
    for found in world.findings():
        (command,) = found.helps
        arguments = shlex.split(command)
        assert arguments[:4] == ["kubectl", "patch", found.field.split()[0].lower(), "modelgate"]
        kind = found.field.split()[0]
        place = world.objects.index(world.find(kind))
        world.objects[place] = patched(world.objects[place], json.loads(arguments[-1]))
    assert world.findings() == []


@pytest.mark.parametrize(
    "sets",
    [
        (),
        ("apis.aim.enabled=false",),
        (POLICIES,),
        (REFERS, MAY_READ),
        ("gate.autoscaling.enabled=true",),
        ("reconciler.enabled=false",),
        LISTED,
        (*LISTED, "reconciler.apis.ome=true", "reconciler.clusterObjects=true"),
        ('reconciler.apis={"aim":true,"llmd":true,"ome":true}', 'reconciler.namespaces=["team-a"]'),
    ],
)
def test_nothing_is_wrong_with_the_chart_in_a_cluster(sets):
    assert World(*sets).findings() == []


def test_faults_that_have_the_same_cause_are_few():
    world = World()
    secret_deleted(world)
    assert [each.code for each in world.findings()] == ["secret-missing"]


@pytest.mark.parametrize("sets", [(), (MANAGED,), (TRUE_FILES,), (POLICIES,), ('gate.view="none"',)])
def test_nothing_is_wrong_with_rendered_manifests(sets, tmp_path, capsys):
    path = tmp_path / "all.yaml"
    path.write_text(yaml.safe_dump_all(rendered(*sets)))
    assert main(["doctor", str(path)]) == 0, capsys.readouterr().out
    assert capsys.readouterr().out == "nothing is wrong\n"


def test_what_is_wrong_with_manifests_is_printed_with_reason_and_fix(capsys, monkeypatch):
    text = yaml.safe_dump_all(rendered("gate.replicas=1", "webhooks.timeoutSeconds=30"))
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert main(["doctor", "-"]) == 0
    printed = capsys.readouterr().out
    assert "warning: Deployment modelgate-system/modelgate: there is one replica (one-replica)\n  why: " in printed
    assert "  fix: Set gate.replicas=2 or more.\n" in printed
    assert printed.endswith("0 errors, 3 warnings\n")
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert main(["doctor", "--fail-on=warning", "-o", "json", "-"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert {each["check"] for each in document["findings"]} == {"one-replica", "timeout-long"}
    keys = {"check", "level", "about", "what", "why", "fix", "run"}
    assert all(each.keys() == keys for each in document["findings"])


def test_an_error_is_exit_code_1_and_what_cannot_be_read_2(tmp_path, capsys):
    path = tmp_path / "none.yaml"
    path.write_text("kind: List\n")
    assert main(["doctor", str(path)]) == 1
    assert "no Deployment of the gate is found (gate-missing)" in capsys.readouterr().out
    assert main(["doctor", str(tmp_path / "absent.yaml")]) == 2
    nowhere = {"clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:9"}}], "users": []}
    nowhere |= {"contexts": [{"name": "c", "context": {"cluster": "c", "user": ""}}], "current-context": "c"}
    (tmp_path / "kubeconfig").write_text(json.dumps(nowhere))
    assert main(["doctor", f"--kubeconfig={tmp_path / 'kubeconfig'}"]) == 2
    assert "the API server does not answer" in capsys.readouterr().err


def test_helm_test_runs_the_doctor_with_an_account_that_only_reads():
    done = run(
        "template", "modelgate", str(CHART), f"--namespace={NAMESPACE}", "--show-only=templates/tests/doctor.yaml"
    )
    found = {each["kind"]: each for each in documents(done.stdout)}
    (container,) = found["Pod"]["spec"]["containers"]
    assert container["args"] == ["doctor", "--read-only", f"--namespace={NAMESPACE}"]
    assert container["image"] == World().container()["image"]
    verbs = {verb for rule in found["ClusterRole"]["rules"] for verb in rule["verbs"]}
    assert verbs == {"get", "list"}
    assert not any("secrets" in rule["resources"] for rule in found["ClusterRole"]["rules"])
    assert found["Pod"]["metadata"]["annotations"]["helm.sh/hook"] == "test"
    assert found["Pod"]["metadata"]["annotations"]["helm.sh/hook-delete-policy"].endswith("hook-succeeded,hook-failed")
    assert {"cpu", "memory"} == container["resources"]["limits"].keys()  # as a ResourceQuota may ask for


def test_the_account_of_helm_test_may_read_the_policies_that_the_gate_mounts():
    values = json.dumps({"configMap": "theirs", "documents": {"mine.yaml": ""}})
    flags = (f"--namespace={NAMESPACE}", "--show-only=templates/tests/doctor.yaml", f"--set-json=policies={values}")
    found = {each["kind"]: each for each in documents(run("template", "modelgate", str(CHART), *flags).stdout)}
    (rule,) = (each for each in found["ClusterRole"]["rules"] if each["resources"] == ["configmaps"])
    mounted = policy_maps(next(each for each in rendered(f"policies={values}") if each["kind"] == "Deployment"))
    assert {*mounted} == {*rule["resourceNames"]} - {"modelgate-webhooks"} >= {"theirs"}
    assert len(mounted) == 2


def test_the_account_of_helm_test_goes_with_the_release_and_has_no_token_of_its_own():
    """Helm leaves what a hook has made when a later hook cannot be made, also after an uninstall."""
    kinds = {each["kind"]: each for each in rendered() if each["metadata"]["name"] == "modelgate-test"}
    assert kinds.keys() == {"ServiceAccount", "ClusterRole", "ClusterRoleBinding"}
    assert not any("helm.sh/hook" in each["metadata"].get("annotations", {}) for each in kinds.values())
    assert kinds["ServiceAccount"]["automountServiceAccountToken"] is False
    assert not [each for each in rendered("test.enabled=false") if each["metadata"]["name"] == "modelgate-test"]


def test_the_page_has_every_check():
    page = (ROOT / "docs" / "doctor.md").read_text()
    rows = re.findall(r"^\| `([a-z-]+)` \| (error|warning) \| (.*) \| (.*) \|$", page, re.MULTILINE)
    assert rows == [(name, each.level, each.why, each.fix) for name, each in CHECKS.items()]
    assert {each.level for each in CHECKS.values()} == {ERROR, WARNING}


APIS = ("aim", "llmaz", "llmd", "llmkube", "ome")
DEFINITION_GROUPS = {each["metadata"]["name"]: each["spec"]["group"] for each in definitions()}


def only(*apis):
    """The values that disable all other APIs."""
    return [f"apis.{each}.enabled=false" for each in APIS if each not in apis]


@pytest.mark.parametrize("apis", [*combinations(APIS, 1), *combinations(APIS, 2)], ids="+".join)
def test_nothing_is_wrong_where_some_apis_are_used(apis):
    """Enabled alone, or all enabled and only the definitions of these installed."""
    groups = {GROUPS[each] for each in apis}
    for sets in (only(*apis), ()):
        world = World(*sets)
        world.objects = [
            each for each in world.objects if DEFINITION_GROUPS.get(each["metadata"]["name"], "") in {"", *groups}
        ]
        assert world.findings() == []


@pytest.mark.parametrize("api", APIS)
def test_a_gate_that_says_nothing_is_noticed_in_every_api(api):
    world = World(*only(api))
    world.judged = lambda obj: (201, judged(obj)[1], [])
    (found,) = world.findings()
    assert (found.code, GROUPS[api] in found.field) == ("canary-accepted", True)


@pytest.mark.parametrize("api", ["aim", "llmaz", "llmkube", "ome"])
def test_the_trial_of_an_api_uses_a_rule_that_is_in_force_under_the_definition_upstream(api):
    documents = [
        yaml.load(each.read_text(), Loader=yaml.CSafeLoader) for each in shared("upstream-crds", api).glob("*.yaml")
    ]
    ruling = RULES.under(documents)
    names = {each["metadata"]["name"] for each in documents}
    trial = definition_checks.trial_of(api, ruling, names)
    assert trial is not None
    assert trial.known is ruling.catalog.kinds[trial.known.gvk]


def test_where_nothing_is_installed_one_warning_says_so():
    world = World()
    world.objects = [each for each in world.objects if each["kind"] != "CustomResourceDefinition"]
    assert [(each.code, each.message) for each in world.findings()] == [
        ("definition-missing", "no definition of a covered kind is installed")
    ]


def test_what_is_not_installed_tells_the_release_as_it_does_to_the_gate():
    quota = "gpuquotas.inference.llmkube.dev"
    snapshot = Snapshot(World().objects, NOW)
    assert quota in snapshot.absent(RULES.definitions()[1])
    unread = replace(snapshot, unread=(f"customresourcedefinitions/{quota}: forbidden",))
    assert quota not in unread.absent(RULES.definitions()[1])
