"""A small upstream with three releases is followed: what is printed, and what is written."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.crds import crd_text
from tools.follow.__main__ import main
from tools.follow.upstream import Upstream, read
from webhook import catalog
from webhook.schema.crd.digest import digest

SCHEMA = """
        type: object
        properties:
          spec:
            type: object
            required: [size]
            properties:
              size: {type: integer, minimum: 1, description: The size that the machine makes of it in centimetres.}
              description: {type: string, description: What people read.}
"""
WIDGETS: dict[str, Any] = yaml.safe_load(crd_text("example.com", "Widget", SCHEMA))
GADGETS = json.loads(json.dumps(WIDGETS).replace("widget", "gadget").replace("Widget", "Gadget"))

GO = """\
package controller

// size is not this: func size() {}
func (c *Controller) size(w Widget) int {
	if w.Name == "}" { // {
		return '{' - 1
	}
	return w.Spec.Size
}

func other() {}
"""

POLICY = """\
apiVersion: modelgate.dev/v1alpha1
kind: Policy
metadata: {name: example-widget}
spec:
  target: {group: example.com, versions: [v1], kind: Widget}
  validations:
  - code: EX201
    at: spec.size
    rule: self <= 10
    message: "too large: use 10 or less"
    docs: The machine makes 10.
  - code: EX202
    at: spec.description
    rule: self != 'x'
    message: "says nothing: write a sentence"
    docs: People read it.
"""
CASES = """\
apiVersion: modelgate.dev/v1alpha1
kind: Cases
target: {group: example.com, version: v1, kind: Widget}
cases:
- name: too large
  spec: {size: 11}
  expect: {deny: [EX201]}
- name: a colour is unknown
  spec: {size: 1, colour: red}
  expect: {deny: [spec.colour]}
- name: a description
  spec: {size: 1, description: x}
  expect: {deny: [EX202]}
"""
PACK = """\
apiVersion: modelgate.dev/v1alpha1
kind: Pack
metadata: {name: example}
spec: {operator: Example, documented: 1.0.0}
"""
UPSTREAM = """\
# Example: kept as it is.
apiVersion: modelgate.dev/v1alpha1
kind: Upstream
tags: [v]
since: 1.0.0
crds: [config/**/*.yaml]
definitions: [widgets.example.com, gadgets.example.com]
others: ['*.other.example.com']
samples: [samples/*.yaml]
watches:
- {file: controller.go, function: Controller.size, codes: [EX201]}
"""


def changed(definition: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """The definition with other fields below ``spec``."""
    found = deepcopy(definition)
    found["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"] |= fields
    return found


TEXTS = changed(
    WIDGETS, size={"type": "integer", "minimum": 1, "description": "The size that the machine makes of it in metres."}
)
NEW = changed(TEXTS, colour={"type": "string", "enum": ["red"], "description": "Its colour."})


@dataclass
class World:
    """A repository, and folders of policies and of what is followed; the methods change them."""

    folder: Path
    capture: pytest.CaptureFixture[str]

    @property
    def repository(self) -> Path:
        return self.folder / "upstream"

    @property
    def api(self) -> Path:
        return self.folder / "policies" / "example"

    @property
    def file(self) -> Path:
        return self.folder / "upstreams" / "example.yaml"

    @property
    def what(self) -> Upstream:
        return read(self.file)

    @property
    def table(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.api / "releases.json").read_text())
        return found

    def git(self, *arguments: str) -> str:
        dates = dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), "2026-03-04T23:30:00-0500")
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"]
        command = ["git", "-C", str(self.repository), *identity, *arguments]
        done = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, **dates})
        return done.stdout.strip()

    def write(self, **files: str | dict[str, Any]) -> None:
        """Write files of the upstream; ``__`` stands for ``/``, and a definition becomes YAML."""
        for name, content in files.items():
            path = self.repository / name.replace("__", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))

    def release(self, *tags: str) -> None:
        self.git("add", "-A")
        self.git("commit", "-qm", "change", "--allow-empty")
        for tag in tags:
            self.git("tag", tag)

    def follow(self, *options: str) -> tuple[int, str, str]:
        """The exit code, what is printed, and the errors."""
        arguments = [str(self.repository), "--api", "example", *options]
        code = main(arguments, self.folder / "upstreams", self.folder / "policies")
        return code, *self.capture.readouterr()


@pytest.fixture
def world(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> World:
    """An upstream with the releases 1.0.0, 1.1.0 and 1.2.0, and policies of the first one, without a table."""
    found = World(tmp_path, capsys)
    for folder in (found.repository, found.api / "crds", found.api / "cases", found.file.parent):
        folder.mkdir(parents=True)
    (found.api / "crds" / "widgets.yaml").write_text(yaml.safe_dump(WIDGETS))
    (found.api / "widget.yaml").write_text(POLICY)
    (found.api / "cases" / "widget.yaml").write_text(CASES)
    (found.api / "pack.yaml").write_text(PACK)
    found.file.write_text(UPSTREAM)
    found.git("init", "-q", "-b", "main", ".")
    found.write(**{"config__crd__w.yaml": WIDGETS, "controller.go": GO, "config__kustomization.yaml": "resources: []"})
    found.release("v1.0.0", "chart-1.0.0", "nightly", "v0.9.0", "v1.0.0-rc1")
    found.write(**{"config__crd__w.yaml": TEXTS})
    found.release("v1.1.0")
    found.write(
        **{"config__crd__w.yaml": NEW, "config__crd__g.yaml": GADGETS, "controller.go": GO.replace("- 1", "- 2")}
    )
    found.write(**{"samples__w.yaml": _sample(size=99) + "---\n" + _sample(size=2, colour="red")})
    found.release("v1.2.0")
    return found


def _sample(**spec: Any) -> str:
    return yaml.safe_dump({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": spec})


def test_the_table_has_the_digests_of_each_release(world: World) -> None:
    world.follow()
    assert world.table == {
        "releases": ["1.0.0", "1.1.0", "1.2.0"],
        "digests": {
            "gadgets.example.com": [[digest(GADGETS), "1.2.0", "1.2.0"]],
            "widgets.example.com": [
                [digest(WIDGETS), "1.0.0", "1.0.0"],
                [digest(TEXTS), "1.1.0", "1.1.0"],
                [digest(NEW), "1.2.0", "1.2.0"],
            ],
        },
    }


def test_a_release_that_only_changes_a_text_is_printed_with_the_codes_that_read_the_field(world: World) -> None:
    _, out, _ = world.follow()
    section = out.partition("## 1.1.0, after 1.0.0\n")[2].partition("\n## ")[0]
    assert section.splitlines() == [
        "widgets.example.com (config/crd/w.yaml)",
        (
            '  ~ spec.size description: … the machine makes of it in centimetres." → '
            '… the machine makes of it in metres."'
        ),
        "  codes: EX201",
    ]


def test_a_release_with_a_field_a_function_and_a_definition_is_printed(world: World) -> None:
    _, out, _ = world.follow()
    section = out.partition("## 1.2.0, after 1.1.0\n")[2].partition("\n## ")[0]
    assert section.splitlines() == [
        "gadgets.example.com is new (config/crd/g.yaml)",
        "widgets.example.com (config/crd/w.yaml)",
        '  + spec.colour (string), enum ["red"]: "Its colour."',
        "  codes: none reads these fields",
        "controller.go: Controller.size changed in 1.2.0: EX201",
        "@@ -1,5 +1,5 @@",
        " func (c *Controller) size(w Widget) int {",
        '     if w.Name == "}" { // {',
        "-        return '{' - 1",
        "+        return '{' - 2",
        "     }",
        "     return w.Spec.Size",
        "cases that hold of 1.1.0, and not of 1.2.0:",
        "  widget.yaml:8: Widget: a colour is unknown: deny: expected ['spec.colour'], got []: []",
    ]


def test_samples_are_judged_under_the_newest_release(world: World) -> None:
    _, out, _ = world.follow()
    section = out.partition("## Samples of 1.2.0\n")[2].partition("\n## ")[0]
    assert section.splitlines()[:2] == [
        "2 objects, errors and warnings: 1",
        "v1.2.0:samples/w.yaml:1: Widget w: refused: spec.size: Invalid value: 99: too large: use 10 or less (EX201)",
    ]


def test_a_draft_of_a_new_form_has_no_texts_but_fields_of_their_names(world: World) -> None:
    code, out, err = world.follow()
    drafts = sorted(world.api.glob("crds/*/*"))
    assert (code, err, [each.relative_to(world.api).as_posix() for each in drafts]) == (
        1,
        "",
        ["crds/1.2.0/widgets.json"],
    )
    draft = json.loads(drafts[0].read_text())
    spec = draft["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    assert spec == {
        "size": {"type": "integer", "minimum": 1},
        "colour": {"type": "string", "enum": ["red"]},
        "description": {"type": "string"},
    }
    assert str(drafts[0]) in out
    loaded = catalog.load(world.folder / "policies")  # with the table and the draft
    assert loaded.packs["example"].releases == ("1.0.0", "1.1.0", "1.2.0")


def test_nothing_is_new_the_second_time(world: World) -> None:
    world.follow()
    written = {path: path.read_bytes() for path in world.folder.rglob("*.*") if path.is_file()}
    assert world.follow() == (0, "3 releases, 1.0.0 to 1.2.0; 0 of them new\n", "")
    assert {path: path.read_bytes() for path in world.folder.rglob("*.*") if path.is_file()} == written
    code, out, _ = world.follow("--since", "1.1.0")
    assert code == 1
    assert "## 1.2.0, after 1.1.0" in out
    assert "## 1.1.0" not in out


def test_a_changed_function_marks_its_codes_until_a_person_looks(world: World) -> None:
    world.follow()
    seen = world.what.watches[0].sha256
    for tag, text in (("v1.3.0", "- 3"), ("v1.4.0", "- 4"), ("v1.5.0", "- 2")):
        world.write(**{"controller.go": GO.replace("- 1", text)})
        world.release(tag)
        code, out, _ = world.follow()
        assert (code, world.what.watches[0].lookAt, world.what.watches[0].sha256) == (1, "1.3.0", seen)
        assert out.endswith("## To be looked at\nEX201: Controller.size of controller.go is another one since 1.3.0\n")
    world.write(**{"controller.go": GO.replace("- 1", "- 5")})
    world.release("v1.6.0")
    assert world.follow("--looked", "Controller.size")[0] == 1  # 1.6.0 is new
    assert world.what.watches[0].lookAt is None
    assert world.what.watches[0].sha256 != seen
    assert world.follow()[0] == 0
    assert world.file.read_text().startswith("# Example: kept as it is.\n")


def test_the_mark_names_the_first_release_after_those_that_were_looked_at(world: World) -> None:
    world.follow()
    world.release("v1.3.0")
    for tag, text in (("v1.4.0", "- 3"), ("v1.5.0", "- 4")):
        world.write(**{"controller.go": GO.replace("- 1", text)})
        world.release(tag)
    world.follow()
    assert world.what.watches[0].lookAt == "1.4.0"


def test_a_function_that_is_gone_marks_its_codes_and_cannot_be_accepted(world: World) -> None:
    world.follow()
    world.write(**{"controller.go": "package controller\n"})
    world.release("v1.3.0")
    code, out, _ = world.follow()
    assert (code, world.what.watches[0].lookAt) == (1, "1.3.0")
    assert "controller.go: Controller.size is gone in 1.3.0: EX201" in out
    code, out, err = world.follow("--looked", "Controller.size")
    assert (code, out, err) == (
        2,
        "",
        "follow: v1.3.0:controller.go: Controller.size is not there: name where it is now, or remove the watch\n",
    )


def test_what_is_newer_than_every_tag_is_named_by_its_day_until_it_is_released(world: World) -> None:
    newer = changed(NEW, weight={"type": "integer"})
    world.write(**{"config__crd__w.yaml": newer})
    world.release()
    world.follow()
    head = "head-2026-03-05"
    assert world.table["releases"][-1] == head
    assert world.table["digests"]["widgets.example.com"][-1] == [digest(newer), head, head]
    assert (world.api / "crds" / "head" / "widgets.json").exists()
    world.git("tag", "v1.3.0")
    code, out, _ = world.follow()
    assert code == 1
    assert world.table["releases"][-2:] == ["1.2.0", "1.3.0"]
    assert "## 1.3.0, after 1.2.0" in out
    assert "nothing is newer than 1.3.0: remove crds/head, and replace head in ranges by a release\n" in out
    world.git("checkout", "-q", "v1.1.0")  # a checkout of an old release is not a new one
    assert world.follow()[0] == 0


def test_a_repository_without_a_working_tree_is_read_too(world: World, tmp_path: Path) -> None:
    world.follow()
    table = world.table
    world.git("clone", "-q", "--bare", ".", str(tmp_path / "-bare"))
    code = main(["--api", "example", "--", str(tmp_path / "-bare")], tmp_path / "upstreams", tmp_path / "policies")
    assert (code, world.table) == (0, table)


def test_an_annotated_tag_is_a_release(world: World) -> None:
    world.release()
    world.git("tag", "-a", "-m", "a release", "v1.3.0")
    world.follow()
    assert world.table["releases"][-1] == "1.3.0"


def test_a_definition_that_is_neither_followed_nor_left_out_is_named(world: World) -> None:
    other = json.loads(json.dumps(GADGETS).replace("gadget", "thing").replace("Gadget", "Thing"))
    left_out = json.loads(json.dumps(other).replace("example.com", "other.example.com"))
    world.write(**{"config__crd__t.yaml": other, "config__crd__o.yaml": left_out})
    world.release("v1.3.0")
    _, out, _ = world.follow()
    assert [line for line in out.splitlines() if "other" in line or "things" in line] == [
        "things.example.com is defined from 1.3.0 on: name it among definitions or others"
    ]


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
        (unknown_field, "example.yaml:9: sample: unknown field"),
        (bad_watch, "watches[0].function"),
        (bad_since, 'example.yaml:5: since: "first" is not a release'),
        (two_documents, "example.yaml: must have one document"),
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
        (["--looked", "nothing"], "follow: --looked nothing: use one of Controller.size\n"),
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
