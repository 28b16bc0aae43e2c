"""Parse the command line, run the command, and turn errors into exit codes."""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
from collections.abc import Sequence
from typing import Final

from webhook.admission.errors import ModelgateError, SettingsError
from webhook.cel import GrammarUnavailable
from webhook.cel.syntax import celpython
from webhook.cli import ALIASES, COMMANDS, FAILED, GOOD, PIPE, USAGE
from webhook.cli.output import complain, say
from webhook.cli.shell.parser import Parser, command

__all__ = ["parser", "run"]

RECURSION: Final = 10_000
"""Python frames. Input may be nested 1,024 levels deep (orjson's limit), and a walk takes a few frames per level."""

_EXTRAS: Final = {
    "kubernetes": "cluster",
    **dict.fromkeys(("cryptography", "httptools", "prometheus_client", "starlette", "uvicorn", "uvloop"), "server"),
    "opentelemetry": "tracing",
    "pygls": "lsp",
}
"""The packages of the extras, and who installs each."""

_EPILOG: Final = """\
start here:
  modelgate check manifests/           what a cluster would refuse or warn of
  modelgate check --diff model.yaml    what the gate would fill in, and why
  modelgate scan                       what is stored in a cluster, by today's rules
  modelgate rule LK205                 why a rule exists, with an object that is right
  modelgate demo                       the webhook at work, without a cluster

exit codes of all commands:
  0    nothing is wrong
  1    something is refused, a case fails, or a warning counts (--fail-on=warning)
  2    no judgement: a manifest cannot be read, nothing is found, or the server cannot run
  64   the command line or the configuration is wrong
  130  interrupted (Ctrl-C)
  141  the reader of the output has stopped reading
"""


def run(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments:
        parser(set()).print_help()
        return GOOD
    wanted = next((word for word in arguments if not word.startswith("-")), "")
    try:
        return _run(parser({ALIASES.get(wanted, wanted)}).parse_args(arguments))
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in _EXTRAS:
            raise
        how = f"pip install 'modelgate[{_EXTRAS[package]}]'"
        say(f"modelgate {wanted}: needs {package}, which is not installed: {how}", sys.stderr)
        return USAGE


def _run(options: argparse.Namespace) -> int:
    command = ALIASES.get(options.command, options.command)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(RECURSION)
    if isinstance(sys.stdout, io.TextIOWrapper):  # YAML is UTF-8 in every locale, and a file name may be any bytes
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        celpython.require()  # before any work: without its grammar no rule can be read
        code = int(importlib.import_module(COMMANDS[command][0]).run(options))
        print(end="", flush=True)  # report a failed write now: at exit, Python would only log it
    except BrokenPipeError:  # `| head` has closed the pipe: Python's flush at exit must not fail again
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE
    except (ModelgateError, GrammarUnavailable, OSError) as error:
        complain(command, error)
        return USAGE if isinstance(error, SettingsError) else FAILED
    finally:
        sys.setrecursionlimit(limit)
    return code


def parser(wanted: set[str]) -> argparse.ArgumentParser:
    """The parser, with the flags of these commands; other commands are only named."""
    found: argparse.ArgumentParser = Parser(
        prog="modelgate",
        description="Admission webhook and policy checker for the custom resources of LLM serving on Kubernetes.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    found.add_argument("--version", action=_Version, nargs=0, help="print the version")
    commands = found.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (module, summary) in COMMANDS.items():
        if name in wanted and (len(wanted) == 1 or _is_installed(module)):
            importlib.import_module(module).add_parser(commands)
        else:
            command(commands, name, summary)
    return found


def _is_installed(module: str) -> bool:
    """Whether a command has all packages that it imports: the completion of a shell names also those without."""
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        return (error.name or "").partition(".")[0] not in _EXTRAS
    return True


class _Version(argparse.Action):
    """Print the version, which is read only then."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object, **__: object) -> None:
        print(importlib.import_module("webhook.cli.shell.version").text())
        parser.exit()
