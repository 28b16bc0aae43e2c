"""`modelgate pack check` finds each fault that is planted in a good pack, and no other."""

from pathlib import Path

import pytest
import yaml

from tests.cli.test_packs import CRD
from tests.cli.test_packs import PACK as A_PACK
from tests.cli.test_references import POLICY as REFERENCES
from tests.cli.test_references import pack_at
from tests.files import written
from webhook.cli import main

Capture = pytest.CaptureFixture[str]

PACK = A_PACK % ", groups: [acme.example.com]"
POLICY = """\
apiVersion: modelgate.dev/v1alpha1
kind: Policy
metadata: {name: acme-widget}
spec:
  target: {group: acme.example.com, versions: [v1], kind: Widget}
  defaults:
  - {code: AC101, path: spec.colour, value: "'red'", because: a usual colour, docs: Most are red.}
  validations:
  - {code: AC201, at: spec.size, rule: self < 9, message: is too big; use less than 9, docs: Widgets are small.}
  - code: AC301
    at: spec.size
    when: has(object.spec.most)
    rule: self <= object.spec.most
    message: is more than most; use less
    action: Warn
    docs: The rest is lost.
"""
CASES = """\
apiVersion: modelgate.dev/v1alpha1
kind: Cases
target: {group: acme.example.com, version: v1, kind: Widget}
cases:
- name: without a colour
  spec: {size: 2}
  expect: {defaults: [AC101]}
  repairs: {AC101: {spec.colour: green}}
- name: too big
  spec: {size: 10, colour: red}
  expect: {deny: [AC201]}
  repairs: {AC201: {spec.size: 8}}
- name: more than most
  spec: {size: 3, most: 2, colour: red}
  expect: {warn: [AC301 spec.size], says: [use less]}
  repairs: {AC301: {spec.size: 2}}
"""

QUEUED = """\
apiVersion: modelgate.dev/v1alpha1
kind: Cases
target: {group: acme.example.com, version: v1, kind: Widget}
cases:
- name: a queue
  spec: {queue: q, size: 1}
  others: [{apiVersion: acme.example.com/v1, kind: Queue, metadata: {name: q, namespace: default}, spec: {most: 5}}]
  expect: {}
- name: a misspelt field
  spec: {queue: q, size: 1}
  others: [{apiVersion: acme.example.com/v1, kind: Queue, metadata: {name: q, namespace: default}, spec: {mos: 5}}]
  expect: {deny: [AC402]}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    crd = yaml.safe_load(yaml.safe_dump(CRD))
    spec = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["properties"] |= {"colour": {"type": "string"}, "most": {"type": "integer"}}
    files = {"crds/widgets.yaml": crd, "pack.yaml": PACK, "widget.yaml": POLICY, "cases/widget.yaml": CASES}
    return written(tmp_path / "acme", files)


def checked(folder: Path, capsys: Capture) -> tuple[int, list[str]]:
    code = main(["pack", "check", str(folder)])
    return code, capsys.readouterr().out.splitlines()


def test_a_good_pack_has_no_problem(folder: Path, capsys: Capture) -> None:
    assert checked(folder, capsys) == (0, ["acme: 1 kind, 3 codes, 3 cases", "0 problems"])


ALWAYS = "{code: AC202, at: spec, rule: 'false', message: do not use it, docs: It is gone., action: Warn}"
PLANTED = {
    "a number of another sort": (
        "widget.yaml",
        "code: AC201",
        "code: AC109",
        "AC109: use another number: after the let",
    ),
    "a number of a rule that is gone": (
        "pack.yaml",
        "groups: [",
        "retired: [AC201], groups: [",
        "AC201: use another number: a rule that is",
    ),
    "a rule that fails for 0": (
        "widget.yaml",
        "rule: self <= object.spec.most",
        "rule: self * (6 / object.spec.most) <= 6",
        "AC301: case 'more than most': with 0 at spec.most, rule AC301 could not be evaluated: div",
    ),
    "another field": (
        "cases/widget.yaml",
        "AC301 spec.size",
        "AC301 spec.most",
        "warn: expected ['AC301 spec.most'], got",
    ),
    "another text": (
        "cases/widget.yaml",
        "says: [use less]",
        "says: [use more]",
        "says: none contains 'use more' in [",
    ),
    "a case that fails": ("cases/widget.yaml", "size: 10,", "size: 8,", "deny: expected ['AC201'], got []"),
    "two cases of one name": ("cases/widget.yaml", "name: more than most", "name: too big", "another case of the file"),
    "a rule without a case": (
        "widget.yaml",
        "  - code: AC301",
        "  - {code: AC202, at: spec.size, rule: self > 0, message: use 1, docs: None.}\n  - code: AC301",
        "widget.yaml:10: AC202: fires in no case: add one to cases/",
    ),
    "a rule that always fires": ("widget.yaml", "rule: self < 9", "rule: self < 0", "AC201: fires in every case"),
    "a code without an example": (
        "cases/widget.yaml",
        "  repairs: {AC201: {spec.size: 8}}\n",
        "",
        "widget.yaml:9: AC201: has no example: add to the clearest case in which it fires `repairs: {AC201: {spec.size",
    ),
    "two examples of a code": (
        "cases/widget.yaml",
        "  repairs: {AC301",
        "  repairs: {AC201: {spec.size: 2}, AC301",
        "cases/widget.yaml:9 and ",
    ),
    "an example that does not help": ("cases/widget.yaml", "size: 8}", "size: 9}", "repairs: AC201 still fires"),
    "an example that removes the field": ("cases/widget.yaml", "size: 8}", "size: null}", "is removed: set it to"),
    "an example with a needless part": (
        "cases/widget.yaml",
        "{spec.size: 8}",
        "{spec.size: 8, spec.colour: green}",
        "repairs: spec.colour is not needed",
    ),
    "an example of no rule": (
        "cases/widget.yaml",
        "repairs: {AC201",
        "repairs: {AC299: {spec.size: 2}, AC201",
        "repairs: Widget has no rule AC299",
    ),
    "an example with a wrong path": ("cases/widget.yaml", "{spec.size: 8}", "{'.size': 8}", "is not a valid path"),
    "a rule that reads what may be absent": (
        "widget.yaml",
        "when: has(object.spec.most)",
        "when: object.spec.most > 0",
        "Internal error: rule AC301 could not be evaluated: no such key: most (in object.spec.most > 0)",
    ),
    "a default that reads what may be absent": (
        "widget.yaml",
        "value: \"'red'\"",
        "value: \"object.spec.size > 5 ? 'red' : 'red'\"",
        "AC101: case 'without a colour': without spec, rule AC101 could not be evaluated: no such key: spec",
    ),
    "a default that changes at each pass": (
        "widget.yaml",
        "value: \"'red'\"",
        "value: \"has(object.metadata.annotations) ? 'blue' : 'red'\", overwrites: true",
        "AC101: case 'without a colour': a second pass changes spec.colour",
    ),
    "a long warning": (
        "widget.yaml",
        "message: is more",
        f"message: {'very ' * 60}is more",
        "AC301: case 'more than most'",
    ),
    "a group that is not named": ("pack.yaml", ", groups: [acme.example.com]", "", "spec.groups: add acme.example.com"),
    "a setting that no rule reads": (
        "pack.yaml",
        "spec: {",
        "spec: {settings: {most: {type: integer, default: 5, docs: The most.}}, ",
        "spec.settings.most: no rule reads facts.operator.most: remove it",
    ),
    "letters that are not named": ("pack.yaml", "codes: [AC], ", "", "spec.codes: add AC: codes begin with it"),
}


def test_a_setting_that_may_not_be_known_must_be_asked_for(folder: Path, capsys: Capture) -> None:
    declared = "spec: {settings: {most: {type: integer, docs: The most.}}, "
    (folder / "pack.yaml").write_text(PACK.replace("spec: {", declared))
    policy = POLICY.replace("rule: self < 9", "rule: self < 9 && self < facts.operator.most")
    assert policy != POLICY
    (folder / "widget.yaml").write_text(policy)
    said = "AC201: reads facts.operator.most, which may not be known: ask for has(facts.operator.most) first"
    assert said in "\n".join(checked(folder, capsys)[1])
    asked = POLICY.replace("self < 9", "self < 9 && (!has(facts.operator.most) || self < facts.operator.most)")
    (folder / "widget.yaml").write_text(asked)
    assert checked(folder, capsys)[0] == 0


@pytest.mark.parametrize(("file", "old", "new", "message"), PLANTED.values(), ids=PLANTED.keys())
def test_a_planted_fault_is_found(file: str, old: str, new: str, message: str, folder: Path, capsys: Capture) -> None:
    path = folder / file
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    code, lines = checked(folder, capsys)
    assert code == 1, lines
    assert message in "\n".join(lines)


def test_a_rule_about_objects_that_are_only_not_among_the_files_is_found(tmp_path: Path, capsys: Capture) -> None:
    """A reference without `unseen` refuses in a check of files, and so does a value that is 0 without its object."""
    policy = REFERENCES.replace("    unseen: \"'Queue ' + facts.queue.name\"\n", "")
    assert policy != REFERENCES
    pack = pack_at(tmp_path, policy)
    (pack / "cases").mkdir()
    (pack / "cases" / "widget.yaml").write_text(QUEUED)
    code, lines = checked(pack, capsys)
    assert code == 1
    said = "\n".join(lines)
    assert "AC401: case 'a queue': without the other objects it refuses this one, also where they are unknown" in said
    assert "case 'a misspelt field': others[0].spec.mos: unknown field; did you mean most" in said


def test_without_a_pack_file_it_says_what_to_write(folder: Path, capsys: Capture) -> None:
    (folder / "pack.yaml").unlink()
    assert "there is no pack.yaml: write one, with operator, codes and groups" in checked(folder, capsys)[1][0]


def test_what_contradicts_a_built_in_pack_cannot_be_loaded(folder: Path, capsys: Capture) -> None:
    (folder / "pack.yaml").write_text(PACK.replace("[AC]", "[LK]"))
    assert main(["pack", "check", str(folder)]) == 2
    assert "codes of pack llmkube begin with LK" in capsys.readouterr().err


def test_the_page_of_a_rule_shows_the_example(folder: Path, capsys: Capture) -> None:
    assert main(["rule", "AC201", "--policies", str(folder)]) == 0
    said = capsys.readouterr().out
    assert "bad: too big\n    spec:\n      size: 10\n" in said
    assert "good:\n    spec:\n      size: 8\n" in said


def test_the_definition_of_an_added_kind_is_exported(folder: Path, capsys: Capture) -> None:
    assert main(["export", "crd", "Widget", "--policies", str(folder)]) == 0
    assert "self < 9" in capsys.readouterr().out
