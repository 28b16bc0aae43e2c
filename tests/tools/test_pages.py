"""Every command and manifest on every page: run where one machine can run it, otherwise parsed."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.cli.test_references import pack_at
from tests.cli.trees import GOOD, RUNTIMES
from tests.definitions import definition_files
from tests.enforcement.policies import enforcement
from tests.shared import ROOT
from webhook.cli import COMMANDS
from webhook.cli import main as modelgate
from webhook.cli.input.configurationfile import Configuration
from webhook.cli.shell.running import parser

PAGES = [ROOT / "README.md", *sorted(p for p in (ROOT / "docs").rglob("*.md") if "spec" not in p.parts)]
FENCED = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"(?:^ {4}.*\n|^\n(?= {4}))+", re.MULTILINE)
SERVING = {"serve", "reconcile", "demo", "lsp"}
"""Commands that run until they are stopped, or start servers: tests/serve, tests/reconciler and tests/cli run them."""
CLUSTER = {"scan", "certs", "doctor"}
"""What reads a cluster: test_scan.py, test_certs.py and test_install.py in tests/e2e run it."""
POLICIES = ROOT / "tests" / "fixtures" / "policies"
MAKE = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
POLICY = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: p}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: ["*"], apiVersions: ["*"], operations: [CREATE], resources: ["*"]}]
  validations: [{expression: "true"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: p}
spec: {policyName: p, validationActions: [Deny]}
"""
SERVICE = """\
apiVersion: ome.io/v1beta1
kind: InferenceService
metadata: {name: s}
spec: {model: {name: m}, engine: {minReplicas: 1}}
"""


def blocks(page: Path) -> Iterator[tuple[str, str]]:
    """The language and the text of each block of code."""
    text = page.read_text()
    for language, body in FENCED.findall(text):
        yield language, body
    for body in INDENTED.findall(FENCED.sub("", text)):
        yield "", re.sub(r"^ {4}", "", body, flags=re.MULTILINE).lstrip("\n")


def commands() -> Iterator[tuple[str, str]]:
    """Every line that calls modelgate, with its page, without its comment."""
    for page in PAGES:
        for language, body in blocks(page):
            if language in {"yaml", "text", "python", "json"}:
                continue
            for line in body.replace("\\\n", " ").splitlines():
                words = re.sub(r"\s+#\s.*$", "", line.removeprefix("$ ")).strip()
                if re.match(r"(kubectl )?modelgate [a-z]", words) and "…" not in words.split(" -")[0]:
                    yield page.name, words


FOUND = sorted(set(commands()))


def first(name: str, count: int) -> str:
    """The first documents of a file of policies."""
    return "---\n".join((POLICIES / name).read_text().split("---\n")[:count])


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the pages name."""
    root = tmp_path_factory.mktemp("pages")
    for name, text in {
        "model.yaml": GOOD,
        "manifests/model.yaml": GOOD,
        "service.yaml": SERVICE,
        "cluster/runtimes.yaml": RUNTIMES,
        "cluster.yaml": RUNTIMES,
        "mine/policy.yaml": POLICY,
        "native.yaml": POLICY,
        "kyverno/policies.yaml": first("kyverno.yaml", 1),
        "templates/templates.yaml": first("gatekeeper.yaml", 2),
        "constraints/none.yaml": "",
        "fleet/admission-policies/policy.yaml": POLICY,
        "fleet/enforcement/everywhere.yaml": yaml.safe_dump(enforcement("everywhere", action="audit")),
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    shutil.copytree(pack_at(root / "fleet" / "packs"), root / "acme")
    (root / "crds").mkdir()
    shutil.copy(definition_files()[0], root / "crds")
    for name in ("policies", "packs"):
        shutil.copytree(ROOT / name, root / name)
    for title, text in re.findall(r'```yaml title="(example/.*?)"\n(.*?)```', page_text("policies.md"), re.DOTALL):
        (root / title).parent.mkdir(parents=True, exist_ok=True)
        (root / title).write_text(text)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", "-C", str(root)]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"], ["branch", "origin/main"]):
        subprocess.run([*git, *arguments], check=True, capture_output=True)
    return root


def page_text(name: str) -> str:
    return (ROOT / "docs" / name).read_text()


def shell(line: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run a line with pipes or files as a shell does."""
    programs = folder / ".programs"
    if not programs.is_dir():
        programs.mkdir()
        (programs / "modelgate").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m modelgate "$@"\n')
        (programs / "modelgate").chmod(0o755)
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "NO_COLOR": "1", "HOME": str(folder)}
    return subprocess.run(["sh", "-c", line], cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_the_pages_have_commands() -> None:
    assert len(FOUND) > 30
    assert {"ci.md", "offline.md", "admission-policies.md", "start.md", "README.md"} <= {page for page, _ in FOUND}
    named = {line.removeprefix("kubectl ").split()[1] for _, line in FOUND}
    assert named >= {"check", "completion", "explain", "export", "fields", "normalise", "rule", "scan", "test"}
    assert named <= set(COMMANDS)


@pytest.mark.parametrize(("page", "line"), FOUND, ids=[f"{page}: {line}" for page, line in FOUND])
def test_a_command_of_a_page_works(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], page: str, line: str
) -> None:
    """Exit code 1 is for what is refused: then standard output says what."""
    assert page
    line = line.removeprefix("kubectl ").replace(" …", "")
    command, *rest = re.split(r"\s[|>]\s", line)
    words = shlex.split(command)
    if words[1] in SERVING or (words[1] in CLUSTER and not words[-1].endswith("/")):
        parser({words[1]}).parse_args(words[1:])  # a wrong flag ends the program
        return
    if rest:
        (workspace / ".local/share/bash-completion/completions").mkdir(parents=True, exist_ok=True)
        done = shell(line, workspace)
        code, out, err = done.returncode, done.stdout, done.stderr
    else:
        monkeypatch.chdir(workspace)
        code = modelgate(words[1:])
        out, err = capsys.readouterr()
    assert code == 0 or (code == 1 and out), err


def test_a_make_target_of_a_page_exists() -> None:
    named = {
        name
        for page in PAGES
        for _, body in blocks(page)
        for name in re.findall(r"^\$? ?make (\w+)", body, re.MULTILINE)
    }
    assert named >= {"demo", "test", "image"}
    assert named <= MAKE


FOLDERS = "webhook|reconciler|certs|modelgate|tests|tools|policies|packs|chart|changes|docs"
PLACES = re.compile(rf"`((?:{FOLDERS})/[\w./-]*)`")
RECORDS = ROOT / "docs" / "decisions.md"
"""A record is not rewritten: a superseded one may name what is gone."""


def test_the_files_that_the_pages_name_exist() -> None:
    pages = [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", ROOT / "changes" / "README.md"]
    names = {(page.name, name) for page in pages if page != RECORDS for name in PLACES.findall(page.read_text())}
    assert len(names) > 100
    assert sorted(f"{page}: {name}" for page, name in names if not (ROOT / name).exists()) == []


def test_what_policies_md_prints_is_what_is_printed(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(workspace)
    (console,) = [body for language, body in blocks(ROOT / "docs" / "policies.md") if language == "console"]
    for line, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", console, re.MULTILINE):
        modelgate(shlex.split(line)[1:])
        assert capsys.readouterr().out == expected


def test_every_yaml_of_a_page_is_yaml() -> None:
    found = [body for page in PAGES for language, body in blocks(page) if language == "yaml"]
    assert len(found) > 8
    for body in found:
        assert [each for each in yaml.safe_load_all(body) if each]


def test_the_configuration_of_the_page_is_one() -> None:
    (text,) = [body for _, body in blocks(ROOT / "docs" / "ci.md") if "configuration.schema.json" in body]
    assert Configuration.model_validate(yaml.safe_load(text), by_alias=True, by_name=False).ignore == ["LK305"]


@pytest.mark.parametrize("word", ["repos:", "# .github/workflows/", "include:"])
def test_a_snippet_for_a_ci_system_is_yaml_of_its_form(word: str) -> None:
    (text,) = [body for _, body in blocks(ROOT / "docs" / "ci.md") if body.startswith(word)]
    found = yaml.safe_load(text)
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    job = yaml.safe_load((ROOT / "docs/ci/gitlab.yml").read_text())["modelgate"]
    if word == "repos:":
        assert found["repos"][0]["hooks"] == [{"id": hook["id"]}]
    elif word == "include:":
        assert (ROOT / found["include"][0]["file"].lstrip("/")).is_file()
        assert set(found["variables"]) - {"MODELGATE_IMAGE"} <= set(job["variables"])
    else:
        steps = found["jobs"]["modelgate"]["steps"]
        (own,) = [each for each in steps if each["uses"].startswith("<this repository>")]
        assert set(own["with"]) <= set(action["inputs"])
