"""An object that has the shape of other releases than the documented one is judged as of those, unless one is named."""

import json

import pytest

from webhook.cli import main
from webhook.engine import audit
from webhook.facts.settings import Settings
from webhook.library.rulings import Rulings
from webhook.manifests.documents import Document

NEWER = {"scaleTargetRef": {"kind": "Deployment", "name": "d"}, "modelID": "org/m"}
DOCUMENTED = {
    "variantID": "m-A100-1",
    "modelID": "m",
    "accelerator": "A100",
    "acceleratorCount": 1,
    "sloClassRef": {"name": "s", "key": "k"},
    "variantProfile": {
        "maxBatchSize": 8,
        "perfParms": {"decodeParms": {"alpha": "1", "beta": "1"}, "prefillParms": {"gamma": "1", "delta": "1"}},
    },
}
PIN = """
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: workload-variant-autoscaler}
spec: {url: oci://ghcr.io/llm-d-incubation/workload-variant-autoscaler, ref: {tag: v0.4.2}}
"""


def checked(tmp_path, capsys, *specs, flags=(), pin=""):
    """The result and the release of each object."""
    for number, spec in enumerate(specs):
        metadata = {"name": f"v{number}", "namespace": "default"}
        variant = {"apiVersion": "llmd.ai/v1alpha1", "kind": "VariantAutoscaling", "metadata": metadata, "spec": spec}
        (tmp_path / f"{number}.yaml").write_text(json.dumps(variant))
    if pin:
        (tmp_path / "pin.yaml").write_text(pin)
    main(["check", "--no-config", "--fail-on=never", "-o", "json", *flags, str(tmp_path)])
    report = json.loads(capsys.readouterr().out)
    return [each["verdict"] for each in report["objects"]]


def test_a_newer_shape_is_not_refused_for_an_older_one(tmp_path, capsys):
    assert checked(tmp_path, capsys, NEWER, DOCUMENTED) == ["accepted", "accepted"]
    wrong = {**NEWER, "scaleTargetRef": {"name": "d"}}
    assert checked(tmp_path, capsys, wrong) == ["refused", "accepted"]  # by the newer shape itself


def test_a_mix_of_shapes_is_one_of_the_documented_release(tmp_path, capsys):
    assert checked(tmp_path, capsys, {**NEWER, "variantID": "v"}) == ["refused"]


@pytest.mark.parametrize("flags", [["--release=llmd=0.0.5"], ["--release=llmd=0.4.2"]])
def test_a_release_that_is_named_counts(tmp_path, capsys, flags):
    assert checked(tmp_path, capsys, NEWER, flags=flags) == ["refused"]


def test_what_the_repository_pins_counts(tmp_path, capsys):
    assert checked(tmp_path, capsys, NEWER, pin=PIN)[0] == "refused"


def test_the_report_says_by_what_it_judges(tmp_path, capsys):
    checked(tmp_path, capsys, NEWER)
    main(["check", "--no-config", str(tmp_path)])
    assert "judged as of llm-d 0.5.0 to 0.8.0 (by its fields): for one release, --release" in capsys.readouterr().err


def test_a_ruling_without_an_object_is_that_of_the_documented_release():
    rulings = Rulings(audit.load("standard", Settings()))
    assert rulings.of_no_file.number == rulings.of(Document("a", 1, {"apiVersion": "v1", "kind": "Pod"})).number
