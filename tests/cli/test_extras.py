"""What is installed without the extras: the commands of a desk work, and others say what they need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.shared import ROOT

ABSENT = """\
import sys
ABSENT = {"kubernetes", "prometheus_client", "cryptography", "starlette", "uvicorn", "httptools", "uvloop"}
ABSENT |= {"opentelemetry", "pygls", "lsprotocol"}
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ABSENT:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
from webhook.cli import main
sys.exit(main(sys.argv[1:]))
"""
MODEL = """\
apiVersion: inference.llmkube.dev/v1alpha1
kind: Model
metadata: {name: m, namespace: a}
spec: {source: "https://example.com/m.gguf", format: gguf}
"""


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "model.yaml").write_text(MODEL)
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{ABSENT}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)


@pytest.mark.parametrize(
    "command",
    [
        "check model.yaml",
        "check --diff -v model.yaml",
        "check -o html model.yaml",
        "check -o sarif model.yaml",
        "explain model.yaml",
        "scan model.yaml",
        "normalise model.yaml",
        "rule LK205",
        "fields",
        "export policies",
        "completion bash",
        "version",
    ],
)
def test_the_commands_of_a_desk_need_no_extra(tmp_path: Path, command: str) -> None:
    done = run(tmp_path, *command.split())
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr


@pytest.mark.parametrize(
    ("command", "package", "extra"),
    [
        ("serve", "uvicorn", "server"),
        ("reconcile", "prometheus_client", "server"),
        ("certs", "cryptography", "server"),
        ("scan", "kubernetes", "cluster"),
        ("lsp", "pygls", "lsp"),
    ],
)
def test_a_command_without_its_packages_says_what_to_install(
    tmp_path: Path, command: str, package: str, extra: str
) -> None:
    done = run(tmp_path, command)
    said = f"modelgate {command}: needs {package}, which is not installed: pip install 'modelgate[{extra}]'\n"
    assert (done.returncode, done.stdout, done.stderr) == (64, "", said)


def test_any_other_module_that_is_missing_is_an_internal_fault() -> None:
    code = ABSENT.replace('{"kubernetes"', '{"yaml", "kubernetes"')
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{code}", "check", "x.yaml"]
    assert "ModuleNotFoundError" in subprocess.run(command, capture_output=True, text=True, check=False).stderr
