"""`modelgate certs issue`: issue a server certificate from a private CA, and publish the CA."""

from __future__ import annotations

import argparse
import logging
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
from webhook.cli import logs

__all__ = ["add_parser", "run"]

log = logging.getLogger("modelgate")

_DESCRIPTION = """\
Write tls.crt, tls.key and ca.crt into a directory, all three at once: a short-lived server certificate, signed by the
CA of the store. The CA is created on first use. A certificate that is still good is kept.

With --publish, write the CA into webhook configurations, and read it back. With --account, write a short-lived token of
that ServiceAccount into --account-dir, laid out as Kubernetes mounts the token of a pod: for a server that needs fewer
rights than this command.

  modelgate certs issue --tls-dir run/tls
      for localhost; the CA is stored in run/tls/ca

  modelgate certs issue --tls-dir /tls --store secret:modelgate-system/modelgate-ca \\
          --service modelgate-system/modelgate --publish mutating/modelgate --publish validating/modelgate
      as an init container of the chart does
"""

# A caBundle that another client overwrites is restored within a minute. The wall clock is read each time: a timer of
# several days would stand still while the machine sleeps.
_POLL_SECONDS = 60.0
_STOP = {signal.SIGTERM, signal.SIGINT}


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare ``certs issue`` and its flags."""
    certs = subparsers.add_parser("certs", help="issue the server certificate and publish its CA")
    commands = certs.add_subparsers(dest="certs_command", required=True, metavar="COMMAND")
    parser = commands.add_parser(
        "issue",
        help="write a server certificate, and publish its CA",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--tls-dir", type=Path, required=True, metavar="DIR", help="directory that the server reads")
    add("--store", metavar="STORE", help="location of the CA: dir:PATH or secret:NAMESPACE/NAME (default dir:DIR/ca)")
    add("--service", metavar="NAMESPACE/NAME", help="Service that the API server calls")
    add("--dns", nargs="+", default=[], metavar="NAME", help="more DNS names and IP addresses (default: localhost)")
    add(
        "--publish",
        action="append",
        default=[],
        metavar="TYPE/NAME",
        help="webhook configuration to write the CA into: mutating/NAME or validating/NAME; repeatable",
    )
    add("--account", metavar="NAMESPACE/NAME", help="ServiceAccount to request a token for")
    add("--account-dir", type=Path, metavar="DIR", help="directory for that token")
    add("--watch", action="store_true", help="keep running: renew certificates, and restore what others overwrite")
    logs.add_argument(parser)
    parser.set_defaults(usage_error=parser.error)


def run(args: argparse.Namespace) -> int:
    """Exit code 0; 2, with a sentence on standard error, if it fails."""
    if args.watch:
        logs.configure(args.log_level)
        signal.pthread_sigmask(signal.SIG_BLOCK, _STOP)  # sigtimedwait below receives them, also in process 1
    try:
        task = _Task(args)
        task.once()
    except CertsError as error:
        print(f"modelgate certs: {error}", file=sys.stderr)
        return 2
    except ValueError as error:
        args.usage_error(str(error))
    if args.watch:
        task.watch(lambda: signal.sigtimedwait(_STOP, _POLL_SECONDS) is not None)
    return 0


class _Task:
    """What the flags ask for, done once or repeatedly. It prints what it does; with ``--watch`` it logs instead."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._report = _logged if args.watch else _printed
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
        # The token first: a server loses its view an hour after the last one, its certificate lasts for days.
        if self._account and (reason := provide(self._account_directory, self._account, self._api, now)):
            self._report(f"token for {self._account} ({reason})")
        ca = authority(self._store, now)
        if reason := issue(self._directory, ca, self._names, now):
            self._report(f"issued for {self._names} ({reason}), by {ca}, from {self._store}")
        for configuration in self._configurations:
            if publish(ca.bundle, configuration, self._api):
                self._report(f"published to {configuration}, and read back")

    def watch(self, stopped: Callable[[], bool]) -> None:
        """Repeat, pausing in ``stopped``. Failures are logged and retried: the files in place are still valid."""
        while not stopped():
            try:
                self.once()
            except CertsError as error:
                log.error("%s", error)  # noqa: TRY400 - the text says it all

    @cached_property
    def _api(self) -> Api:
        return Api()

    def _open(self, text: str) -> Store:
        scheme, _, location = text.partition(":")
        if scheme == "dir" and location:
            return DirectoryStore(Path(location))
        if scheme == "secret":
            return SecretStore(*_pair(location), self._api)
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


def _logged(text: str) -> None:
    log.info("%s", text)


def _printed(text: str) -> None:
    print(text, flush=True)
