"""The socket of a port: on one address, or on every address of IPv4 and of IPv6."""

from __future__ import annotations

import logging
import socket
from collections.abc import Mapping
from typing import Final

import uvicorn

log = logging.getLogger("modelgate")

EVERY: Final = ""
"""The host that stands for every address. The kubelet and the API server call the address of the pod, whose family only
the cluster knows: in some it is IPv6 alone."""

_LOOPBACK: Final = "127.0.0.1"
_FAILURE: Final = 1
"""The exit code of uvicorn where it cannot bind."""


def default_host(environment: Mapping[str, str]) -> str:
    """Where to listen without a word about it: in a pod everywhere, else where only this machine calls."""
    return EVERY if "KUBERNETES_SERVICE_HOST" in environment else _LOOPBACK


def bound(config: uvicorn.Config) -> socket.socket:
    """The socket that a configuration asks for.

    Raises:
        SystemExit: it cannot be bound, which is logged.
    """
    if config.host != EVERY:
        return config.bind_socket()
    dual = socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if dual else socket.AF_INET
    try:
        sock = socket.create_server(("", config.port), family=family, backlog=config.backlog, dualstack_ipv6=dual)
    except OSError as error:
        log.error("port %d cannot be listened on: %s", config.port, error)  # noqa: TRY400 - a traceback says nothing
        raise SystemExit(_FAILURE) from None
    return sock
