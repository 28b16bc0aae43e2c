"""`modelgate pack build`: folders of APIs as an image that a pod mounts as a volume.

Equal folders give equal bytes, and so one digest. The image has nothing but the files: no program, no link.
"""

from __future__ import annotations

import argparse
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from webhook import catalog
from webhook.admission.errors import CatalogError, Problem
from webhook.catalog import Pack, built_in
from webhook.cli import GOOD
from webhook.cli.output import say
from webhook.cli.pack.oci import image_manifest, tarball, write_layout
from webhook.manifests.folders import LARGEST, content_of

_ANNOTATION: Final = "dev.modelgate.pack."
_SUFFIXES: Final = (".yaml", ".json", ".jsonl")


def run(options: argparse.Namespace) -> int:
    """Exit code 0; 2 if a folder cannot be loaded, or has what must not travel: a link, a device."""
    loaded = catalog.load(packs=options.folders)
    packs = {api: pack for api, pack in sorted(loaded.packs.items()) if api not in built_in()}
    files = {name: content for pack in packs.values() for name, content in _files(pack)}
    annotations = {f"{_ANNOTATION}{api}": loaded.added[api] for api in packs}
    layer = tarball(files)
    config, manifest = image_manifest(layer, annotations)
    digest = write_layout((config, layer), manifest, options.tag, options.output)
    for api in packs:
        own = [content for name, content in files.items() if name.startswith(f"{api}/")]
        say(f"pack {api} {loaded.added[api]}: {len(own)} files, {sum(map(len, own)):,} bytes")
    say(f"{options.output}: {digest}")
    return GOOD


def _files(pack: Pack) -> Iterator[tuple[str, bytes]]:
    """The names, which begin with that of the pack, and contents of the files of a pack.

    Raises:
        CatalogError: with every entry that is not a file or a folder, or is too large.
    """
    folder, problems = Path(str(pack.folder)), list[Problem]()
    for path in sorted(folder.rglob("*")):
        state, inside = path.lstat(), path.relative_to(folder)
        if any(part.startswith(".") for part in inside.parts) or stat.S_ISDIR(state.st_mode):
            continue
        if not stat.S_ISREG(state.st_mode):
            problems.append(Problem(str(path), "", "is a link or a device, which does not travel: copy the file"))
        elif state.st_size > LARGEST:
            problems.append(Problem(str(path), "", f"has {state.st_size:,} bytes; {LARGEST:,} are the most"))
        elif path.name.endswith(_SUFFIXES) and not problems:
            yield f"{pack.folder.name}/{inside.as_posix()}", content_of(path)
    if problems:
        raise CatalogError(problems)
