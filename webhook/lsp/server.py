"""The language server: what an editor asks, and where the answers come from."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol
from pygls.uris import from_fs_path, to_fs_path

from webhook.admission.errors import ModelgateError
from webhook.lsp.actions import FIX_ALL, actions
from webhook.lsp.completion import completions
from webhook.lsp.cursor import Cursor, cursor_in
from webhook.lsp.diagnostics import diagnostics
from webhook.lsp.hints import hints
from webhook.lsp.hover import hover
from webhook.lsp.naming import Naming, Refused, Site, meant, namings, renamed, sites
from webhook.lsp.showing import CHILDREN, EXPLAIN, Shelf, shown
from webhook.lsp.symbols import symbols
from webhook.lsp.texts import TextLines
from webhook.lsp.workspace import MOST, Desk, Workspace
from webhook.manifests.documents import Document
from webhook.manifests.files import content

Load = Callable[[Path], Desk]
"""Reads the configuration and the files of a folder."""

_PAUSE: Final = 0.05
"""Seconds after a change before findings are published: a typist needs no answer to each letter."""
_WATCHED: Final = "**/*.{yaml,yml,json}"
_DECIDING: Final = frozenset({".modelgate.yaml", "Chart.yaml", "Chart.lock", "kustomization.yaml", "kustomization.yml"})
"""Files that decide by which release and rules others are judged, beside objects that have no rules themselves."""


class _Protocol(LanguageServerProtocol):
    """The protocol of pygls; a question that cannot be read gets an answer, too, for which the client waits."""

    def structure_message(self, data: dict[str, Any]) -> Any:
        try:
            return super().structure_message(data)  # type: ignore[no-untyped-call, unused-ignore]
        except JsonRpcException as error:
            if isinstance(data.get("id"), int | str) and "method" in data:
                self._send_response(data["id"], error=error.to_response_error())
            raise


class ManifestServer(LanguageServer):
    """Answers an editor about the files of one workspace.

    ``load`` reads the workspace, in a thread, because that may take seconds; until then, answers are empty. ``folder``
    is the workspace of an editor that names none.
    """

    def __init__(self, load: Load, folder: Path, version: str) -> None:
        super().__init__("modelgate", version, protocol_cls=_Protocol)
        self._load = load
        self._folder = folder
        self.files: Workspace | None = None
        self._due: asyncio.Task[None] | None = None
        self._loading: asyncio.Task[None] | None = None
        self._lines = dict[str, TextLines]()
        self._shelf = Shelf()
        _register(self)

    # What is open ----------------------------------------------------------------------------------------------------

    def source(self, uri: str) -> str:
        """The name of a file; the URI itself of what is in none."""
        path = to_fs_path(uri) if uri.startswith("file:") else None
        return os.path.normpath(path) if path else uri

    def lines(self, uri: str) -> TextLines:
        """The text of a file as the editor has it; of one that is not open, as it is on the disk."""
        source = self.source(uri)
        if uri in self.workspace.text_documents:
            text = self.workspace.text_documents[uri].source
        else:
            file = self.files.files.get(source) if self.files else None
            text = file.text if file else ""
        lines = self._lines.get(uri)
        if lines is None or lines.text != text:
            encoding = self.workspace.position_encoding
            lines = self._lines[uri] = TextLines(text, str(getattr(encoding, "value", encoding) or "utf-16"))
        return lines

    def fresh(self, uri: str) -> tuple[str, Workspace, TextLines] | None:
        """A file as the editor has it now; None while the workspace is being read."""
        if self.files is None:
            return None
        source, lines = self.source(uri), self.lines(uri)
        if uri in self.workspace.text_documents:
            self._take(source, lines.text)
        return source, self.files, lines

    def _take(self, source: str, text: str) -> None:
        if self.files is not None:
            self.files.change(source, text)

    # Reading and publishing ------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Read the workspace, again if its configuration has changed."""
        if self._loading is not None and not self._loading.done():
            self._loading.cancel()
        self._loading = asyncio.create_task(self._read())
        await asyncio.gather(self._loading, return_exceptions=True)

    async def _read(self) -> None:
        root = self.workspace.root_path or next((to_fs_path(uri) for uri in self.workspace.folders), None)
        try:
            loop, folder = asyncio.get_running_loop(), Path(root) if root else self._folder
            self.files = await loop.run_in_executor(None, lambda: Workspace(self._load(folder)))
        except (ModelgateError, OSError) as error:
            message = f"modelgate: the workspace is not judged: {error}"
            self.window_show_message(types.ShowMessageParams(types.MessageType.Error, message))
            return
        if remark := self.files.desk.remark:
            self.window_show_message(types.ShowMessageParams(types.MessageType.Info, f"modelgate: {remark}"))
        self.publish_soon()

    def stop(self) -> None:
        """Let go of what is still to be done: the client has left."""
        for task in (self._loading, self._due):
            if task is not None:
                task.cancel()
        self._shelf.close()

    def publish_soon(self) -> None:
        """Publish the findings of all open files when nothing has changed for a moment."""
        if self._due is not None:
            self._due.cancel()
        self._due = asyncio.get_running_loop().create_task(self._publish())

    async def _publish(self) -> None:
        await asyncio.sleep(_PAUSE)
        for uri, document in [*self.workspace.text_documents.items()]:
            if (fresh := self.fresh(uri)) is not None:
                source, files, lines = fresh
                listed = diagnostics(source, files, lines)
                self.text_document_publish_diagnostics(
                    types.PublishDiagnosticsParams(uri, listed, version=document.version)
                )
                await asyncio.sleep(0)

    def closed(self, uri: str) -> None:
        """Go back to what is on the disk, and take the findings of a file away."""
        self._lines.pop(uri, None)
        self.reread(uri)
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))
        self.publish_soon()

    def reread(self, uri: str) -> None:
        """Read a file from the disk."""
        if self.files is None or not uri.startswith("file:") or uri in self.workspace.text_documents:
            return
        source = self.source(uri)
        try:
            self.files.change(source, content(Path(source)).decode("utf-8-sig"))
        except (OSError, UnicodeDecodeError):
            self.files.change(source, None)

    def decides(self, uri: str) -> bool:
        """Whether a file may change by which rules others are judged: then everything is read again."""
        if self.files is None:
            return False
        source, files = self.source(uri), self.files
        file = files.files.get(source)
        if file is None or file.text == files.first.get(source):
            return file is None and Path(source).name in _DECIDING
        return Path(source).name in _DECIDING or any(files.kind(document) is None for document in file.documents)

    # Answers ---------------------------------------------------------------------------------------------------------

    def cursor(self, uri: str, position: types.Position) -> tuple[Cursor, int, Document] | None:
        """The field at a position, with the index of its object and the object; None where the text is not read."""
        if (fresh := self.fresh(uri)) is None:
            return None
        source, files, lines = fresh
        offset = lines.offset(position)
        line = lines.yaml_line(offset)
        column = offset - lines.yaml_offset(line, 0)
        file = files.files.get(source)
        for index, document in enumerate(file.documents[:MOST] if file else ()):
            if (cursor := cursor_in(document, line, column)) is not None:
                return cursor, index, document
        return None

    def show(self, command: str, uri: str, index: int) -> str | None:
        """Make a file about an object and ask the editor to show it, or say where it is; return its URI."""
        fresh = self.fresh(uri)
        file = shown(command, fresh[0], index, fresh[1], self._shelf) if fresh else None
        if file is None:
            return None
        target, window = file.path.as_uri(), self.client_capabilities.window
        if window is not None and window.show_document is not None and window.show_document.support:
            self.window_show_document(types.ShowDocumentParams(target, external=file.is_page, take_focus=True))
        else:
            self.window_show_message(types.ShowMessageParams(types.MessageType.Info, f"modelgate: {file.path}"))
        return target

    def naming(self, uri: str, position: types.Position) -> Naming | None:
        """What the field at a position names."""
        placed = self.cursor(uri, position)
        return None if placed is None or self.files is None else meant(placed[0], placed[2], self.files)

    def location(self, site: Site) -> types.Location:
        uri = self.uri(site.document.source)
        return types.Location(uri, self.lines(uri).spot(site.spot))

    def uri(self, source: str) -> str:
        """The URI of a file as the editor has it."""
        open_ones = (uri for uri in self.workspace.text_documents if self.source(uri) == source)
        return next(open_ones, None) or from_fs_path(source) or source


def _register(server: ManifestServer) -> None:
    """Say what the server answers, and by which function."""
    _register_changes(server)
    _register_texts(server)
    _register_names(server)


def _register_changes(server: ManifestServer) -> None:
    @server.feature(types.INITIALIZED)
    async def initialized(_: types.InitializedParams) -> None:
        watching = server.client_capabilities.workspace
        files = watching.did_change_watched_files if watching else None
        if files and files.dynamic_registration:
            options = types.DidChangeWatchedFilesRegistrationOptions([types.FileSystemWatcher(_WATCHED)])
            watch = types.Registration("files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
            server.client_register_capability(types.RegistrationParams([watch]))
        await server.start()

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(_: types.DidOpenTextDocumentParams) -> None:
        server.publish_soon()

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(_: types.DidChangeTextDocumentParams) -> None:
        server.publish_soon()

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        server.closed(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    async def saved(params: types.DidSaveTextDocumentParams) -> None:
        if server.decides(params.text_document.uri):
            await server.start()

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    async def watched(params: types.DidChangeWatchedFilesParams) -> None:
        must_read = any(server.decides(change.uri) for change in params.changes)
        for change in params.changes:
            server.reread(change.uri)
        if must_read or any(server.decides(change.uri) for change in params.changes):
            await server.start()
        server.publish_soon()


def _register_texts(server: ManifestServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hovered(params: types.HoverParams) -> types.Hover | None:
        uri = params.text_document.uri
        placed = server.cursor(uri, params.position)
        if placed is None or server.files is None:
            return None
        cursor, index, _ = placed
        is_within = cursor.is_key or cursor.value.is_scalar  # not between the fields of an object
        text = hover(cursor, index, server.source(uri), server.files) if is_within else ""
        content = types.MarkupContent(types.MarkupKind.Markdown, text)
        return types.Hover(content, server.lines(uri).spot(cursor.key)) if text else None

    @server.feature(types.TEXT_DOCUMENT_INLAY_HINT)
    def hinted(params: types.InlayHintParams) -> list[types.InlayHint]:
        fresh = server.fresh(params.text_document.uri)
        return hints(*fresh, params.range) if fresh else []

    @server.feature(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=[" ", ":", "-"]))
    def completed(params: types.CompletionParams) -> list[types.CompletionItem]:
        fresh = server.fresh(params.text_document.uri)
        return completions(*fresh, params.position) if fresh else []

    kinds = [types.CodeActionKind.QuickFix, FIX_ALL, EXPLAIN]

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=kinds))
    def acted(params: types.CodeActionParams) -> list[types.CodeAction]:
        uri = params.text_document.uri
        fresh = server.fresh(uri)
        return actions(uri, *fresh, params) if fresh else []

    @server.command(CHILDREN)
    def children(uri: str, index: int) -> str | None:
        return server.show(CHILDREN, uri, index)

    @server.command(EXPLAIN)
    def explained(uri: str, index: int) -> str | None:
        return server.show(EXPLAIN, uri, index)

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def listed(params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
        fresh = server.fresh(params.text_document.uri)
        return symbols(*fresh) if fresh else []


def _register_names(server: ManifestServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    def defined(params: types.DefinitionParams) -> list[types.Location]:
        naming = server.naming(params.text_document.uri, params.position)
        return [*map(server.location, sites(naming.targets, server.files))] if naming and server.files else []

    @server.feature(types.TEXT_DOCUMENT_REFERENCES)
    def referred(params: types.ReferenceParams) -> list[types.Location]:
        naming = server.naming(params.text_document.uri, params.position)
        if naming is None or server.files is None:
            return []
        target = naming.targets[0]
        own = sites([target], server.files) if params.context.include_declaration else ()
        return [*map(server.location, (*own, *namings(target, server.files)))]

    @server.feature(types.TEXT_DOCUMENT_PREPARE_RENAME)
    def prepared(params: types.PrepareRenameParams) -> types.Range | None:
        naming = server.naming(params.text_document.uri, params.position)
        return server.lines(params.text_document.uri).spot(naming.spot) if naming else None

    @server.feature(types.TEXT_DOCUMENT_RENAME, types.RenameOptions(prepare_provider=True))
    def rename(params: types.RenameParams) -> types.WorkspaceEdit | None:
        naming = server.naming(params.text_document.uri, params.position)
        if naming is None or server.files is None:
            return None
        try:
            edits = renamed(naming, params.new_name, server.files)
        except Refused as refusal:
            raise JsonRpcInvalidParams(str(refusal)) from None
        return types.WorkspaceEdit(dict(map(partial(_changes, server), edits.items())))


def _changes(server: ManifestServer, of_file: tuple[str, list[Any]]) -> tuple[str, list[types.TextEdit]]:
    source, edits = of_file
    uri = server.uri(source)
    lines = server.lines(uri)
    return uri, [types.TextEdit(lines.spot(spot), text) for spot, text in edits]
