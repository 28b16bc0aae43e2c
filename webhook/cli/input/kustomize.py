"""Build kustomizations with kustomize or kubectl, and read what they make instead of their files."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from webhook.admission.errors import Problem, SettingsError
from webhook.manifests import documents
from webhook.manifests.reading import Manifests

__all__ = ["built"]


def built(given: Manifests) -> Manifests:
    """The manifests with every kustomization built that no other one includes; their own files are skipped.

    Raises:
        SettingsError: neither kustomize nor kubectl is installed.
    """
    if not given.kustomizations:
        return given
    command = _command()
    folders = {path.parent.resolve(): path for path in given.kustomizations}
    included = {folder for path in given.kustomizations for folder in _includes(path)}
    kept = [each for each in given.documents if not folders.keys() & set(Path(each.source).resolve().parents)]
    given.skipped["kustomize input"] += len(given.documents) - len(kept)
    given.documents = kept
    for folder, path in folders.items():
        if folder not in included:
            _build([*command, str(path.parent)], f"{path.parent} (kustomize)", given)
    return given


def _command() -> list[str]:
    for program, arguments in (("kustomize", ["build"]), ("kubectl", ["kustomize"])):
        if found := shutil.which(program):
            return [found, *arguments]
    raise SettingsError([Problem("--kustomize", "", "neither kustomize nor kubectl is installed")])


def _includes(path: Path) -> Iterator[Path]:
    """The folders that a kustomization includes."""
    for document in documents.scan_file(path).documents:
        for key in ("resources", "bases", "components"):
            items: Any = document.value.get(key)
            for item in items if isinstance(items, list) else ():
                if isinstance(item, str) and "\0" not in item:
                    yield (path.parent / item).resolve()


def _build(command: list[str], source: str, given: Manifests) -> None:
    done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603 - the user asks for it, without a shell
    if done.returncode:
        said = " ".join(done.stderr.decode(errors="replace").split())
        given.problems.append(Problem(source, "", f"cannot be built: {said}"))
        return
    scan = documents.decode(done.stdout, source)
    given.problems += scan.faults
    given.documents += [
        each for each in scan.documents if all(isinstance(each.value.get(key), str) for key in ("apiVersion", "kind"))
    ]
