"""`modelgate reconcile`: run the reconciler."""

from __future__ import annotations

import argparse
import logging
import os
import queue
import signal
import socket
import sys
import threading
from pathlib import Path

from kubernetes.config import ConfigException

from reconciler.connect import connect, own_namespace
from reconciler.health import Health
from reconciler.lease import CALL_TIMEOUT, Lease
from reconciler.llmkube import controller
from reconciler.process import Process
from reconciler.writer import Writer

__all__ = ["add_parser", "run"]

_DESCRIPTION = """\
Watch LLMKube Models and write their status. An object without a valid stamp of the webhook is not acted on: the
reconciler first sends an empty patch, so that the webhook defaults and stamps the object or refuses it. Of several
processes, one leads. Do not run this beside LLMKube's own controller: both would write the same status. Every flag with
a value has an environment variable: --allowed-host-path-root is MODELGATE_ALLOWED_HOST_PATH_ROOT (roots separated by
colons).
"""

_LOG_LEVELS = ("debug", "info", "warning", "error")


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("reconcile", help="run the reconciler", description=_DESCRIPTION)
    add = parser.add_argument
    add(
        "--kubeconfig",
        type=Path,
        default=_variable("KUBECONFIG"),
        metavar="FILE",
        help="cluster to connect to (default: the in-cluster configuration, else as kubectl)",
    )
    add("--watch-namespace", default=_variable("WATCH_NAMESPACE", ""), help="namespace to watch (default: all)")
    add("--namespace", default=_variable("NAMESPACE"), help="namespace of the Lease (default: the pod's own)")
    add("--lease", default=_variable("LEASE", "modelgate-reconciler"), metavar="NAME", help="name of the Lease")
    add("--no-lease", action="store_true", help="lead without a Lease: for a single process")
    add("--workers", type=int, default=_variable("WORKERS", "2"), help="objects to work on at once (default 2)")
    add(
        "--health-port",
        type=int,
        default=_variable("HEALTH_PORT"),
        help="port for /healthz and /readyz (default: none)",
    )
    add("--log-level", choices=_LOG_LEVELS, default=_variable("LOG_LEVEL", "info"), help="what to log (default info)")
    add(
        "--allowed-host-path-root",
        action="append",
        metavar="DIR",
        help="directory of a node that may hold local model sources; repeatable (default: refuse all local sources)",
    )


def run(options: argparse.Namespace) -> int:
    """Exit code 0 after SIGTERM or SIGINT, 1 when leadership is lost, 2 without a cluster.

    The command line configures the log before it calls this.
    """
    try:
        process = _process(options)
    except ConfigException as error:
        print(f"modelgate reconcile: {error}", file=sys.stderr)  # noqa: T201  (a command line prints)
        return 2
    stop = _stop_on_signals()
    if options.health_port is None:
        return 0 if process.run(stop) else 1
    health = Health(options.health_port, {"/healthz": process.alive, "/readyz": process.ready})
    health.start()
    try:
        return 0 if process.run(stop) else 1
    finally:
        health.stop()


def _process(options: argparse.Namespace) -> Process:
    roots = options.allowed_host_path_root or (_variable("ALLOWED_HOST_PATH_ROOT") or "").split(":")
    client = connect(options.kubeconfig)
    return Process(Writer(client), [controller(roots)], _lease(options), options.workers, options.watch_namespace)


def _lease(options: argparse.Namespace) -> Lease | None:
    if options.no_lease:
        return None
    api = Writer(connect(options.kubeconfig), CALL_TIMEOUT)
    namespace = options.namespace or own_namespace("modelgate-system")
    # A pod's name is its host name; two processes on one host have different numbers.
    return Lease(api, namespace, options.lease, f"{socket.gethostname()}_{os.getpid()}")


def _stop_on_signals() -> threading.Event:
    """An event that SIGTERM and SIGINT set, through a queue: a signal handler must not take locks."""
    stop = threading.Event()
    signals: queue.SimpleQueue[int] = queue.SimpleQueue()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: signals.put(number))

    def wait() -> None:
        logging.getLogger(__name__).info("%s: stopping", signal.Signals(signals.get()).name)
        stop.set()

    threading.Thread(target=wait, name="signals", daemon=True).start()
    return stop


def _variable(name: str, otherwise: str | None = None) -> str | None:
    return os.environ.get(f"MODELGATE_{name}", otherwise)
