"""`modelgate scan` on a real API server, with the rights of docs/ci/scan-rights.yaml and no more."""

import json
import os
import subprocess
from copy import deepcopy

import jsonschema
import yaml

from tests.e2e.gate import CHECKOUT
from tests.e2e.models import model
from tests.e2e.processes import wait_until
from tests.e2e.programs import modelgate
from webhook import catalog
from webhook.admission import GroupVersionKind
from webhook.facts.settings import Settings

RIGHTS = CHECKOUT / "docs" / "ci" / "scan-rights.yaml"
SCHEMA = CHECKOUT / "docs" / "schemas" / "check-report.schema.json"
FRACTION = {"hardware": {"memoryFraction": 1.5}}


def reader(plane, kubectl, name):
    """A kubeconfig of a service account with the rights of a scan."""
    role = yaml.safe_load(RIGHTS.read_text())
    namespace = kubectl.flags[-1]
    subject = {"kind": "ServiceAccount", "name": "scan", "namespace": namespace}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role["metadata"]["name"]}
    binding = {"apiVersion": role["apiVersion"], "kind": "ClusterRoleBinding", "metadata": {"name": namespace}}
    plane.kubectl.send_all("apply", [role, {**binding, "roleRef": reference, "subjects": [subject]}])
    kubectl("create", "serviceaccount", "scan")
    config = json.loads(plane.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": kubectl("create", "token", "scan").strip()}
    file = plane.folder / name
    file.write_text(json.dumps(config))
    return file


def scan(kubeconfig, *flags):
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT), "NO_COLOR": "1"}
    command = modelgate("scan", "--no-config", f"--kubeconfig={kubeconfig}", *flags)
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_a_cluster_is_scanned_with_read_rights_only(plane, gate, kubectl):
    namespace = kubectl.flags[-1]
    objects = [model(f"good-{number}") for number in range(502)]  # more than a page
    objects += [model("gpus", spec={"hardware": {"gpu": {"count": 1}}}), model("fraction", spec=FRACTION)]
    with gate.absent():
        kubectl.send_all("create", objects)
    kubeconfig = reader(plane, kubectl, "scan.kubeconfig")
    refused = scan(kubeconfig, "-n", namespace, "--profile=strict", "-o", "json")
    assert refused.returncode == 1, refused.stderr
    report = json.loads(refused.stdout)
    jsonschema.validate(report, json.loads(SCHEMA.read_text()))
    assert report["summary"]["checked"] == 504
    found = {each["name"]: each for each in report["objects"]}
    assert found["fraction"]["verdict"] == "refused"
    assert {each["code"] for each in found["fraction"]["findings"]} >= {"LK223"}
    assert found["fraction"]["stamp"] == "none"
    table = scan(kubeconfig, "-n", namespace, "--kind=Model")
    assert table.returncode == 0, table.stderr
    assert f"Model {namespace}/gpus " in table.stdout
    assert "504 judged, 0 would be refused" in table.stderr
    whole = scan(kubeconfig, "--fail-on=never")  # all kinds, and what their rules look up
    assert whole.returncode == 0, whole.stderr
    assert not any(each in whole.stderr for each in ("cannot be", "forbidden"))


def never(plane, name):
    """LLMKube's definition of its newest release, in which no source is right."""
    file = plane.folder / name
    newest = catalog.load(settings=Settings(releases=(("llmkube", "0.9.19"),)))
    schema = deepcopy(dict(newest.kinds[GroupVersionKind("inference.llmkube.dev", "v1alpha1", "Model")].schema.raw))
    schema["properties"]["spec"]["properties"]["source"]["pattern"] = "^never$"
    definition = plane.kubectl.json("get", "crd", "models.inference.llmkube.dev")
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema
    file.write_text(json.dumps(definition))
    return file


def test_a_definition_or_a_release_that_is_given_decides_instead_of_what_is_installed(plane, gate, kubectl):
    namespace = kubectl.flags[-1]
    rocm = {"hardware": {"accelerator": "rocm", "gpu": {"enabled": True, "count": 1, "vendor": "amd"}}}
    with gate.absent():
        kubectl.send_all("create", [*(model(f"m{number}") for number in range(63)), model("amd", spec=rocm)])
    kubeconfig = reader(plane, kubectl, "instead.kubeconfig")
    part = ("-n", namespace, "--kind=Model")
    given = scan(kubeconfig, *part, "--crds", never(plane, "never.json"))
    assert given.returncode == 1, given.stderr
    assert "64 judged, 64 would be refused" in given.stderr
    instead = "judged by other definitions than the installed ones: "
    assert f"{instead}models.inference.llmkube.dev ({plane.folder / 'never.json'})\n" in given.stderr
    released = scan(kubeconfig, *part, "--release=llmkube=0.9.19", "-o", "json")
    report = json.loads(released.stdout)
    assert released.returncode == 0, released.stderr
    assert report["remarks"] == []  # every rule of the release is applied
    (note,) = (each["message"] for each in report["notes"])
    assert note.startswith(instead)
    assert "models.inference.llmkube.dev (that of Modelgate for the release)" in note
    assert {each["name"] for each in report["objects"] if "LK306" in {f["code"] for f in each["findings"]}} == {"amd"}
    plain = scan(kubeconfig, *part)
    assert "other definitions" not in plain.stderr
    assert (plain.returncode, "LK306" in plain.stdout) == (0, False)


def test_a_scan_says_what_the_next_release_would_change_in_the_cluster(plane, gate, kubectl):
    namespace = kubectl.flags[-1]
    rocm = {"hardware": {"accelerator": "rocm", "gpu": {"enabled": True, "count": 1, "vendor": "amd"}}}
    with gate.absent():
        kubectl.send_all("create", [model("plain"), model("amd", spec=rocm)])
    kubeconfig = reader(plane, kubectl, "next.kubeconfig")
    part, upgrade = ("-n", namespace, "--kind=Model"), "--what-if=release=llmkube=0.9.19"
    done = scan(kubeconfig, *part, upgrade, "--fail-on=warning")
    assert done.returncode == 1, done.stderr
    head, *lines = done.stdout.splitlines()
    change = "LLMKube 0.9.5 (the documented release) → LLMKube 0.9.19"
    assert head == f"what if {change}: 1 newly warned, 2 with other defaults (2 objects judged twice)"
    (place,) = (line for line in lines if "LK306 newly warned: spec.hardware.accelerator: " in line)
    assert place.endswith(f"(Model {namespace}/amd)")
    assert scan(kubeconfig, *part, upgrade).returncode == 0
    both = scan(kubeconfig, *part, upgrade, f"--what-if=crds={never(plane, 'next.json')}", "-o", "json")
    assert both.returncode == 1, both.stderr
    report = json.loads(both.stdout)
    assert report["summary"] == {
        "judged": 2,
        "relaxed": 0,
        "refused": 2,
        "warned": 1,
        "unjudged": 0,
        "resolved": 0,
        "otherDefaults": 0,
        "otherChildren": 0,
    }
    assert [each["namespaces"] for each in report["codes"]] == [{namespace: 2}, {namespace: 1}]
    nothing = scan(kubeconfig, *part, "--what-if=release=llmkube=0.9.5")
    assert (nothing.returncode, "nothing changes" in nothing.stdout) == (0, True)


def differing(report):
    """What a report says of each object, without places: they are of a cluster, or of a file."""
    if report["kind"] != "WhatIfReport":
        return {
            each["name"]: (each["verdict"], sorted(f["code"] for f in each["findings"])) for each in report["objects"]
        }
    lists = ("new", "resolved", "unjudged", "otherDefaults", "otherChildren")
    return {
        each["name"]: (each["before"], each["after"], *(len(each[name]) for name in lists))
        for each in report["objects"]
    }


def test_a_cluster_and_its_objects_in_a_file_are_judged_alike(plane, gate, kubectl):
    namespace = kubectl.flags[-1]
    rocm = {"hardware": {"accelerator": "rocm", "gpu": {"enabled": True, "count": 1, "vendor": "amd"}}}
    service = {
        "apiVersion": "inference.llmkube.dev/v1alpha1",
        "kind": "InferenceService",
        "metadata": {"name": "service"},
    }
    objects = [model("plain"), model("amd", spec=rocm), model("fraction", spec=FRACTION)]
    with gate.absent():
        kubectl.send_all("create", [*objects, {**service, "spec": {"modelRef": "amd", "runtime": "sglang"}}])
    kubeconfig = reader(plane, kubectl, "alike.kubeconfig")
    file = plane.folder / "alike.yaml"
    file.write_text(
        kubectl("get", "models.inference.llmkube.dev,inferenceservices.inference.llmkube.dev", "-o", "yaml")
    )
    definition = never(plane, "alike.json")
    for flags in (
        ("--crds", definition),
        ("--release=llmkube=0.9.19",),
        ("--what-if=release=llmkube=0.9.19",),
        (f"--what-if=crds={definition}", "--what-if=release=llmkube=0.9.19"),
    ):
        live = scan(kubeconfig, "-n", namespace, "--kind=Model", "--kind=InferenceService", *flags, "-o", "json")
        read = scan(kubeconfig, *flags, "-o", "json", file)
        assert live.returncode == read.returncode, (live.stderr, read.stderr)
        assert differing(json.loads(live.stdout)) == differing(json.loads(read.stdout)) != {}


def test_without_rights_every_kind_is_a_problem(plane, kubectl):
    kubectl("create", "serviceaccount", "stranger")
    config = json.loads(plane.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": kubectl("create", "token", "stranger").strip()}
    file = plane.folder / "stranger.kubeconfig"
    file.write_text(json.dumps(config))
    done = scan(file, "--kind=Model")
    assert done.returncode == 2
    assert "models.inference.llmkube.dev: cannot be listed: 403 Forbidden" in done.stderr


def test_the_reports_of_a_scan_go_with_their_objects(plane, gate, kubectl):
    plane.kubectl("apply", "-f", CHECKOUT / "tests" / "e2e" / "openreports.yaml")
    plane.kubectl("wait", "--for=condition=Established", "crd/reports.openreports.io")
    namespace = kubectl.flags[-1]
    with gate.absent():
        kubectl.send("create", model("fraction", spec=FRACTION))
    done = scan(plane.kubeconfig, "-n", namespace, "-o", "openreports")
    plane.kubectl("apply", "-f", "-", stdin=done.stdout)
    (report,) = kubectl.json("get", "reports.openreports.io")["items"]
    assert report["scope"]["name"] == "fraction"
    kubectl("delete", "model", "fraction")
    wait_until(lambda: not kubectl.json("get", "reports.openreports.io")["items"], "the report to go with its object")
