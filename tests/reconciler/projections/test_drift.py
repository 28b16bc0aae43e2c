"""Files behind the URLs of Models: the table of states, and real requests to a server of this machine."""

import struct
import threading
from datetime import timedelta
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml

from reconciler.projection import Observed
from reconciler.projections import llmkube
from reconciler.projections.drift import RETRY, Drift
from reconciler.projections.remote import Client, Forbidden, Probe, Turns, Unreached, Unreadable, parse, probe
from reconciler.projections.remote.file import BLOCK
from reconciler.say.conditions import find, timestamp
from tests.reconciler.models import NOW, model
from webhook.cluster.view import MemoryView

ROWS = yaml.safe_load((Path(__file__).parents[1] / "cases" / "llmkube_drift.yaml").read_text())
URL = "https://example.com/m.gguf"
HOUR = 3600.0


def remote_model(known=None, generation=2, seen=2):
    obj = model(source=URL, format="gguf")
    obj["metadata"] |= {"uid": "u", "generation": generation}
    said = {"reason": "r", "message": "m", "lastTransitionTime": timestamp(NOW)}
    conditions = [{"type": "Available", "status": "True", "observedGeneration": seen, **said}]
    obj["status"] = {"phase": "Ready", "conditions": conditions, **(known or {})}
    return obj


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_the_file_of_a_model(row):
    drift = Drift(lambda _url, _header: Probe(), HOUR)
    obj = remote_model(row["known"], seen=1 if row.get("stale") else 2)
    measured = None if row["probe"] is None else Probe(**row["probe"])
    projection = llmkube.project(obj, Observed(NOW, MemoryView(), measured), (), drift)
    said = find(projection.status["conditions"], "SourceDrifted")
    assert (said or {}).get("status") == row["says"]
    for key, value in row["status"].items():
        assert projection.status.get(key) == (timestamp(NOW) if value == "now" else value)
    assert projection.requeue == row.get("requeue", 1.0 if (measured and measured.error) else HOUR)
    assert projection.status["phase"] == "Ready"


def test_a_drift_stays_until_the_file_is_as_before():
    drift = Drift(lambda _url, _header: Probe(), HOUR)
    obj = remote_model({"sourceETag": "a"})
    for etag, status in (("b", "True"), ("", "True"), ("a", "False")):
        measured = Probe(etag) if etag else Probe(error="no answer")
        obj["status"] = llmkube.project(obj, Observed(NOW, MemoryView(), measured), (), drift).status
        assert find(obj["status"]["conditions"], "SourceDrifted")["status"] == status


def test_a_file_is_looked_at_once_in_an_interval_and_a_silent_server_sooner():
    looks = []

    def remote(url, header):
        looks.append((url, header))
        return Probe(error="no answer")

    drift = Drift(remote, HOUR, Turns(1, clock=lambda: 0.0))
    obj = remote_model()
    assert drift.observe(obj, MemoryView(), NOW).error
    assert drift.observe(obj, MemoryView(), NOW + timedelta(seconds=RETRY - 1)) is None
    assert drift.observe(obj, MemoryView(), NOW + timedelta(seconds=RETRY)).error
    seen = remote_model({"lastRevalidated": timestamp(NOW), "gguf": {"architecture": "llama"}})
    seen["metadata"]["uid"] = "other"
    assert drift.observe(seen, MemoryView(), NOW + timedelta(seconds=HOUR - 1)) is None
    assert drift.observe(seen, MemoryView(), NOW + timedelta(seconds=HOUR)).error
    assert looks == [(URL, True), (URL, True), (URL, False)]
    assert drift.observe(model(source="hf://a/b"), MemoryView(), NOW) is None


def test_without_the_setting_no_file_is_looked_at():
    assert llmkube.controller().observe is None
    projection = llmkube.project(remote_model({"sourceETag": "a"}), Observed(NOW, MemoryView(), None))
    assert find(projection.status["conditions"], "SourceDrifted") is None


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def entry(key, kind, value):
    return text(key) + struct.pack("<I", kind) + value


def header(*entries, version=3, tensors=291):
    return b"GGUF" + struct.pack("<IQQ", version, tensors, len(entries)) + b"".join(entries)


VOCABULARY = struct.pack("<IQ", 8, 100_000) + b"".join(text(f"token number {number}") for number in range(100_000))
LLAMA = header(
    entry("general.architecture", 8, text("llama")),
    entry("general.name", 8, text("Llama 3.2 3B")),
    entry("general.file_type", 4, struct.pack("<I", 15)),
    entry("general.license", 8, text("Apache 2.0")),
    entry("tokenizer.ggml.tokens", 9, VOCABULARY),
    entry("tokenizer.ggml.scores", 9, struct.pack("<IQ", 6, 100_000) + bytes(400_000)),
    entry("llama.context_length", 4, struct.pack("<I", 131072)),
    entry("llama.embedding_length", 10, struct.pack("<Q", 3072)),
    entry("llama.block_count", 4, struct.pack("<I", 28)),
    entry("llama.attention.head_count", 5, struct.pack("<i", 24)),
)
SAYS = {
    "architecture": "llama",
    "modelName": "Llama 3.2 3B",
    "quantization": "Q4_K_M",
    "license": "apache-2.0",
    "contextLength": 131072,
    "embeddingSize": 3072,
    "layerCount": 28,
    "fileVersion": 3,
    "tensorCount": 291,
}


def reader(data):
    return lambda offset, length: data[offset : offset + length]


def test_a_header_says_what_the_model_is():
    assert parse(reader(LLAMA)) == SAYS


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"GGML" + bytes(40),
        header(version=1),
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1 << 40),
        LLAMA[:100],
        header(entry("a", 99, b"")),
        header(entry("a", 9, struct.pack("<IQ", 4, 1 << 60))),
        header(entry("a", 9, struct.pack("<IQ", 9, 1) + struct.pack("<IQ", 9, 1))),
        header(entry("a", 9, struct.pack("<IQ", 8, 1 << 30))),
        header(struct.pack("<Q", 1 << 62)),
    ],
)
def test_what_is_not_a_header_is_an_error(data):
    with pytest.raises(Unreadable):
        parse(reader(data))


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self._answer()

    def do_GET(self):
        self._answer()

    def _answer(self):
        self.server.seen.append((self.command, self.path, self.headers.get("range")))
        if self.path.startswith("/redirect"):
            self.send_response(302)
            self.send_header("location", self.server.target)
            self.send_header("content-length", "0")
            self.end_headers()
            return
        data, status = LLAMA, 200
        if self.path == "/silent":
            data = b""
        if wanted := self.headers.get("range"):
            first, last = map(int, wanted.removeprefix("bytes=").split("-"))
            data, status = data[first : last + 1], 206
        self.send_response(503 if self.path == "/broken" else status)
        if self.path != "/silent":
            self.send_header("etag", '"v1"')
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data)


@pytest.fixture
def files():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.seen, server.target = [], "/m.gguf"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    server.url = f"http://127.0.0.1:{server.server_address[1]}"
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


HERE = partial(Client, ("127.0.0.1",))


def test_a_look_at_a_file_reads_its_fingerprint_and_its_header_by_ranges(files):
    found = probe(f"{files.url}/redirect", True, HERE)
    assert found == Probe('"v1"', len(LLAMA), SAYS)
    ranges = [each[2] for each in files.seen if each[2]]
    assert ranges[0] == f"bytes=0-{BLOCK - 1}"
    assert len(set(ranges)) * BLOCK < len(LLAMA) + BLOCK
    files.seen.clear()
    assert probe(f"{files.url}/m.gguf", False, HERE).gguf == {}
    assert [each[0] for each in files.seen] == ["HEAD"]


@pytest.mark.parametrize(
    ("path", "error"), [("/broken", "the server answered 503"), ("/silent", "neither ETag nor Content-Length")]
)
def test_a_server_that_says_nothing_is_an_error_and_no_drift(files, path, error):
    assert error in probe(files.url + path, True, HERE).error


def test_redirects_have_an_end(files):
    files.target = "/redirect"
    assert "more than 5 redirects" in probe(f"{files.url}/redirect", True, HERE).error


def test_a_redirect_into_the_cluster_is_refused(files):
    files.target = "http://10.0.0.1/secrets"
    assert "10.0.0.1, which is not public" in probe(f"{files.url}/redirect", True, HERE).error


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0", "100.64.1.1"),
        *("192.0.0.8", "192.88.99.1", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255"),
        *("::1", "::", "fe80::1", "fc00::1", "ff02::1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "2002:a00:1::"),
    ],
)
def test_an_address_that_is_not_public_is_not_reached(address):
    client = Client(resolve=lambda _host, _port: ["93.184.215.14", address])
    with pytest.raises(Forbidden, match="not public"), client.request("HEAD", "http://example.com/"):
        pass


@pytest.mark.parametrize("url", ["ftp://a/b", "http://", "http://a:x/", "file:///etc/passwd", "http://[::1"])
def test_what_is_not_a_url_is_not_reached(url):
    with pytest.raises(Unreached), Client().request("HEAD", url):
        pass


def test_the_connection_goes_to_the_address_that_was_checked(files):
    port = files.server_address[1]
    answers = [["127.0.0.1"], ["10.0.0.1"]]
    client = Client(("files.example",), resolve=lambda _host, _port: answers.pop(0))
    with client.request("HEAD", f"http://files.example:{port}/m.gguf") as response:
        assert response.status == 200
    assert len(answers) == 1


def test_the_budget_of_a_look_ends():
    moments = iter([0.0, 11.0, 12.0])
    client = Client(resolve=lambda _host, _port: ["93.184.215.14"], clock=lambda: next(moments))
    with pytest.raises(Unreached, match="used up"), client.request("HEAD", "http://example.com/"):
        pass
