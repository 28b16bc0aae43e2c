"""Bad clients and bad files: the server answers, or ends with a sentence; it never hangs or crashes."""

import json
import os
import re
import socket
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

from tests.lsp.client import SECONDS, Editor, Failed, between, place_of, said
from tests.lsp.scenes import MODEL


@pytest.fixture(scope="module")
def editor(tmp_path_factory):
    folder = tmp_path_factory.mktemp("workspace")
    (folder / "model.yaml").write_text(MODEL)
    with Editor(folder) as editor:
        yield editor
        assert editor.close() == 0


def is_alive(editor, name):
    """Whether the server still answers, and rightly."""
    text = MODEL.replace("count: 1", "cuont: 1")
    findings = editor.open(name, text)
    return [each[2] for each in said(findings)] == ["unknown-field"]


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"nonsense",
        b"\xff\xfe\x00",
        b"[]",
        b"null",
        b"12",
        b'{"jsonrpc": "2.0"}',
        b'{"jsonrpc": "2.0", "method": 5, "params": []}',
        b'{"jsonrpc": "2.0", "id": 1e400, "method": "textDocument/hover"}',
        b'{"jsonrpc": "1.0", "id": 900, "method": "textDocument/hover"}',
        b'{"jsonrpc": "2.0", "id": 901, "result": null}',
        b'{"jsonrpc": "2.0", "id": {}, "method": "shutdown", "params": null}',
        b"[" * 100_000,
        b'{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":"file:///x"}}}',
        b'{"jsonrpc":"2.0","method":"textDocument/didClose","params":{"textDocument":{"uri":"file:///never.yaml"}}}',
        b'{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":77}}',
        b'{"jsonrpc":"2.0","method":"textDocument/didSave","params":{"textDocument":{"uri":"\\u0000"}}}',
    ],
    ids=lambda body: body[:30].decode(errors="replace") + str(len(body)),
)
def test_a_message_of_nonsense_changes_nothing(editor, body):
    editor.raw(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    assert is_alive(editor, f"alive-{abs(hash(body))}.yaml")


def test_lines_without_a_header_are_skipped(editor):
    editor.raw(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n\r\nContent-Length: many\r\n\r\n")
    assert is_alive(editor, "after-http.yaml")


def test_an_unknown_question_is_an_error(editor):
    with pytest.raises(Failed, match="Method Not Found"):
        editor.ask("textDocument/dance")
    with pytest.raises(Failed):
        editor.ask("textDocument/hover", textDocument={"uri": 5}, position="here")


@pytest.mark.parametrize("place", [(10**9, 0), (0, 10**9), (2**31 - 1, 2**31 - 1)])
@pytest.mark.parametrize("method", ["hover", "completion", "definition", "prepareRename"])
def test_a_position_outside_of_the_text_is_the_end_of_it(editor, place, method):
    if "far.yaml" not in editor.opened:
        editor.open("far.yaml", MODEL)
    end = (0, MODEL.index("\n")) if place[0] == 0 else (MODEL.count("\n"), 0)
    assert editor.at(method, "far.yaml", place) == editor.at(method, "far.yaml", end)


def test_a_question_about_a_file_that_is_not_there_has_nothing(editor):
    assert editor.at("hover", "no-such-file.yaml", (0, 0)) is None
    assert editor.whole("documentSymbol", "no-such-file.yaml") == []
    asked = {"range": between((0, 0), (9, 9)), "context": {"diagnostics": []}}
    assert editor.whole("codeAction", "no-such-file.yaml", **asked) == []
    for uri in ("untitled:Untitled-1", "http://example.com/a.yaml", "file://%zz", "", "file:///dev/zero"):
        assert editor.ask("textDocument/hover", textDocument={"uri": uri}, position={"line": 0, "character": 0}) is None


def test_an_unsaved_file_without_a_name_is_judged(editor):
    text = MODEL.replace("count: 1", "cuont: 1")
    document = {"uri": "untitled:Untitled-1", "languageId": "yaml", "version": 1, "text": text}
    editor.tell("textDocument/didOpen", textDocument=document)
    while "untitled:Untitled-1" not in editor.findings:
        editor._take()
    assert [each[2] for each in said(editor.findings["untitled:Untitled-1"])] == ["unknown-field"]


@pytest.mark.parametrize(
    "text",
    [
        "\t- a\n\tb: c\n",
        "\ufeff" + MODEL,
        "\x00\x01\x02\x1b[31m",
        MODEL.encode("utf-16").decode("latin-1"),
        MODEL.replace("llama", "\x1b[31m<script>alert(1)</script>"),
        MODEL.replace("llama", "\u2028\u2029\x85"),
        "a: &a [*a]\n",
        "a: &a {b: 1}\n<<: *a\n<<: [*a, *a]\n",
        "&" * 10_000,
        "- " * 5_000,
        "{" * 5_000,
        "? " * 5_000,
        "---\n" * 10_000,
        "!!python/object:os.system [ls]\n",
        "\r\r\r\n\n\r",
        "kind: \n  - kind: \n    - kind:\napiVersion: {}\nmetadata: 5\n",
        "apiVersion: inference.llmkube.dev/v1alpha1\nkind: Model\nmetadata: []\nspec: []\n",
        "apiVersion: v1\nkind: List\nitems: [5, [], {kind: List, items: []}]\n",
        json.dumps({"apiVersion": "v1", "kind": "List", "items": [{"a": 1}] * 100}),
    ],
    ids=range(19),
)
def test_a_file_of_nonsense_gets_answers(editor, text):
    name = f"nonsense-{abs(hash(text))}.yaml"
    editor.open(name, text)
    for place in ((0, 0), (0, 5), (1, 2), (3, 3)):
        for method in ("hover", "completion", "definition", "prepareRename"):
            editor.at(method, name, place)
    editor.whole("inlayHint", name, range=between((0, 0), (99, 0)))
    editor.whole("documentSymbol", name)
    editor.whole("codeAction", name, range=between((0, 0), (99, 0)), context={"diagnostics": []})
    assert is_alive(editor, f"after-{name}")


def test_a_folder_with_files_of_nonsense_is_read(tmp_path):
    deep = "apiVersion: inference.llmkube.dev/v1alpha1\nkind: Model\nmetadata: {name: deep}\nspec: "
    (tmp_path / "deep.yaml").write_text(f"{deep}{'{a: ' * 900}1{'}' * 900}\n")
    (tmp_path / "json.json").write_text('{"apiVersion": "inference.llmkube.dev/v1alpha1", "kind": "Model", "spec": ')
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x00kind: Model")
    (tmp_path / "loop").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "model.yaml").write_text(MODEL)
    with Editor(tmp_path) as editor:
        assert is_alive(editor, "model.yaml")
        assert editor.open("deep.yaml") != []
        assert editor.close() == 0
        assert "Traceback" not in editor.log.decode()


def test_large_files_are_said_not_to_be_judged(editor):
    (finding,) = editor.open("large.yaml", f"{MODEL}# {'x' * (8 << 20)}\n")
    assert finding["message"].startswith("not judged here: more than 1 MiB of text")
    findings = editor.open("many.yaml", "---\n".join(MODEL.replace("llama", f"m{number}") for number in range(2_000)))
    assert [each["message"].partition(";")[0] for each in findings] == [
        "not judged here: all objects of this file but the first 300"
    ]
    assert editor.at("hover", "many.yaml", place_of(MODEL, "accelerator", 1)) is not None


def started(folder, *flags):
    command = [sys.executable, "-m", "modelgate", "lsp", *flags]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, cwd=folder)


@pytest.mark.parametrize(
    ("sent", "log"),
    [
        (b"", ""),
        (b"Content-Length: 500\r\n\r\n{", ""),
        (b"Content-Length: 99999999999\r\n\r\n{", "a message of 99999999999 bytes is not read: the most is 67108864"),
        (b"x" * 100_000 + b"\r\n", ""),
    ],
    ids=["nothing", "half a message", "a message without end", "a line without end"],
)
def test_a_client_that_closes_in_the_middle_ends_the_server(tmp_path, sent, log):
    with started(tmp_path) as process:
        output, errors = process.communicate(sent, timeout=SECONDS)
    assert (process.returncode, output, errors.decode().strip()) == (0, b"", log)


def test_an_exit_without_a_shutdown_is_a_failure(tmp_path):
    with Editor(tmp_path) as editor:
        editor.tell("exit")
        assert editor.process.wait(SECONDS) == 1  # without a shutdown before it


@contextmanager
def over_tcp(folder):
    with started(folder, "--tcp", "0") as process:
        try:
            said_first = process.stderr.readline().decode()
            host, _, port = said_first.strip().rpartition(":")
            assert host == "127.0.0.1", said_first
            yield process, (host, int(port))
        finally:
            process.kill()
            process.communicate()


def initialized(address):
    """A client over TCP, and its answer to initialize; b"" if it is turned away."""
    connection = socket.create_connection(address, SECONDS)
    params = {"processId": None, "rootUri": None, "capabilities": {}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).encode()
    try:
        connection.sendall(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        return connection, connection.recv(1 << 16)
    except ConnectionError:
        return connection, b""


def test_clients_over_tcp_take_turns(tmp_path):
    with over_tcp(tmp_path) as (process, address):
        first, answer = initialized(address)
        assert b'"hoverProvider": true' in answer
        second, answer = initialized(address)
        assert answer == b""  # turned away
        second.close()
        first.sendall(b"Content-Length: 1000\r\n\r\n{")
        first.close()  # in the middle
        for _ in range(100):
            third, answer = initialized(address)
            third.close()
            if answer:
                break
            time.sleep(0.05)  # until the server has seen that the first has left
        assert b'"hoverProvider": true' in answer
        assert process.poll() is None


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--tcp", "many"), "--tcp: 'many' is not [HOST:]PORT, such as 7998"),
        (("--tcp", "1:99999"), "--tcp: '1:99999' is not [HOST:]PORT, such as 7998"),
        (("--kustomize",), "--kustomize: an editor shows files as they are written: remove it"),
    ],
)
def test_flags_that_cannot_be_are_refused(tmp_path, flags, message):
    with started(tmp_path, *flags) as process:
        _, errors = process.communicate(timeout=SECONDS)
    assert (process.returncode, errors.decode()) == (64, f"modelgate lsp: {message}\n")


def test_no_other_command_loads_pygls(tmp_path):
    (tmp_path / "model.yaml").write_text(MODEL)
    command = [sys.executable, "-X", "importtime", "-m", "modelgate", "check", "model.yaml"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path, env={**os.environ})
    assert not re.search(r"\| +(pygls|lsprotocol|webhook\.lsp)\b", done.stderr)


def test_a_workspace_that_is_not_there_is_an_error_that_the_user_sees(tmp_path):
    (tmp_path / ".modelgate.yaml").write_text("crds: [missing]\n")
    with Editor(tmp_path) as editor:
        assert "missing" in editor.message()
        assert editor.at("hover", "model.yaml", (0, 0)) is None
        assert editor.close() == 0
