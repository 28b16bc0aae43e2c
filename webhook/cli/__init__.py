"""The `modelgate` command: one module per subcommand."""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
from collections.abc import Sequence
from typing import Final

from webhook.admission import LoadError, ModelgateError
from webhook.cel.errors import GrammarUnavailable
from webhook.cel.syntax import celpython
from webhook.cli.output import say

__all__ = ["main"]

COMMANDS: Final = {
    "serve": ("webhook.cli.serve", "run the admission webhook"),
    "check": ("webhook.cli.check", "validate manifests offline"),
    "demo": ("webhook.cli.demo", "show the webhook at work, without a cluster"),
    "normalise": ("webhook.cli.normalise", "print manifests with all defaults, as a cluster would store them"),
    "test": ("webhook.cli.test", "run test cases of policies"),
    "rule": ("webhook.cli.rule", "explain one rule"),
    "export": ("webhook.cli.export", "export rules as Kubernetes admission policies or as CRD rules"),
    "fields": ("webhook.cli.fields", "list every field that Modelgate may set"),
    "certs": ("webhook.cli.certs", "issue the server certificate and publish its CA"),
    "reconcile": ("reconciler.cli", "run the reconciler"),
}
"""Command → its module, which is imported only when the command runs: the server does not load a client library."""

RECURSION: Final = 10_000
"""Python frames. Input may be nested 1,024 levels deep (orjson's limit), and a walk takes a few frames per level."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    The exit code is 0 for success, 1 if something is refused, 2 for an error; 130 after an interrupt and 141 after a
    broken pipe, as a shell reports them.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    options = _parser(arguments).parse_args(arguments)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(RECURSION)
    if isinstance(sys.stdout, io.TextIOWrapper):  # YAML is UTF-8 in every locale, and a file name may be any bytes
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        celpython.require()  # before any work: without its grammar no rule can be read
        if options.command == "reconcile":  # it imports nothing of the command line, and `logs` belongs to it
            importlib.import_module("webhook.cli.logs").configure(options.log_level)
        code = int(importlib.import_module(COMMANDS[options.command][0]).run(options))
        print(end="", flush=True)  # report a failed write now: at exit, Python would only log it
    except BrokenPipeError:  # `| head` has closed the pipe: Python's flush at exit must not fail again
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except (ModelgateError, GrammarUnavailable, OSError) as error:
        lines = error.problems if isinstance(error, LoadError) else str(error).splitlines()
        for number, line in enumerate(lines):
            say(f"{line}" if number else f"modelgate {options.command}: {line}", sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    finally:
        sys.setrecursionlimit(limit)
    return code


def _parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """The parser, with the flags of the command that is asked for."""
    parser = argparse.ArgumentParser(
        prog="modelgate",
        description="Admission webhook and policy checker for the custom resources of LLM serving on Kubernetes.",
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    wanted = next((word for word in arguments if not word.startswith("-")), "")
    for name, (module, summary) in COMMANDS.items():
        if name == wanted:
            importlib.import_module(module).add_parser(commands)
        else:
            commands.add_parser(name, help=summary)
    return parser
