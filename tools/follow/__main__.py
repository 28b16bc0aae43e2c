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
from tools.follow.following import TABLE, follow
from webhook import catalog
from webhook.admission.errors import LoadError
from webhook.cli.output import say

POLICIES: Final = Path(__file__).parents[2] / "policies"


def main(argv: list[str] | None = None, upstreams: Path = upstream.FOLDER, policies: Path = POLICIES) -> int:
    """The exit code. ``upstreams`` and ``policies`` are the folders of what it reads and writes."""
    options = _parser(upstreams).parse_args(argv)
    file, folder = upstreams / f"{options.api}.yaml", policies / options.api
    try:
        following = follow(options.repository, upstream.read(file), folder)
        steps, watches = following.steps(options.since), following.looked_at(options.looked)
        (folder / TABLE).write_text(following.table())
        upstream.write(file, watches)
        written = [*drafts(folder, following.definitions)]
        for draft, text in written:
            draft.parent.mkdir(exist_ok=True)
            draft.write_text(text)
        loaded = catalog.load(None if policies == POLICIES else policies)  # ranges may name the new releases
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


def _parser(upstreams: Path) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.follow", description=__doc__)
    known = sorted(each.stem for each in upstreams.glob("*.yaml"))
    add = parser.add_argument
    add("repository", type=Path, metavar="REPOSITORY", help="a clone of the upstream, with its tags")
    add("--api", choices=known, default=known[0], help="the API (default %(default)s)")
    add("--since", metavar="RELEASE", help="print what is new after this release, not only what the table lacks")
    add("--looked", metavar="FUNCTION", action="append", default=[], help="you looked at this function; repeatable")
    return parser


if __name__ == "__main__":
    sys.exit(main())
