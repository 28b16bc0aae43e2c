"""A small upstream with three releases, and policies of its first one."""

from __future__ import annotations

import json
import os
import subprocess
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.crds import crd_text
from tools.follow.__main__ import main
from tools.follow.upstream import Upstream, read

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
    """A repository, and a folder of policies; the methods change them."""

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
        return self.api / "follow.yaml"

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
        code = main([str(self.repository), "--api", "example", *options], self.folder / "policies")
        return code, *self.capture.readouterr()


def made_world(tmp_path: Path, capture: pytest.CaptureFixture[str]) -> World:
    """An upstream with the releases 1.0.0, 1.1.0 and 1.2.0, and policies of the first one, without a table."""
    found = World(tmp_path, capture)
    for folder in (found.repository, found.api / "crds", found.api / "cases"):
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
    found.write(**{"samples__w.yaml": sample(size=99) + "---\n" + sample(size=2, colour="red")})
    found.release("v1.2.0")
    return found


def sample(**spec: Any) -> str:
    """A Widget as YAML."""
    return yaml.safe_dump({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": spec})
