"""The `modelgate` command: one module per subcommand."""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
from collections.abc import Sequence
from typing import Final

from webhook.admission.errors import ModelgateError
from webhook.cel.errors import GrammarUnavailable
from webhook.cel.syntax import celpython

__all__ = ["main"]

COMMANDS: Final = {
    "serve": ("webhook.cli.serve", "answer a cluster's admission calls"),
    "check": ("webhook.cli.check", "say what the gate would say about manifests"),
    "demo": ("webhook.cli.demo", "see the gate work, without a cluster"),
    "normalise": ("webhook.cli.normalise", "print manifests as the gate would store them"),
    "test": ("webhook.cli.test", "run tables of cases"),
    "rule": ("webhook.cli.rule", "explain one rule"),
    "export": ("webhook.cli.export", "rules as documents that Kubernetes knows by itself"),
    "fields": ("webhook.cli.fields", "list every field that the gate may set"),
    "certs": ("webhook.cli.certs", "issue certificates and publish the CA"),
    "reconcile": ("reconciler.cli", "act on what has passed the gate"),
}
"""Command → its module, which is imported only when the command is run: no server pays for a client library."""

RECURSION: Final = 10_000
"""Python frames; what we read may be nested 1,024 deep (orjson's limit) and a walk takes a few frames per level."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code is 0 for yes, 1 for no (something is refused), 2 for "could not tell".

    Whoever interrupts it, or stops reading what it says, gets what a shell calls that: 130, 141.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(
        prog="modelgate", description="The gate that LLM-serving custom resources pass on their way into a cluster."
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    wanted = next((word for word in arguments if not word.startswith("-")), "")
    for name, (module, summary) in COMMANDS.items():
        if name == wanted:
            importlib.import_module(module).add_parser(commands)
        else:
            commands.add_parser(name, help=summary)
    options = parser.parse_args(arguments)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(RECURSION)
    if isinstance(sys.stdout, io.TextIOWrapper):  # YAML is UTF-8 everywhere, and the name of a file may be any bytes
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        celpython.require()  # before any work: without its grammar no rule can be read
        code = int(importlib.import_module(COMMANDS[options.command][0]).run(options))
        print(end="", flush=True)  # what cannot be written must not wait until nobody hears of it
    except BrokenPipeError:  # as `| head` leaves us: there is nobody to tell
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except (ModelgateError, GrammarUnavailable, OSError) as error:
        print(f"modelgate {options.command}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    finally:
        sys.setrecursionlimit(limit)
    return code
