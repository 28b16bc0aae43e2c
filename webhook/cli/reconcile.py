"""`modelgate reconcile`: run the reconciler."""

from __future__ import annotations

import argparse
import contextlib
import gc
import logging
import os
import re
import signal
import socket
import sys
import threading
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

from reconciler import CALL_TIMEOUT, Health, Lease, OnRequest, Process, Reach, Writer, audit
from reconciler.audit import Ruling
from reconciler.projections import choices as projected
from webhook.admission.errors import LoadError
from webhook.cli import choices, logs
from webhook.cli.shell.parser import Once
from webhook.cluster.connection import NoConnection, connect
from webhook.facts.settings import Settings
from webhook.manifests.folders import Watched

log = logging.getLogger(__name__)

_DESCRIPTION = """\
Judge every object of the covered kinds by the rules of the webhook, also when the rules or other objects change. An
object without a valid stamp gets an empty patch, so that the webhook defaults and stamps it. What is wrong is reported
as a condition, an Event and a Report. For the APIs of --apis, which have no other controller, the reconciler also
writes the status. Of several processes, one leads. Use the flags of `modelgate serve` for the rules. Every flag with a
value has an environment variable: --allowed-host-path-root is MODELGATE_ALLOWED_HOST_PATH_ROOT (roots separated by
colons).
"""

_NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
"""Holds the namespace of the pod that this process runs in."""

_LABEL = re.compile("[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")

_PROFILES = ("standard", "strict", "audit")


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
    about = "objects that have a Report: those with findings (default), or all of the covered kinds"
    add("--reports", "findings", choices=("findings", "all"), help=about)
    many = "name so many namespaces of objects in the metrics, and the objects refused longest (default 0: none)"
    add("--metrics-namespaces", "0", type=int, metavar="NUMBER", help=many)
    logs.add_arguments(parser, _variable("--log-level", "info"), _variable("--log-format", "text"))
    add("--profile", "standard", choices=_PROFILES, help="how strict the webhook is (default standard)")
    view = "as the webhook: none: judge without other objects (default live)"
    add("--view", "live", action=Once, choices=("none", "live"), help=view)
    only = "judge and act on objects of these namespaces only, and read those of cluster scope (default: all)"
    add("--only-namespaces", "", type=_namespaces, metavar="NAMESPACE,…", help=only)
    also = "with --only-namespaces: also judge and act on objects of cluster scope"
    parser.add_argument("--cluster-objects", action="store_true", help=also)
    kinds = "the kinds that the webhook reviews, as PLURAL.GROUP (default: all)"
    add("--kinds", type=lambda text: frozenset(filter(None, text.split(","))) or None, metavar="KIND,…", help=kinds)
    policies = "the folder of the webhook's ValidatingAdmissionPolicies; reloaded on change"
    add("--admission-policies", type=Path, metavar="DIR", help=policies)
    choices.add_without(parser, choices.apis(_variable("--without", "") or ""))
    projected.add_arguments(parser, add)
    choices.add_packs(parser)
    choices.add_arguments(parser)
    parser.set_defaults(**{each.name: _variable(each.name) for each in fields(Settings)})
    parser.set_defaults(nodes=_variable("nodes", "off"))  # it watches them only if it is told to


def run(options: argparse.Namespace) -> int:
    """Exit code 0 after SIGTERM or SIGINT, 2 without a cluster or with unusable rules. A process that has lost the
    leadership, as while the API server restarts, begins again.
    """
    logs.configure(options.log_level, options.log_format)
    stop = _stop_on_signals()
    gc.set_threshold(50_000, 20, 100)
    try:
        process = _process(options)
    except NoConnection as error:
        print(f"modelgate reconcile: {error}", file=sys.stderr)
        return 2
    with contextlib.ExitStack() as stack:
        if options.health_port is not None:
            checks = {"/healthz": process.alive, "/readyz": process.ready, "/metrics": process.metrics}
            stack.enter_context(Health(options.health_port, checks).running())
        kept = process.run(stop)
    if not kept:  # begin again without threads of before, as one that waits to lead; the pod is not restarted
        os.execv(sys.executable, sys.orig_argv)  # noqa: S606 - this program itself
    return 0


def _process(options: argparse.Namespace) -> Process:
    folder = options.admission_policies
    watched = None if folder is None else Watched([folder], lambda: audit.native_policies(folder))
    policies = None if watched is None else watched.first()
    references = options.view == "live"
    settings, without = choices.chosen(options), options.without
    rules = audit.load(
        options.profile,
        settings,
        policies,
        options.kinds,
        references=references,
        without=without,
        packs=options.packs or _packs(),
    )
    api, reload = Writer(connect(options.kubeconfig)), partial(_reloaded, watched)
    only, controllers = options.only_namespaces, projected.controllers(options, settings, api)
    reach = Reach(only, whole=not only or options.cluster_objects)
    on_request = OnRequest(options.reports == "all", options.metrics_namespaces)
    return Process(
        api, rules, controllers, _lease(options), options.workers, reload, reach=reach, on_request=on_request
    )


def _packs() -> list[Path]:
    """The folders of APIs that the variable names."""
    return [Path(name) for name in (_variable("--policies") or "").split(",") if name]


def _namespaces(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(filter(None, text.split(","))))
    if wrong := [each for each in names if not _LABEL.fullmatch(each)]:
        raise argparse.ArgumentTypeError(f'"{wrong[0]}" is not the name of a namespace')
    return names


def _reloaded(watched: Watched[Any] | None, rules: Ruling) -> Ruling:
    """The rules with changed policies; a set with an error is logged and not used."""
    try:
        policies = None if watched is None else watched.changed()
    except (LoadError, OSError, UnicodeDecodeError) as error:
        log.error("the new admission policies are not used: %s", error)  # noqa: TRY400
        return rules
    return rules if policies is None else rules.with_policies(policies)


def _lease(options: argparse.Namespace) -> Lease | None:
    if options.no_lease:
        return None
    api = Writer(connect(options.kubeconfig), CALL_TIMEOUT)
    namespace = options.namespace or (_NAMESPACE.read_text().strip() if _NAMESPACE.exists() else "modelgate-system")
    # A pod's name is its host name; two processes on one host have different numbers.
    return Lease(api, namespace, options.lease, f"{socket.gethostname()}_{os.getpid()}")


def _stop_on_signals() -> threading.Event:
    """An event that SIGTERM and SIGINT set: a thread waits for them, because a signal handler must not take locks."""
    stop, numbers = threading.Event(), {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, numbers)  # later threads inherit this

    def wait() -> None:
        log.info("%s: stopping", signal.Signals(signal.sigwait(numbers)).name)
        stop.set()

    threading.Thread(target=wait, name="signals", daemon=True).start()
    return stop


def _variable(flag: str, otherwise: str | None = None) -> str | None:
    return os.environ.get(f"MODELGATE_{flag.removeprefix('--').replace('-', '_').upper()}", otherwise)
