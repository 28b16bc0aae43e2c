"""An upstream that cannot be followed, or not all of it: what is left out and named, and what changes nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.tools.world import GADGETS, GO, UPSTREAM, WIDGETS, World, changed


def test_nothing_of_the_repository_is_run(world: World) -> None:
    marker = world.folder / "marker"
    program = world.folder / "program"
    program.write_text(f"#!/bin/sh\ntouch {marker}\n")
    program.chmod(0o755)
    settings = ("core.fsmonitor", "gpg.program", "core.sshCommand", "core.pager", "diff.external", "core.askPass")
    for name in settings:
        world.git("config", name, str(program))
    world.git("config", "log.showSignature", "true")
    for hook in ("post-checkout", "reference-transaction", "post-index-change"):
        (world.repository / ".git" / "hooks" / hook).symlink_to(program)
    world.write(**{".gitattributes": "* filter=x diff=x\n"})
    world.git("config", "diff.x.textconv", str(program))
    marker.unlink(missing_ok=True)
    assert world.follow()[0] == 1
    assert not marker.exists()


BROKEN = "apiVersion: apiextensions.k8s.io/v1\nkind: [\n"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"config__crd__w.yaml": BROKEN}, "v1.3.0:config/crd/w.yaml:"),
        ({"config__crd__w.yaml": "a: 1\n" * 1_000_000}, "has 5000000 bytes, more than 4194304"),
        (
            {"config__crd__x.yaml": changed(WIDGETS, extra={"type": "string"})},
            "defines widgets.example.com in another way than",
        ),
        ({"config__crd__w.yaml": {**WIDGETS, "spec": {}}}, "spec.versions must be a list of versions with names"),
        ({"config__crd__w.yaml": {**WIDGETS, "metadata": {}}}, "metadata.name: a definition must have a name"),
        ({"config__crd__w.yaml": changed(WIDGETS, size=7)}, "properties[spec].properties[size]: Invalid value: 7"),
        ({"config__crd__w.yaml": changed(WIDGETS, size={"type": "a\x1b[2J"})}, "size].type: Unsupported value"),
    ],
)
def test_a_release_that_cannot_be_read_is_left_out_and_named(
    world: World, change: dict[str, Any], message: str
) -> None:
    world.write(**change)
    world.release("v1.3.0")
    code, out, err = world.follow()
    assert code == 2
    assert err.startswith("follow: v1.3.0:config/crd/")
    assert message in err
    assert err.endswith("; 1.3.0 is left out\n")
    assert "## 1.2.0, after 1.1.0" in out
    assert world.table["releases"] == ["1.0.0", "1.1.0", "1.2.0"]


def test_a_definition_that_is_a_link_is_not_read(world: World) -> None:
    secret = world.folder / "secret.yaml"
    secret.write_text(yaml.safe_dump(WIDGETS))
    (world.repository / "config" / "crd" / "w.yaml").unlink()
    (world.repository / "config" / "crd" / "w.yaml").symlink_to(secret)
    world.release("v1.3.0")
    code, _, err = world.follow()
    link = "v1.3.0:config/crd/w.yaml is a symbolic link or a submodule, which is not read; 1.3.0 is left out"
    assert (code, err) == (2, f"follow: {link}\n")


def test_names_that_look_like_options_are_names(world: World) -> None:
    world.write(**{"config__crd__--output=x.yaml": changed(GADGETS, more={"type": "string"})})
    (world.repository / "config" / "crd" / "g.yaml").unlink()
    world.release("v1.3.0")
    assert world.follow()[0] == 1
    assert world.table["digests"]["gadgets.example.com"][-1][1:] == ["1.3.0", "1.3.0"]
    assert not list(Path.cwd().glob("x.yaml"))


def test_samples_that_cannot_be_read_are_named(world: World) -> None:
    world.write(**{"samples__a.yaml": "kind: [\n", "samples__k.yaml": "resources: []\n"})
    (world.repository / "samples" / "link.yaml").symlink_to("/etc/hostname")
    world.release("v1.3.0")
    code, out, err = world.follow()
    assert (code, err) == (1, "")
    assert "v1.3.0:samples/link.yaml is a symbolic link or a submodule, which is not read\n" in out
    assert "v1.3.0:samples/a.yaml:" in out


def no_tags(world: World) -> None:
    for tag in world.git("tag").split():
        world.git("tag", "-d", tag)


def no_repository(world: World) -> None:
    (world.repository / ".git").rename(world.folder / "elsewhere")


def lost_tag(world: World) -> None:
    world.follow()
    world.git("tag", "-d", "v1.1.0")


def two_of_one_version(world: World) -> None:
    world.git("tag", "v1.1", "v1.2.0")


def tag_of_a_tree(world: World) -> None:
    world.git("tag", "v1.3.0", "HEAD^{tree}")


def broken_table(world: World) -> None:
    (world.api / "releases.json").write_text("[")


def unknown_field(world: World) -> None:
    world.file.write_text(UPSTREAM.replace("samples:", "sample:"))


def bad_watch(world: World) -> None:
    world.file.write_text(UPSTREAM.replace("Controller.size", "a b"))


def bad_since(world: World) -> None:
    world.file.write_text(UPSTREAM.replace("since: 1.0.0", "since: first"))


def two_documents(world: World) -> None:
    world.file.write_text(f"{UPSTREAM}---\n{UPSTREAM}")


def watches_out_of_reach(world: World) -> None:
    world.file.write_text(json.dumps(yaml.safe_load(UPSTREAM)))


def two_functions(world: World) -> None:
    world.write(**{"controller.go": GO + "\nfunc size() {}\n"})
    world.file.write_text(UPSTREAM.replace("Controller.size", "size"))
    world.release("v1.3.0")


def large_file(world: World) -> None:
    world.write(**{"controller.go": "//" + "x" * (5 << 20)})
    world.release("v1.3.0")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (no_tags, "is v with a version from 1.0.0 on: fetch its tags"),
        (no_repository, "is not the top of a Git repository"),
        (lost_tag, "the table has 1.1.0, which cannot be read of"),
        (two_of_one_version, "are one version, but different commits"),
        (tag_of_a_tree, "the tag v1.3.0 names no commit of this clone"),
        (broken_table, "releases.json: not JSON"),
        (unknown_field, "follow.yaml:9: sample: unknown field"),
        (bad_watch, "watches[0].function"),
        (bad_since, 'follow.yaml:5: since: "first" is not a release'),
        (two_documents, "follow.yaml: must have one document"),
        (
            watches_out_of_reach,
            "follow.yaml: watches: write it at the start of a line, once, so that it can be updated",
        ),
        (two_functions, "v1.3.0:controller.go: has 2 functions size: watch one of Controller.size, size"),
        (large_file, "v1.3.0:controller.go has 5242882 bytes, more than 4194304"),
    ],
)
def test_bad_input_is_an_error_that_changes_nothing(world: World, spoil: Callable[[World], None], message: str) -> None:
    spoil(world)
    world.capture.readouterr()
    written = {path: path.read_bytes() for path in world.api.rglob("*.*") if path.is_file()}
    code, out, err = world.follow()
    assert (code, out) == (2, "")
    assert message in err
    assert {path: path.read_bytes() for path in world.api.rglob("*.*") if path.is_file()} == written


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--since", "7"], "follow: --since 7: use a release from 1.0.0 to 1.2.0\n"),
        (
            ["--looked", "nothing"],
            "follow: --looked nothing: no watch in follow.yaml; near to it are: Controller.size\n",
        ),
    ],
)
def test_a_wrong_option_is_an_error_that_names_what_can_be_used(world: World, options: list[str], message: str) -> None:
    assert world.follow(*options) == (2, "", message)
    assert not (world.api / "releases.json").exists()


def test_what_a_clone_lacks_is_not_fetched(world: World) -> None:
    marker, program = world.folder / "marker", world.folder / "program"
    program.write_text(f"#!/bin/sh\ntouch {marker}\n")
    program.chmod(0o755)
    lacking = world.git("rev-parse", "v1.1.0:config/crd/w.yaml")
    for name, value in {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.url": f"ext::{program}",
        "remote.origin.promisor": "true",
        "protocol.ext.allow": "always",
    }.items():
        world.git("config", name, value)
    (world.repository / ".git" / "objects" / lacking[:2] / lacking[2:]).unlink()
    code, _, err = world.follow()
    assert code == 2
    assert "v1.1.0:config/crd/w.yaml is not in this clone: fetch it without a filter; 1.1.0 is left out" in err
    assert not marker.exists()
    assert world.table["releases"] == ["1.0.0", "1.2.0"]
