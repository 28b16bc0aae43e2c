"""The values of variables that a user gives: as flags, or as lines of a file."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class Substitute(argparse.Action):
    """Collect values by name; a later one counts. A flag whose metavar is FILE names a file with them."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        del parser, option
        lines = self._lines(values) if self.metavar == "FILE" else iter([values])
        found = dict(getattr(namespace, self.dest))
        for line in lines:
            name, equals, value = line.partition("=")
            if not equals or not name.isidentifier() or not name.isascii():
                raise argparse.ArgumentError(self, f"expected NAME=VALUE, got {line!r}")
            found[name] = value
        setattr(namespace, self.dest, found)

    def _lines(self, path: str) -> Iterator[str]:
        """The lines of a file, without comments and the word that exports a variable of a shell."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise argparse.ArgumentError(self, f"{path} cannot be read: {error}") from None
        for line in text.splitlines():
            stripped = line.strip().removeprefix("export ").strip()
            if stripped and not stripped.startswith("#"):
                name, equals, value = stripped.partition("=")
                quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
                yield f"{name}{equals}{value[1:-1] if quoted else value}"
