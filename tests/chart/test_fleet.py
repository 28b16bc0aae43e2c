"""The examples for many clusters: what Flux and Argo CD would render of them, and the step of a pipeline."""

import json
import os
import re
import subprocess
import sys

import yaml

from tests.chart.helm import CHART, NAMESPACE, ROOT, documents, run
from tests.cli.test_references import an_object, pack_at
from tests.enforcement.policies import enforcement
from webhook.cli.pack.build import LAYER

EXAMPLES = ROOT / "docs" / "fleet"
DIGEST = "sha256:" + "1" * 64


def deployments(tmp_path, values):
    """The containers of the gate and the reconciler with these values, and the volumes of their pods."""
    (tmp_path / "values.yaml").write_text(yaml.safe_dump(values))
    done = run("template", "modelgate", str(CHART), f"--namespace={NAMESPACE}", f"--values={tmp_path / 'values.yaml'}")
    assert done.returncode == 0, done.stderr
    pods = [each["spec"]["template"]["spec"] for each in documents(done.stdout) if each["kind"] == "Deployment"]
    named = {c["name"]: (c, pod["volumes"]) for pod in pods for c in pod["containers"]}
    return {name: named[name] for name in ("gate", "reconciler")}


def check(tmp_path, values, stage):
    for name, (container, volumes) in deployments(tmp_path, values).items():
        assert {"--policies=/packs", "--admission-policies=/policies"} <= {*container["args"]}
        (volume,) = [each for each in volumes if each["name"] == "packs"]
        assert volume["image"]["reference"].endswith(f"modelgate-fleet@{DIGEST}")
        mounts = {each["mountPath"]: each for each in container["volumeMounts"] if each["name"] == "packs"}
        assert {path: each["subPath"] for path, each in mounts.items()} == {
            "/packs": "packs",
            "/policies": "admission-policies",
        }
        if name == "gate":
            assert {f"--fleet-stage={stage}", f"--fleet-artefact={DIGEST}"} <= {*container["args"]}


def test_flux_renders_a_stage_of_two_variables(tmp_path):
    text = (EXAMPLES / "flux.yaml").read_text()
    body = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    assert {*re.findall(r"\$\{(\w+)\}", body)} == {"stage", "digest"}
    stage = body.replace("${stage}", "canary").replace("${digest}", DIGEST)
    source, objects, release = yaml.safe_load_all(stage)
    assert source["spec"]["ref"] == {"digest": DIGEST}
    assert source["spec"]["layerSelector"]["mediaType"] == LAYER  # as `modelgate pack build` writes it
    assert objects["spec"]["sourceRef"] == {"kind": source["kind"], "name": source["metadata"]["name"]}
    check(tmp_path, release["spec"]["values"], "canary")


def test_argo_cd_renders_each_cluster(tmp_path):
    (sets,) = yaml.safe_load_all((EXAMPLES / "argocd.yaml").read_text())
    (generator,) = sets["spec"]["generators"]
    template = yaml.safe_dump(sets["spec"]["template"], width=1000)
    clusters = generator["list"]["elements"]
    assert {each["stage"] for each in clusters} == {"canary", "production"}
    for cluster in [each for each in clusters if each["digest"] == DIGEST]:
        text = re.sub(r"\{\{\.(\w+)\}\}", lambda match: cluster[match[1]], template)  # noqa: B023 - called at once
        spec = yaml.safe_load(text)["spec"]
        chart, objects = spec["sources"]
        assert (objects["targetRevision"], objects["path"]) == (DIGEST, "enforcement")
        check(tmp_path, chart["helm"]["valuesObject"], cluster["stage"])


def promoted(tmp_path, size):
    """What the step of a pipeline says of a Widget of this size."""
    (tmp_path / "stored.yaml").write_text(
        "---\n".join([an_object("Queue", "fast", most=5), an_object("Widget", "w", queue="fast", size=size)])
    )
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    (tmp_path / "modelgate").write_text(f'#!/bin/sh\nexec {sys.executable} -m webhook "$@"\n')
    (tmp_path / "modelgate").chmod(0o755)
    command = [str(EXAMPLES / "promote.sh"), str(tmp_path / "fleet"), "--no-config", str(tmp_path / "stored.yaml")]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def test_the_step_of_a_pipeline_stops_where_an_object_becomes_refused(tmp_path):
    pack_at(tmp_path / "fleet" / "packs")
    good, bad = promoted(tmp_path, 4), promoted(tmp_path, 6)
    assert (good.returncode, bad.returncode) == (0, 1), good.stderr + bad.stderr
    assert "AC402" in bad.stdout
    assert "AC402" not in good.stdout
    (tmp_path / "fleet" / "enforcement").mkdir()
    (tmp_path / "fleet" / "enforcement" / "off.yaml").write_text(json.dumps(enforcement(action="off", codes=["AC402"])))
    relaxed = promoted(tmp_path, 6)
    assert (relaxed.returncode, "AC402" in relaxed.stdout) == (0, False), relaxed.stdout
