"""The programs of a real cluster: found, or built from Go modules.

``python -m tests.e2e.assets [plane|node|alerts]`` prints where they are. Each program is looked for in
KUBEBUILDER_ASSETS, then in a cache outside the checkout, then built into that cache: about six minutes for all of
them on two cores, once.
MODELGATE_E2E_KUBERNETES chooses another release, which gets a cache of its own.
"""

from __future__ import annotations

import fcntl
import os
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.machine import Unavailable, require_go
from tests.e2e.recipes import KUBERNETES, RECIPES, Recipe

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "modelgate" / f"assets-{KUBERNETES}"


@dataclass(frozen=True, slots=True)
class Assets:
    """Where the programs are: ``assets("etcd")`` is a path."""

    paths: dict[str, Path]

    def __call__(self, name: str) -> Path:
        return self.paths[name]

    def search_path(self) -> str:
        """A PATH on which ours come first: containerd looks for its shim there."""
        folders = dict.fromkeys(str(path.parent) for path in self.paths.values())
        return os.pathsep.join([*folders, os.environ["PATH"]])


def assets(kind: str) -> Assets:
    """The programs of a ``plane``, or of a whole ``node``; builds what is nowhere. Raises Unavailable."""
    recipes = RECIPES[kind]
    absent = [recipe for recipe in recipes if not found(recipe.name)]
    if absent:
        build(absent)
    return Assets({recipe.name: found(recipe.name) for recipe in recipes})


def found(name: str) -> Path | None:
    given = os.environ.get("KUBEBUILDER_ASSETS")
    folders = [Path(given), CACHE] if given else [CACHE]
    return next((path for folder in folders if os.access(path := folder / name, os.X_OK)), None)


def build(recipes: Iterable[Recipe]) -> None:
    require_go()
    with locked(CACHE):
        for recipe in recipes:
            if not found(recipe.name):  # a second session has waited for the first one's lock
                build_one(recipe)


def build_one(recipe: Recipe) -> None:
    started = time.monotonic()
    print(f"building {recipe.name} …", end=" ", file=sys.stderr, flush=True)
    unfinished = CACHE / f"{recipe.name}.part"
    recipe.build(unfinished, CACHE / "src")
    unfinished.rename(CACHE / recipe.name)
    print(f"{time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def main(arguments: list[str]) -> None:
    parser = ArgumentParser(prog="assets", description="Find or build the programs of a cluster; print where they are.")
    parser.add_argument(
        "kind",
        nargs="?",
        choices=RECIPES,
        default="node",
        help="what to build",
    )
    try:
        print(*assets(parser.parse_args(arguments).kind).paths.values(), sep="\n")
    except Unavailable as reason:
        sys.exit(f"assets: {reason}")


if __name__ == "__main__":
    main(sys.argv[1:])
