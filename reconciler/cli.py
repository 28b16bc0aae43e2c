"""`modelgate reconcile`: run the reconciler."""

from __future__ import annotations

import argparse
import hashlib
import logging
import os
import queue
import signal
import socket
import sys
import threading
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any, Final

from kubernetes.config import ConfigException

from reconciler import audit
from reconciler.audit import Rules
from reconciler.connect import connect, own_namespace
from reconciler.health import Health
from reconciler.lease import CALL_TIMEOUT, Lease
from reconciler.process import Process
from reconciler.projection import Controller
from reconciler.projections import aim, llmaz, llmd, llmkube, ome
from reconciler.projections.aim.discovery import logs_of
from reconciler.projections.drift import Drift
from reconciler.projections.ome.models import reports_of
from reconciler.projections.prometheus import Measured, Prometheus, over_http
from reconciler.projections.remote import Client, probe
from reconciler.writer import Writer
from webhook.admission.errors import LoadError
from webhook.cli import choices
from webhook.facts.settings import Settings
from webhook.manifests import folders

__all__ = ["add_parser", "run"]

log = logging.getLogger(__name__)

_DESCRIPTION = """\
Judge every object of the covered kinds by the rules of the webhook, also when the rules or other objects change. An
object without a valid stamp gets an empty patch, so that the webhook defaults and stamps it. What is wrong is reported
as a condition, an Event and a Report. For the APIs of --apis, which have no other controller, the reconciler also
writes the status. Of several processes, one leads. Use the flags of `modelgate serve` for the rules. Every flag with a
value has an environment variable: --allowed-host-path-root is MODELGATE_ALLOWED_HOST_PATH_ROOT (roots separated by
colons).
"""

_LOG_LEVELS = ("debug", "info", "warning", "error")
_PROFILES = ("standard", "strict", "audit")

APIS: Final = ("aim", "llmaz", "llmd", "llmkube", "ome")
"""The APIs with a projection."""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("reconcile", help="run the reconciler", description=_DESCRIPTION)

    def add(flag: str, otherwise: str | None = None, **more: Any) -> None:
        parser.add_argument(flag, default=_variable(flag, otherwise), **more)

    where = "cluster to connect to (default: the in-cluster configuration, else as kubectl)"
    add("--kubeconfig", type=Path, metavar="FILE", help=where)
    add("--namespace", help="namespace of the Lease (default: the pod's own)")
    add("--lease", "modelgate-reconciler", metavar="NAME", help="name of the Lease")
    parser.add_argument("--no-lease", action="store_true", help="lead without a Lease: for a single process")
    add("--workers", "2", type=int, help="objects to work on at once (default 2)")
    add("--health-port", type=int, help="port for /healthz, /readyz and /metrics (default: none)")
    add("--log-level", "info", choices=_LOG_LEVELS, help="what to log (default info)")
    add("--profile", "standard", choices=_PROFILES, help="how strict the webhook is (default standard)")
    policies = "the folder of the webhook's ValidatingAdmissionPolicies; reloaded on change"
    add("--admission-policies", type=Path, metavar="DIR", help=policies)
    acting = f"APIs to write the status for, where no other controller does: {', '.join(APIS)} (default: none)"
    add("--apis", "", type=_apis, metavar="API,…", help=acting)
    roots = "directory of a node that may hold local model sources; repeatable (default: refuse all local sources)"
    parser.add_argument("--allowed-host-path-root", action="append", metavar="DIR", help=roots)
    interval = "for llmkube: time between two looks at the file behind a URL (default 0: never)"
    add("--model-revalidate-interval", "0", type=float, metavar="SECONDS", help=interval)
    hosts = "host that may have an address inside the cluster or its networks; repeatable (default: none)"
    parser.add_argument("--allowed-remote-host", action="append", metavar="HOST", help=hosts)
    add(
        "--prometheus", metavar="URL", help="for llmd: the Prometheus that scrapes vLLM, such as http://prometheus:9090"
    )
    add(
        "--llmd-interval", "60", type=float, metavar="SECONDS", help="for llmd: time between two decisions (default 60)"
    )
    idle = "for llmd: scale a model to zero after so long without requests (default 0: never)"
    add("--scale-to-zero-after", "0", type=int, metavar="SECONDS", help=idle)
    choices.add_arguments(parser)
    parser.set_defaults(**{each.name: _variable(each.name) for each in fields(Settings)})


def run(options: argparse.Namespace) -> int:
    """Exit code 0 after SIGTERM or SIGINT, 1 when leadership is lost, 2 without a cluster or with unusable rules.

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
    health = Health(options.health_port, {"/healthz": process.alive, "/readyz": process.ready}, process.metrics)
    health.start()
    try:
        return 0 if process.run(stop) else 1
    finally:
        health.stop()


def _process(options: argparse.Namespace) -> Process:
    api = Writer(connect(options.kubeconfig))
    policies = None if options.admission_policies is None else audit.native_policies(options.admission_policies)
    rules = audit.load(options.profile, choices.chosen(options), policies)
    reload = _reloading(options.admission_policies) if options.admission_policies else lambda: None
    return Process(api, rules, _controllers(options, api), _lease(options), options.workers, reload)


def _controllers(options: argparse.Namespace, api: Writer) -> list[Controller]:
    settings = choices.chosen(options)
    roots = options.allowed_host_path_root or (_variable("--allowed-host-path-root") or "").split(":")
    known = {
        "aim": aim.controllers(settings, logs_of(api)),
        "llmaz": [llmaz.controller()],
        "llmd": [llmd.controller(_source(options), options.llmd_interval)],
        "llmkube": [llmkube.controller(roots, _drift(options))],
        "ome": ome.controllers(settings, reports_of(api, settings.ome_namespace)),
    }
    return [controller for api in options.apis for controller in known[api]]


def _drift(options: argparse.Namespace) -> Drift | None:
    if options.model_revalidate_interval <= 0:
        return None
    hosts = options.allowed_remote_host or (_variable("--allowed-remote-host") or "").split(",")
    return Drift(partial(probe, connect=partial(Client, tuple(filter(None, hosts)))), options.model_revalidate_interval)


def _source(options: argparse.Namespace) -> llmd.Source:
    if options.prometheus is None:
        return lambda _model, _namespace: Measured(error="no address is configured (--prometheus)")
    return Prometheus(over_http(options.prometheus), options.scale_to_zero_after).measure


def _reloading(folder: Path) -> Callable[[], Callable[[Rules], Rules] | None]:
    """Look whether the policies of a folder have changed; a set with an error is logged and not used."""
    seen = [_digest(folder)]

    def changed() -> Callable[[Rules], Rules] | None:
        now = _digest(folder)
        if now == seen[0]:
            return None
        seen[0] = now
        try:
            policies = audit.native_policies(folder)
        except (LoadError, OSError, UnicodeDecodeError) as error:
            log.error("the new admission policies in %s are not used: %s", folder, error)  # noqa: TRY400
            return None
        return lambda rules: rules.with_policies(policies)

    return changed


def _digest(folder: Path) -> str:
    """A digest of the names, sizes and times of the files."""
    found = hashlib.sha256()
    for file in folders.files(Path(os.path.realpath(folder))):
        stat = file.stat()
        found.update(f"{file}\0{stat.st_size}\0{stat.st_mtime_ns}\0".encode())
    return found.hexdigest()


def _apis(text: str) -> tuple[str, ...]:
    names = tuple(filter(None, text.split(",")))
    if unknown := sorted(set(names) - set(APIS)):
        raise argparse.ArgumentTypeError(f"unknown API {unknown[0]}: use {', '.join(APIS)}")
    return names


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
        log.info("%s: stopping", signal.Signals(signals.get()).name)
        stop.set()

    threading.Thread(target=wait, name="signals", daemon=True).start()
    return stop


def _variable(flag: str, otherwise: str | None = None) -> str | None:
    return os.environ.get(f"MODELGATE_{flag.removeprefix('--').replace('-', '_').upper()}", otherwise)
