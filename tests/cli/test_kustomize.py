"""`check --kustomize`: what a kustomization names is judged once, as it is built; why it cannot be built is said."""

import shutil
from pathlib import Path

import pytest

from tests.cli.trees import GOOD
from webhook.cli import main

Capture = pytest.CaptureFixture[str]

pytestmark = pytest.mark.skipif(
    not (shutil.which("kustomize") or shutil.which("kubectl")), reason="needs kustomize or kubectl"
)

SHARED = {
    "shared/models.yaml": f"{GOOD}---\n{GOOD.replace('good', 'other').replace('source', 'sorce')}",
    "components/fix/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"
    "patches: [{path: fix.yaml, target: {name: other}}]\n",
    "components/fix/fix.yaml": "- {op: remove, path: /spec/sorce}\n- {op: add, path: /spec/source, value: PATCHED}\n",
    "apps/chat/kustomization.yaml": "namespace: ai\nresources: [../../shared/models.yaml]\n"
    "components: [../../components/fix]\n",
}


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in SHARED.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text.replace("PATCHED", "pvc://c/m.gguf"))
    return tmp_path


def test_a_file_that_a_kustomization_names_is_judged_only_as_it_is_built(tree: Path, capsys: Capture) -> None:
    assert main(["check", "--kustomize", "."]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines() == [
        "shared/models.yaml:1: Model ai/good: accepted",
        "shared/models.yaml:6: Model ai/other: accepted",
    ]
    assert "not read: 2 kustomization, 2 kustomize input, 1 kustomize patch" in err
    (tree / "components/fix/fix.yaml").write_text("- {op: remove, path: /spec/sorce}\n")
    assert main(["check", "--kustomize", "."]) == 1
    assert "shared/models.yaml:9:1: schema error: spec.source: Required value" in capsys.readouterr().out


def test_a_file_that_no_kustomization_names_is_counted_and_listed(tree: Path, capsys: Capture) -> None:
    (tree / "apps/chat/forgotten.yaml").write_text(GOOD)
    (tree / "apps/other").mkdir()
    (tree / "apps/other/kustomization.yaml").write_text("resources: [model.yaml]\n")
    (tree / "apps/other/model.yaml").write_text(GOOD)
    assert main(["check", "--kustomize", "-v", "."]) == 0
    out, err = capsys.readouterr()
    assert "apps/chat/forgotten.yaml: is in no build: no kustomization names it: not read" in out
    assert "apps/other/model.yaml:1: Model good: accepted" in out
    assert "not read: 1 file that is in no build, 3 kustomization, 3 kustomize input, 1 kustomize patch" in err


def test_why_a_kustomization_cannot_be_built_is_said(tree: Path, capsys: Capture) -> None:
    assert main(["check", "--kustomize", "--load-restrictor=root", "."]) == 2
    err = capsys.readouterr().err
    assert "apps/chat/kustomization.yaml: cannot be built: accumulating resources: " in err
    assert "models.yaml' is not in or below" in err
    (tree / "apps/chat/kustomization.yaml").write_text("resources: [none.yaml, ../../shared/models.yaml]\n")
    assert main(["check", "--kustomize", "."]) == 2
    assert "none.yaml: no such file or directory" in capsys.readouterr().err
    (tree / "apps/chat/kustomization.yaml").write_text("resources: [none.yaml]\n")
    assert main(["check", "--kustomize", "apps"]) == 0
    assert "1 kustomization that cannot be built" in capsys.readouterr().err
    assert main(["check", "--kustomize", "apps/chat"]) == 2, "it is named"
