"""`modelgate certs`: server certificates of an own CA, the CA in the webhook configurations, the server's token."""

from __future__ import annotations

import argparse
import logging
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path

from certs import (
    BACKDATED,
    LOCAL,
    PUT_BACK,
    Account,
    CertsError,
    ClockError,
    Configuration,
    DirectoryStore,
    Events,
    FollowingApi,
    Keeper,
    Lifetimes,
    Look,
    Names,
    PublishError,
    Reporter,
    Restorer,
    SecretStore,
    Store,
    provide,
    status,
)
from webhook.cli import logs

log = logging.getLogger("modelgate")

_ISSUE = """\
Writes tls.crt, tls.key and ca.crt into a directory, all three at once: a short-lived server certificate, and the
bundle that verifies it. The CA is in the store and is made on first use; a new one follows it in time. With
--publish, the bundle is written into webhook configurations and read back before a new CA signs. status.json in the
same directory says how things are. With --account, a short-lived token of that ServiceAccount is written into
--account-dir, laid out as Kubernetes mounts a pod's own token: for a server that may do less than this command.

  modelgate certs issue --tls-dir run/tls
      for localhost; the CA is kept in run/tls/ca

  modelgate certs issue --tls-dir /tls --store secret:modelgate-system/modelgate-ca \\
          --service modelgate-system/modelgate --publish mutating/modelgate --publish validating/modelgate
      what a pod of the chart does before it serves
"""
_ACCOUNT = """\
Writes a short-lived token of a ServiceAccount into a directory, laid out as Kubernetes mounts a pod's own token. For
installations whose certificates come from elsewhere.
"""

# What others delete or overwrite is put right within 5 s: one pause, and for a deleted configuration another second.
# The wall clock is read each time: a timer of days would stand still while the machine sleeps.
_LOOK_SECONDS = 3.0
# Helm creates the webhook configurations a moment after the pods.
_PATIENCE_SECONDS = 60.0
_PAUSE_SECONDS = 1.0
# An uninstallation deletes what a configuration is put back from less than a second after the configuration.
_DELETED = timedelta(seconds=1)
# A pod that starts waits for Helm, and no longer: all replicas may have been down when it was deleted.
_NEVER_MADE = timedelta(seconds=15)
_STOP = {signal.SIGTERM, signal.SIGINT}


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare ``certs issue`` and ``certs token`` with their flags."""
    certs = subparsers.add_parser("certs", help="server certificates, without cert-manager")
    commands = certs.add_subparsers(dest="certs_command", required=True, metavar="COMMAND")
    raw = argparse.RawDescriptionHelpFormatter
    issue = commands.add_parser(
        "issue", help="write a server certificate, and publish its CA", description=_ISSUE, formatter_class=raw
    )
    _add_issue(issue)
    token = commands.add_parser("token", help="write a token for the server", description=_ACCOUNT, formatter_class=raw)
    for parser in (issue, token):
        needed = parser is token
        add = parser.add_argument
        add("--account", required=needed, metavar="NAMESPACE/NAME", help="a ServiceAccount; the server gets its token")
        add("--account-dir", required=needed, type=Path, metavar="DIR", help="where the server reads that token")
        add("--watch", action="store_true", help="keep running: renew in time, and repair what others overwrite")
        logs.add_arguments(parser)
        add("--look-seconds", type=float, default=_LOOK_SECONDS, help=argparse.SUPPRESS)
        parser.set_defaults(usage_error=parser.error)


def _add_issue(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--tls-dir", type=Path, required=True, metavar="DIR", help="where the server reads its files")
    add("--store", metavar="STORE", help="where the CA is: dir:PATH or secret:NAMESPACE/NAME (default dir:DIR/ca)")
    add("--service", metavar="NAMESPACE/NAME", help="the Service through which the API server calls")
    add("--dns", nargs="+", default=[], metavar="NAME", help="further names and IP addresses (without both: localhost)")
    add(
        "--publish",
        action="append",
        default=[],
        metavar="TYPE/NAME",
        help="mutating/NAME or validating/NAME; repeatable",
    )
    add("--restore", metavar="NAMESPACE/NAME", help="the ConfigMap with what configurations have to be")
    add("--put-back", choices=PUT_BACK, default="deleted", help="which ones: deleted, also changed, or none (off)")
    add("--pod", metavar="NAMESPACE/NAME/UID", help="this pod: what is wrong in it is an Event about it")
    # For tests: a year in a minute.
    for name in ("ca", "leaf", "uptake"):
        seconds = getattr(Lifetimes(), name).total_seconds()
        add(f"--{name}-seconds", type=float, default=seconds, help=argparse.SUPPRESS)


def run(args: argparse.Namespace) -> int:
    """Exit code 0; 2, with a sentence on standard error, when it cannot be done."""
    if args.watch:
        logs.configure(args.log_level, args.log_format)
    try:
        task = _Task(args)
    except CertsError as error:
        _complain("%s", error)
        return 2
    except ValueError as error:
        args.usage_error(str(error))
    try:
        if args.watch:
            task.watch(_told_to_stop(), args.look_seconds)
        else:
            task.finish(time.sleep)
    except CertsError:
        return 2
    return 0


def _told_to_stop() -> Callable[[float], bool]:
    """A pause that ends early, and is true, once the process is told to stop; also as process 1 of a container.

    Not ``signal.sigtimedwait``: after a SIGSTOP and SIGCONT, CPython's returns a signal that nothing has sent.
    """
    told, note = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(note)
    for each in _STOP:
        signal.signal(each, lambda _number, _frame: None)
    return lambda seconds: bool(select.select([told], [], [], seconds)[0])


class _Task:
    """What the flags ask for, until it is complete or repeatedly. It prints what it does; with ``--watch`` it logs."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._say = log.info if args.watch else _print
        self._events: Events | None = None
        if (args.account is None) != (args.account_dir is None):
            raise ValueError("--account and --account-dir go together")
        self._account = Account(*_pair(args.account)) if args.account else None
        self._account_directory: Path = args.account_dir
        self._in_cluster = self._account is not None
        self._pod = tuple(args.pod.split("/")[1:]) if getattr(args, "pod", None) else ()
        self._keeper = self._make_keeper(args) if args.certs_command == "issue" else None
        self._reporter = Reporter(log.error if args.watch else _complain, self._say, self._events)
        template = _pair(args.restore) if getattr(args, "restore", None) else None
        api = self._keeper.api if self._keeper else None
        patience = _DELETED if args.watch else _NEVER_MADE
        self._restorer = Restorer(api, template, patience, getattr(args, "put_back", "off"))

    def _make_keeper(self, args: argparse.Namespace) -> Keeper:
        names = _names(args.service, args.dns)
        store = self._open(args.store or f"dir:{args.tls_dir / 'ca'}")
        configurations = [Configuration.parse(text) for text in args.publish]
        lifetimes = Lifetimes(
            *(timedelta(seconds=each) for each in (args.ca_seconds, args.leaf_seconds, args.uptake_seconds))
        )
        self._in_cluster |= bool(configurations) or isinstance(store, SecretStore)
        api = self._api if configurations else None
        return Keeper(args.tls_dir, names, store, self._now, configurations, api, lifetimes)

    def finish(self, pause: Callable[[float], None]) -> None:
        """Until a server can start. Raises CertsError, reported already, for what does not come right by itself."""
        patience = _PATIENCE_SECONDS + (self._keeper.lifetimes.uptake.total_seconds() if self._keeper else 0)
        give_up = time.monotonic() + patience
        while True:
            look, faults = self.once()
            if not faults and look and look.absent:
                faults += [each for each in self._settle(look) if not isinstance(each, PublishError)]
            if faults or look is None or look.complete:
                break
            if time.monotonic() >= give_up:
                faults = [_incomplete(look)]
                break
            pause(_PAUSE_SECONDS)
        self._reporter.tell(faults, self._now())
        if faults:
            raise faults[0]

    def watch(self, stopped: Callable[[float], bool], pause: float) -> None:
        """Go on, pausing in ``stopped``. What fails is reported and tried again: what is in place is still good."""
        if self._keeper and self._in_cluster:
            configurations = (each.path for each in self._keeper.configurations)
            self._api.follow(*filter(None, [*configurations, self._keeper.store.path, self._restorer.path]))
        while True:
            look, faults = self.once()
            faults += self._settle(look)
            self._reporter.tell(faults, self._now())
            if stopped(min(pause, _PAUSE_SECONDS) if self._restorer.waiting else pause):
                return

    def _settle(self, look: Look | None) -> list[CertsError]:
        notes, faults = self._restorer.settle(look, self._now())
        for each in notes:
            self._reporter.note(each, self._now())
        return faults

    def once(self) -> tuple[Look | None, list[CertsError]]:
        """One look at everything, and what went wrong: one failure does not keep the rest from being done."""
        look, faults = None, []
        if "_api" in vars(self):
            self._api.begin()
        try:
            self._provide()
        except CertsError as error:
            faults.append(error)
        try:
            look = self._keeper.look() if self._keeper else None
        except CertsError as error:
            faults.append(error)
        except Exception as error:
            log.exception("internal fault")
            faults.append(CertsError(f"internal fault: {type(error).__name__}: {error}"))
        for note in look.news if look else ():
            self._reporter.note(note, self._now())
        faults += [*(look.faults if look else ()), *self._clock_faults()]
        if self._keeper:
            self._note(self._keeper, look, faults)
        return look, faults

    def _provide(self) -> None:
        if self._account and (reason := provide(self._account_directory, self._account, self._api, self._now())):
            self._say("%s", f"token for {self._account} ({reason})")

    def _note(self, keeper: Keeper, look: Look | None, faults: list[CertsError]) -> None:
        try:
            status.write(
                keeper.directory, status.summary(look, faults, self._now(), keeper.lifetimes, self._restorer.changed)
            )
        except CertsError as error:
            faults.append(error)

    def _clock_faults(self) -> list[CertsError]:
        if not self._in_cluster or "_api" not in vars(self) or abs(self._api.ahead) < BACKDATED:
            return []
        hours = self._api.ahead.total_seconds() / 3600
        return [
            ClockError(
                f"the clock of this machine is {abs(hours):.1f} hours {'ahead of' if hours > 0 else 'behind'} the API "
                "server's. Certificates follow the API server's clock. Correct the clock that is wrong; keep the CA."
            )
        ]

    def _now(self) -> datetime:
        """By the clock of the API server where one is spoken to: that clock judges the certificates."""
        return self._api.now() if self._in_cluster and "_api" in vars(self) else datetime.now(UTC)

    @cached_property
    def _api(self) -> FollowingApi:
        return FollowingApi()

    def _open(self, text: str) -> Store:
        scheme, _, place = text.partition(":")
        if scheme == "dir" and place:
            return DirectoryStore(Path(place))
        if scheme == "secret":
            namespace, name = _pair(place)
            self._events = Events(self._api, namespace, *self._pod)
            return SecretStore(namespace, name, self._api)
        raise ValueError(f"--store {text!r} is neither dir:PATH nor secret:NAMESPACE/NAME")


def _incomplete(look: Look) -> CertsError:
    if look.absent:
        return Restorer.missing(look.absent[0])
    behind = [each.configuration for each in look.lives if look.state and not each.carries(look.state.bundle)]
    if behind:
        text = f"{behind[0]}: its caBundle is overwritten as soon as it is written; who else sets it?"
        return PublishError(text, behind[0].path)
    return PublishError("the CA has not been read back in every webhook configuration in time")


def _names(service: str | None, others: list[str]) -> Names:
    names = Names.of(*others)
    if service is not None:
        namespace, name = _pair(service)
        names = Names.of_service(name, namespace) | names
    return names or LOCAL


def _pair(text: str) -> tuple[str, str]:
    namespace, _, name = text.partition("/")
    if not namespace or not name or "/" in name:
        raise ValueError(f"{text!r} is not NAMESPACE/NAME")
    return namespace, name


def _print(form: str, *values: object) -> None:
    print(form % values, flush=True)


def _complain(form: str, *values: object) -> None:
    print(f"modelgate certs: {form % values}", file=sys.stderr, flush=True)
