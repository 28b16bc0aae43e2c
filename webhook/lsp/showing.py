"""What an editor can show of an object beside its file: what its operator makes, and what was chosen for it."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree
from typing import Final, NamedTuple

from lsprotocol import types

from webhook.lsp.workspace import Workspace

CHILDREN: Final = "modelgate.children"
EXPLAIN: Final = "modelgate.explain"
"""A command, and the kind of both actions."""
_TITLES: Final = {
    CHILDREN: "Show what the operator makes of this object",
    EXPLAIN: "Explain this object: the choice of the runtime, does it fit, the origin of each field",
}
_STRANGE: Final = re.compile(r"[^A-Za-z0-9.-]+")


class ShownFile(NamedTuple):
    """A file of this server; a page is for a browser."""

    path: Path
    is_page: bool


def showing_actions(uri: str, source: str, workspace: Workspace, rows: range) -> Iterator[types.CodeAction]:
    """The actions at the lines that name the kind of an object."""
    file = workspace.files[source]
    for index, verdict in enumerate(workspace.verdicts(source)[: len(file.documents)]):
        places = (verdict.document.place(key).line - 1 for key in ("apiVersion", "kind"))
        if verdict.checked and any(place in rows for place in places):
            for name, title in _TITLES.items():
                command = types.Command(title, name, arguments=[uri, index])
                yield types.CodeAction(title, EXPLAIN, command=command)


class Shelf:
    """A folder for the files that are shown, which goes with the server."""

    def __init__(self) -> None:
        self._folder: Path | None = None

    def put(self, name: str, text: str) -> Path:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="modelgate-"))
        path = self._folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def close(self) -> None:
        """Remove the files."""
        if self._folder is not None:
            rmtree(self._folder, ignore_errors=True)


def shown(command: str, source: str, index: int, workspace: Workspace, shelf: Shelf) -> ShownFile | None:
    """The file that a command makes; None if there is no such object now."""
    file = workspace.files.get(source)
    if file is None or not 0 <= index < len(file.documents) or not workspace.verdicts(source)[index].checked:
        return None
    review = workspace.reviews(source)[index]
    stem = _STRANGE.sub("-", review.title)[:80]
    if command == CHILDREN:
        return ShownFile(shelf.put(f"{stem}.children.yaml", workspace.desk.children(review)), is_page=False)
    page = workspace.desk.explanation(review, workspace.explained(review))
    return ShownFile(shelf.put(f"{stem}.html", page), is_page=True)
