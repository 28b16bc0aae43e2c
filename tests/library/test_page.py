"""docs/python.md: its examples run, its files work, and it lists what is exported."""

import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location

import orjson
import pytest
from starlette.testclient import TestClient

import modelgate
import modelgate.cel
from tests.library.pages import differences, listing
from tests.shared import ROOT

PAGE = ROOT / "docs" / "python.md"

GOOD = """\
apiVersion: inference.llmkube.dev/v1alpha1
kind: Model
metadata: {name: good}
spec: {source: https://example.com/model.gguf, quantization: Q4_K_M}
"""
BAD = GOOD.replace("good", "bad").replace("quantization: Q4_K_M", "format: onnx")


def test_the_examples_are_true():
    count, said = differences(PAGE)
    assert said == ""
    assert count > 20


@pytest.mark.parametrize(("manifests", "failed"), [([GOOD], 0), ([GOOD, BAD], 2)])
def test_the_test_of_a_team_finds_what_is_wrong(tmp_path, manifests, failed):
    (tmp_path / "manifests").mkdir()
    for number, each in enumerate(manifests):
        (tmp_path / "manifests" / f"{number}.yaml").write_text(each)
    (tmp_path / "test_manifests.py").write_text(listing(PAGE, "test_manifests.py"))
    command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_manifests.py")
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}
    )
    assert (done.returncode, f"{failed} failed" in done.stdout) == (min(failed, 1), failed > 0), done.stdout
    if failed:
        assert 'error[schema] spec.format: Unsupported value: "onnx"' in done.stdout


@pytest.fixture
def server(tmp_path):
    file = tmp_path / "webhook.py"
    file.write_text(listing(PAGE, "webhook.py"))
    spec = spec_from_file_location("a_webhook_of_ones_own", file)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return TestClient(module.app)


def test_the_webhook_of_ones_own_answers_as_the_gate(server):
    resource = {"group": "inference.llmkube.dev", "version": "v1alpha1", "resource": "models"}
    head = {"apiVersion": "inference.llmkube.dev/v1alpha1", "kind": "Model", "metadata": {"name": "m"}}
    request = {
        "uid": "1",
        "kind": {"group": "inference.llmkube.dev", "version": "v1alpha1", "kind": "Model"},
        "resource": resource,
        "operation": "CREATE",
        "name": "m",
        "userInfo": {},
        "object": {**head, "spec": {"source": "https://example.com/m.gguf", "sha256": "no"}},
    }
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    reply = server.post("/validate", content=orjson.dumps(review))
    assert reply.status_code == 200
    assert reply.json()["response"]["allowed"] is False
    assert "spec.sha256" in reply.json()["response"]["status"]["message"]
    assert server.post("/validate", content=b"{}").status_code == 400


def test_every_exported_name_is_there():
    for module in (modelgate, modelgate.cel):
        assert sorted(module.__all__) == list(module.__all__)
        assert [name for name in module.__all__ if getattr(module, name, None) is None] == []
        with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
            _ = module.nothing
