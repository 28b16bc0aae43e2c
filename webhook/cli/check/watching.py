"""`check --watch`: check again whenever a file changes, until Ctrl-C."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Final, NoReturn

from webhook.admission.errors import ModelgateError, Problem, SettingsError
from webhook.cli.input.configuration import FILE
from webhook.cli.output import complain, say

__all__ = ["watched"]

_PAUSE: Final = 0.3
"""Seconds between two looks at the files."""
_SUFFIXES: Final = frozenset({".yaml", ".yml", ".json"})
_CLEAR: Final = "\033[H\033[2J\033[3J"
"""Of a terminal: the top left, without what is on the screen and above it."""


def watched(options: argparse.Namespace, check: Callable[[argparse.Namespace], int]) -> NoReturn:
    """Check now, and after each change of a file that the options name.

    Raises:
        KeyboardInterrupt: at Ctrl-C, which is the end.
        SettingsError: a flag that does not go with it.
    """
    if Path("-") in options.files:
        raise SettingsError([Problem("--watch", "", "standard input does not change: name files or folders")])
    if options.output != "text":
        raise SettingsError([Problem("--watch", "", f"is for people, and {options.output} is not: remove one of them")])
    while True:
        before = dict(_stamps(options))  # what changes during the check is seen after it
        if sys.stdout.isatty():
            print(_CLEAR, end="")
        try:
            check(deepcopy(options))
        except (ModelgateError, OSError) as error:
            complain("check", error)
        say(f"watching {len(before):,} {'file' if len(before) == 1 else 'files'}; Ctrl-C ends", sys.stderr)
        sys.stdout.flush()
        while dict(_stamps(options)) == before:
            time.sleep(_PAUSE)


def _stamps(options: argparse.Namespace) -> Iterator[tuple[str, tuple[int, int]]]:
    roots = [*options.files, *options.view, *options.crds, *options.packs, *options.old, Path(FILE)]
    roots += filter(None, (options.admission_policies, options.config))
    for path in {file for root in roots for file in _files(root)}:
        try:
            state = os.stat(path)  # noqa: PTH116 - a tree has thousands of files
        except OSError:
            continue  # it is gone
        yield path, (state.st_mtime_ns, state.st_size)


def _files(root: Path) -> Iterator[str]:
    if not root.is_dir():
        yield str(root)
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (os.path.join(folder, name) for name in names if os.path.splitext(name)[1] in _SUFFIXES)  # noqa: PTH118, PTH122 - as above
