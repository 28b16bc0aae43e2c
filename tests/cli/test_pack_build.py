"""A pack as an image: equal folders give equal bytes, and what must not travel is refused."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import shutil
import tarfile
from io import BytesIO
from pathlib import Path

import pytest

from tests.files import written
from tests.shared import ROOT
from webhook import catalog
from webhook.admission.errors import CatalogError
from webhook.cli import FAILED, main
from webhook.cli.pack.build import gzipped
from webhook.manifests.folders import LARGEST

NAME = "gateway-inference"
PACK = ROOT / "packs" / NAME


EXCEPTION = """\
apiVersion: modelgate.dev/v1alpha1
kind: PolicyException
metadata: {name: x}
spec: {codes: [LK223], names: [m], reason: r, until: 2027-02-01T00:00:00Z}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return shutil.copytree(PACK, tmp_path / "packs" / NAME)


def built(folder: Path, target: Path) -> tarfile.TarFile:
    """The archive that is made of a folder."""
    assert main(["pack", "build", str(folder), "--output", str(target)]) == 0
    return tarfile.open(target)


def blob(layout: tarfile.TarFile, digest: str) -> bytes:
    content = layout.extractfile(f"blobs/sha256/{digest.removeprefix('sha256:')}").read()
    assert f"sha256:{hashlib.sha256(content).hexdigest()}" == digest
    return content


def test_equal_folders_give_equal_bytes(folder, tmp_path, capsys) -> None:
    built(PACK, tmp_path / "one.tar").close()
    for number, path in enumerate(sorted(folder.rglob("*"))):
        os.utime(path, (number, number))
        path.chmod(0o700)
    built(folder, tmp_path / "other.tar").close()
    assert (tmp_path / "one.tar").read_bytes() == (tmp_path / "other.tar").read_bytes()
    one, other = re.findall(r"sha256:\w+", capsys.readouterr().out)
    assert one == other
    folder.joinpath("pack.yaml").write_text(folder.joinpath("pack.yaml").read_text() + "# more\n")
    built(folder, tmp_path / "third.tar").close()
    assert re.findall(r"sha256:\w+", capsys.readouterr().out) != [one]


def test_the_image_has_the_files_and_names_the_digest_that_the_gate_shows(folder, tmp_path) -> None:
    with built(folder, tmp_path / "one.tar") as layout:
        (entry,) = json.load(layout.extractfile("index.json"))["manifests"]
        manifest = json.loads(blob(layout, entry["digest"]))
        (layer,) = manifest["layers"]
        config = json.loads(blob(layout, manifest["config"]["digest"]))
        unpacked = gzip.decompress(blob(layout, layer["digest"]))
        assert config["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(unpacked).hexdigest()}"]
        mounted = tmp_path / "mounted"
        with tarfile.open(fileobj=BytesIO(blob(layout, layer["digest"]))) as files:
            assert all(member.isfile() or member.isdir() for member in files)
            files.extractall(mounted, filter="data")
    loaded, original = catalog.load(packs=[mounted]), catalog.load(packs=[PACK])
    assert loaded.digest == original.digest
    assert manifest["annotations"] == {f"dev.modelgate.pack.{NAME}": loaded.added[NAME]}


def hostile(folder: Path, sort: str) -> Path:
    """A folder with an entry that must not be read."""
    entry = folder / "crds" / "more.yaml"
    if sort == "link":
        entry.symlink_to("/etc/passwd")
    elif sort == "climbing link":
        (folder.parents[1] / "outside.yaml").write_text("a: b")
        entry.symlink_to("../../../outside.yaml")
    elif sort == "pipe":
        os.mkfifo(entry)
    else:
        with entry.open("wb") as file:
            file.truncate(LARGEST + 1)
    return entry


@pytest.mark.parametrize("sort", ["link", "climbing link", "pipe", "large file"])
def test_what_must_not_travel_is_neither_loaded_nor_built(folder, tmp_path, sort, capsys) -> None:
    entry = hostile(folder, sort)
    with pytest.raises((CatalogError, OSError)) as raised:
        catalog.load(packs=[folder])
    assert str(entry) in str(raised.value)
    assert main(["pack", "build", str(folder), "-o", str(tmp_path / "x.tar")]) == FAILED
    assert str(entry) in capsys.readouterr().err
    assert not (tmp_path / "x.tar").exists()


def with_policies(folder, target, *beside):
    flags = [flag for each in beside for flag in ("--beside", str(each))]
    return main(["pack", "build", str(folder), *flags, "--output", str(target)])


@pytest.mark.parametrize("size", [0, 1, 0xFFFF, 0x10000, 200_000])
def test_a_layer_is_a_gzip_that_every_library_reads(size) -> None:
    content = os.urandom(size)
    assert gzip.decompress(gzipped(content)) == content
    assert len(gzipped(content)) <= size + 18 + 5 * (size // 0xFFFF + 1)


def test_other_policies_travel_in_the_same_image_in_folders_of_their_own(folder, tmp_path) -> None:
    fleet = written(tmp_path / "fleet", {"enforcement/x.yaml": EXCEPTION, "enforcement/notes.txt": "not taken"})
    assert with_policies(folder, tmp_path / "one.tar", fleet / "enforcement") == 0
    with tarfile.open(tmp_path / "one.tar") as layout:
        (entry,) = json.load(layout.extractfile("index.json"))["manifests"]
        (layer,) = json.loads(blob(layout, entry["digest"]))["layers"]
        with tarfile.open(fileobj=BytesIO(blob(layout, layer["digest"]))) as files:
            names = {each.name for each in files if each.isfile()}
            files.extractall(tmp_path / "mounted", filter="data")
    assert {each.split("/")[0] for each in names} == {"packs", "enforcement"}
    assert f"packs/{NAME}/pack.yaml" in names
    assert [each for each in names if not each.startswith("packs/")] == ["enforcement/x.yaml"]
    assert catalog.load(packs=[tmp_path / "mounted" / "packs"]).added == catalog.load(packs=[folder]).added


def test_a_folder_without_policies_or_with_a_name_that_is_taken_is_refused(folder, tmp_path, capsys) -> None:
    named = written(tmp_path / "a", {"packs/x.yaml": EXCEPTION, "same/x.yaml": EXCEPTION, "b/same/x.yaml": EXCEPTION})
    for beside, reason in (
        ([tmp_path / "absent"], "absent: has no YAML or JSON"),
        ([named / "packs"], "packs is a folder of the image already: rename it"),
        ([named / "same", named / "b" / "same"], "same is a folder of the image already: rename it"),
    ):
        assert with_policies(folder, tmp_path / "one.tar", *beside) == FAILED
        assert reason in capsys.readouterr().err
        assert not (tmp_path / "one.tar").exists()


def test_a_link_beside_the_rules_does_not_travel_either(folder, tmp_path, capsys) -> None:
    (folder / "README").symlink_to("pack.yaml")
    assert main(["pack", "build", str(folder), "-o", str(tmp_path / "x.tar")]) == FAILED
    assert "README: is a link or a device, which does not travel: copy the file" in capsys.readouterr().err


def test_links_within_a_mounted_config_map_are_read(folder, tmp_path) -> None:
    """The kubelet writes each file into a hidden folder, and links to it."""
    mount = tmp_path / "mount"
    shutil.move(folder, mount / "..2026" / NAME)
    (mount / "..data").symlink_to("..2026")
    (mount / NAME).symlink_to(f"..data/{NAME}")
    assert NAME in catalog.load(packs=[mount]).added
