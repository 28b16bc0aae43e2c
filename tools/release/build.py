"""The files of a release, from an export of a commit: what is not committed cannot get in."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tools.release import oci, project
from tools.release.statements import checksums, provenance

NAMESPACE: Final = "modelgate-system"
_KUBERNETES: Final = "1.37.0"  # for which the manifests are rendered; an older Helm would take an older one
_LOCKS: Final = ("requirements/run.txt", "requirements/unused.txt")


class CommandFailed(Exception):
    """A program ended with an error; the text has its last words."""


def build(target: Path, helm: str, *, image: bool = True) -> None:
    """Write all files of a release into an empty folder.

    Args:
        target: made if it is absent.
        helm: the program.
        image: also the image, and what is in it.

    ``SOURCE`` in the environment is the address of the source, for the metadata of charts and image. ``PYTHON_IMAGE``
    is another base of the image.

    Raises:
        CommandFailed: a step failed.
    """
    commit, version = project.commit(), project.version()
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="modelgate-release-") as folder:
        source = Path(folder) / "source"
        _export(commit.revision, source)
        env = os.environ | {"SOURCE_DATE_EPOCH": str(commit.time), "PYTHONHASHSEED": "0", "REVISION": commit.revision}
        digests: dict[str, str] = {}
        _step("wheel and sdist")
        _run([sys.executable, "-m", "hatchling", "build", "-d", str(target)], source, env)
        for chart in project.charts(source):
            _step(chart.name)
            _published_at(chart, os.environ.get("SOURCE", ""))
            digests |= _chart(chart, target, helm)
        _step("install.yaml")
        _manifests(target / f"modelgate-{version}.tgz", target, helm)
        if image:
            _step("image")
            archive = target / f"modelgate-{version}-image.tar"
            _run([str(source / ".ci" / "image"), str(archive)], source, env | {"ARCHIVE_FORMAT": "oci-archive"})
            oci.rewritten(archive)
            digests["image"] = oci.manifest_digest(archive)
            _step("bill of materials")
            _materials(source, target / f"modelgate-{version}.cdx.json", Path(folder), env)
    given = {"base": os.environ.get("PYTHON_IMAGE"), "source": os.environ.get("SOURCE")}
    provenance(target, commit.revision, {name: value for name, value in given.items() if value}, digests)
    checksums(target)
    for path in sorted(target.iterdir()):
        print(f"{path.stat().st_size:>12,}  {path.name}")
    for name, digest in digests.items():
        print(f"{name}: {digest}")


def _export(revision: str, target: Path) -> None:
    """The files of a commit. Their time is that of the commit."""
    target.mkdir()
    with tempfile.TemporaryFile() as archive:
        subprocess.run(["git", "archive", revision], cwd=project.ROOT, stdout=archive, check=True)
        archive.seek(0)
        subprocess.run(["tar", "--extract"], cwd=target, stdin=archive, check=True)


def _published_at(chart: Path, source: str) -> None:
    """Say in the metadata of a chart where its source is, if that is known."""
    if source:
        described = chart / "Chart.yaml"
        address = json.dumps(source)
        described.write_text(f"{described.read_text()}home: {address}\nsources: [{address}]\n")


def _chart(chart: Path, target: Path, helm: str) -> dict[str, str]:
    """Pack a chart, and its layout beside it; the digest of its manifest by its name."""
    printed = _run([helm, "package", str(chart), "--destination", str(target)], chart, os.environ)
    package = Path(printed.rpartition(": ")[2].strip())
    return {package.stem: oci.chart_layout(package, target / f"{package.stem}-chart.tar")}


def _manifests(package: Path, target: Path, helm: str) -> None:
    """The chart with its own values, for ``kubectl apply``."""
    flags = ["--namespace", NAMESPACE, "--skip-tests", f"--kube-version={_KUBERNETES}"]
    rendered = _run([helm, "template", "modelgate", str(package), *flags], target, os.environ)
    namespace = f"apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {NAMESPACE}\n"
    (target / "install.yaml").write_text(f"{namespace}{rendered}")


def _materials(source: Path, target: Path, folder: Path, env: Mapping[str, str]) -> None:
    """What is in the image, as CycloneDX: read from an environment that is made as in the Dockerfile."""
    installed, tool = folder / "installed", folder / "tool"
    _run([sys.executable, "-m", "venv", "--without-pip", str(installed)], source, env)
    _run([sys.executable, "-m", "venv", str(tool)], source, env)
    pip = [str(tool / "bin" / "pip"), "--disable-pip-version-check", "-q"]
    _run([*pip, "install", "--require-hashes", "-r", "requirements/release.txt"], source, env)
    into = [*pip, "--python", str(installed / "bin" / "python")]
    _run([*into, "install", "--no-compile", "--require-hashes", "-r", _LOCKS[0]], source, env)
    _run([*into, "uninstall", "-y", "-r", _LOCKS[1]], source, env)
    flags = ["--output-reproducible", "--pyproject", "pyproject.toml", "--output-file", str(target)]
    _run([str(tool / "bin" / "cyclonedx-py"), "environment", *flags, str(installed)], source, env)


def _step(name: str) -> None:
    print(f"{name} …", file=sys.stderr, flush=True)


def _run(command: list[str], folder: Path, env: Mapping[str, str]) -> str:
    program = shutil.which(command[0]) or command[0]
    done = subprocess.run(
        [program, *command[1:]], cwd=folder, env=dict(env), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise CommandFailed(f"{' '.join(command)}: {(done.stderr or done.stdout).strip()[-3000:]}")
    return done.stdout
