"""Print text that users supply: to a terminal, or to the log of a CI system that executes some lines of it."""

from __future__ import annotations

import re
import sys
from errno import ENOSPC
from typing import Final, TextIO

from webhook.admission import one_line
from webhook.admission.errors import LoadError

_FULL: Final = ("cannot write the output: no space is left on the device",)
_COMMAND: Final = re.compile(r"^\s*:(?=:)|#(?=#\w*\[)", re.MULTILINE)
"""A CI system executes ``::error …`` at the start of a line, and ``##[error]``, ``##vso[…]`` or ``##teamcity[…]``
anywhere.
"""


def say(text: str, file: TextIO | None = None) -> None:
    """Print one line, in which control characters and commands of CI systems are escaped."""
    print(printable(text), file=sys.stdout if file is None else file)


def complain(command: str, error: Exception) -> None:
    """Print on standard error why a command has no answer: a line for each problem."""
    full = isinstance(error, OSError) and error.errno == ENOSPC and error.filename is None
    lines = error.problems if isinstance(error, LoadError) else _FULL if full else str(error).splitlines()
    for number, line in enumerate(lines):
        say(f"{line}" if number else f"modelgate {command}: {line}", sys.stderr)


def counted(number: int, noun: str) -> str:
    """``1 object``, ``1,200 objects``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def printable(text: str) -> str:
    """The text on one line, escaped."""
    return _COMMAND.sub(_escaped, one_line(text))


def _escaped(found: re.Match[str]) -> str:
    return f"{found[0][:-1]}\\x{ord(found[0][-1]):02x}"


def inert(text: str) -> str:
    """A line with a command of its own, in which no other one is a command."""
    return _COMMAND.sub(lambda found: _escaped(found) if found[0] == "#" else found[0], text)


def inert_json(text: str) -> str:
    """The same JSON without a command of a CI system: its lines begin with quotes, brackets or numbers."""
    return _COMMAND.sub(lambda found: f"{found[0][:-1]}\\u{ord(found[0][-1]):04x}", text)


def inert_xml(text: str) -> str:
    """The same XML without a command of a CI system."""
    return _COMMAND.sub(lambda found: f"{found[0][:-1]}&#{ord(found[0][-1])};", text)


def is_plain(text: str) -> bool:
    """Whether a text of any number of lines needs no escape."""
    return all(printable(line) == line for line in text.split("\n"))
