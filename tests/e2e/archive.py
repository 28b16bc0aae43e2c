"""A docker-archive of one file, written by hand: the image of the sandbox that holds a pod's namespaces."""

from __future__ import annotations

import hashlib
import io
import json
import platform
import tarfile
from pathlib import Path

MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}


def one_file_image(program: Path, tag: str) -> bytes:
    """An image whose only file, and entry point, is a static program."""
    layer = tarball({program.name: (program.read_bytes(), 0o755)})
    config = {
        "architecture": MACHINES[platform.machine()],
        "os": "linux",
        "config": {"Entrypoint": [f"/{program.name}"], "User": "65535:65535"},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
    }
    manifest = [{"Config": "config.json", "RepoTags": [tag], "Layers": ["layer.tar"]}]
    files = {
        "config.json": json.dumps(config).encode(),
        "layer.tar": layer,
        "manifest.json": json.dumps(manifest).encode(),
    }
    return tarball({name: (content, 0o644) for name, content in files.items()})


def with_entrypoint(archive: Path, entrypoint: list[str], tag: str, programs: dict[str, str]) -> bytes:
    """The image of a docker-archive under another name, with another program to start, and more programs by path."""
    layer = tarball({path: (text.encode(), 0o755) for path, text in programs.items()})
    with tarfile.open(archive) as tar:
        # Links are for old readers: the manifest names files.
        files = {each.name: file.read() for each in tar if each.isfile() and (file := tar.extractfile(each))}
    (manifest,) = json.loads(files["manifest.json"])
    config = json.loads(files.pop(manifest["Config"]))
    config["config"] |= {"Entrypoint": entrypoint, "Cmd": []}
    config["rootfs"]["diff_ids"].append(f"sha256:{hashlib.sha256(layer).hexdigest()}")
    manifest |= {"Config": "config.json", "RepoTags": [tag], "Layers": [*manifest["Layers"], "programs.tar"]}
    files |= {"config.json": json.dumps(config).encode(), "manifest.json": json.dumps([manifest]).encode()}
    files["programs.tar"] = layer
    return tarball({name: (content, 0o644) for name, content in files.items()})


def tarball(files: dict[str, tuple[bytes, int]]) -> bytes:
    """A tar of contents and modes by name."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, (content, mode) in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), mode
            tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()
