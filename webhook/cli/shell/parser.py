"""The parser of the command line: usage errors end with code 64, and name the option or command that may be meant."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias

from webhook.cli import ALIASES, COMMANDS, USAGE
from webhook.cli.output import say

if TYPE_CHECKING:
    from webhook.catalog import KnownKind

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001 - argparse has no other name for it
"""Where a command adds its parser."""

Flags: TypeAlias = "argparse._ActionsContainer"  # noqa: SLF001 - as above
"""A parser, or a group of it."""

_CHOICE: Final = re.compile(r"invalid choice: '(?P<word>[^']*)' \(choose from (?P<choices>.*)\)")
_UNKNOWN: Final = re.compile(r"unrecognized arguments: (?P<word>--[\w-]+)")


def command(
    commands: Commands, name: str, description: str, epilog: str = "", files: str = ""
) -> argparse.ArgumentParser:
    """Add the parser of a command; line breaks in ``epilog``, which holds its examples, stay. ``files`` stands for its
    usage where that would list too many flags.
    """
    return commands.add_parser(
        name,
        usage=f"modelgate {name} [OPTION ...] {files}" if files else None,
        help=COMMANDS[name][1],
        aliases=[alias for alias, of in ALIASES.items() if of == name],
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter if epilog else argparse.HelpFormatter,
    )


def group(parser: argparse.ArgumentParser, title: str) -> Flags:
    """The flags with a title in the help of a command, where several modules add some."""
    found = (each for each in parser._action_groups if each.title == title)  # noqa: SLF001 - no other way to them
    return next(found, None) or parser.add_argument_group(title)


def nearest(word: str, known: list[str]) -> str:
    """What to add to a message about an unknown word: "; did you mean …?", or "" if no known word is like it."""
    lower = {each.lower(): each for each in known}
    found = get_close_matches(word.lower(), list(lower), 3)
    return f"; did you mean {' or '.join(lower[each] for each in found)}?" if found else ""


def of_name(word: str | None, kinds: Iterable[KnownKind]) -> list[KnownKind]:
    """The kinds of a name as kubectl takes it: kind or resource, alone or with the group; all without a name."""
    wanted = (word or "").lower()
    return [kind for kind in kinds if not word or wanted in _names(kind.gvk.kind.lower(), kind.plural, kind.gvk.group)]


def _names(kind: str, plural: str, group: str) -> tuple[str, ...]:
    return kind, plural, f"{kind}.{group}", f"{plural}.{group}"


def unknown_kind(word: str, known: Iterable[KnownKind]) -> str:
    """Say that there is no such kind, with those that are like it, or with all."""
    names = sorted({each.gvk.kind for each in known})
    return f"unknown kind {word!r}{nearest(word, names) or '; known kinds: ' + ', '.join(names)}"


class Once(argparse._StoreAction):  # noqa: SLF001 - argparse has no other name for it
    """A value that is given once: of two different ones, the first would be ignored in silence."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        given = parser.given if option_string and isinstance(parser, Parser) else {}
        if given.setdefault(self.dest, values) != values:
            parser.error(f"{option_string} is given twice: {given[self.dest]} and {values}")
        super().__call__(parser, namespace, values, option_string)


class _Value(Once):
    """As argparse's usual action, but a file or a folder is given once."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        super().__call__(parser, namespace, values, option_string if self.type is Path else None)


class Parser(argparse.ArgumentParser):
    """As argparse's. An unknown option is reported with the usage of its command, not of the program."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **more})
        self.register("action", None, _Value)
        self.given = dict[str, Any]()
        self._is_in_pass = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse's, but arguments may stand between options (``export policies --policies=DIR KIND``), and a
        subcommand does not hand its unknown options up.
        """
        if self._is_in_pass:  # argparse parses the options first, then the arguments
            return super().parse_known_args(args, namespace)
        self.given.clear()
        self._is_in_pass = self._subparsers is None and "--" not in (args or ())  # Python 3.11 loses -- between passes
        try:
            parse = self.parse_known_intermixed_args if self._is_in_pass else super().parse_known_args
            found, unknown = parse(args, namespace)
        finally:
            self._is_in_pass = False
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown

    def error(self, message: str) -> NoReturn:
        if found := _CHOICE.search(message):
            message += nearest(found["word"], re.findall(r"[\w-]+", found["choices"]))
        elif found := _UNKNOWN.search(message):
            options = [option for action in self._actions for option in action.option_strings]
            message += nearest(found["word"], options)
        say(f"{self.prog}: {message}", sys.stderr)
        say(f"`{self.prog} --help` lists commands and options", sys.stderr)
        raise SystemExit(USAGE)
