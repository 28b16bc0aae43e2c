"""`modelgate certs issue`: a server certificate from a CA of our own, and the CA in the webhook configurations."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from certs.api import Api
from certs.errors import CertsError
from certs.issue import issue
from certs.names import LOCAL, Names
from certs.publish import Configuration, publish
from certs.store import DirectoryStore, SecretStore, Store, authority
from certs.token import Account, provide

__all__ = ["add_parser", "run"]

_DESCRIPTION = """\
Writes tls.crt, tls.key and ca.crt into a directory, all three at once: a short-lived server certificate, signed by
the CA of the store, which is made on first use. What is there and still good is kept. With --publish, the CA is
written into webhook configurations, and read back. With --account, a short-lived token of that ServiceAccount is
written into --account-dir, as Kubernetes mounts those of pods: for a server that may do less than we.

  modelgate certs issue --tls-dir run/tls
      for localhost; the CA is kept in run/tls/ca

  modelgate certs issue --tls-dir /tls --store secret:modelgate-system/modelgate-ca \\
          --service modelgate-system/modelgate --publish mutating/modelgate --publish validating/modelgate
      what a pod of the chart does before it serves
"""

# What somebody else has overwritten is put right within a minute. The wall clock is read each time: a timer of days
# would stand still while the machine sleeps.
_LOOK_SECONDS = 60.0
_STOP = {signal.SIGTERM, signal.SIGINT}


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare ``certs issue`` and its flags."""
    certs = subparsers.add_parser("certs", help="server certificates, without cert-manager")
    commands = certs.add_subparsers(dest="certs_command", required=True, metavar="COMMAND")
    parser = commands.add_parser(
        "issue",
        help="write a server certificate, and publish its CA",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
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
    add("--account", metavar="NAMESPACE/NAME", help="a ServiceAccount that the server has a token of")
    add("--account-dir", type=Path, metavar="DIR", help="where the server reads that token")
    add("--watch", action="store_true", help="stay: renew in time, and put right what others overwrite")
    parser.set_defaults(usage_error=parser.error)


def run(args: argparse.Namespace) -> int:
    """Exit code 0; 2, with a sentence on standard error, when it cannot be done."""
    if args.watch:
        signal.pthread_sigmask(signal.SIG_BLOCK, _STOP)  # waited for, below: also as process 1 of a container
    try:
        task = _Task(args)
        task.once()
    except CertsError as error:
        _complain(error)
        return 2
    except ValueError as error:
        args.usage_error(str(error))
    if args.watch:
        task.watch(lambda: signal.sigtimedwait(_STOP, _LOOK_SECONDS) is not None)
    return 0


class _Task:
    """What the flags ask for; done once, or again and again."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._directory: Path = args.tls_dir
        self._names = _names(args.service, args.dns)
        self._store = self._open(args.store or f"dir:{args.tls_dir / 'ca'}")
        if (args.account is None) != (args.account_dir is None):
            raise ValueError("--account and --account-dir go together")
        self._account = Account(*_pair(args.account)) if args.account else None
        self._account_directory: Path = args.account_dir
        self._configurations = [Configuration.parse(text) for text in args.publish]

    def once(self) -> None:
        now = datetime.now(UTC)
        # First: a server without a token is blind after an hour, one without a new certificate is well for days.
        if self._account and (reason := provide(self._account_directory, self._account, self._api, now)):
            print(f"a token of {self._account} ({reason})", flush=True)
        ca = authority(self._store, now)
        if reason := issue(self._directory, ca, self._names, now):
            print(f"issued for {self._names} ({reason}), by {ca}, of {self._store}", flush=True)
        for configuration in self._configurations:
            if publish(ca.bundle, configuration, self._api):
                print(f"published to {configuration}, and read back", flush=True)

    def watch(self, stopped: Callable[[], bool]) -> None:
        """Go on, pausing in ``stopped``. What fails is reported and tried again: what is in place is still good."""
        while not stopped():
            try:
                self.once()
            except CertsError as error:
                _complain(error)

    @cached_property
    def _api(self) -> Api:
        return Api()

    def _open(self, text: str) -> Store:
        scheme, _, place = text.partition(":")
        if scheme == "dir" and place:
            return DirectoryStore(Path(place))
        if scheme == "secret":
            return SecretStore(*_pair(place), self._api)
        raise ValueError(f"--store {text!r} is neither dir:PATH nor secret:NAMESPACE/NAME")


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


def _complain(error: CertsError) -> None:
    print(f"modelgate certs: {error}", file=sys.stderr)
