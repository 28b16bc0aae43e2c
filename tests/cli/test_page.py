"""The report as a page: complete without a script, safe with any name, and usable in a real browser."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.browser import Page, axe, browser
from tests.shared import ROOT
from webhook.cli import main

MANIFESTS = """\
apiVersion: inference.llmkube.dev/v1alpha1
kind: Model
metadata: {name: first, namespace: a, labels: {team: blue}}
spec:
  source: https://user:secret@example.com/m.gguf
  format: onnx
---
apiVersion: inference.llmkube.dev/v1alpha1
kind: Model
metadata: {name: second, namespace: b}
spec: {source: "hf://org/repo", sorce: x}
---
apiVersion: llmaz.io/v1alpha1
kind: OpenModel
metadata: {name: third}
spec: {familyName: a, source: {uri: "ollama://llama 3"}}
---
apiVersion: acme.example.com/v1
kind: Widget
metadata: {name: w}
"""
SERVICE = """\
apiVersion: inference.llmkube.dev/v1alpha1
kind: InferenceService
metadata: {name: served, namespace: a}
spec: {modelRef: m, resources: {ephemeralStorage: "40"}}
"""
SERVED = """\
apiVersion: inference.llmkube.dev/v1alpha1
kind: Model
metadata: {name: qwen, namespace: a}
spec: {source: "https://example.com/Qwen2.5-72B-Instruct-Q4_K_M.gguf", hardware: {gpu: {enabled: true, count: 1}}}
---
apiVersion: inference.llmkube.dev/v1alpha1
kind: InferenceService
metadata: {name: chat, namespace: a}
spec: {modelRef: qwen, nodeSelector: {nvidia.com/gpu.product: NVIDIA-GeForce-RTX-3090}, resources: {gpu: 1}}
---
apiVersion: v1
kind: Node
metadata: {name: box, labels: {nvidia.com/gpu.product: NVIDIA-GeForce-RTX-3090, nvidia.com/gpu.count: "1"}}
status: {allocatable: {nvidia.com/gpu: "1", cpu: "16", memory: 64Gi, pods: "110"}}
"""
RUNTIMES = (ROOT / "docs" / "pictures" / "runtime.yaml").read_text()
HOSTILE = '"</script><script>document.title = 1</script>\\u001b[31m&<b>\\u202e"'


@pytest.fixture
def page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    file = tmp_path / "manifests.yaml"
    file.write_text(MANIFESTS)
    assert main(["check", "-o", "html", str(file)]) == 1
    made = tmp_path / "page.html"
    made.write_text(capsys.readouterr().out)
    return made


@pytest.fixture
def explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    file = tmp_path / "served.yaml"
    file.write_text(f"{SERVED}---\n{RUNTIMES}")
    assert main(["explain", "-o", "html", str(file)]) == 0
    made = tmp_path / "explained.html"
    made.write_text(capsys.readouterr().out)
    return made


class Parts(HTMLParser):
    """The elements of a page, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_has_every_finding_with_its_lines_and_nothing_of_another_address(page: Path) -> None:
    parts = Parts(page.read_text())
    assert parts.text.count("unknown field") == 1
    for text in (
        "Model a/first: refused",
        "spec.format",
        "onnx",
        "manifests.yaml:1",
        "not checked: 1 acme.example.com/v1",
    ):
        assert text in parts.text
    assert "secret" not in page.read_text(), "a credential in a line of source is hidden"
    loads = [
        (tag, name) for tag, attributes in parts.elements for name in ("src", "href", "action") if name in attributes
    ]
    assert loads == []
    assert "@import" not in page.read_text()
    assert "default-src 'none'" in page.read_text()


def test_the_page_names_what_operators_make_where_that_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "served.yaml"
    file.write_text(SERVED)
    for flags, count in (([], 0), (["--children"], 1)):
        assert main(["check", "-o", "html", *flags, str(file)]) in (0, 1)
        text = Parts(capsys.readouterr().out).text
        assert text.count("What operators make") == count
        assert text.count(f"{file}:6: InferenceService a/chat: PersistentVolumeClaim") == count


def test_no_name_and_no_message_is_markup(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "bad.yaml"
    text = (
        MANIFESTS.replace("onnx", HOSTILE)
        .replace("name: first", f"name: {HOSTILE}")
        .replace("team: blue", f"team: {HOSTILE}")
    )
    file.write_text(text)
    assert main(["check", "-o", "html", str(file)]) == 1
    made = capsys.readouterr().out
    assert made.count("<script>") == 1
    assert "\x1b" not in made
    assert "\u202e" not in made
    assert ("b", {}) not in Parts(made).elements


def test_a_scan_and_a_right_file_have_a_page_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "right.yaml"
    file.write_text(MANIFESTS.split("---")[2])
    assert main(["scan", "-o", "html", str(file)]) == 0
    assert "OpenModel third" in Parts(capsys.readouterr().out).text
    file.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\n")
    assert main(["check", "-o", "html", str(file)]) == 0
    assert "No finding." in Parts(capsys.readouterr().out).text


def test_a_change_has_a_page_with_what_it_does_to_each_object(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "manifests.yaml"
    file.write_text(SERVICE)
    main(["check", "--what-if", "release=llmkube=0.9.19", "-o", "html", str(file)])
    parts = Parts(capsys.readouterr().out)
    assert "what if" in parts.text
    sorts = [attributes["data-sort"] for tag, attributes in parts.elements if "data-sort" in attributes]
    assert sorts == ["newly warned", "resolved"]
    assert "InferenceService a/served: newly warned, resolved" in parts.text


def test_an_explanation_shows_the_choice_the_fit_and_what_the_operator_makes(explained: Path) -> None:
    parts = Parts(explained.read_text())
    candidates = [attributes["class"] for tag, attributes in parts.elements if tag == "li" and "class" in attributes]
    assert candidates == ["chosen", "possible", "out", "out"]
    for text in (
        "sglang-small",
        "rank 1, score 30",
        "model size 8B is outside supported range [60B, 80B]",
        "34.8 GiB of 24 GiB, 144 %",
        "derived from vendor and runtime (LK102)",
        "Deployment team/chat-engine",
        "# spec.model.name",
    ):
        assert text in parts.text
    widths = [float(attributes["width"] or 0) for tag, attributes in parts.elements if tag == "rect"]
    assert widths[:3] == [100, 69, 31], "the whole, the memory that there is, and what is needed beyond it"
    assert widths[3:] == [100, 100, 100, 50], "the scores 30 and 15, each on the whole"
    assert "<script" not in explained.read_text()
    assert "script-src 'none'" in explained.read_text()


def test_a_page_of_one_field_has_no_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "served.yaml"
    file.write_text(SERVED)
    assert main(["explain", "-o", "html", "--field", "spec.modelRef", str(file)]) == 0
    page = capsys.readouterr().out
    assert Parts(page).text.count("spec.modelRef") == 1
    assert "What the operator makes" not in page


def test_a_page_of_many_objects_is_bounded_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "many.yaml"
    model = SERVED.partition("---")[0]
    file.write_text("---\n".join(model.replace("name: qwen", f"name: m{n}") for n in range(130)))
    assert main(["explain", "-o", "html", str(file)]) == 0
    page = capsys.readouterr().out
    assert (page.count("<section"), page.count('href="#o')) == (100, 100)
    assert "130 objects" in page
    assert "30 objects more: name fewer files." in page


def test_an_explanation_of_hostile_names_has_no_other_markup(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(RUNTIMES.replace("name: llama-3-8b", f"name: {HOSTILE}").replace("sglang:v0.5", "<img src=x>"))
    assert main(["explain", "-o", "html", str(file)]) == 0
    made = capsys.readouterr().out
    assert "<script" not in made
    assert "img" not in {tag for tag, _ in Parts(made).elements}
    assert "\x1b" not in made
    assert "\u202e" not in made


@pytest.mark.e2e
def test_a_reader_filters_and_finds_by_keyboard(page: Path, tmp_path: Path) -> None:
    with browser(tmp_path / "profile") as shown:
        shown.open(page)
        every = int(shown.evaluate("document.getElementById('shown').textContent.split(' ')[0]"))
        assert every == shown.evaluate("document.querySelectorAll('li[data-code]').length") > 3
        shown.evaluate(
            "const code = document.querySelector('[data-filter=code]');"
            "code.value = 'LZ321'; code.dispatchEvent(new Event('input'))"
        )
        assert shown.evaluate("document.getElementById('shown').textContent") == "1 shown"
        assert visible(shown) == ["OpenModel third: accepted"]
        shown.evaluate("document.getElementById('all').click()")
        shown.press("/")
        assert shown.evaluate("document.activeElement.id") == "search"
        for key in "second":
            shown.press(key)
        assert visible(shown) == ["Model b/second: refused"]


def visible(page: Page) -> list[str]:
    found: list[str] = page.evaluate(
        "[...document.querySelectorAll('article:not([hidden]) h3')].map((each) => each.textContent)"
    )
    return found


@pytest.mark.e2e
@pytest.mark.parametrize("made_by", ["check", "explain"])
def test_axe_finds_nothing_and_no_line_is_wider_than_the_page(
    page: Path, explained: Path, tmp_path: Path, made_by: str
) -> None:
    file, script = {"check": page, "explain": explained}[made_by], axe()
    with browser(tmp_path / "profile") as shown:
        for width, dark in ((390, False), (390, True), (1280, False), (1280, True)):
            shown.open(file, width=width, dark=dark)
            shown.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
            assert shown.evaluate("document.documentElement.scrollWidth") <= width
            shown.evaluate(script)
            rules, *violations = shown.evaluate(AXE)
            assert rules > 15, "the page was looked at"
            assert violations == []


AXE = "axe.run().then((found) => [found.passes.length, ...found.violations.map((each) => [each.id, each.nodes])])"
