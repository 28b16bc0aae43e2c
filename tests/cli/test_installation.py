"""What people install: a wheel in a clean environment, completion, hooks, the action and the templates."""

import json
import os
import re
import shutil
import subprocess
import sys
import venv
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import distribution
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

import pytest
import yaml
from packaging.markers import Marker

from tests.cli.trees import GOOD, repository
from tests.once import made_once
from tests.shared import ROOT

POOL = """\
apiVersion: inference.networking.k8s.io/v1
kind: InferencePool
metadata: {name: pool, namespace: team}
spec: {selector: {matchLabels: {app: vllm}}, targetPorts: [{number: 8000}]}
"""
BAD = GOOD.replace("{source", "{fromat: gguf, source")


def run(*command: object, **more: Any) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([str(each) for each in command], check=False, capture_output=True, text=True, **more)


PIP = (sys.executable, "-m", "pip", "-q", "--disable-pip-version-check")
PINNED = re.compile(r"^([\w.-]+)==([^ ;\\]+)(?: *; *([^\\]+))?", re.MULTILINE)


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of an environment that holds the wheel and its pinned dependencies, and nothing else."""
    return made_once(tmp_path_factory, "wheel", install) / "env" / "bin"


def install(folder: Path) -> None:
    assert run(*PIP, "wheel", "--no-deps", "--no-build-isolation", "-w", folder, ROOT).returncode == 0
    venv.create(folder / "env")
    (site,) = (folder / "env").glob("lib/python*/site-packages")
    link_dependencies(site)
    (wheel,) = folder.glob("*.whl")
    pip = (*PIP, "--python", folder / "env" / "bin" / "python")
    for command in (("install", "--no-deps", "--no-index", "--no-compile", wheel), ("check",)):
        done = run(*pip, *command)
        assert done.returncode == 0, done.stdout + done.stderr


def link_dependencies(site: Path, requirements: str = "run.txt") -> None:
    """The packages of a file of requirements as pip has installed them here; the image gets them by their hashes."""
    pinned = PINNED.findall((ROOT / "requirements" / requirements).read_text())
    for name, version, marker in pinned:
        if marker and not Marker(marker.strip()).evaluate():
            continue
        found = distribution(name)
        assert found.version == version, name
        for top in {Path(each.parts[0]) for each in found.files or () if each.parts[0] not in {"..", "__pycache__"}}:
            if not (site / top).exists():  # packages may share a namespace
                (site / top).symlink_to(found.locate_file(top))


def test_a_wheel_brings_the_command_and_only_its_own_name(installed: Path, tmp_path: Path) -> None:
    modelgate = installed / "modelgate"
    model = tmp_path / "model.yaml"
    model.write_text(BAD)
    checked = run(modelgate, "check", model, cwd=tmp_path)
    assert (checked.returncode, f"{model}:4:8: unknown-field error: spec.fromat: " in checked.stdout) == (1, True)
    assert run(modelgate, "rule", "LK205", cwd=tmp_path).stdout.startswith("LK205: Model ")
    pool = tmp_path / "pool.yaml"
    pool.write_text(POOL)
    judged = run(modelgate, "check", "--policies", "packs/gateway-inference", pool, cwd=tmp_path)
    assert (judged.returncode, "GI301 warning" in judged.stdout) == (0, True), judged.stderr
    assert run(modelgate, "test", "--kind=Model", cwd=tmp_path).stdout.endswith(" passed, 0 failed\n")
    assert run(installed / "kubectl-modelgate", "version").stdout.startswith("modelgate ")
    assert run(installed / "python", "-m", "modelgate", "version").returncode == 0
    (site,) = installed.parent.glob("lib/python*/site-packages")
    assert not {"webhook", "certs", "policies", "packs", "reconciler"} & {each.name for each in site.iterdir()}


def test_the_library_meets_no_name_of_its_user(installed: Path, tmp_path: Path) -> None:
    """A user's own packages of our names are his; nothing is put on the path."""
    for name in ("webhook", "certs", "policies", "reconciler"):
        (tmp_path / f"{name}.py").write_text("OWN = True\n")
    program = """\
import sys
path = list(sys.path)
import modelgate, modelgate.cel
assert not modelgate.Gate().check(open("model.yaml").read()).allowed
import webhook, certs, policies, reconciler
assert webhook.OWN and certs.OWN and policies.OWN and reconciler.OWN
assert sys.path == path
assert modelgate.Gate.__module__ == "modelgate.webhook.library.gate"
"""
    (tmp_path / "model.yaml").write_text(BAD)
    (tmp_path / "program.py").write_text(program)
    done = run(installed / "python", "program.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", ["python.md", "cel.md"])
def test_the_examples_of_a_page_run_from_a_wheel(installed: Path, tmp_path: Path, page: str) -> None:
    runner = ROOT / "tests" / "library" / "pages.py"
    done = run(installed / "python", "-I", runner, ROOT / "docs" / page, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


def test_the_demo_runs_from_a_wheel(installed: Path, tmp_path: Path) -> None:
    assert "14 of 14 answers as expected" in run(installed / "modelgate", "demo", cwd=tmp_path).stdout


def test_kubectl_finds_the_plugin(installed: Path) -> None:
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        pytest.skip("needs kubectl")
    path = f"{installed}{os.pathsep}{os.environ['PATH']}"
    assert run(kubectl, "modelgate", "version", env={**os.environ, "PATH": path}).stdout.startswith("modelgate ")


@pytest.fixture
def programs(tmp_path: Path) -> dict[str, str]:
    """An environment in which `modelgate` is this checkout."""
    folder = tmp_path / "programs"
    folder.mkdir()
    program = folder / "modelgate"
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m modelgate "$@"\n')
    program.chmod(0o755)
    return {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


COMPLETE = """\
source /dev/stdin
COMP_WORDS=(%s) COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_shtab_modelgate 2> /dev/null
printf '%%s\\n' "${COMPREPLY[@]}"
"""


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("modelgate che", "check"),
        ("modelgate check --prof", "--profile"),
        ("modelgate check --output sar", "sarif"),
        ("modelgate normal", "normalize"),
    ],
)
def test_bash_completes(programs: dict[str, str], words: str, expected: str) -> None:
    script = run("modelgate", "completion", "bash", env=programs).stdout
    completed = run("bash", "-c", COMPLETE % words, input=script)
    assert expected in completed.stdout.split(), completed.stderr


@pytest.mark.skipif(not shutil.which("zsh"), reason="needs zsh")
def test_zsh_loads_the_completion(programs: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "_modelgate").write_text(run("modelgate", "completion", "zsh", env=programs).stdout)
    load = f"fpath=({tmp_path} $fpath); autoload +X _modelgate && whence -w _modelgate"
    assert run("zsh", "-f", "-c", load).stdout == "_modelgate: function\n"


SERVICE = """\
apiVersion: ome.io/v1beta1
kind: InferenceService
metadata: {name: s, namespace: team}
spec: {model: {name: m}, engine: {}}
"""
SERVED = """\
apiVersion: ome.io/v1beta1
kind: ClusterBaseModel
metadata: {name: m}
spec: {modelFormat: {name: safetensors}, storage: {storageUri: "hf://o/m"}}
"""


def test_the_hook_of_pre_commit_judges_the_repository(programs: dict[str, str], tmp_path: Path) -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert hook["language"] == "python"
    project = repository(tmp_path / "project")  # it has a chart, whose templates name a kind with rules
    services = project / "services"
    services.mkdir()
    for number in range(40):  # more than a process gets where pre-commit names files
        (services / f"{number}.yaml").write_text(SERVICE.replace("name: s", f"name: s{number}"))
    (project / "base-model.yaml").write_text(SERVED)
    (project / ".modelgate.yaml").write_text("failOn: warning\nignore: [OM405, OM415, LK205]\n")
    config = {"repos": [{"repo": "local", "hooks": [{**hook, "language": "system"}]}]}
    (project / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
    git = ("git", "-C", project, "-c", "user.name=t", "-c", "user.email=t@example.com")
    assert run(*git, "init", "-q").returncode == 0
    assert run(*git, "add", ".").returncode == 0
    pre_commit = (sys.executable, "-m", "pre_commit", "run")
    environment = {**programs, "PRE_COMMIT_HOME": str(tmp_path / "cache")}
    for flags in ((), ("--all-files",)):
        passed = run(*pre_commit, *flags, cwd=project, env=environment)
        assert passed.returncode == 0, passed.stdout + passed.stderr
    assert run(*git, "commit", "-qm", "first").returncode == 0
    (services / "1.yaml").write_text(SERVICE.replace("name: s", "name: s1, labels: {a: b}"))
    assert run(*git, "add", ".").returncode == 0
    passed = run(*pre_commit, cwd=project, env=environment)
    assert passed.returncode == 0, "one staged file, whose model is in another one" + passed.stdout
    (project / "manifests" / "bad.yaml").write_text(BAD)
    assert run(*git, "add", ".").returncode == 0
    failed = run(*pre_commit, cwd=project, env=environment)
    assert failed.returncode == 1
    assert "manifests/bad.yaml:4:8: unknown-field error: spec.fromat" in failed.stdout


PYTHON = f"""\
#!{sys.executable}
# A Python whose environments have the pinned packages already: pip finds them satisfied and asks no index.
import os, subprocess, sys
from pathlib import Path
sys.path.insert(0, {str(ROOT)!r})
done = subprocess.run([sys.executable, *sys.argv[1:]])
if "venv" in sys.argv:
    from tests.cli.test_installation import link_dependencies
    (site,) = Path(sys.argv[-1]).glob("lib/python*/site-packages")
    link_dependencies(site)
    link_dependencies(site, "build.txt")
sys.exit(done.returncode)
"""


def test_the_action_installs_its_version_once(tmp_path: Path) -> None:
    install = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"][0]
    source, home, python, temporary = (tmp_path / name for name in ("source", "home", "python", "runner"))
    left_out = shutil.ignore_patterns(".git", ".venv", ".*_cache", "__pycache__", "build", "dist", "tests", "site")
    shutil.copytree(ROOT, source, ignore=left_out)
    temporary.mkdir()
    python.write_text(PYTHON)
    python.chmod(0o755)
    output = tmp_path / "output"
    given = {
        "SOURCE": str(source),
        "VERSION": "",
        "REPOSITORY": f"file://{source}",
        "PYTHON": str(python),
        "HOME_OF_MODELGATE": str(home),
    }
    assert given.keys() == install["env"].keys()

    def step(**more: str) -> str:
        output.write_text("")
        done = run(
            *("bash", "-e", "-o", "pipefail", "-c", install["run"]),
            cwd=temporary,
            env={**os.environ, **given, "GITHUB_OUTPUT": str(output), **more},
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return output.read_text()

    assert re.fullmatch(r"version=modelgate \d+\.\d+\.\d+ \(.*\)\n", step())
    (home / "kept").touch()
    assert step().startswith("version=modelgate ")
    assert (home / "kept").exists(), "an environment of the same version is not made again"
    git = ("git", "-C", source, "-c", "user.name=t", "-c", "user.email=t@example.com")
    version = source / "pyproject.toml"
    version.write_text(re.sub(r'(?m)^version = ".*"$', 'version = "7.7.7"', version.read_text()))
    for command in (("init", "-q"), ("add", "."), ("commit", "-qm", "seven"), ("tag", "v7.7.7")):
        assert run(*git, *command).returncode == 0
    version.write_text(version.read_text().replace("7.7.7", "7.7.8"))
    assert step(VERSION="v7.7.7").startswith("version=modelgate 7.7.7 ")
    assert not (home / "kept").exists()


def test_the_action_annotates(programs: dict[str, str], tmp_path: Path) -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    install, check = action["runs"]["steps"]
    assert "uses" not in install.keys() | check.keys()
    assert run("bash", "-n", "-c", install["run"]).returncode == 0
    (tmp_path / "m.yaml").write_text(BAD)
    home = tmp_path / "home"
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "modelgate").symlink_to(shutil.which("modelgate", path=programs["PATH"]) or "")
    given = {
        "PATHS": "m.yaml",
        "ARGUMENTS": "--fail-on never",
        "HOME_OF_MODELGATE": str(home),
        "BASE": "",
        "SARIF": "m.sarif",
        "COMMENT": "",
        "TOKEN": "",
    }
    assert given.keys() == check["env"].keys()
    done = run("bash", "-e", "-c", check["run"], cwd=tmp_path, env={**programs, **given})
    assert (done.returncode, done.stdout.startswith("::error file=m.yaml,line=4,col=8,")) == (0, True), done.stderr
    (scan,) = json.loads((tmp_path / "m.sarif").read_text())["runs"]
    assert scan["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "m.yaml"
    given |= {"ARGUMENTS": "", "PATHS": "m.yaml --output=json", "SARIF": ""}
    assert run("bash", "-e", "-c", check["run"], cwd=tmp_path, env={**programs, **given}).returncode == 2


class Comments(BaseHTTPRequestHandler):
    """The comments of a pull request, as GitHub keeps them: 100 of others, and those that are written."""

    texts: ClassVar[dict[int, tuple[str, str]]] = {}

    def do_GET(self) -> None:
        page = int(self.path.rpartition("=")[2])
        listed = [*self.texts.items()][100 * (page - 1) : 100 * page]
        self._answer([{"id": number, "body": body, "user": {"type": kind}} for number, (kind, body) in listed])

    def do_POST(self) -> None:
        self._write(len(self.texts) + 1)

    def do_PATCH(self) -> None:
        self._write(int(self.path.rpartition("/")[2]))

    def _write(self, number: int) -> None:
        assert self.headers["Authorization"] == "Bearer secret"
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["body"]
        self.texts[number] = ("Bot", body)
        self._answer({})

    def _answer(self, value: object) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(value).encode())

    def log_message(self, format: str, *_: object) -> None:  # noqa: A002 - the name of the base class
        del format


def test_the_action_writes_one_comment_and_updates_it(programs: dict[str, str], tmp_path: Path) -> None:
    _, check = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]
    home = tmp_path / "home"
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "modelgate").symlink_to(shutil.which("modelgate", path=programs["PATH"]) or "")
    (home / "bin" / "python").symlink_to(sys.executable)
    mark = "<!-- modelgate check -->"
    others = dict.fromkeys(range(1, 101), ("User", f"{mark}\nof a stranger"))
    Comments.texts = dict(others)
    with ThreadingHTTPServer(("127.0.0.1", 0), Comments) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        given = {
            "PATHS": "m.yaml",
            "ARGUMENTS": "",
            "HOME_OF_MODELGATE": str(home),
            "BASE": "",
            "SARIF": "",
            "COMMENT": "7",
            "TOKEN": "secret",
            "GITHUB_API_URL": f"http://127.0.0.1:{server.server_port}",
            "GITHUB_REPOSITORY": "a/b",
            "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
        }
        for text, code, wanted in ((BAD, 1, "1 refused"), (GOOD, 0, "no finding, of 1 checked")):
            (tmp_path / "m.yaml").write_text(text)
            done = run("bash", "-e", "-c", check["run"], cwd=tmp_path, env={**programs, **given})
            assert done.returncode == code, done.stderr
            assert Comments.texts.keys() == {*others, 101}, "one comment of the action"
            assert Comments.texts[101][1].startswith(f"{mark}\n### modelgate: {wanted}")
        assert {number: Comments.texts[number] for number in others} == others
        assert (tmp_path / "summary").read_text().count("### modelgate: ") == 2
        server.shutdown()
    (tmp_path / "m.yaml").write_text(BAD)
    done = run("bash", "-e", "-c", check["run"], cwd=tmp_path, env={**programs, **given})
    assert done.returncode == 1
    assert "::warning::the comment cannot be written" in done.stdout
    assert "::error file=m.yaml,line=4" in done.stdout


@pytest.mark.parametrize("known", ["fetched before", "at the remote", "nowhere"])
def test_a_pull_request_does_not_configure_the_action(
    known: str, programs: dict[str, str], tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    _, check = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]
    remote, tree = tmp_path / "remote", tmp_path / "tree"
    git = ("git", "-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "protocol.file.allow=always")
    assert run(*git, "init", "-q", remote).returncode == 0
    (remote / "m.yaml").write_text(GOOD)
    run(*git, "-C", remote, "add", ".")
    run(*git, "-C", remote, "commit", "-qm", "base")
    base = run(*git, "-C", remote, "rev-parse", "HEAD").stdout.strip()
    (remote / "m.yaml").write_text(BAD)
    (remote / ".modelgate.yaml").write_text("failOn: never\n")
    run(*git, "-C", remote, "add", ".")
    run(*git, "-C", remote, "commit", "-qm", "change")
    depth = () if known == "fetched before" else ("--depth=1",)
    assert run(*git, "clone", "-q", *depth, f"file://{remote}", tree).returncode == 0
    home = tmp_path_factory.mktemp("home")
    (home / "bin").mkdir()
    (home / "bin" / "modelgate").symlink_to(shutil.which("modelgate", path=programs["PATH"]) or "")
    given = {"PATHS": ".", "ARGUMENTS": "", "HOME_OF_MODELGATE": str(home), "BASE": base, "SARIF": "", "COMMENT": ""}
    if known == "nowhere":
        given["BASE"] = "0" * 39 + "1"
    done = run("bash", "-e", "-c", check["run"], cwd=tree, env={**programs, **given})
    assert (done.returncode, done.stdout.startswith("::error file=m.yaml,line=4,col=8,")) == (1, True), done.stderr
    without = run("bash", "-e", "-c", check["run"], cwd=tree, env={**programs, **given, "BASE": ""})
    assert without.returncode == 0, "the files of a push are trusted"


def test_the_job_of_gitlab_writes_its_report(programs: dict[str, str], tmp_path: Path) -> None:
    job = yaml.safe_load((ROOT / "docs/ci/gitlab.yml").read_text())["modelgate"]
    (tmp_path / "m.yaml").write_text(BAD)
    (script,) = job["script"]
    done = run("sh", "-c", script, cwd=tmp_path, env={**programs, **job["variables"]})
    report = tmp_path / job["artifacts"]["reports"]["codequality"]
    assert (done.returncode, json.loads(report.read_text())[0]["location"]["path"]) == (1, "m.yaml")
    assert "m.yaml:4:8: unknown-field error: spec.fromat" in done.stderr, "the log of the job"
    (tmp_path / ".modelgate.yaml").write_text("failOn: never\n")
    environment = {**programs, **job["variables"]}
    assert run("sh", "-c", script, cwd=tmp_path, env=environment).returncode == 0
    assert run("sh", "-c", script, cwd=tmp_path, env={**environment, "CI_MERGE_REQUEST_IID": "1"}).returncode == 1


def test_the_plugin_of_argo_cd_hands_on_only_what_is_accepted(programs: dict[str, str], tmp_path: Path) -> None:
    generate = yaml.safe_load((ROOT / "docs/ci/argocd.yaml").read_text())["spec"]["generate"]
    command = (*generate["command"], *generate["args"])
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "m.yaml").write_text(GOOD)
    done = run(*command, cwd=tmp_path / "app", env=programs)
    assert (done.returncode, [each["kind"] for each in yaml.safe_load_all(done.stdout) if each]) == (0, ["Model"])
    (tmp_path / "app" / "bad.yaml").write_text(BAD)
    done = run(*command, cwd=tmp_path / "app", env=programs)
    assert (done.returncode, done.stdout, "spec.fromat" in done.stderr) == (1, "", True)
    (tmp_path / "app" / "bad.yaml").unlink()
    (tmp_path / "app" / ".modelgate.yaml").write_text("failOn: never\n")
    (tmp_path / "secret").write_text(BAD.replace("good", "of-the-host"))
    (tmp_path / "app" / "link.yaml").symlink_to("../secret")
    done = run(*command, cwd=tmp_path / "app", env=programs)
    assert (done.returncode, "of-the-host" in done.stdout + done.stderr) == (0, False)
