"""In a pod, the gate and its health port answer on every address: of IPv4, of IPv6, and where there is one family."""

import contextlib
import http.client
import shutil
import socket
import ssl
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.serve.conftest import Served
from webhook.serve.http.sockets import default_host

ROOT = Path(__file__).parents[2]
IN_A_POD = {"KUBERNETES_SERVICE_HOST": "fd00::1"}
ADDRESSES = ("127.0.0.1", "::1")


def has_ipv6() -> bool:
    with contextlib.suppress(OSError), socket.create_server(("::1", 0), family=socket.AF_INET6):
        return socket.has_dualstack_ipv6()
    return False


def status(connection: http.client.HTTPConnection) -> int:
    with contextlib.closing(connection):
        connection.request("GET", "/healthz")
        return connection.getresponse().status


def test_out_of_a_pod_only_this_machine_reaches_it() -> None:
    assert default_host({}) == "127.0.0.1"
    assert default_host(IN_A_POD) == ""


@pytest.mark.skipif(not has_ipv6(), reason="needs IPv6")
def test_in_a_pod_both_ports_answer_on_both_families(serve: Callable[..., Served]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    served = serve(MODELGATE_HEALTH_PORT=str(port), **IN_A_POD)
    context = ssl.create_default_context(cafile=served.folder / "ca.crt")
    context.check_hostname = False  # the certificate of these tests names localhost
    for address in ADDRESSES:
        assert status(http.client.HTTPConnection(address, port, timeout=20)) == 200
        assert status(http.client.HTTPSConnection(address, served.port, context=context, timeout=20)) == 404
    assert "::ffff:" not in served.log()


ONE_FAMILY = """\
    import http.client, socket, sys
    sys.path.insert(0, {root!r})
    import asyncio, uvicorn
    from webhook.serve.http.sockets import listening
    from webhook.serve.http.sockets import bound

    async def app(scope, receive, send):
        await send(dict(type="http.response.start", status=200, headers=[]))
        await send(dict(type="http.response.body", body=b"ok"))

    async def main():
        with socket.create_server(({address!r}, 0), family={family}) as probe:
            port = probe.getsockname()[1]
        sock = bound(uvicorn.Config(app, host="", port=0))
        async with listening(app, None, host="", port=port):
            def ask():
                connection = http.client.HTTPConnection({address!r}, port, timeout=20)
                connection.request("GET", "/")
                socket.create_connection(({address!r}, sock.getsockname()[1]), timeout=20).close()
                return connection.getresponse().status
            print(await asyncio.to_thread(ask))

    asyncio.run(main())
"""


@pytest.mark.skipif(not (shutil.which("unshare") and shutil.which("ip")), reason="needs unshare and ip")
@pytest.mark.parametrize(
    ("address", "family", "removed"),
    [("::1", int(socket.AF_INET6), "127.0.0.1/8"), ("127.0.0.1", int(socket.AF_INET), "::1/128")],
    ids=["IPv6 only", "IPv4 only"],
)
def test_where_a_network_has_one_family_that_one_is_served(address: str, family: int, removed: str) -> None:
    program = textwrap.dedent(ONE_FAMILY).format(root=str(ROOT), address=address, family=family)
    inside = f'ip link set lo up && ip addr del {removed} dev lo && exec "$0" -c "$1"'
    command = ["unshare", "--net", "--map-root-user", "sh", "-c", inside, sys.executable, program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if "unshare" in done.stderr:
        pytest.skip(f"this machine makes no network: {done.stderr}")
    assert done.stdout.strip().endswith("200"), done.stderr
