"""Build kustomizations with kustomize or kubectl, and read what they make instead of their files."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from webhook.admission.errors import Problem, SettingsError
from webhook.cli.input.repository import surroundings
from webhook.cli.terminal import progress
from webhook.facts.nodes import at
from webhook.library.explained import leaves
from webhook.manifests import documents
from webhook.manifests.documents import Document
from webhook.manifests.reading import Manifests

_SECONDS: Final = 300
"""A base of another host may take minutes; one that a stranger names may take for ever."""
_LONGEST: Final = 400
"""Characters of a path that a kustomization names; longer texts are patches."""
_ORIGIN: Final = "config.kubernetes.io/origin"
_LOG: Final = re.compile(r"[WI]\d{4} |# Warning")
"""A line of the log of kubectl or kustomize that is not why a build fails."""
_LOGGED: Final = re.compile(r'E\d{4} .*? err="(?P<why>.*)"')
"""The line of the log in which kubectl says why."""
_OURS: Final = re.compile(r".*?: recursed accumulation of path '[^']*': ")
"""What is said of the kustomization around the one to build."""
_SUFFIXES: Final = frozenset({".yaml", ".yml", ".json"})
_KEPT: Final = ("HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy", "SSL_CERT_FILE")
_ENVIRONMENT: Final = {
    "HOME": "/",  # no configuration of kubectl (kuberc) or Git, which could be one of the tree
    "KUBECTL_KUBERC": "false",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ALLOW_PROTOCOL": "https:ssh",
    "GIT_TERMINAL_PROMPT": "0",
}


def built(
    given: Manifests, named: Collection[Path], *, restricted: bool, concerns: Callable[[bytes], bool]
) -> Manifests:
    """The manifests with every kustomization built that no other one includes; their own files are skipped.

    They are built as Flux does, with files from above their folder, unless they are ``restricted``. One that cannot be
    built is a problem if its folder is ``named``, or may hold an object to judge: ``concerns`` tells that of a text.

    Raises:
        SettingsError: neither kustomize nor kubectl is installed.
    """
    if not given.kustomizations:
        return given
    environment = surroundings(**_ENVIRONMENT, **{key: os.environ[key] for key in _KEPT if key in os.environ})
    command = [*_command(environment["PATH"]), *(() if restricted else ("--load-restrictor", "LoadRestrictionsNone"))]
    folders = {path.parent.resolve(): path for path in given.kustomizations}
    included = {folder for path in given.kustomizations for folder in _includes(path)}
    places = {id(each): Path(each.source).resolve() for each in given.documents}
    inside = [each for each in given.documents if _is_input(places[id(each)], folders, included)]
    left_out = set(map(id, inside))
    given.documents = [each for each in given.documents if id(each) not in left_out]
    asked = {each.resolve() for each in named}
    roots = [path for folder, path in folders.items() if folder not in included and not _is_component(path)]
    builds = [_Build(path, command, environment, given) for path in roots]
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # each waits for a program of its own
        for build, output in zip(progress(builds, "built"), pool.map(_Build.run, builds), strict=True):
            if isinstance(output, str):
                wanted = build.path.parent.resolve() in asked
                _add_fault(Problem(str(build.path), "", output), build.path, given, concerns, named=wanted)
            else:
                build.add(output)
    _count_inputs(inside, places, given)
    return given


def _count_inputs(inside: Sequence[Document], places: Mapping[int, Path], given: Manifests) -> None:
    """Count what is in a folder of a kustomization. A file that none names is in no build, as if it were not there."""
    named = {file for path in given.kustomizations for file in _named_files(path)}
    forgotten = dict.fromkeys(each.source for each in inside if places[id(each)] not in named)
    given.skipped["kustomize input"] += sum(each.source not in forgotten for each in inside)
    given.skipped["file that is in no build"] += len(forgotten)
    given.skipped = +given.skipped
    given.unread += [Problem(source, "", "is in no build: no kustomization names it") for source in forgotten]


def _named_files(path: Path) -> Iterator[Path]:
    """The files that a kustomization names anywhere: as resources, patches, values of charts or of generators."""
    for document in documents.scan_file(path).documents:
        for _, text in leaves((), document.value, lists=True):
            if isinstance(text, str) and len(text) <= _LONGEST and text.isprintable():
                yield (path.parent / text.rpartition("=")[2]).resolve()


def _is_input(file: Path, folders: Collection[Path], included: Collection[Path]) -> bool:
    """Whether a file is part of a kustomization: below its folder, or named by it."""
    return file in included or any(each in folders for each in file.parents)


def _add_fault(fault: Problem, path: Path, given: Manifests, concerns: Callable[[bytes], bool], *, named: bool) -> None:
    """A kustomization that cannot be built: no concern if none of its files may be one to judge."""
    parts = [path.parent, *_includes(path)]
    every = [each for part in parts for each in (part.rglob("*") if part.is_dir() else [part])]
    files = (each for each in every if each.suffix in _SUFFIXES and each.is_file())
    if named or any(concerns(each.read_bytes()) for each in files):
        given.problems.append(fault)
    else:
        given.unread.append(fault)
        given.skipped["kustomization that cannot be built"] += 1


def _is_component(path: Path) -> bool:
    """Whether it is only a part of others."""
    return any(each.value.get("kind") == "Component" for each in documents.scan_file(path).documents)


def _command(path: str) -> list[str]:
    for program, arguments in (("kustomize", ["build"]), ("kubectl", ["kustomize"])):
        if found := shutil.which(program, path=path):
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


class _Build:
    """One build, by a kustomization around it that asks for the origin of each object."""

    def __init__(self, path: Path, command: list[str], environment: dict[str, str], given: Manifests) -> None:
        self.path, self._folder, self._around = path, path.parent, Path()
        self._command, self._environment, self._given = command, environment, given
        self._origins: dict[Path, list[Document]] = {}

    def run(self) -> bytes | str:
        """What is built, or why it cannot be built. Nothing is shared with another build."""
        with tempfile.TemporaryDirectory() as name:
            self._around = around = Path(name).resolve()
            resource = os.path.relpath(self._folder.resolve(), around)
            text = json.dumps({"resources": [resource], "buildMetadata": ["originAnnotations"]})
            (around / "kustomization.yaml").write_text(text)
            command = [*self._command, str(around)]
            try:
                done = subprocess.run(  # noqa: S603 - the user asks for it, without a shell
                    command,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    check=False,
                    env=self._environment,
                    timeout=_SECONDS,
                )
            except subprocess.TimeoutExpired:
                return f"cannot be built within {_SECONDS} s"
            if done.returncode:
                return f"cannot be built: {_why(done.stderr.decode(errors='replace')).replace(str(around), '')}"
        return done.stdout

    def add(self, output: bytes) -> None:
        """Add what is built to what is given."""
        scan = documents.decode(output, f"{self._folder} (kustomize)")
        self._given.problems += scan.faults
        for each in scan.documents:
            if all(isinstance(each.value.get(key), str) for key in ("apiVersion", "kind")):
                self._given.documents.append(replace(self._placed(each), built=self._folder))

    def _placed(self, built: Document) -> Document:
        """The object with the place of the file that it is from, and without the annotation that names that file."""
        metadata = built.value.get("metadata")
        annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
        if not isinstance(metadata, dict) or not isinstance(annotations, dict) or _ORIGIN not in annotations:
            return built
        kept = {key: item for key, item in annotations.items() if key != _ORIGIN}
        rest = {key: item for key, item in metadata.items() if key != "annotations"}
        value = {**built.value, "metadata": {**rest, **({"annotations": kept} if kept else {})}}
        found = documents.scan_text(str(annotations[_ORIGIN]), "").documents
        origin = found[0].value.get("path") if found else None
        is_path = isinstance(origin, str) and "\0" not in origin
        written = self._written(value, self._around / str(origin)) if is_path else None
        return replace(built if written is None else written, value=value)

    def _written(self, value: dict[str, Any], file: Path) -> Document | None:
        """The object of a file from which one is built: of the same kind, with a name that is part of the new one."""
        path = Path(os.path.relpath(file)) if not self._folder.is_absolute() else Path(os.path.normpath(file))
        if path not in self._origins:
            self._origins[path] = documents.scan_file(path).documents if path.is_file() else []
        alike = [
            each
            for each in self._origins[path]
            if (each.value.get("apiVersion"), each.value.get("kind")) == (value["apiVersion"], value["kind"])
        ]
        named = (each for each in alike if _name(each.value) and _name(each.value) in _name(value))
        return max(named, key=lambda each: len(_name(each.value)), default=alike[0] if alike else None)


def _why(said: str) -> str:
    """Why a build fails, in one line."""
    lines = (line for line in said.splitlines() if not _LOG.match(line))
    found = (logged["why"].replace('\\"', '"') if (logged := _LOGGED.match(line)) else line for line in lines)
    text = _OURS.sub("", " ".join(" ".join(found).split()), count=1)
    return text or "no reason is given"


def _name(value: dict[str, Any]) -> str:
    return str(at(value, "metadata", "name") or "")
