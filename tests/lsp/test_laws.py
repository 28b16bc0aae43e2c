"""What holds of every text and position: no question raises, and what cannot be read is judged as it was."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lsprotocol import types

from tests.lsp.scenes import MODEL, OME, RUNTIMES, SERVICE
from webhook.cli import lsp
from webhook.cli.lsp import _desk
from webhook.cli.shell.running import parser
from webhook.lsp.actions import actions
from webhook.lsp.completion import completions
from webhook.lsp.cursor import cursor_in
from webhook.lsp.diagnostics import diagnostics
from webhook.lsp.hints import hints
from webhook.lsp.hover import hover
from webhook.lsp.naming import meant, namings, sites
from webhook.lsp.symbols import symbols
from webhook.lsp.texts import Shift, TextLines
from webhook.lsp.workspace import Workspace
from webhook.manifests.places import Place

TEXTS = (MODEL, SERVICE, OME, RUNTIMES, f"{MODEL}---\n{SERVICE}", MODEL.replace("\n", "\r\n"))
ODD = (
    "",
    ":",
    "- ",
    "{",
    "]",
    '"',
    "'",
    "&a ",
    "*a",
    "<<: ",
    "\t",
    "\r",
    "\n",
    "#",
    "---\n",
    "🦙",
    "\x85",
    "${A}",
    "{{ .x }}",
)
BREAKING = ("{", "[", "]", "}", '"', "{{ .x }}", "\n: [", "&", "*")


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    folder = tmp_path_factory.mktemp("workspace")
    (folder / "model.yaml").write_text(MODEL)
    (folder / "runtimes.yaml").write_text(RUNTIMES)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield Workspace(_desk(parser({"lsp"}).parse_args(["lsp"]), folder))


@st.composite
def broken_texts(draw):
    """A text of manifests, in which some ranges are replaced by other text."""
    text = draw(st.sampled_from(TEXTS))
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 12)))
        text = text[:start] + draw(st.sampled_from(ODD) | st.text(max_size=4)) + text[end:]
    return text


@given(broken_texts(), st.integers(0, 40), st.integers(0, 40), st.sampled_from(["utf-8", "utf-16", "utf-32"]))
@settings(deadline=None)
def test_no_question_raises(workspace, text, line, character, encoding):
    workspace.change("/w/edited.yaml", text)
    lines, position = TextLines(text, encoding), types.Position(line, character)
    offset = lines.offset(position)
    row = lines.yaml_line(offset)
    for index, document in enumerate(workspace.files["/w/edited.yaml"].documents):
        if cursor := cursor_in(document, row, offset - lines.yaml_offset(row, 0)):
            hover(cursor, index, "/w/edited.yaml", workspace)
            if naming := meant(cursor, document, workspace):
                spots = [*sites(naming.targets, workspace), *namings(naming.targets[0], workspace)]
                assert all(site.spot.is_scalar for site in spots)
    completions("/w/edited.yaml", workspace, lines, position)
    diagnostics("/w/edited.yaml", workspace, lines)
    symbols("/w/edited.yaml", workspace, lines)
    everything = types.Range(types.Position(0, 0), types.Position(99, 0))
    hints("/w/edited.yaml", workspace, lines, everything)
    only = [types.CodeActionKind.QuickFix, types.CodeActionKind.Source]
    asked = types.CodeActionParams(
        types.TextDocumentIdentifier("file:///w/edited.yaml"), everything, types.CodeActionContext([], only)
    )
    actions("file:///w/edited.yaml", "/w/edited.yaml", workspace, lines, asked)


def test_of_a_disk_only_open_files_are_judged(tmp_path, monkeypatch):
    (tmp_path / ".git").mkdir()
    for name in ("a.yaml", ".git/b.yaml"):
        (tmp_path / name).write_text(MODEL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(lsp, "_MOST", 1)
    assert not _desk(parser({"lsp"}).parse_args(["lsp"]), tmp_path).remark, "hidden folders are not read"
    (tmp_path / "b.yaml").write_text(MODEL)
    desk = _desk(parser({"lsp"}).parse_args(["lsp"]), tmp_path)
    assert desk.given.documents == []
    assert desk.remark == f"only open files are judged: {tmp_path} has too many files"
    workspace = Workspace(desk)
    workspace.change(f"{tmp_path}/a.yaml", MODEL)
    assert len([*workspace.objects]) == 1


def test_a_file_that_has_an_object_twice_can_be_changed(workspace):
    once = MODEL.replace("name: llama", "name: of-no-other-file")
    for text in (f"{once}---\n{once}", once, f"{once}---\n{once}", None):
        workspace.change("/w/twice.yaml", text)


@given(st.sampled_from([MODEL, SERVICE]), st.data())
@settings(deadline=None)
def test_a_right_file_that_cannot_be_read_any_more_is_not_red(workspace, text, data):
    workspace.change("/w/right.yaml", text)
    start = data.draw(st.integers(0, len(text)))
    broken = (
        text[:start]
        + data.draw(st.sampled_from(["{", "[", "]", "}", '"', "{{ .x }}", "\n: [", "&", "*"]))
        + text[start:]
    )
    workspace.change("/w/right.yaml", broken)
    file = workspace.files["/w/right.yaml"]
    if not file.documents:
        shown = diagnostics("/w/right.yaml", workspace, TextLines(broken))
        assert [each for each in shown if each.severity == types.DiagnosticSeverity.Error] == []
        assert len(file.left) == 1


@given(st.text(alphabet="aé🦙\n\r\x85 :", max_size=40), st.sampled_from(["utf-8", "utf-16", "utf-32"]), st.data())
def test_offsets_and_positions_are_inverse(text, encoding, data):
    lines = TextLines(text, encoding)
    offset = data.draw(st.integers(0, len(text)))
    if text[max(offset - 1, 0) : offset + 1] != "\r\n":  # no position is between these two
        assert lines.offset(lines.position(offset)) == offset


@given(st.lists(st.sampled_from("abc"), max_size=8), st.lists(st.sampled_from("abc"), max_size=8))
def test_a_line_that_is_still_there_keeps_its_text(before, now):
    shift = Shift("\n".join(before), "\n".join(now))
    for number, text in enumerate("\n".join(before).split("\n"), 1):
        place = shift.place(Place(number, 1, 2))
        assert 1 <= place.line <= len(now) + 1
        if place.end != 2 or place != Place(shift._same + 1, 1, 2):
            assert "\n".join(now).split("\n")[place.line - 1] == text
