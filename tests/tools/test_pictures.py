"""The pictures of the documentation: drawn of their texts, in two themes, without a script, with words beside them."""

import re
from hashlib import sha256
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import yaml

from tests.bench.plot import CREATES, PLOTS, Plot
from tests.bench.report import PAGE
from tests.shared import ROOT
from tools.pictures.sources import FOLDER, MARK, sources
from tools.pictures.terminal import SCENES, drawn
from webhook.cli import demo

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
SOURCES = sources()


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_a_picture_is_drawn_of_its_text(name):
    digest = sha256(SOURCES[name].encode()).hexdigest()
    drawn = FOLDER.joinpath(f"{name}.svg").read_text()
    assert drawn.endswith(MARK.format(digest)), "make pictures"


@pytest.mark.parametrize("name", sorted(SCENES))
def test_a_picture_of_a_terminal_is_what_the_command_prints(name: str) -> None:
    assert FOLDER.joinpath(f"{name}.svg").read_text() == drawn(name), "make pictures"


def test_the_first_scenes_of_the_demo_are_those_of_the_picture_and_of_the_first_page() -> None:
    scenes = yaml.safe_load(Path(demo.__file__).with_name("demo.yaml").read_text())[:3]
    pictured = list(yaml.safe_load_all((FOLDER / "check" / "services.yaml").read_text()))
    played = [(scene["kind"]["kind"], scene["spec"]) for scene in scenes]
    assert [(each["kind"], each["spec"]) for each in pictured] == played
    shown, page = (FOLDER / "check.svg").read_text(), (ROOT / "README.md").read_text()
    for code in ("LD211", "LS209", "KP001"):
        assert code in shown
        assert code in page


@pytest.mark.parametrize("plot", PLOTS, ids=lambda plot: plot.name)
def test_a_plot_has_the_figures_of_its_table(plot: Plot) -> None:
    assert plot.path.read_text() == plot.drawn(PAGE.read_text()), "python -m tests.bench.e2e --publish"


def test_a_plot_shows_the_medians() -> None:
    page = PAGE.read_text()
    changed = CREATES.drawn(re.sub(r"^\| kopf \| [\d.]+ \(", "| kopf | 7.77 (", page, flags=re.MULTILINE))
    assert ">7.77</text>" in changed
    assert ">7.77</text>" not in CREATES.drawn(page)


@pytest.mark.parametrize("name", sorted({*SOURCES, *SCENES, *(plot.name for plot in PLOTS)}))
def test_a_picture_has_two_themes_and_nothing_that_runs(name):
    drawn = FOLDER.joinpath(f"{name}.svg").read_text()
    assert "prefers-color-scheme:dark" in drawn
    root = ET.fromstring(drawn)
    assert [each.tag for each in root.iter() if each.tag.endswith(("script", "foreignObject", "image"))] == []
    assert re.findall(r'(?:href|src)="(?!#)|url\((?!"?data:|#|\\"?#)', drawn) == []
    assert len(drawn) < 64 * 1024


def test_every_picture_is_shown_with_words_for_those_who_do_not_see_it():
    shown = {}
    for page in PAGES:
        for text, path in re.findall(r"!\[([^\]]*)\]\(([^)]*\.svg)\)", page.read_text()):
            file = (page.parent / path).resolve()
            assert file.is_file(), f"{page.name}: {path}"
            shown[file.stem] = text
    assert shown.keys() == {*SOURCES, *SCENES, *(plot.name for plot in PLOTS)}
    assert [name for name, text in shown.items() if len(text.split()) < 8] == []
