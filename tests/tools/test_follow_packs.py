"""What is followed of packs: of a user's own, of one with candidates only, and of LLMKube's functions."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.shared import ROOT
from tests.tools.world import GO, UPSTREAM, World
from tools.follow.__main__ import main
from tools.follow.golang import Function, values
from tools.follow.upstream import read, write
from webhook import catalog

SGLANG = "package controller\n\nfunc (b *SGLangBackend) DefaultPort() int32 { return 30000 }\n"
HPA = """\
package controller

func (r *InferenceServiceReconciler) constructHPA(isvc *InferenceService) *HorizontalPodAutoscaler {
	return &HorizontalPodAutoscaler{Metric: "llamacpp:requests_processing"}
}
"""
FILES = {
    "internal/controller/runtime_sglang.go": SGLANG,
    "internal/controller/hpa_reconciler.go": HPA,
}


def test_a_next_release_of_llmkube_names_the_codes_of_what_it_changes(world: World) -> None:
    """The watches are those of LLMKube; the upstream has two of its functions."""
    names = ("SGLangBackend.DefaultPort", "InferenceServiceReconciler.constructHPA")
    watches = [each for each in read(ROOT / "policies" / "llmkube" / "follow.yaml").watches if each.function in names]
    world.write(**{name.replace("/", "__"): text for name, text in FILES.items()})
    world.release("v1.3.0")
    write(world.file, [each.model_copy(update={"sha256": None}) for each in watches])
    world.follow()
    changes = {"30000": "30001", "llamacpp:requests_processing": "llamacpp:requests_deferred"}
    for (name, text), (old, new) in zip(FILES.items(), changes.items(), strict=True):
        world.write(**{name.replace("/", "__"): text.replace(old, new)})
    world.release("v1.4.0")
    code, out, _ = world.follow()
    looked = out.partition("## To be looked at\n")[2]
    codes = {each for line in looked.splitlines() for each in line.partition(":")[0].split(", ")}
    assert code == 1
    assert {"LS205", "LS206", *(f"LS{number}" for number in range(343, 349))} <= codes
    assert "-func (b *SGLangBackend) DefaultPort() int32 { return 30000 }\n" in out


def test_a_pack_of_a_user_is_followed_by_its_path(world: World) -> None:
    own = world.folder / "own" / "widgets"
    shutil.copytree(world.api, own)
    code = main([str(world.repository), "--api", str(own)])
    out, err = world.capture.readouterr()
    assert (code, err) == (1, "")
    assert "controller.go: Controller.size changed in 1.2.0: EX201" in out
    assert (own / "forms" / "widgets.jsonl").exists()
    assert catalog.load(packs=[own]).packs["widgets"].releases == ("1.0.0", "1.1.0", "1.2.0")
    assert not (world.api / "releases.json").exists()


def test_a_pack_that_nothing_is_followed_of_is_named(world: World) -> None:
    world.file.unlink()
    code, out, err = world.follow()
    assert (code, out) == (2, "")
    assert f"{world.file}: cannot be read: " in err


@pytest.mark.parametrize("text", ["", "watches: []\n"])
def test_a_pack_without_a_watch_keeps_its_file(world: World, text: str) -> None:
    text = UPSTREAM.partition("watches:")[0] + "schema: [EX201, EX202]\n" + text
    world.file.write_text(text)
    assert world.follow()[0] == 1
    assert world.file.read_text() == text
    assert world.follow()[0] == 0


WATCH = "{file: controller.go, function: Controller.size, codes: [EX201]}"


@pytest.mark.parametrize(
    "watches", [f"[{WATCH}]\n", f"\n  # of the size\n  - {WATCH}\n", f" # all\n- {WATCH}\n", f"[\n{WATCH}\n]\n"]
)
def test_what_stands_around_the_watches_stays(world: World, watches: str) -> None:
    before = UPSTREAM.partition("watches:")[0]
    world.file.write_text(f"{before}watches: {watches}schema: [EX202]  # the last line")
    world.follow()
    written = world.file.read_text()
    assert written.startswith(f'{before}watches:\n- {{"file": "controller.go", ')
    assert written.endswith('"}\nschema: [EX202]  # the last line')
    assert (world.what.codes, len(world.what.watches)) == ({"EX201", "EX202"}, 1)


def test_candidates_count_only_where_a_pack_says_so(world: World) -> None:
    world.git("tag", "v1.3.0-rc2", "v1.2.0")
    world.file.write_text(UPSTREAM.replace("since: 1.0.0\n", "since: 1.0.0-rc1\ncandidates: true\n"))
    world.follow()
    assert world.table["releases"] == ["1.0.0-rc1", "1.0.0", "1.1.0", "1.2.0", "1.3.0-rc2"]


def test_nothing_is_newer_than_the_last_release_with_the_kinds(world: World) -> None:
    world.write(**{"config__crd__w.yaml": "# gone\n"})
    world.release("v1.3.0")
    world.release()
    world.file.write_text(UPSTREAM.replace("since: 1.0.0\n", "since: 1.0.0\nuntil: 1.2.0\n"))
    world.follow()
    assert world.table["releases"] == ["1.0.0", "1.1.0", "1.2.0"]


def test_what_the_rules_describe_need_not_be_a_release(world: World) -> None:
    described = world.git("rev-parse", "v1.1.0")
    world.file.write_text(UPSTREAM.replace("since: 1.0.0\n", f"since: 1.0.0\ndescribed: {described}\n"))
    _, out, _ = world.follow()
    assert world.what.watches[0].lookAt == "1.2.0"
    assert "EX201: Controller.size of controller.go is another one since 1.2.0\n" in out
    world.follow("--looked", "Controller.size")
    assert world.what.watches[0].lookAt is None


VALUES = """\
package x

// const commented = 1
const port = 30000 // as upstream has it
var (
	first, second = 1, 2

	// of a comment
	listed = []string{
		"a", // }
		`b
)`,
	}
	last = ")"
)

func f() {
	const inner = 1
}
"""


def test_constants_and_variables_are_found_with_their_text() -> None:
    assert list(values(VALUES)) == [
        Function("port", "const port = 30000 // as upstream has it"),
        Function("first", "first, second = 1, 2"),
        Function("listed", 'listed = []string{\n\t\t"a", // }\n\t\t`b\n)`,\n\t}'),
        Function("last", 'last = ")"'),
    ]


@pytest.mark.parametrize(
    "source", ["", "const", "const (", "var x = {", "const (\n)", "var (\n\n", "const x", "var ( x )"]
)
def test_text_that_is_not_go_gives_what_is_certain(source: str) -> None:
    assert all(each.text in source for each in values(source))


@pytest.mark.parametrize("part", ["const (", "var x = {\n", "const x = (", "\n\t", "var (\n"])
def test_a_large_hostile_text_takes_linear_time(part: str) -> None:
    assert len(list(values(part * 50_000))) <= 50_000


def test_a_watched_constant_marks_its_codes(world: World) -> None:
    world.write(**{"controller.go": GO + "const limit = 10\n"})
    world.release("v1.3.0")
    world.file.write_text(UPSTREAM.replace("Controller.size", "limit"))
    world.follow()
    world.write(**{"controller.go": GO + "const limit = 20\n"})
    world.release("v1.4.0")
    code, out, _ = world.follow()
    assert code == 1
    assert "-const limit = 10\n+const limit = 20\n" in out
    assert world.what.watches[0].lookAt == "1.4.0"


def test_what_is_followed_is_not_part_of_the_policies(world: World, tmp_path: Path) -> None:
    before = catalog.load(tmp_path / "policies").digest
    world.file.write_text(UPSTREAM + "# more\n")
    assert catalog.load(tmp_path / "policies").digest == before
