"""`modelgate completion`: print the completion of a shell."""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path
from typing import Final

import shtab

from webhook.cli import COMMANDS
from webhook.cli.shell.parser import Commands, command

_SHELLS: Final = ("bash", "zsh", "fish")
_HOW: Final = """\
to install it:
  bash   modelgate completion bash > ~/.local/share/bash-completion/completions/modelgate
  zsh    modelgate completion zsh > "${fpath[1]}/_modelgate"
  fish   modelgate completion fish > ~/.config/fish/completions/modelgate.fish
"""


def add_parser(commands: Commands) -> None:
    parser = command(commands, "completion", "Print a script that completes commands, options and their values.", _HOW)
    parser.add_argument("shell", choices=_SHELLS, help="the shell")


def run(options: argparse.Namespace) -> int:
    whole: argparse.ArgumentParser = importlib.import_module("webhook.cli.shell.running").parser(set(COMMANDS))
    _complete_files(whole)
    print(shtab.complete(whole, options.shell))
    return 0


def _complete_files(parser: argparse.ArgumentParser) -> None:
    """Complete paths where an option or argument takes one."""
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to its arguments
        if action.type is Path:
            action.complete = shtab.FILE  # type: ignore[attr-defined]  # where shtab reads it
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for each in action.choices.values():
                _complete_files(each)
