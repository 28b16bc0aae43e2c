"""Pins that name no release, and trees that are large, hostile or broken: a remark, never a guess or an error."""

import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.library.test_pins import WAYS
from tests.library.trees import FLUX, lines, pins, write
from webhook.catalog import built_in
from webhook.library.pins import Pins
from webhook.library.pins.pin import release_of
from webhook.library.pins.terraform import HclError, blocks

NO_RELEASE = {
    "${LLMKUBE_VERSION}": '"${LLMKUBE_VERSION}" is a variable',
    "{{ .Values.version }}": '"{{ .Values.version }}" is a variable',
    "0.9.x": '"0.9.x" is a range',
    ">=0.9": '">=0.9" is a range',
    "~0.9.1": '"~0.9.1" is a range',
    "^0.9.1": '"^0.9.1" is a range',
    "0.9.1 - 0.9.5": '"0.9.1 - 0.9.5" is a range',
    "0.9.1 || 0.9.2": '"0.9.1 || 0.9.2" is a range',
    "0.9": '"0.9" is a range',
    "*": '"*" is a range',
    "": "no version is written",
    "latest": '"latest" does not name a release',
    "sha256:abc": '"sha256:abc" is only a digest',
    "0.9.١٩": '"0.9.١٩" does not name a release',  # int() reads such digits, and no registry has such a tag
    "0.9.19\u200b": '"0.9.19\u200b" does not name a release',
    "v0.9.19-dirty": '"v0.9.19-dirty" does not name a release',
    "1" * 1000 + ".0.0": f'"{"1" * 60}…" does not name a release',
}
RELEASES = {
    "0.9.19": "0.9.19",
    "v0.9.19": "0.9.19",
    "=0.9.19": "0.9.19",
    " 0.9.19 ": "0.9.19",
    "0.9.19@sha256:abc": "0.9.19",
    "refs/tags/v0.9.19": "0.9.19",
    "0.9.19+build.5": "0.9.19",
    "v0.2.0-rc5": "0.2.0-rc5",
}


@pytest.mark.parametrize("text", NO_RELEASE)
def test_a_text_that_names_no_release_says_why(text: str) -> None:
    assert release_of(text) == ("", NO_RELEASE[text])


@pytest.mark.parametrize("text", RELEASES)
def test_a_text_names_a_release(text: str) -> None:
    assert release_of(text) == (RELEASES[text], "")


@pytest.mark.parametrize(
    ("written", "why"),
    [
        (0.9, "0.9 is not a text: write the version in quotes"),
        (True, "true is not a text: write the version in quotes"),
        (["0.9.19", "0.9.5"], "a list does not name a release"),
        ({"tag": {"a": 1}}, "a map does not name a release"),
    ],
)
def test_other_types_do_not_name_a_release(written: object, why: str) -> None:
    assert release_of(written) == ("", why)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("tag: 0.9.19", 'semver: ">=0.9"', '">=0.9" is a range'),
        ("tag: 0.9.19", "digest: sha256:0123", '"sha256:0123" is only a digest'),
        ("tag: 0.9.19", 'tag: "${V}"', '"${V}" is a variable'),
        ("ref: {tag: 0.9.19}", "interval: 1h", "no version is written"),
    ],
)
def test_a_pin_without_a_release_says_why_with_its_line(old: str, new: str, why: str, tmp_path: Path) -> None:
    read = pins(tmp_path, FLUX.replace(old, new))
    line = 4 if old.startswith("ref") else 6
    pinned = read.of(tmp_path / "m.yaml")["llmkube"]
    assert (pinned.release, pinned.why) == ("", f"{why} (llmkube/source.yaml:{line})")


def test_a_digest_beside_a_tag_is_that_of_the_tag(tmp_path: Path) -> None:
    text = FLUX.replace("tag: 0.9.19", "tag: 0.9.19, digest: sha256:0123")
    assert lines(pins(tmp_path, text)) == ["llmkube 0.9.19 llmkube/source.yaml:6"]


def test_an_unknown_chart_version_does_not_say_the_release(tmp_path: Path) -> None:
    read = pins(tmp_path, "=== Chart.yaml\nname: us\ndependencies: [{name: llmaz, version: 0.9.9}]\n")
    assert lines(read) == ['llmaz the release in chart "0.9.9" is not known Chart.yaml:2']


HOSTILE = {
    "binary": "=== helmfile.yaml\n\0\1 releases: llmkube\n",
    "broken": "=== llmkube.yaml\nkind: HelmRelease\nspec: {chart: {spec: {chart: llmkube\n",
    "deep": f"=== llmkube.yaml\n# llmkube\nkind: HelmRelease\nspec: {'[' * 5000}\n",
    "bomb": "=== llmkube.yaml\n# llmkube\nkind: HelmRelease\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
    + "".join(f"a{n + 1}: &a{n + 1} [{', '.join([f'*a{n}'] * 10)}]\n" for n in range(12)),
    "terraform": '=== a.tf\nresource "helm_release" "a" {\n  chart = "llmkube"\n  version = <<EOT\n',
    "comments": "=== a.tf\n# helm_release llmkube\n" + "/*" * 100_000,
    "brackets": "=== a.tf\n# helm_release llmkube\na = " + "[" * 100_000,
    "expressions": '=== a.tf\n# helm_release llmkube\na = "' + "${" * 100_000,
}


@pytest.mark.parametrize("tree", HOSTILE)
def test_a_hostile_file_hides_no_other(tree: str, tmp_path: Path) -> None:
    read = pins(tmp_path, HOSTILE[tree] + FLUX)
    assert lines(read) == ["llmkube 0.9.19 llmkube/source.yaml:6"]


def test_a_file_of_terraform_that_cannot_be_read_is_a_remark(tmp_path: Path) -> None:
    read = pins(tmp_path, HOSTILE["terraform"])
    said = "a.tf: not read for the release of an operator: line 3: what begins here does not end"
    assert list(map(str, read.remarks)) == [said]


def test_a_large_file_that_names_an_operator_is_a_remark(tmp_path: Path) -> None:
    write(tmp_path, FLUX)
    release = tmp_path / "llmkube" / "release.yaml"
    release.write_text(release.read_text() + f"# llmkube {'x' * (1 << 20)}")
    read = Pins.read(built_in(), [], [tmp_path])
    assert list(map(str, read.remarks)) == [
        "llmkube/release.yaml: not read for the release of an operator: larger than 1 MiB"
    ]


def test_more_files_than_are_looked_through_are_a_remark(tmp_path: Path) -> None:
    for number in range(5_001):
        (tmp_path / f"{number}.yaml").touch()
    read = Pins.read(built_in(), [], [write(tmp_path, FLUX)])
    assert [each.message for each in read.remarks] == [
        "pins are looked for in 5000 files of 5003: those nearest to its top"
    ]


def test_a_link_out_of_the_tree_is_not_followed(tmp_path: Path) -> None:
    outside = write(tmp_path / "outside", FLUX)
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "link.yaml").symlink_to(outside / "llmkube" / "source.yaml")
    (inside / "folder").symlink_to(outside)
    (inside / "loop").symlink_to(inside)
    (inside / "values.yaml").symlink_to("/dev/zero")
    os.mkfifo(inside / "pipe.yaml")
    assert Pins.read(built_in(), [], [inside]).pins == ()


def test_values_outside_of_the_tree_are_not_read(tmp_path: Path) -> None:
    write(tmp_path, "=== secret.yaml\nmodelSource: {allowedHostPathRoots: [/etc]}\n")
    text = "=== helmfile.yaml\nreleases: [{chart: a/llmkube, version: 0.9.5, values: [../secret.yaml, /etc/passwd]}]\n"
    assert [dict(pin.settings) for pin in pins(tmp_path / "inside", text).pins] == [{}]


@pytest.mark.parametrize("name", ["a\\0b", "../" * 50, "x" * 5000, "", "."])
def test_a_strange_name_of_a_file_is_that_of_none(name: str, tmp_path: Path) -> None:
    text = f'=== helmfile.yaml\nreleases:\n- {{chart: a/llmkube, version: 0.9.5, values: ["{name}/v"]}}\n'
    text += f'- {{chart: "./{name}"}}\n'
    text += f'=== kustomization.yaml\nresources: ["{name}"]\nhelmCharts: [{{name: llmkube, version: 0.9.4}}]\n'
    assert sorted(pin.release for pin in pins(tmp_path, text).pins) == ["0.9.4", "0.9.5"]


TEXTS = [text for text, _ in WAYS.values()]


@given(st.sampled_from(TEXTS), st.data())
def test_a_changed_tree_is_never_an_error(
    tmp_path_factory: pytest.TempPathFactory, text: str, data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(text)))
    part = data.draw(st.sampled_from(["", "[", "{", "- ", ": ", "\n", "'", '"', "${", "null", "5", "=", "<<E\n", "*a"]))
    changed = text[:at] + part + text[at + data.draw(st.integers(0, 20)) :]
    read = pins(tmp_path_factory.mktemp("tree"), changed)
    assert all(bool(pin.release) != bool(pin.why) for pin in read.pins)


@given(st.text(alphabet='ab ={}[]()"\\$<>-\n#/*,.:E1', max_size=200))
def test_hcl_is_read_or_refused_with_its_line(text: str) -> None:
    with suppress(HclError):
        assert isinstance(blocks(text), list)
