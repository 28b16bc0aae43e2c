"""A release: the same bytes each time, complete, and verified as docs/verify.md says."""

import hashlib
import json
import re
import subprocess
import sys
import tarfile
import tomllib

import pytest
import yaml

from tests.chart.helm import CHART, DEFINITIONS, NAMESPACE, ROOT, documents, program, run
from tools.release import readme as readmes
from tools.release import version as versions
from tools.release.charts import oci_layout, package
from tools.release.sbom import sbom
from tools.release.slim import PACKAGES

EPOCH = 1_790_000_000
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
CHARTS = pytest.mark.parametrize("chart", [CHART, DEFINITIONS], ids=lambda chart: chart.name)


@CHARTS
def test_a_chart_is_packed_to_the_same_bytes_and_renders_as_its_folder(chart, tmp_path):
    name, content = package(chart, EPOCH)
    assert package(chart, EPOCH) == (name, content)
    (tmp_path / name).write_bytes(content)
    with tarfile.open(tmp_path / name) as archive:
        members = archive.getmembers()
    assert members[0].name.endswith("/Chart.yaml")
    assert {(each.mtime, each.mode, each.uid) for each in members} == {(EPOCH, 0o644, 0)}
    assert not [each.name for each in members if "/src/" in each.name or each.issym()]
    flags = (
        ["--namespace", NAMESPACE, "--set-json=apis.ome=true"] if chart == DEFINITIONS else ["--namespace", NAMESPACE]
    )
    of_package, of_folder = (run("template", "m", str(each), *flags) for each in (tmp_path / name, chart))
    assert of_package.returncode == 0, of_package.stderr
    assert documents(of_package.stdout) == documents(of_folder.stdout)
    assert run("lint", "--strict", str(tmp_path / name)).returncode == 0


@CHARTS
def test_an_oci_layout_holds_the_package_under_the_media_types_of_helm(chart, tmp_path):
    _, content = package(chart, EPOCH)
    digest = oci_layout(chart, content, tmp_path / "one", EPOCH)
    assert oci_layout(chart, content, tmp_path / "two", EPOCH) == digest
    for path in (tmp_path / "one" / "blobs" / "sha256").iterdir():
        assert hashlib.sha256(path.read_bytes()).hexdigest() == path.name
    manifest = json.loads(blob(tmp_path / "one", digest))
    assert manifest["config"]["mediaType"] == "application/vnd.cncf.helm.config.v1+json"
    assert json.loads(blob(tmp_path / "one", manifest["config"]["digest"]))["version"] == VERSION
    (layer,) = manifest["layers"]
    assert layer["mediaType"] == "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
    assert blob(tmp_path / "one", layer["digest"]) == content


def blob(layout, digest):
    return (layout / "blobs" / "sha256" / digest.removeprefix("sha256:")).read_bytes()


def test_the_bill_of_materials_names_each_package_of_the_image_with_its_hashes():
    lock = (ROOT / "requirements" / "run.txt").read_text()
    locked = dict(re.findall(r"^([a-z0-9._-]+)==([^ ;\\]+)", lock, re.MULTILINE))
    document = json.loads(sbom(lock, VERSION, "abc", EPOCH, PACKAGES))
    found = {each["name"]: each["version"] for each in document["components"]}
    assert set(PACKAGES) <= locked.keys()
    assert found.keys() <= locked.keys() - set(PACKAGES)
    assert {"cryptography", "kubernetes", "uvicorn", "uvloop", "orjson"} <= found.keys()
    assert all(locked[name] == number for name, number in found.items())
    assert all(each["hashes"] and each["purl"] == each["bom-ref"] for each in document["components"])


def test_what_the_image_leaves_out_is_needed_by_nothing_of_ours():
    imports = re.compile(
        rf"^\s*(?:from|import) ({'|'.join(each.replace('-', '_') for each in PACKAGES)}|attr)\b", re.MULTILINE
    )
    for folder in ("webhook", "certs", "reconciler", "modelgate"):
        for path in (ROOT / folder).rglob("*.py"):
            assert not imports.search(path.read_text()), path


def test_a_release_is_the_same_twice_and_its_checksums_are_right(tmp_path, monkeypatch):
    monkeypatch.setenv("HELM", program())
    outs = [tmp_path / "one", tmp_path / "two"]
    for out in outs:
        command = [sys.executable, "-m", "tools.release", "--without-image", f"--out={out}"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if "not a git repository" in done.stderr:
            pytest.skip("needs a git checkout")
        assert done.returncode == 0, done.stderr
    files = [{path.relative_to(out): path.read_bytes() for path in out.rglob("*") if path.is_file()} for out in outs]
    assert files[0] == files[1]
    page = (ROOT / "docs" / "verify.md").read_text()
    assert "    sha256sum --check SHA256SUMS\n" in page
    done = subprocess.run(
        ["sha256sum", "--check", "SHA256SUMS"], cwd=outs[0], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    listed = set(re.findall(r"`((?:modelgate|install|sbom|SHA)[^`/]*)`", page.partition("## The files")[0]))
    assert listed == {path.name for path in outs[0].iterdir() if path.is_file()}
    installed = documents((outs[0] / "install.yaml").read_text())
    assert installed[0]["kind"] == "Namespace"
    assert "CustomResourceDefinition" not in {each["kind"] for each in installed}
    assert not [each for each in installed if "helm.sh/hook" in (each["metadata"].get("annotations") or {})]


def test_the_version_is_the_same_everywhere_and_is_set_by_one_command(tmp_path, monkeypatch, capsys):
    for name, pattern in versions.PLACES.items():
        text = (ROOT / name).read_text()
        assert set(re.findall(pattern, text)) == {VERSION}, name
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(versions, "ROOT", tmp_path)
    assert versions.main(["9.8.7"]) == 0
    for name, pattern in versions.PLACES.items():
        assert set(re.findall(pattern, (tmp_path / name).read_text())) == {"9.8.7"}
    assert versions.main(["newest"]) == 64
    assert "give one version" in capsys.readouterr().err


def test_the_scripts_of_a_release_are_shell():
    for script in ("publish", "image"):
        assert subprocess.run(["sh", "-n", ROOT / ".ci" / script], check=False).returncode == 0


@pytest.mark.parametrize("name", readmes.CHARTS)
def test_the_readme_of_a_chart_is_made_from_its_values(name):
    made = readmes.readme(ROOT / name, readmes.CHARTS[name])
    assert (ROOT / name / "README.md").read_text() == made, "stale: make docs"
    for path in leaves(yaml.safe_load((ROOT / name / "values.yaml").read_text())):
        assert f"| `{path}" in made
    assert "| `{}` |" in made or name == "chart-crds"


def leaves(values, path=""):
    """The paths down to the second level."""
    for key, value in values.items():
        if isinstance(value, dict) and value and not path:
            yield from leaves(value, f"{key}.")
        else:
            yield f"{path}{key}"
