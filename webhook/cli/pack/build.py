"""`modelgate pack build`: folders of APIs as an image that a pod mounts as a volume.

Equal folders give equal bytes, and so one digest. The image has nothing but the files: no program, no link.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import stat
import struct
import tarfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any, Final

from webhook import catalog
from webhook.admission.errors import CatalogError, Problem
from webhook.catalog import built_in
from webhook.cli import GOOD
from webhook.cli.output import say
from webhook.manifests.folders import LARGEST, content_of

MANIFEST: Final = "application/vnd.oci.image.manifest.v1+json"
LAYER: Final = "application/vnd.oci.image.layer.v1.tar+gzip"
"""The one sort of layer that Flux extracts, too."""
_CONFIG: Final = "application/vnd.oci.image.config.v1+json"
_BLOCK: Final = 0xFFFF


def tarball(files: Mapping[str, bytes]) -> bytes:
    """A tar of contents by path, in the order of the paths, with no times and owners."""
    buffer = BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name in sorted(files):
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(files[name]), 0o644
            archive.addfile(member, BytesIO(files[name]))
    return buffer.getvalue()


def gzipped(content: bytes) -> bytes:
    """A gzip of stored blocks (RFC 1951, 3.2.4): compressed bytes would depend on the version of the library."""
    parts = [b"\x1f\x8b\x08\0\0\0\0\0\0\xff"]
    for start in range(0, len(content) or 1, _BLOCK):
        block = content[start : start + _BLOCK]
        parts += struct.pack("<BHH", start + _BLOCK >= len(content), len(block), len(block) ^ _BLOCK), block
    return b"".join([*parts, struct.pack("<II", zlib.crc32(content), len(content) & 0xFFFFFFFF)])


def image_manifest(content: bytes, annotations: Mapping[str, str]) -> tuple[bytes, bytes, bytes]:
    """The layer, the configuration and the manifest of an image of one tar, which a pod can mount as a volume."""
    layer = gzipped(content)
    # A platform is required. No program reads that of an image that is not in an index.
    rootfs = {"type": "layers", "diff_ids": [descriptor(LAYER, content)["digest"]]}
    config = encoded({"architecture": "amd64", "os": "linux", "config": {}, "rootfs": rootfs})
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": descriptor(_CONFIG, config),
        "layers": [descriptor(LAYER, layer)],
        "annotations": dict(annotations),
    }
    return layer, config, encoded(manifest)


def write_layout(blobs: Iterable[bytes], manifest: bytes, tag: str, target: Path) -> str:
    """Write a layout of one manifest with its blobs; returns the digest of the manifest."""
    entry = descriptor(MANIFEST, manifest) | {"annotations": {"org.opencontainers.image.ref.name": tag}}
    files = {f"blobs/sha256/{hashlib.sha256(content).hexdigest()}": content for content in (*blobs, manifest)}
    files["index.json"] = encoded({"schemaVersion": 2, "manifests": [entry]})
    files["oci-layout"] = encoded({"imageLayoutVersion": "1.0.0"})
    target.write_bytes(tarball(files))
    return str(entry["digest"])


def descriptor(media_type: str, content: bytes) -> dict[str, Any]:
    return {"mediaType": media_type, "digest": f"sha256:{hashlib.sha256(content).hexdigest()}", "size": len(content)}


def encoded(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()


_ANNOTATION: Final = "dev.modelgate.pack."
_SUFFIXES: Final = (".yaml", ".json", ".jsonl")


def run(options: argparse.Namespace) -> int:
    """Exit code 0; 2 if a folder cannot be loaded, or has what must not travel: a link, a device."""
    loaded = catalog.load(packs=options.folders)
    packs = {api: pack for api, pack in sorted(loaded.packs.items()) if api not in built_in()}
    within = "packs/" if options.beside else ""
    files = {f"{within}{name}": content for pack in packs.values() for name, content in _files(Path(str(pack.folder)))}
    files.update(_beside([folder.resolve() for folder in options.beside]))
    annotations = {f"{_ANNOTATION}{api}": loaded.added[api] for api in packs}
    layer, config, manifest = image_manifest(tarball(files), annotations)
    digest = write_layout((config, layer), manifest, options.tag, options.output)
    for api in packs:
        own = [content for name, content in files.items() if name.startswith(f"{within}{api}/")]
        say(f"pack {api} {loaded.added[api]}: {len(own)} files, {sum(map(len, own)):,} bytes")
    say(f"{options.output}: {digest}")
    return GOOD


def _beside(folders: list[Path]) -> dict[str, bytes]:
    """The files of further folders, each of which keeps its name.

    Raises:
        CatalogError: a folder has no file, or the name of another one.
    """
    files = dict[str, bytes]()
    names = ["packs", *(folder.name for folder in folders)]
    for folder in folders:
        content = dict(_files(folder))
        if not content or names.count(folder.name) > 1:
            reason = f"{folder.name} is a folder of the image already: rename it" if content else "has no YAML or JSON"
            raise CatalogError([Problem(str(folder), "", reason)])
        files.update(content)
    return files


def _files(folder: Path) -> Iterator[tuple[str, bytes]]:
    """The names, which begin with that of the folder, and contents of the files of a folder.

    Raises:
        CatalogError: with every entry that is not a file or a folder, or is too large.
    """
    problems = list[Problem]()
    for path in sorted(folder.rglob("*")):
        state, inside = path.lstat(), path.relative_to(folder)
        if any(part.startswith(".") for part in inside.parts) or stat.S_ISDIR(state.st_mode):
            continue
        if not stat.S_ISREG(state.st_mode):
            problems.append(Problem(str(path), "", "is a link or a device, which does not travel: copy the file"))
        elif state.st_size > LARGEST:
            problems.append(Problem(str(path), "", f"has {state.st_size:,} bytes; {LARGEST:,} are the most"))
        elif path.name.endswith(_SUFFIXES) and not problems:
            yield f"{folder.name}/{inside.as_posix()}", content_of(path)
    if problems:
        raise CatalogError(problems)
