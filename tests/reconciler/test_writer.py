"""The verbs over HTTP: credentials, paths, errors without a Status, warnings, and streams cut anywhere."""

import socket
import threading
from contextlib import contextmanager

import pytest
from kubernetes.client import ApiClient, Configuration

from reconciler.projections.llmkube import MODELS
from reconciler.resource import LEASES, APIResource
from reconciler.writer import Writer
from tests.reconciler.apiserver import PATIENCE
from webhook.cluster import ApiError, Unreachable

NODES = APIResource("", "v1", "nodes", "Node")
ROLES = APIResource("rbac.authorization.k8s.io", "v1", "roles", "Role")


@contextmanager
def answering(*answers):
    """A server that gives these bytes, one answer per connection; yields its URL and what it heard."""
    heard = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            for answer in answers:
                connection, _ = listener.accept()
                with connection:
                    heard.append(connection.recv(65536).decode())
                    connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", heard
        thread.join(PATIENCE)


def http(body, status="200 OK", *headers):
    head = "".join(
        f"{line}\r\n" for line in (f"HTTP/1.1 {status}", f"content-length: {len(body)}", "connection: close", *headers)
    )
    return f"{head}\r\n".encode() + body


def api(url, timeout=PATIENCE, **configuration):
    return Writer(ApiClient(Configuration(host=url, **configuration)), timeout)


@pytest.mark.parametrize(
    ("resource", "where", "path"),
    [
        (MODELS, (), "/apis/inference.llmkube.dev/v1alpha1/models"),
        (MODELS, ("ns",), "/apis/inference.llmkube.dev/v1alpha1/namespaces/ns/models"),
        (MODELS, ("ns", "m", "status"), "/apis/inference.llmkube.dev/v1alpha1/namespaces/ns/models/m/status"),
        (NODES, ("", "n"), "/api/v1/nodes/n"),
        (ROLES, ("ns", "a:b c"), "/apis/rbac.authorization.k8s.io/v1/namespaces/ns/roles/a%3Ab%20c"),
    ],
)
def test_paths_are_those_of_the_api(resource, where, path):
    assert resource.path(*where) == path


@pytest.mark.parametrize("name", [".", "..", "a/b", "../secrets/s", "..%2fs", "a" * 254])
@pytest.mark.parametrize("place", ["name", "namespace"])
def test_a_name_that_no_object_can_have_leads_nowhere(place, name):
    where = {"namespace": "ns", "name": "m", place: name}
    with pytest.raises(ValueError, match="is not a valid object name"):
        MODELS.path(**where)
    assert api("http://127.0.0.1:1").get(MODELS, **where) is None  # no request was sent


def test_a_token_that_cannot_be_read_is_told_like_any_silence():
    configuration = Configuration(host="http://127.0.0.1:1", api_key={"BearerToken": "old"})

    def renew(_):
        raise FileNotFoundError("no token")

    configuration.refresh_api_key_hook = renew
    with pytest.raises(Unreachable, match="no credentials: no token"):
        Writer(ApiClient(configuration), PATIENCE).get(LEASES, "ns", "l")


def test_a_token_is_sent_and_one_that_was_renewed_is_sent_next():
    tokens = iter(["Bearer first", "Bearer second"])
    configuration = Configuration(api_key={"authorization": "old"})

    def renew(current):
        current.api_key["authorization"] = next(tokens)

    configuration.refresh_api_key_hook = renew
    with answering(http(b"{}"), http(b"{}")) as (url, heard):
        configuration.host = url
        client = Writer(ApiClient(configuration), PATIENCE)
        client.get(LEASES, "ns", "l")
        client.get(LEASES, "ns", "l")
    assert ["Bearer first" in heard[0], "Bearer second" in heard[1]] == [True, True]


def test_an_object_that_is_not_there_is_none():
    with answering(http(b'{"message": "not found"}', "404 Not Found")) as (url, _):
        assert api(url).get(LEASES, "ns", "l") is None


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"reason": "Invalid", "message": "spec: no"}', "spec: no"),
        (b"<html>Bad Gateway</html>", "<html>Bad Gateway</html>"),
        (b"[1]", "[1]"),
        (b"\xff", "\ufffd"),
        (b"", ""),
    ],
)
def test_an_error_says_what_was_answered_also_by_a_proxy_in_between(body, message):
    with answering(http(body, "502 Bad Gateway")) as (url, _), pytest.raises(ApiError) as caught:
        api(url).create(LEASES, {"metadata": {"namespace": "ns", "name": "l"}})
    assert (caught.value.status, caught.value.message) == (502, message)


@pytest.mark.parametrize(
    "answer",
    [b"", b"nonsense\r\n\r\n", http(b"not json"), b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{}"],
    ids=["nothing", "no HTTP", "no JSON", "half of it"],
)
def test_no_answer_or_half_of_one_is_unreachable(answer):
    with answering(answer) as (url, _), pytest.raises(Unreachable):
        api(url).get(LEASES, "ns", "l")


def test_an_address_without_a_server_is_unreachable():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(Unreachable, match="refused"):
        api(f"http://127.0.0.1:{port}").get(LEASES, "ns", "l")


def test_a_server_that_does_not_answer_is_given_up_on():
    with socket.create_server(("127.0.0.1", 0)) as listener, pytest.raises(Unreachable, match="timed out"):
        api(f"http://127.0.0.1:{listener.getsockname()[1]}", timeout=0.05).get(LEASES, "ns", "l")


def test_warnings_come_with_a_patch_as_they_were_written():
    headers = (
        'warning: 299 - "say \\"no\\" to C:\\\\, naïvely"',
        'warning: 299 other-agent "second"',
        'warning: 199 - "old"',
    )
    with answering(http(b"{}", "200 OK", *headers)) as (url, heard):
        obj, warnings = api(url).merge_patch(MODELS, "ns", "m", {})
    assert obj == {}
    assert warnings == ['say "no" to C:\\, naïvely', "second"]
    assert "fieldManager=modelgate" in heard[0]
    assert "application/merge-patch+json" in heard[0]


def chunked(*chunks):
    body = b"".join(f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n" for chunk in chunks)
    return b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + body


EVENTS = b'{"type":"ADDED","object":{"n":1}}\n{"type":"BOOKMARK","object":{"n":2}}\n'


@pytest.mark.parametrize("cut", range(1, len(EVENTS), 7))
def test_events_may_be_cut_anywhere(cut):
    with answering(chunked(EVENTS[:cut], EVENTS[cut:]) + b"0\r\n\r\n") as (url, heard):
        events = list(api(url).watch(MODELS, "", "5", metadata_only=True))
    assert [event["object"]["n"] for event in events] == [1, 2]
    assert "allowWatchBookmarks=true" in heard[0]
    assert "PartialObjectMetadata" in heard[0]


def test_a_stream_that_breaks_off_gives_what_came_and_then_says_so():
    with answering(chunked(EVENTS)) as (url, _):
        stream = iter(api(url).watch(MODELS, "", "5", metadata_only=True))
        assert [next(stream)["type"], next(stream)["type"]] == ["ADDED", "BOOKMARK"]
        with pytest.raises(Unreachable):
            next(stream)


def test_closing_a_stream_that_has_ended_does_nothing():
    with answering(chunked(EVENTS) + b"0\r\n\r\n") as (url, _):
        stream = api(url).watch(MODELS, "", "5")
        list(stream)
        stream.close()
        stream.close()
