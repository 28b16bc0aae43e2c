"""The oracle: Kubernetes' own code as a program, found, or built from the Go source in ``src``.

``python -m tests.oracle.build [KUBERNETES]`` prints where it is. It is built once for each release and each state of
the source, into a cache outside the checkout; MODELGATE_ORACLE names a program that is already built.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
import time
from argparse import ArgumentParser
from pathlib import Path

from tests.e2e.assets import locked
from tests.e2e.machine import Unavailable
from tests.e2e.recipes import go

SOURCE = Path(__file__).with_name("src")
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "modelgate"
MODULES = ("api", "apiextensions-apiserver", "apimachinery", "apiserver", "client-go")


def pinned() -> str:
    """The Kubernetes release that ``go.mod`` and ``go.sum`` pin."""
    found = re.search(r"k8s\.io/apiserver v0\.(\S+)", (SOURCE / "go.mod").read_text())
    assert found is not None
    return f"1.{found[1]}"


def folder(kubernetes: str) -> Path:
    """Where the program of a release lies: named for the source, too, so that a change of it is built anew."""
    files = sorted(path for path in SOURCE.rglob("*") if path.is_file())
    content = b"\0".join(part for path in files for part in (str(path.relative_to(SOURCE)).encode(), path.read_bytes()))
    return CACHE / f"oracle-{kubernetes}-{hashlib.sha256(content).hexdigest()[:12]}"


def find_oracle(kubernetes: str | None = None) -> Path | None:
    """The program, if it is already built."""
    named = os.environ.get("MODELGATE_ORACLE")
    if named and kubernetes is None:
        return Path(named)
    path = folder(kubernetes or pinned()) / "oracle"
    return path if os.access(path, os.X_OK) else None


def oracle(kubernetes: str | None = None) -> Path:
    """The program, built where it is absent. Raises Unavailable without Go, or if that release does not build."""
    return find_oracle(kubernetes) or _build(kubernetes or pinned())


def _build(kubernetes: str) -> Path:
    if not shutil.which("go"):
        raise Unavailable("needs Go to build the oracle: install Go 1.26, or set MODELGATE_ORACLE")
    target = folder(kubernetes)
    with locked(target):
        program = target / "oracle"
        if not program.exists():  # a second process has waited for the first one's lock
            print(f"building the oracle of Kubernetes {kubernetes} …", end=" ", file=sys.stderr, flush=True)
            started = time.monotonic()
            sources = target / "src"
            shutil.copytree(SOURCE, sources, dirs_exist_ok=True)
            if kubernetes != pinned():
                _require(kubernetes, sources)
            go("build", "-mod=readonly", "-ldflags=-s -w", "-o", str(target / "oracle.part"), ".", folder=sources)
            (target / "oracle.part").rename(program)
            print(f"{time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    return program


def _require(kubernetes: str, sources: Path) -> None:
    """Pin another release: its modules bring the versions of everything else, cel-go included."""
    version = "v0." + kubernetes.removeprefix("1.")
    for name in ("go.mod", "go.sum"):
        (sources / name).unlink()
    go("mod", "init", "oracle", folder=sources)
    go("get", *(f"k8s.io/{module}@{version}" for module in MODULES), folder=sources)
    go("mod", "tidy", folder=sources)


def main(arguments: list[str]) -> None:
    parser = ArgumentParser(prog="oracle", description="Find or build the oracle; print where it is.")
    parser.add_argument("kubernetes", nargs="?", help=f"a release such as {pinned()}, which go.mod pins")
    try:
        print(oracle(parser.parse_args(arguments).kubernetes))
    except Unavailable as reason:
        sys.exit(f"oracle: {reason}")


if __name__ == "__main__":
    main(sys.argv[1:])
