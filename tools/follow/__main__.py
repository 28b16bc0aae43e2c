"""``python -m tools.follow REPOSITORY``: what is new in the releases of an upstream.

It writes the table of releases, drafts of definitions, and which functions to look at; `git diff` shows them. It prints
what a person must judge. The exit code is 0 if nothing is new and nothing is to be looked at, 1 if something is, and 2
if something cannot be read.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Final

from tools.follow import upstream
from tools.follow.draft import drafts
from tools.follow.following import TABLE, Following, follow
from webhook import catalog
from webhook.admission.errors import LoadError
from webhook.catalog import Catalog
from webhook.cli.output import say

POLICIES: Final = Path(__file__).parents[2] / "policies"


def main(argv: list[str] | None = None, policies: Path = POLICIES) -> int:
    """The exit code. ``policies`` is the folder of the built-in packs."""
    options = _parser(policies).parse_args(argv)
    folder = _folder(options.api, policies)
    try:
        following = follow(options.repository, upstream.read(folder / upstream.FILE), folder)
        steps, watches = following.steps(options.since), following.looked_at(options.looked)
        upstream.write(folder / upstream.FILE, watches)
        written = [*drafts(folder, following.definitions)]
        for draft, text in written:
            draft.parent.mkdir(exist_ok=True)
            draft.write_text(text)
        loaded = _loaded(folder, policies, following)
        for line in following.lines(steps, watches, loaded):
            say(line)
        for draft, _ in written:
            say(f"the definitions of all releases are in {draft}")
    except LoadError as error:
        for each in error.problems:
            say(f"follow: {each}", sys.stderr)
        return 2
    for each in following.problems:
        say(f"follow: {each}", sys.stderr)
    return 2 if following.problems else int(bool(steps) or any(each.lookAt for each in watches))


def _folder(api: str, policies: Path) -> Path:
    """The folder of a pack: a built-in one by its name, another one by its path."""
    return policies / api if (policies / api).is_dir() else Path(api).resolve()


def _loaded(folder: Path, policies: Path, following: Following) -> Catalog:
    """The built-in packs, and the one that is followed, with its new table. While it is loaded, the table also has a
    head that is a release now: ranges may name both.

    Raises:
        LoadError: a pack has mistakes.
    """
    built_in = None if policies == POLICIES else policies
    table = folder / TABLE
    table.write_text(following.table(with_head=True))
    try:
        return catalog.load(built_in, packs=[] if folder.parent == policies else [folder])
    finally:
        table.write_text(following.table())


def _parser(policies: Path) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.follow", description=__doc__)
    known = sorted(each.parent.name for each in policies.glob(f"*/{upstream.FILE}"))
    add = parser.add_argument
    add("repository", type=Path, metavar="REPOSITORY", help="a clone of the upstream, with its tags")
    text = f"its pack: {', '.join(known)}, or the path of a folder with {upstream.FILE}"
    add("--api", metavar="PACK", required=True, help=text)
    add("--since", metavar="RELEASE", help="print what is new after this release, not only what the table lacks")
    add("--looked", metavar="FUNCTION", action="append", default=[], help="you looked at this function; repeatable")
    return parser


if __name__ == "__main__":
    sys.exit(main())
