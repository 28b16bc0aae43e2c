"""One editor with one server for all scenes."""

import pytest

from tests.lsp.client import Editor
from tests.lsp.scenes import MODEL, RUNTIMES, SERVICE


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("workspace")
    (folder / ".git").mkdir()
    (folder / "model.yaml").write_text(MODEL)
    (folder / "service.yaml").write_text(SERVICE)
    (folder / "other.yaml").write_text(MODEL.replace("name: llama", "name: mistral"))
    (folder / "elsewhere.yaml").write_text(MODEL.replace("name: llama", "name: faraway\n  namespace: far"))
    (folder / "runtimes.yaml").write_text(RUNTIMES)
    return folder


@pytest.fixture(scope="session")
def shared(folder):
    with Editor(folder, "--docs-url", "https://docs.example.com") as editor:
        yield editor
        assert editor.close() == 0
        assert "Traceback" not in editor.log.decode()


@pytest.fixture
def editor(shared):
    """The editor, in which nothing is open."""
    yield shared
    for name in [*shared.opened]:
        shared.shut(name)
