"""Who may send reviews: clients with a certificate of the right CA and the right name; probes need none."""

import contextlib
import http.client
import json
import signal
import socket
import ssl
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from certs.files import replace
from certs.names import LOCAL
from tests.serve.certificates import ClientAuthority
from tests.serve.conftest import Served, until
from tests.serve.test_app import a_review

Serve = Callable[..., Served]
Pair = tuple[Path, Path]
BODY = json.dumps(a_review())


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def asked(served: Served, pair: Pair | None = None, path: str = "/validate") -> tuple[int, str]:
    context = served.context()
    if pair is not None:
        context.load_cert_chain(*pair)
    connection = http.client.HTTPSConnection("localhost", served.port, context=context, timeout=20)
    with contextlib.closing(connection):
        connection.request("POST", path, BODY, {"content-type": "application/json"})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


@pytest.fixture
def clients(tmp_path: Path) -> ClientAuthority:
    return ClientAuthority.create(tmp_path)


def test_only_a_caller_with_a_certificate_of_the_client_ca_is_answered(serve: Serve, clients: ClientAuthority) -> None:
    served = serve("--caller", "mtls", "--client-ca", str(clients.folder / "clients.crt"))
    status, text = asked(served)
    assert (status, "with a certificate" in text) == (401, True)
    assert asked(served, clients.client("apiserver"))[0] == 200
    other = ClientAuthority.create(clients.folder, "other")
    with pytest.raises((ssl.SSLError, ConnectionError)):
        asked(served, other.client("apiserver"))
    assert served.get("/readyz")[0] == 200
    assert 'modelgate_http_errors_total{path="/validate",status="401"} 1.0' in served.get("/metrics")[1]
    assert "refused the caller 127.0.0.1:" in served.log()


def test_a_certificate_must_have_an_allowed_name(serve: Serve, clients: ClientAuthority) -> None:
    flags = ["--client-name", "apiserver", "--client-name", "kube.example"]
    served = serve("--caller", "mtls", "--client-ca", str(clients.folder / "clients.crt"), *flags)
    assert asked(served, clients.client("apiserver"))[0] == 200
    assert asked(served, clients.client("any", "kube.example"), "/mutate")[0] == 200
    status, text = asked(served, clients.client("kubelet", "node.example"))
    assert status == 403
    assert text.endswith("its names are: kubelet, node.example\n")


def test_a_new_client_ca_is_taken_up(serve: Serve, clients: ClientAuthority) -> None:
    file = clients.folder / "in-use.crt"
    file.write_bytes((clients.folder / "clients.crt").read_bytes())
    served = serve("--caller", "mtls", "--client-ca", str(file), MODELGATE_TLS_POLL_SECONDS="0.05")
    assert asked(served, clients.client("apiserver"))[0] == 200
    other = ClientAuthority.create(clients.folder, "other")
    pair = other.client("new")
    file.write_bytes((clients.folder / "other.crt").read_bytes())
    until(lambda: "serving a new certificate" in served.log(), "the new client CA is used")
    assert asked(served, pair)[0] == 200


def test_health_and_metrics_have_a_port_of_their_own_and_need_no_certificate(
    serve: Serve, clients: ClientAuthority
) -> None:
    ca = str(clients.folder / "clients.crt")
    served = serve("--caller", "mtls", "--client-ca", ca, MODELGATE_HEALTH_PORT=str(free_port()))
    assert served.get("/healthz") == (200, "ok\n")
    assert served.get("/readyz")[0] == 200
    assert served.get("/nowhere")[0] == 404
    pair = clients.client("apiserver")
    assert asked(served, pair)[0] == 200
    assert asked(served, pair, "/readyz")[0] == 404
    assert 'path="/readyz",status="404"' in served.get("/metrics")[1]


def test_the_port_of_health_can_have_tls(serve: Serve) -> None:
    served = serve("--drain-seconds", "1", MODELGATE_HEALTH_PORT=str(free_port()), MODELGATE_HEALTH_TLS="true")
    assert served.get("/healthz") == (200, "ok\n")
    assert asked(served)[0] == 200
    served.process.send_signal(signal.SIGTERM)
    until(lambda: served.get("/readyz")[0] == 503, "the gate is draining")
    assert served.process.wait(timeout=30) == 0


def test_while_certificates_and_client_cas_rotate_good_callers_are_answered_and_no_other_is(
    serve: Serve, clients: ClientAuthority
) -> None:
    """The leaf of the gate and the CA of its clients change five times, by way of a bundle with the old and new CA."""
    file = clients.folder / "in-use.crt"
    file.write_bytes(pem(clients, "clients"))
    served = serve("--caller", "mtls", "--client-ca", str(file), MODELGATE_TLS_POLL_SECONDS="0.02")
    stranger = ClientAuthority.create(clients.folder, "strangers").client("stranger")
    old, statuses = (clients, pem(clients, "clients")), list[int]()
    for number in range(5):
        authority = ClientAuthority.create(clients.folder, f"ca-{number}")
        new = (authority, pem(authority, f"ca-{number}"))
        file.write_bytes(old[1] + new[1])
        replace(served.folder, served.authority.issue(LOCAL, datetime.now(UTC)).files())
        until(lambda added=new[0]: is_trusted(served, added), "the new client CA is trusted")
        statuses += [asked(served, each.client(f"caller-{number}"))[0] for each, _ in (old, new)]
        assert not is_answered(served, stranger)
        file.write_bytes(new[1])
        until(lambda gone=old[0]: not is_trusted(served, gone), "the old client CA is trusted no more")
        statuses.append(asked(served, authority.client("caller"))[0])
        old = new
    assert set(statuses) == {200}
    assert "PRIVATE KEY" not in served.log()
    assert "Traceback" not in served.log()


def pem(authority: ClientAuthority, name: str) -> bytes:
    return (authority.folder / f"{name}.crt").read_bytes()


def is_trusted(served: Served, authority: ClientAuthority) -> bool:
    """Whether a client of a CA is answered."""
    return is_answered(served, authority.client("probe"))


def is_answered(served: Served, pair: Pair) -> bool:
    try:
        return asked(served, pair)[0] == 200
    except (ssl.SSLError, ConnectionError):
        return False
