"""Gather the pages of the site: those of ``docs/`` as they are, and those that are made."""

from __future__ import annotations

import argparse
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tools.site.authors import author_pages
from tools.site.rules import rule_pages
from webhook.cli import COMMANDS
from webhook.cli.shell.running import parser

__all__ = ["ROOT", "assemble", "command_line"]

ROOT: Final = Path(__file__).parents[2]
_OUTSIDE: Final = re.compile(r"\[([^\]]*)\]\((?:\.\./)+(?!rules|codes|how-to|schemas)[^)]*\)")
"""A link from a page to a file of the repository that is not a page."""
_WIDTH: Final = "100"


def assemble(target: Path) -> None:
    """Write the sources of the site into a folder, which is emptied first."""
    shutil.rmtree(target, ignore_errors=True)
    pages = target / "docs"
    for source in sorted((ROOT / "docs").rglob("*")):
        name = source.relative_to(ROOT / "docs")
        if source.is_dir():
            continue
        (pages / name).parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == ".md":
            (pages / name).write_text(_for_site(source.read_text(), outermost=len(name.parts) == 1))
        else:
            shutil.copy(source, pages / name)
    shutil.copytree(ROOT / "tools" / "site" / "assets", pages / "assets")
    for made, text in (("cli.md", command_line()), *rule_pages(), *author_pages()):
        (pages / made).parent.mkdir(parents=True, exist_ok=True)
        (pages / made).write_text(text)
    shutil.copy(ROOT / "mkdocs.yml", target / "mkdocs.yml")


def _for_site(text: str, *, outermost: bool) -> str:
    """A page with the links that the site has, and without a pattern in a message that reads as a link."""
    text = text.replace("](rules/)", "](codes/index.md)").replace("]([", "&#93;([")
    return _OUTSIDE.sub(r"\1", text) if outermost else text


def command_line() -> str:
    """The help of every command, as it is printed."""
    os.environ["COLUMNS"] = _WIDTH
    whole = parser(set(COMMANDS))
    return "\n".join(["# The command line", "", *_helps("modelgate", whole, 2)])


def _helps(name: str, found: argparse.ArgumentParser, level: int) -> Iterator[str]:
    yield f"{'#' * level} {name}\n\n```text\n{found.format_help().rstrip()}\n```\n"
    for action in found._actions:  # noqa: SLF001 - argparse has no other way to its commands
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            seen = set()
            for word, each in action.choices.items():
                if id(each) not in seen:
                    seen.add(id(each))
                    yield from _helps(f"{name} {word}", each, level + 1)
