"""A release: equal when it is made again, whole, and as docs/verify.md says."""

import hashlib
import json
import re
import subprocess
import sys
import tarfile

import pytest
import yaml

from tests.chart.helm import program
from tests.shared import ROOT
from tools.release import oci, project
from tools.release.__main__ import main
from tools.release.build import build
from tools.release.publish import commands
from tools.release.statements import CHECKSUMS, PROVENANCE, checksums, provenance

VERSION = project.version()
PAGE = (ROOT / "docs" / "verify.md").read_text()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """What needs no image builder, made twice."""
    if subprocess.run(["git", "rev-parse"], cwd=ROOT, capture_output=True, check=False).returncode:
        pytest.skip("needs the git repository")
    folders = [tmp_path_factory.mktemp("release") for _ in range(2)]
    for folder in folders:
        build(folder, program(), image=False)
    return folders


def test_everything_that_has_a_version_has_the_same():
    assert [*project.disagreements()] == []


def test_two_releases_of_a_commit_are_equal(made):
    first, second = made
    assert (first / CHECKSUMS).read_text() == (second / CHECKSUMS).read_text()
    assert (first / PROVENANCE).read_text() == (second / PROVENANCE).read_text()


def test_each_file_has_a_checksum_and_is_a_subject(made):
    folder = made[0]
    sums = dict(reversed(line.split("  ")) for line in (folder / CHECKSUMS).read_text().splitlines())
    files = {path.name for path in folder.iterdir()} - {CHECKSUMS, PROVENANCE}
    assert sums.keys() == files
    assert {f"modelgate-{VERSION}-py3-none-any.whl", f"modelgate-{VERSION}.tar.gz", "install.yaml"} < files
    statement = json.loads((folder / PROVENANCE).read_text())
    subjects = {each["name"]: each["digest"]["sha256"] for each in statement["subject"]}
    assert sums.items() <= subjects.items()
    assert statement["predicate"]["buildDefinition"]["externalParameters"]["revision"] == project.commit().revision


def test_a_release_that_knows_where_its_source_is_says_so(made, tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE", "https://source.example/modelgate")
    build(tmp_path, program(), image=False)
    for folder, expected in ((tmp_path, "https://source.example/modelgate"), (made[0], None)):
        for name in ("modelgate", "modelgate-crds"):
            with tarfile.open(folder / f"{name}-{VERSION}.tgz") as chart:
                described = yaml.safe_load(chart.extractfile(f"{name}/Chart.yaml").read())
            assert described.get("home") == expected
            assert described.get("sources") == (expected and [expected])
        statement = json.loads((folder / PROVENANCE).read_text())
        assert statement["predicate"]["buildDefinition"]["externalParameters"].get("source") == expected


def test_a_chart_is_stored_as_a_registry_stores_it(made):
    package = made[0] / f"modelgate-{VERSION}.tgz"
    with tarfile.open(made[0] / f"modelgate-{VERSION}-chart.tar") as layout:
        blobs = {each.name: layout.extractfile(each).read() for each in layout}
    for name, content in blobs.items():
        if name.startswith("blobs/"):
            assert name == f"blobs/sha256/{hashlib.sha256(content).hexdigest()}"
    manifest = json.loads(blobs[oci.manifest_digest(layout_of(made)).replace("sha256:", "blobs/sha256/")])
    (layer,) = manifest["layers"]
    assert layer["digest"] == f"sha256:{hashlib.sha256(package.read_bytes()).hexdigest()}"
    assert json.loads(blobs[manifest["config"]["digest"].replace("sha256:", "blobs/sha256/")])["version"] == VERSION


def layout_of(made):
    return made[0] / f"modelgate-{VERSION}-chart.tar"


def test_the_order_and_the_times_of_an_archive_do_not_count(tmp_path):
    names = ("b", "a")
    for name in names:
        (tmp_path / name).write_text(name)
    for archive, order in (("1.tar", names), ("2.tar", names[::-1])):
        with tarfile.open(tmp_path / archive, "w") as tar:
            for name in order:
                tar.add(tmp_path / name, name)
        (tmp_path / "a").touch()
        oci.rewritten(tmp_path / archive)
    assert (tmp_path / "1.tar").read_bytes() == (tmp_path / "2.tar").read_bytes()


def test_publishing_covers_every_file(tmp_path):
    chart = tmp_path / f"modelgate-{VERSION}.tgz"
    with tarfile.open(chart, "w:gz") as tar:
        (tmp_path / "Chart.yaml").write_text(f"name: modelgate\nversion: {VERSION}\n")
        tar.add(tmp_path / "Chart.yaml", "modelgate/Chart.yaml")
    (tmp_path / "Chart.yaml").unlink()
    oci.chart_layout(chart, tmp_path / f"modelgate-{VERSION}-chart.tar")
    oci.chart_layout(chart, tmp_path / f"modelgate-{VERSION}-image.tar")
    for name in (
        f"modelgate-{VERSION}-py3-none-any.whl",
        f"modelgate-{VERSION}.tar.gz",
        f"modelgate-{VERSION}.cdx.json",
    ):
        (tmp_path / name).write_text("")
    provenance(tmp_path, "0" * 40, {}, {})
    checksums(tmp_path)
    told = [" ".join(command) for command in commands(tmp_path, "registry.example/team", VERSION)]
    by_sums = {f"modelgate-{VERSION}.tgz"}  # the same bytes as in the layout
    for path in tmp_path.iterdir():
        assert path.name in by_sums or any(path.name in command for command in told), path.name
    assert any(re.search(r"cosign sign .*registry.example/team/modelgate@sha256:[0-9a-f]{64}", each) for each in told)


def test_what_stands_in_the_way_of_a_release_is_said(tmp_path, capsys):
    (tmp_path / "old").touch()
    assert main(["build", "--helm", "no-such-helm", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert f"release: {tmp_path} is not empty" in said
    assert "there is no no-such-helm" in said


def test_the_commands_that_need_no_network_do_what_the_page_says(made):
    """Each block of the page that is marked ``offline`` runs in the folder of a release."""
    blocks = re.findall(r"```sh offline\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) >= 3
    for block in blocks:
        script = block.replace("VERSION", VERSION).replace("python3", sys.executable)
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script], cwd=made[0], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{block}{done.stdout}{done.stderr}"
