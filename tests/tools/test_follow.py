"""A small upstream with three releases is followed: what is printed, and what is written."""

from __future__ import annotations

import json
from pathlib import Path

from tests.tools.world import GADGETS, GO, NEW, POLICY, TEXTS, WIDGETS, World, changed, sample
from tools.follow.__main__ import main
from webhook import catalog
from webhook.catalog import shapes
from webhook.schema.crd.digest import digest


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


def test_what_changes_beside_a_watched_function_is_named_with_the_codes_that_read_it(world: World) -> None:
    world.follow()
    go = GO.replace("return w.Spec.Size", "return most + w.Spec.Size")
    world.write(**{"controller.go": go, "limits.go": "package controller\n\nconst most = 1\n"})
    world.release("v1.3.0")
    world.follow()
    world.write(**{"controller.go": go + "\nfunc (c *Controller) colour() {\n}\n"})
    world.write(**{"limits.go": "package controller\n\nconst most, least = 2, 1\n", "limits_test.go": "var most = 2\n"})
    world.release("v1.4.0")
    code, out, _ = world.follow()
    section = out.partition("## 1.4.0, after 1.3.0\n")[2].partition("\n## ")[0]
    assert (code, section.splitlines()) == (
        1,
        ["controller.go, without a watch: Controller.colour", "limits.go, without a watch: most (EX201)"],
    )


def test_samples_are_judged_under_the_newest_release(world: World) -> None:
    _, out, _ = world.follow()
    section = out.partition("## Samples of 1.2.0\n")[2].partition("\n## ")[0]
    assert section.splitlines()[:2] == [
        "errors and warnings: 1",
        "v1.2.0:samples/w.yaml:1: Widget w: refused: spec.size: Invalid value: 99: too large: use 10 or less (EX201)",
    ]


def test_samples_that_are_as_before_are_only_counted(world: World) -> None:
    world.follow()
    world.write(**{"samples__w.yaml": "# moved\n" + sample(size=99), "samples__n.yaml": sample(size=1, colour="blue")})
    world.release("v1.3.0")
    _, out, _ = world.follow()
    first, second, *_ = out.partition("## Samples of 1.3.0\n")[2].splitlines()
    assert first == "errors and warnings: 2; 1 of them new since 1.2.0"
    assert second.startswith("v1.3.0:samples/n.yaml:1: Widget w: refused: spec.colour: ")


def test_a_function_that_was_looked_at_before_its_release_is_only_named(world: World) -> None:
    world.follow()
    world.write(**{"controller.go": GO.replace("- 1", "- 3")})
    world.release()
    world.follow("--looked", "Controller.size")
    world.git("tag", "v1.3.0")
    code, out, _ = world.follow()
    assert code == 1
    assert "controller.go: Controller.size changed in 1.3.0, as it was looked at: EX201\n## Samples" in out
    _, out, _ = world.follow("--since", "1.2.0")
    assert "-        return '{' - 2\n+        return '{' - 3\n" in out


def test_a_draft_of_a_new_form_has_no_texts_but_fields_of_their_names(world: World) -> None:
    code, out, err = world.follow()
    files = sorted(each.relative_to(world.api).as_posix() for each in world.api.glob("[cf]*/*"))
    assert (code, err, [each for each in files if not each.startswith("cases")]) == (
        1,
        "",
        ["crds/widgets.yaml", "forms/widgets.jsonl"],
    )
    file = world.api / "forms" / "widgets.jsonl"
    first, last = shapes.forms(file.read_bytes(), "widgets.jsonl")  # 1.1.0 differs in texts only
    assert (first[0], last[0]) == ("1.0.0", "1.2.0")
    spec = last[1]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    assert spec == {
        "size": {"type": "integer", "minimum": 1},
        "colour": {"type": "string", "enum": ["red"]},
        "description": {"type": "string"},
    }
    assert str(file) in out
    loaded = catalog.load(world.folder / "policies")  # with the table and the forms
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
    (world.api / "widget.yaml").write_text(POLICY.replace("    docs: The m", '    operator: "<=head"\n    docs: The m'))
    newer = changed(NEW, weight={"type": "integer"})
    world.write(**{"config__crd__w.yaml": newer})
    world.release()
    world.follow()
    head = "head-2026-03-05"
    assert world.table["releases"][-1] == head
    assert world.table["digests"]["widgets.example.com"][-1] == [digest(newer), head, head]
    assert '{"since":"head","patch":[' in (world.api / "forms" / "widgets.jsonl").read_text()
    world.git("tag", "v1.3.0")
    code, out, err = world.follow()
    assert (code, err) == (1, "")
    assert world.table["releases"][-2:] == ["1.2.0", "1.3.0"]
    assert "## 1.3.0, after 1.2.0" in out
    assert (
        "nothing is newer than 1.3.0: write in ranges the release that has what head had\n"
        f'  {world.api / "widget.yaml"}:11: operator: "<=head"\n'
    ) in out
    assert '{"since":"1.3.0","patch":[' in (world.api / "forms" / "widgets.jsonl").read_text()
    (world.api / "widget.yaml").write_text((world.api / "widget.yaml").read_text().replace("<=head", "<=1.3.0"))
    world.git("checkout", "-q", "v1.1.0")  # a checkout of an old release is not a new one
    assert world.follow()[0] == 0


def test_a_repository_without_a_working_tree_is_read_too(world: World, tmp_path: Path) -> None:
    world.follow()
    table = world.table
    world.git("clone", "-q", "--bare", ".", str(tmp_path / "-bare"))
    code = main(["--api", "example", "--", str(tmp_path / "-bare")], tmp_path / "policies")
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
