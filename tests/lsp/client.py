"""An editor as the server sees it: it speaks the protocol over pipes, and shares no code with the server."""

import json
import queue
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

SECONDS = 60
"""Until an answer counts as missing: this machine may be busy."""


class Editor:
    """One client with its own server. Positions are (line, column), from 0, in UTF-16.

    ``command`` is another server; ``settings`` are what it may ask for.
    """

    def __init__(
        self,
        folder: Path,
        *flags: str,
        command: Sequence[str] = (sys.executable, "-m", "modelgate", "lsp"),
        settings: dict[str, Any] | None = None,
    ) -> None:
        self.settings = settings or {}
        self.process = subprocess.Popen(
            [*command, *flags], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder
        )
        self.folder = folder
        self._answers: dict[int, dict[str, Any]] = {}
        self._arrived: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._count = 0
        self._versions: dict[str, int] = {}
        self.findings: dict[str, list[dict[str, Any]]] = {}
        self.published: dict[str, int | None] = {}
        self.messages: list[str] = []
        self.log = b""
        self._threads = [threading.Thread(target=each, daemon=True) for each in (self._listen, self._drain)]
        for thread in self._threads:
            thread.start()
        self.can = self.ask(
            "initialize",
            processId=None,
            rootUri=folder.as_uri(),
            workspaceFolders=[{"uri": folder.as_uri(), "name": "w"}],
            capabilities={
                "textDocument": {"rename": {"prepareSupport": True}, "publishDiagnostics": {"versionSupport": True}},
                "workspace": {"configuration": True},
            },
        )["capabilities"]
        self.tell("initialized")

    def _drain(self) -> None:
        for line in self.process.stderr:
            self.log += line

    def _listen(self) -> None:
        stream = self.process.stdout
        while header := stream.readline():
            if header.lower().startswith(b"content-length:"):
                length = int(header.split(b":")[1])
            if header == b"\r\n":
                self._arrived.put(json.loads(stream.read(length)))
        self._arrived.put(None)

    def raw(self, data: bytes) -> None:
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message: Any) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.raw(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    def tell(self, method: str, **params: Any) -> None:
        self.send({"method": method, "params": params})

    def ask(self, method: str, **params: Any) -> Any:
        """The result of a request.

        Raises:
            Failed: it is an error.
        """
        self._count += 1
        number = self._count
        self.send({"id": number, "method": method, "params": params})
        while number not in self._answers:
            self._take()
        answer = self._answers.pop(number)
        if "error" in answer:
            raise Failed(answer["error"]["message"])
        return answer.get("result")

    def _take(self) -> None:
        message = self._arrived.get(timeout=SECONDS)
        if message is None:
            raise Closed(self.log.decode(errors="replace"))
        if "method" not in message:
            if isinstance(message.get("id"), int):
                self._answers[message["id"]] = message
        elif message["method"] == "textDocument/publishDiagnostics":
            params = message["params"]
            self.findings[params["uri"]] = params["diagnostics"]
            newest = {self.uri(name): version for name, version in self._versions.items()}
            self.published[params["uri"]] = params.get("version", newest.get(params["uri"]))
        elif message["method"] == "window/showMessage":
            self.messages.append(message["params"]["message"])
        elif message["method"] == "workspace/configuration":
            wanted = [self.settings.get(item.get("section")) for item in message["params"]["items"]]
            self.send({"id": message["id"], "result": wanted})
        elif "id" in message:
            self.send({"id": message["id"], "result": None})

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def open(self, name: str, text: str | None = None) -> list[dict[str, Any]]:
        """Open a file; return its findings."""
        if text is None:
            text = (self.folder / name).read_text()
        self._versions[name] = 1
        document = {"uri": self.uri(name), "languageId": "yaml", "version": 1, "text": text}
        self.tell("textDocument/didOpen", textDocument=document)
        return self.shown(name)

    def type(self, name: str, text: str, start: tuple[int, int] | None = None, end: tuple[int, int] | None = None):
        """Replace a range, or the whole text; return the findings."""
        change: dict[str, Any] = {"text": text}
        if start is not None:
            change["range"] = between(start, end or start)
        self._versions[name] += 1
        document = {"uri": self.uri(name), "version": self._versions[name]}
        self.tell("textDocument/didChange", textDocument=document, contentChanges=[change])
        return self.shown(name)

    def shown(self, name: str) -> list[dict[str, Any]]:
        """The findings of the newest text of a file."""
        while self.published.get(self.uri(name)) != self._versions[name]:
            self._take()
        return self.findings[self.uri(name)]

    @property
    def opened(self) -> list[str]:
        return [*self._versions]

    def shut(self, name: str) -> None:
        """Close a file, and wait until its findings are gone."""
        del self._versions[name]
        self.tell("textDocument/didClose", textDocument={"uri": self.uri(name)})
        self.findings.pop(self.uri(name), None)
        while self.findings.get(self.uri(name)) != []:
            self._take()
        self.published.pop(self.uri(name), None)

    def message(self) -> str:
        """The next message to the user."""
        while not self.messages:
            self._take()
        return self.messages.pop(0)

    def forget(self, name: str) -> None:
        """Wait for new findings of the same text."""
        self.published.pop(self.uri(name), None)

    def at(self, method: str, name: str, place: tuple[int, int], **more: Any) -> Any:
        position = {"line": place[0], "character": place[1]}
        return self.ask(f"textDocument/{method}", textDocument={"uri": self.uri(name)}, position=position, **more)

    def whole(self, method: str, name: str, **more: Any) -> Any:
        return self.ask(f"textDocument/{method}", textDocument={"uri": self.uri(name)}, **more)

    def close(self) -> int:
        """Leave as an editor does; return the exit code."""
        self.ask("shutdown")
        self.send({"method": "exit"})
        return self.process.wait(SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for thread in self._threads:
            thread.join(SECONDS)
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.stderr.close()


class Failed(Exception):
    """The server answers with an error."""


class Closed(Exception):
    """The server has ended; the text is its log."""


def between(start: tuple[int, int], end: tuple[int, int]) -> dict[str, Any]:
    return {
        "start": {"line": start[0], "character": start[1]},
        "end": {"line": end[0], "character": end[1]},
    }


def place_of(text: str, words: str, behind: int = 0) -> tuple[int, int]:
    """The position of words in a text, and so many characters behind it."""
    offset = text.index(words) + behind
    line_start = text.rfind("\n", 0, offset) + 1
    return text.count("\n", 0, offset), len(text[line_start:offset].encode("utf-16-le")) // 2


def edited(text: str, edits: list[dict[str, Any]]) -> str:
    """A text after edits, as an editor applies them."""
    lines = text.split("\n")

    def offset(place: dict[str, int]) -> int:
        before = sum(len(line) + 1 for line in lines[: place["line"]])
        line = lines[place["line"]] if place["line"] < len(lines) else ""
        return before + len(line.encode("utf-16-le")[: 2 * place["character"]].decode("utf-16-le"))

    for edit in sorted(edits, key=lambda edit: offset(edit["range"]["start"]), reverse=True):
        start, end = offset(edit["range"]["start"]), offset(edit["range"]["end"])
        text = text[:start] + edit["newText"] + text[end:]
    return text


def said(findings: list[dict[str, Any]]) -> list[tuple[int, int, str]]:
    """The line, the severity (1: error, 2: warning) and the code of each finding."""
    return [(each["range"]["start"]["line"], each["severity"], each["code"]) for each in findings]
