"""One session of an editor in thirty scenes. What the server answers is recorded in ``transcript.md``.

``MODELGATE_SNAPSHOTS=write`` with pytest writes it again: look at the difference.
"""

import os
from pathlib import Path

from tests.lsp.client import Editor, between, edited, place_of
from tests.lsp.scenes import EVERYTHING, MODEL, OME, RUNTIMES, SERVICE

TRANSCRIPT = Path(__file__).with_name("transcript.md")


class Session:
    """A client that writes down each scene and its answer."""

    def __init__(self, editor: Editor) -> None:
        self.editor, self.rows, self.texts = editor, [], {}

    def note(self, scene, answer):
        lines = "\n".join(f"       {line}".rstrip() for line in answer) or "       -"
        self.rows.append(f"{len(self.rows) + 1}. {scene}\n\n{lines}\n")

    def found(self, scene, findings):
        places = (each["range"]["start"]["line"] + 1 for each in findings)
        texts = (f"{each['code']}: {' '.join(each['message'].split())}" for each in findings)
        self.note(scene, [f"{line}: {text}" for line, text in zip(places, texts, strict=True)])

    def open(self, scene, name, text):
        self.texts[name] = text
        self.found(scene, self.editor.open(name, text))

    def write(self, scene, name, old, new):
        self.texts[name] = self.texts[name].replace(old, new)
        self.found(scene, self.editor.type(name, self.texts[name]))

    def at(self, scene, method, name, words, behind, answer, **more):
        self.note(scene, answer(self.editor.at(method, name, place_of(self.texts[name], words, behind), **more)))

    def whole(self, scene, method, name, answer, **more):
        self.note(scene, answer(self.editor.whole(method, name, **more)))

    def act(self, scene, name, words, choice):
        """Take one of the actions that are offered at some words."""
        place = place_of(self.texts[name], words)
        offered = self.editor.whole("codeAction", name, range=between(place, place), context={"diagnostics": []})
        (change,) = offered[choice]["edit"]["changes"].values()
        self.texts[name] = edited(self.texts[name], change)
        self.found(f"{scene}: {offered[choice]['title']}", self.editor.type(name, self.texts[name]))


def texts(answer):
    return answer["contents"]["value"].split("\n") if answer else []


def places(answer):
    found = answer if isinstance(answer, list) else [answer]
    return [f"{Path(each['uri']).name}:{each['range']['start']['line'] + 1}" for each in found]


def names(answer):
    return [each["label"] for each in answer]


def files(answer):
    return sorted(Path(uri).name for uri in answer["changes"])


def played(session):
    session.open("open a right model", "model.yaml", MODEL)
    session.open("open a right service", "service.yaml", SERVICE)
    session.at("hover over a field", "hover", "model.yaml", "accelerator", 2, texts)
    session.at("hover over a field with a default", "hover", "service.yaml", "replicas", 2, texts)
    session.at("hover over the kind", "hover", "service.yaml", "kind", 1, texts)
    session.write("type a misspelt field", "model.yaml", "accelerator", "acelerator")
    session.act("repair it", "model.yaml", "acelerator", 0)
    session.write("type a value that is not allowed", "model.yaml", "cuda", "nvidia")
    session.write("undo", "model.yaml", "accelerator: nvidia", "accelerator: cuda")
    session.write("half of a line", "model.yaml", "  source: https://example.com/llama.gguf", '  source: "https://exa')
    session.write("the line again", "model.yaml", '  source: "https://exa', "  source: https://example.com/llama.gguf")
    session.write("a template of Helm", "model.yaml", "count: 1", "count: {{ .Values.count }}")
    session.write("a variable of Flux", "model.yaml", "{{ .Values.count }}", "${COUNT}")
    session.write("a number again", "model.yaml", "${COUNT}", "1")
    session.write("a reference to no model", "service.yaml", "modelRef: llama", "modelRef: lama")
    session.act("take the name that is meant", "service.yaml", "modelRef", 0)
    session.at("go to the definition of the model", "definition", "service.yaml", "modelRef: llama", 12, places)
    session.at(
        "who refers to the model?",
        "references",
        "model.yaml",
        "llama",
        2,
        places,
        context={"includeDeclaration": False},
    )
    session.at("rename the model", "rename", "model.yaml", "llama", 2, files, newName="big")
    session.at("complete a value", "completion", "model.yaml", "accelerator: cuda", 13, names)
    session.at("complete the name of a model", "completion", "service.yaml", "modelRef: llama", 10, names)
    session.write("a warning", "service.yaml", "gpu: 1", "gpu: 1\n    memory: 16GB")
    session.act("ignore it here", "service.yaml", "memory: 16GB", 1)
    session.whole("what would be filled in", "inlayHint", "model.yaml", names, range=EVERYTHING)
    session.whole("symbols", "documentSymbol", "model.yaml", lambda answer: [each["name"] for each in answer])
    session.open("a service of OME", "ome.yaml", OME)
    session.at("why this runtime?", "hover", "ome.yaml", "kind: Inf", 1, texts)
    session.write("a tab", "ome.yaml", "  engine:", "\tengine:")
    session.write("spaces again", "ome.yaml", "\tengine:", "  engine:")
    session.write("nothing at all", "ome.yaml", session.texts["ome.yaml"], "")


def test_a_session_is_as_it_is_recorded(tmp_path):
    for name, text in {"model": MODEL, "service": SERVICE, "runtimes": RUNTIMES, "ome": OME}.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    with Editor(tmp_path) as editor:
        session = Session(editor)
        played(session)
        assert editor.close() == 0
    made = "\n".join(("# A session of an editor\n", *session.rows))
    assert len(session.rows) == 30
    assert str(tmp_path) not in made
    if os.environ.get("MODELGATE_SNAPSHOTS") == "write":
        TRANSCRIPT.write_text(made)
    assert made == TRANSCRIPT.read_text(), "run it with MODELGATE_SNAPSHOTS=write"
