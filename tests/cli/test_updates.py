"""`check --old` and `--git`: files are judged as updates of their earlier version."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.trees import GOOD
from webhook.cli import main

Capture = pytest.CaptureFixture[str]

CACHE = """\
apiVersion: aim.silogen.ai/v1alpha1
kind: AIMModelCache
metadata: {name: cache, namespace: team}
spec: {sourceUri: "hf://org/model", size: 20Gi}
"""


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "manifests").mkdir()
    (tmp_path / "manifests" / "cache.yaml").write_text(CACHE)
    (tmp_path / "manifests" / "broken.yaml").write_text("a: [")
    git(tmp_path, "init", "-q", ".")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    (tmp_path / "manifests" / "broken.yaml").unlink()
    return tmp_path / "manifests"


CHANGED = CACHE.replace("org/model", "org/other")


def test_an_immutable_field_is_seen_beside_the_earlier_file(tmp_path: Path, capsys: Capture) -> None:
    old, new = tmp_path / "old.yaml", tmp_path / "new.yaml"
    old.write_text(CACHE)
    new.write_text(CHANGED)
    assert main(["check", str(new)]) == 0
    assert main(["check", f"--old={old}", str(new)]) == 1
    assert f"{new}:4:8: schema error: spec.sourceUri: " in capsys.readouterr().out
    assert main(["check", f"--old={old}", str(old)]) == 0


def test_an_immutable_field_is_seen_beside_a_commit(repository: Path, capsys: Capture) -> None:
    file = repository / "cache.yaml"
    assert main(["check", "--git=HEAD", str(repository)]) == 0
    file.write_text(CHANGED)
    for path in (repository, file, repository.parent):
        assert main(["check", "--git=HEAD", str(path)]) == 1
        assert "spec.sourceUri: " in capsys.readouterr().out
    file.rename(repository / "moved.yaml")
    assert main(["check", "--git=HEAD", str(repository)]) == 1


def test_what_is_new_since_the_commit_is_created(repository: Path) -> None:
    (repository / "new.yaml").write_text(CHANGED.replace("cache", "new"))
    assert main(["check", "--git=HEAD", str(repository)]) == 0


def test_a_commit_that_git_does_not_know_is_a_usage_error(
    repository: Path, tmp_path_factory: pytest.TempPathFactory, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["check", "--git=nowhere", str(repository)]) == 64
    assert "--git: " in capsys.readouterr().err
    assert main(["check", "--git=--help", str(repository)]) == 64
    assert "fetch" not in capsys.readouterr().err
    shallow = tmp_path_factory.mktemp("clones") / "shallow"
    git(repository, "commit", "-qm", "second", "--allow-empty")
    git(repository, "clone", "-q", "--depth=1", f"file://{repository.parent}", str(shallow))
    monkeypatch.chdir(shallow)
    assert main(["check", "--git=HEAD~1", "."]) == 64
    assert "the clone is shallow: fetch more (fetch-depth: 0 of actions/checkout" in capsys.readouterr().err
    monkeypatch.chdir(repository)
    outside = tmp_path_factory.mktemp("outside") / "m.yaml"
    outside.write_text(CACHE)
    assert main(["check", "--git=HEAD", str(outside)]) == 64


LEGACY = """\
apiVersion: inference.llmkube.dev/v1alpha1
kind: Model
metadata: {name: legacy}
spec:
  source: pvc://c
  hardware: {gpu: {count: 1, vendor: nope}}
  tpyo: 1
"""


@pytest.fixture
def legacy(repository: Path) -> Path:
    """A repository with errors and warnings of long ago."""
    (repository / "legacy.yaml").write_text(LEGACY)
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "second")
    return repository


def test_only_what_a_change_brings_is_reported(legacy: Path, capsys: Capture) -> None:
    file = legacy / "legacy.yaml"
    asked = ["check", "--git=HEAD", "--fail-on=warning", str(legacy)]
    assert main([*asked, "--all"]) == 1
    assert capsys.readouterr().out.count("legacy.yaml:") == 4
    assert main(asked) == 0
    out, err = capsys.readouterr()
    assert "Model legacy: REFUSED: 3 findings as before" in out
    assert "2 checked, 1 refused (1 as before), 0 with warnings" in err
    assert "not reported: 3 findings as before (--all)\n" in err
    assert main([*asked, "-o", "markdown"]) == 0
    assert capsys.readouterr().out.startswith("### modelgate: 1 refused (1 as before), 0 with warnings, of 2 checked\n")
    file.write_text(LEGACY.replace("metadata:", "# one line more\nmetadata:").replace("tpyo: 1", "tpyo: 1\n  more: 2"))
    assert main(asked) == 1
    out = capsys.readouterr().out
    assert "legacy.yaml:9:3: unknown-field error: spec.more: unknown field" in out
    assert "tpyo" not in out
    file.rename(legacy / "moved.yaml")
    assert main(asked) == 1
    assert "tpyo" not in capsys.readouterr().out


def test_the_same_mistake_in_a_new_object_or_a_second_time_is_new(legacy: Path, capsys: Capture) -> None:
    asked = ["check", "--git=HEAD", str(legacy)]
    (legacy / "new.yaml").write_text(LEGACY.replace("legacy", "new"))
    assert main(asked) == 1
    out = capsys.readouterr().out
    assert "new.yaml:7:3: unknown-field error: spec.tpyo: unknown field" in out
    assert "legacy.yaml:7" not in out


def test_a_reference_that_a_change_breaks_elsewhere_is_new(repository: Path, capsys: Capture) -> None:
    service = "apiVersion: ome.io/v1beta1\nkind: InferenceService\nmetadata: {name: s, namespace: n}\n"
    model = "apiVersion: ome.io/v1beta1\nkind: ClusterBaseModel\nmetadata: {name: m}\nspec: {}\n"
    (repository / "service.yaml").write_text(f"{service}spec: {{model: {{name: m}}}}\n")
    (repository / "model.yaml").write_text(model)
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "second")
    assert main(["check", "--git=HEAD", str(repository)]) == 0
    assert "OM401" not in capsys.readouterr().out
    (repository / "model.yaml").unlink()
    assert main(["check", "--git=HEAD", str(repository)]) == 0
    assert "OM401" in capsys.readouterr().out


MODEL = """\
apiVersion: inference.llmkube.dev/v1alpha1
kind: Model
metadata: {name: m}
spec:
  source: pvc://c/m.gguf
  hardware: {accelerator: rocm, gpu: {count: 1, vendor: amd}}
"""


def test_derived_values_follow_the_new_file(tmp_path: Path, capsys: Capture) -> None:
    old, new = tmp_path / "old.yaml", tmp_path / "new.yaml"
    old.write_text(MODEL)
    new.write_text(MODEL.replace("amd", "nvidia").replace("rocm", "cuda"))
    assert main(["check", "--diff", f"--old={old}", str(new)]) == 0
    assert '  ~ spec.hardware.gpu.resourceName: "nvidia.com/gpu"  # ' in capsys.readouterr().out


def test_a_field_that_is_gone_from_the_file_is_gone_from_the_object(tmp_path: Path, capsys: Capture) -> None:
    old, new = tmp_path / "old.yaml", tmp_path / "new.yaml"
    old.write_text(MODEL)
    new.write_text(MODEL.replace("  hardware: {accelerator: rocm, gpu: {count: 1, vendor: amd}}\n", ""))
    assert main(["explain", "--field=spec", str(new)]) == 0
    assert main(["check", "--diff", f"--old={old}", str(new)]) == 0
    assert "spec.hardware.gpu.vendor" not in capsys.readouterr().out


FLUX = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps}
spec: {path: ./manifests, postBuild: {substitute: {ACCEL: cudda}}}
"""
SUBSTITUTED = GOOD.replace("{source", "{hardware: {accelerator: '${ACCEL}'}, source")


def test_the_commit_is_read_with_its_own_values_of_variables(
    repository: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = repository.parent
    (top / "flux.yaml").write_text(FLUX)
    (repository / "model.yaml").write_text(SUBSTITUTED)
    git(top, "add", ".")
    git(top, "commit", "-qm", "a mistake of long ago")
    monkeypatch.chdir(top)
    assert main(["check", "--git=HEAD", "."]) == 0, "the update does not change it"
    capsys.readouterr()
    (top / "flux.yaml").write_text(FLUX.replace("cudda", "cuuda"))
    assert main(["check", "--git=HEAD", "."]) == 1
    assert "manifests/model.yaml:4:19: schema error: spec.hardware.accelerator: " in capsys.readouterr().out


BASE = """\
apiVersion: inference.llmkube.dev/v1alpha1
kind: Model
metadata: {name: base}
spec:
  source: pvc://c/m.gguf
  tpyo: 1
"""
PATCH = "- {op: replace, path: /spec/source, value: pvc://c/other.gguf}\n"


@pytest.mark.skipif(not (shutil.which("kustomize") or shutil.which("kubectl")), reason="needs kustomize or kubectl")
def test_what_a_kustomization_makes_is_compared_with_what_it_made(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {
        "base/kustomization.yaml": "resources: [model.yaml]\n",
        "base/model.yaml": BASE,
        "prod/kustomization.yaml": "resources: [../base]\nnamePrefix: prod-\npatches: [{path: patch.txt, target: "
        "{kind: Model}}]\n",
        "prod/patch.txt": PATCH,
        "cache/kustomization.yaml": "resources: [cache.yaml]\nnameSuffix: -one\n",
        "cache/cache.yaml": CACHE,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    git(tmp_path, "init", "-q", ".")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    monkeypatch.chdir(tmp_path)
    asked = ["check", "--kustomize", "--git=HEAD", "."]
    assert main(asked) == 0
    assert "Model prod-base: REFUSED: 1 finding as before" in capsys.readouterr().out
    (tmp_path / "prod" / "patch.txt").write_text(PATCH.replace("value: pvc://c/other.gguf", "value: 5"))
    assert main(asked) == 1
    out = capsys.readouterr().out
    assert "base/model.yaml:5:3: schema error: spec.source: " in out
    assert "tpyo" not in out
    (tmp_path / "prod" / "patch.txt").write_text(PATCH)
    (tmp_path / "cache" / "cache.yaml").write_text(CHANGED)
    for paths in (["."], ["cache"]):
        assert main([*asked[:-1], *paths]) == 1
        assert "cache/cache.yaml:4:8: schema error: spec.sourceUri: " in capsys.readouterr().out
