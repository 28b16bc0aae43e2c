"""Gather the pages of the site: those of ``docs/`` as they are, and those that are made."""

from __future__ import annotations

import argparse
import os
import re
import shutil
from collections.abc import Iterator
from itertools import starmap
from pathlib import Path
from typing import Final

from tools.site.authors import author_pages
from tools.site.codes import codes_page
from tools.site.rules import rule_pages
from tools.site.told import Told
from webhook import catalog
from webhook.cli import COMMANDS
from webhook.cli.rule import explained
from webhook.cli.shell.running import parser

ROOT: Final = Path(__file__).parents[2]
_OUTSIDE: Final = re.compile(r"\[([^\]]*)\]\((?:\.\./)+(?!rules|codes|how-to|schemas)[^)]*\)")
"""A link from a page to a file of the repository that is not a page."""
_PAGES: Final = {"](rules/)": "](codes/index.md)", "](../CONTRIBUTING.md": "](contributing.md", "]([": "&#93;(["}
_CODE: Final = re.compile(r"^\| ([A-Z]{2}\d{3}) \|", re.MULTILINE)
"""A code at the start of a row."""
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
    for made, text in (("cli.md", command_line()), ("contributing.md", _contributing()), *_codes(), *author_pages()):
        (pages / made).parent.mkdir(parents=True, exist_ok=True)
        (pages / made).write_text(text)
    shutil.copy(ROOT / "mkdocs.yml", target / "mkdocs.yml")


def _contributing() -> str:
    """The page for contributors, which is above ``docs/``."""
    text = re.sub(r"\[([^\]]*)\]\((?!#|docs/|https?:)[^)]*\)", r"\1", (ROOT / "CONTRIBUTING.md").read_text())
    return text.replace("](docs/", "](")


def _codes() -> Iterator[tuple[str, str]]:
    """The pages about rules."""
    pages: dict[str, list[Told]] = {}
    for each in sorted(starmap(Told, explained(catalog.load())), key=lambda told: (told.api, told.code)):
        pages.setdefault(each.code, []).append(each)
    yield "codes/index.md", codes_page(pages)
    yield from rule_pages(pages)


def _for_site(text: str, *, outermost: bool) -> str:
    """A page with the links that the site has, and without a pattern in a message that reads as a link."""
    for old, new in _PAGES.items():
        text = text.replace(old, new)
    if outermost:
        return _OUTSIDE.sub(r"\1", text)
    return _CODE.sub(lambda found: f"| [{found[1]}](../codes/{found[1].lower()}.md) |", text)


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
