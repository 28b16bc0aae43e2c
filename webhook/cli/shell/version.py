"""`modelgate version`: print the version."""

from __future__ import annotations

import argparse
import platform

from webhook.cel.syntax import celpython
from webhook.cli.report.tool import VERSION

__all__ = ["add_parser", "run", "text"]


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    commands.add_parser("version", help="print the version", description="Print the version.")


def run(_options: argparse.Namespace) -> int:
    print(text())
    return 0


def text() -> str:
    """The version of Modelgate, and of what decides beside it."""
    return f"modelgate {VERSION} (cel-python {celpython.version()}, Python {platform.python_version()})"
