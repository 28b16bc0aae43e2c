"""The site: it builds without a warning, every link leads somewhere, and what its pages tell is true."""

import os
import re
import shlex
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.once import made_once
from tools.site.__main__ import main
from tools.site.authors import MEANINGS, meaning
from tools.site.pages import ROOT, command_line
from webhook.catalog import load
from webhook.cli import COMMANDS
from webhook.cli import main as modelgate
from webhook.cli.report.codes import FIT, KUBERNETES, retired


class Links(HTMLParser):
    """The targets and the anchors of a page, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.targets: set[str] = set()
        self.loaded: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.anchors |= {found[name] for name in ("id", "name") if found.get(name)}
        if tag == "a" and found.get("href"):
            self.targets.add(found["href"])
        if tag in {"script", "img", "link", "iframe"} and (found.get("src") or found.get("href")):
            self.loaded.add(found.get("src") or found["href"])


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    def build(target):
        assert main(target) == 0

    return made_once(tmp_path_factory, "site", build) / "html"


@pytest.fixture(scope="module")
def pages(site):
    return {page: Links(page.read_text()) for page in site.rglob("*.html")}


def test_every_code_has_a_page(site):
    codes = load().codes()
    assert len(codes) > 300
    named = {*codes, *KUBERNETES, *FIT, *retired()}
    assert {each.stem.upper() for each in (site / "codes").glob("*.html")} - {"INDEX"} == named
    assert "retired" in (site / "codes" / "om371.html").read_text()
    assert "../fit.html" in Links((site / "codes" / "kf001.html").read_text()).targets


def test_the_page_of_a_code_shows_its_effect_its_message_and_both_objects_with_the_line_that_differs(site):
    page = (site / "codes" / "lk205.html").read_text()
    assert re.findall(r'<strong class="mg-badge mg-(\w+)"', page) == ["warns", "denies"]
    assert '<blockquote class="mg-message mg-warns"><code>spec.source</code>: PVC source must include' in page
    assert "The controller marks the Model Failed" in page
    bad, good = (text_of(each) for each in re.findall(r'<span class="hll">(.*?)\n</span>', page, re.DOTALL))
    assert (bad.split(), good.split()) == (["source:", "pvc://my-claim"], ["source:", "pvc://my-claim/m.gguf"])
    assert "refreshPolicy" not in page  # which the schema fills in
    links = Links(page).targets
    assert {"../rules/llmkube.html", "../how-to/llmkube.html", "lk204.html", "lk206.html"} <= links


def test_the_page_of_a_code_tells_its_forms_by_their_releases(site):
    page = (site / "codes" / "ls330.html").read_text()
    assert re.findall(r'<h2 id="[^"]*">(LLMKube[^<]*)<', page) == ["LLMKube up to 0.9.8", "LLMKube 0.9.9 and later"]


def text_of(html):
    return re.sub(r"<[^>]*>", "", html)


def test_the_list_of_codes_tells_each_with_its_effect_below_its_api_and_kind(site):
    page = (site / "codes" / "index.html").read_text()
    rows = {
        re.search(r">(\w+)</a>", row)[1]: row for row in re.findall(r"<tr>(.*?)</tr>", page, re.DOTALL) if "<a" in row
    }
    assert rows.keys() == {*load().codes(), *KUBERNETES, *FIT, *retired()}
    told = [code for code in load().codes() if "mg-badge" not in rows[code] or len(text_of(rows[code])) < 40]
    assert told == []
    assert "PVC source must include a file path" in rows["LK205"]
    heads = [text_of(each).removesuffix("&para;") for each in re.findall(r"<h[23].*?</h[23]>|LK205", page, re.DOTALL)]
    assert heads[: heads.index("LK205")][-2:] == ["InferenceService", "Model"]


def test_the_home_page_shows_what_the_gate_says_of_a_manifest(tmp_path, capsys, monkeypatch):
    text = (ROOT / "docs" / "index.md").read_text()
    (manifest,) = re.findall(r"```yaml.*?\n(.*?)```", text, re.DOTALL)
    ((command, said),) = re.findall(r"```console\n\$ modelgate (.*?)\n(.*?)```", text, re.DOTALL)
    (tmp_path / "model.yaml").write_text(manifest)
    monkeypatch.chdir(tmp_path)
    assert modelgate(shlex.split(command)) == 1
    assert capsys.readouterr().out == said


def test_no_link_is_dead(site, pages):
    dead = []
    for page, links in pages.items():
        if page.name == "404.html":
            continue
        for target in links.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            path = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            known = pages[path].anchors if path in pages else None
            missing = known is None and not path.is_file()  # a browser lists a folder that is opened as a file
            if missing or (known is not None and parts.fragment and unquote(parts.fragment) not in known):
                dead.append((str(page.relative_to(site)), target))
    assert dead == []


def test_a_page_loads_nothing_from_other_hosts(pages):
    assert {each for links in pages.values() for each in links.loaded if urlsplit(each).netloc} == set()


def test_every_column_of_a_table_has_a_name(site):
    assert [page for page in site.rglob("*.html") if re.search(r"<th[^>]*>\s*</th>", page.read_text())] == []


def test_the_additions_for_keyboards_and_contrast_are_on_every_page(site, pages):
    loaded = {page: {each.rpartition("/")[2] for each in links.loaded} for page, links in pages.items()}
    assert all({"site.css", "site.js"} <= names for names in loaded.values())
    assert {each.name for each in (site / "assets").iterdir()} >= {"site.css", "site.js"}


def test_the_facts_of_every_kind_are_explained_with_their_types(site):
    text = (site / "authors" / "facts.html").read_text()
    kinds = load().kinds.values()
    for known in kinds:
        assert f'id="{known.gvk.kind.lower()}"' in text
        for name, fact in known.own_facts.items():
            assert len(meaning(name, fact)) > 15
            assert f"facts.{name}" in text
    assert set(MEANINGS) <= {name for known in kinds for name in known.own_facts}


def test_search_needs_no_server(site, pages):
    assert "codes/lk205.html" in (site / "search.json").read_text()
    assert all(any("iframe-worker" in each for each in links.loaded) for links in pages.values())


def test_every_page_but_those_of_codes_is_in_the_navigation(site):
    listed = set(re.findall(r": ([\w/-]+)\.md$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE))
    found = {str(each.relative_to(site).with_suffix("")) for each in site.rglob("*.html")}
    assert {each for each in found - {"404"} if not re.fullmatch(r"codes/\w\w\d+", each)} == listed


def test_the_reference_has_every_command():
    text = command_line()
    assert [name for name in COMMANDS if f"### modelgate {name}\n" not in text] == []
    assert "--unknown-kinds" in text


HOW_TO = sorted((ROOT / "docs" / "how-to").glob("*.md"))


@pytest.mark.parametrize("page", HOW_TO, ids=lambda page: page.stem)
def test_a_manifest_of_a_page_is_right(page, tmp_path):
    manifests = re.findall(r"```yaml\n(.*?)```", page.read_text(), re.DOTALL)
    assert manifests
    (tmp_path / "m.yaml").write_text("---\n".join(manifests))
    assert modelgate(["check", "--no-config", "--fail-on=warning", str(tmp_path / "m.yaml")]) == 0


def test_the_start_does_what_it_says(tmp_path):
    """Every command is run, and prints what stands below it; others have tests of their own."""
    text = (ROOT / "docs" / "start.md").read_text()
    (manifest,) = re.findall(r'```yaml title="model.yaml"\n(.*?)```', text, re.DOTALL)
    (tmp_path / "model.yaml").write_text(manifest)
    ran = []
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
            words = shlex.split(command)
            if words[0] not in {"modelgate", "sed"}:
                continue
            ran.append(words)
            program = [sys.executable, "-m", "modelgate"] if words[0] == "modelgate" else words[:1]
            done = subprocess.run(
                [*program, *words[1:]],
                cwd=tmp_path,
                capture_output=True,
                text=True,
                check=False,
                env={**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"},
            )
            assert expected in ("", done.stdout), done.stdout
            assert done.returncode == int("REFUSED" in expected) or "--fix" in words
    assert len(ran) == 5
    assert Path(tmp_path / "model.yaml").read_text() == manifest.replace("fromat", "format").replace("9", "2")
