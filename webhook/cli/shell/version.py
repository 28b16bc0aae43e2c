"""`modelgate version`: print the version."""

from __future__ import annotations

import argparse
import platform

from webhook.cel.syntax import celpython
from webhook.cli.shell.parser import Commands, command


def add_parser(commands: Commands) -> None:
    command(commands, "version", "Print the version.")


def run(_options: argparse.Namespace) -> int:
    print(text())
    return 0


def text() -> str:
    """The version of Modelgate, and of what decides beside it."""
    return f"modelgate {version()} (cel-python {celpython.version()}, Python {platform.python_version()})"


def version() -> str:
    """The version of the tool."""
    from importlib import metadata  # noqa: PLC0415 - takes 15 ms; reports as text do not name it

    try:
        return metadata.version("modelgate")
    except metadata.PackageNotFoundError:  # run from a checkout that is not installed
        return "unknown"
