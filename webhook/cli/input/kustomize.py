"""Build kustomizations with kustomize or kubectl, and read what they make instead of their files."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from webhook.admission.errors import Problem, SettingsError
from webhook.cli.input.surroundings import surroundings
from webhook.manifests import documents
from webhook.manifests.reading import Manifests

__all__ = ["built"]

_SECONDS: Final = 300
"""A base of another host may take minutes; one that a stranger names may take for ever."""
_KEPT: Final = ("HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy", "SSL_CERT_FILE")
_ENVIRONMENT: Final = {
    "HOME": "/",  # no configuration of kubectl (kuberc) or Git, which could be one of the tree
    "KUBECTL_KUBERC": "false",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ALLOW_PROTOCOL": "https:ssh",
    "GIT_TERMINAL_PROMPT": "0",
}


def built(given: Manifests) -> Manifests:
    """The manifests with every kustomization built that no other one includes; their own files are skipped.

    Raises:
        SettingsError: neither kustomize nor kubectl is installed.
    """
    if not given.kustomizations:
        return given
    environment = surroundings(**_ENVIRONMENT, **{key: os.environ[key] for key in _KEPT if key in os.environ})
    command = _command(environment["PATH"])
    folders = {path.parent.resolve(): path for path in given.kustomizations}
    included = {folder for path in given.kustomizations for folder in _includes(path)}
    kept = [each for each in given.documents if not folders.keys() & set(Path(each.source).resolve().parents)]
    given.skipped["kustomize input"] += len(given.documents) - len(kept)
    given.documents = kept
    for folder, path in folders.items():
        if folder not in included:
            _build([*command, _argument(path.parent)], environment, f"{path.parent} (kustomize)", given)
    return given


def _command(path: str) -> list[str]:
    for program, arguments in (("kustomize", ["build"]), ("kubectl", ["kustomize"])):
        if found := shutil.which(program, path=path):
            return [found, *arguments]
    raise SettingsError([Problem("--kustomize", "", "neither kustomize nor kubectl is installed")])


def _argument(folder: Path) -> str:
    """The folder as an argument: a name such as ``--enable-helm`` must not be an option."""
    return str(folder) if folder.is_absolute() else f"./{folder}"


def _includes(path: Path) -> Iterator[Path]:
    """The folders that a kustomization includes."""
    for document in documents.scan_file(path).documents:
        for key in ("resources", "bases", "components"):
            items: Any = document.value.get(key)
            for item in items if isinstance(items, list) else ():
                if isinstance(item, str) and "\0" not in item:
                    yield (path.parent / item).resolve()


def _build(command: list[str], environment: dict[str, str], source: str, given: Manifests) -> None:
    try:
        done = subprocess.run(  # noqa: S603 - the user asks for it, without a shell
            command, stdin=subprocess.DEVNULL, capture_output=True, check=False, env=environment, timeout=_SECONDS
        )
    except subprocess.TimeoutExpired:
        given.problems.append(Problem(source, "", f"cannot be built within {_SECONDS} s"))
        return
    if done.returncode:
        said = " ".join(done.stderr.decode(errors="replace").split())
        given.problems.append(Problem(source, "", f"cannot be built: {said}"))
        return
    scan = documents.decode(done.stdout, source)
    given.problems += scan.faults
    given.documents += [
        each for each in scan.documents if all(isinstance(each.value.get(key), str) for key in ("apiVersion", "kind"))
    ]
