"""Read the manifests of a repository: what is a manifest is read, everything else is skipped and counted."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from errno import ENOENT
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import Any, Final

from webhook.admission.errors import Problem
from webhook.manifests import documents
from webhook.manifests.documents import Document, Scan, repeats_of
from webhook.manifests.files import Boundary, Contents, content

KUSTOMIZATIONS: Final = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_KUSTOMIZE: Final = "kustomize.config.k8s.io/"
_NEAR: Final = 3
"""A patch is beside its kustomization, or at most two folders below it."""
_SUFFIXES: Final = frozenset({".yaml", ".yml", ".json"})


@dataclass(frozen=True, slots=True)
class Reading:
    """How to read paths.

    ``strict`` reads every file of a folder as a manifest, as a folder of policies is read. ``exclude`` are patterns of
    paths to skip. ``lenient`` also skips what is not a manifest where a file is named, not only its folder. ``pipes``
    also reads a named pipe where a file is named, and waits for its writer. ``concerns`` tells of the bytes of a file
    that cannot be read whether they may be an object to judge: if not, the file is not a problem. By default every such
    file is one. ``repeating`` takes an object with a key that is written twice as one of the documents; otherwise it
    cannot be read. ``progress`` passes the files of a folder on, and may tell how far it is.
    """

    strict: bool = False
    lenient: bool = False
    repeating: bool = False
    pipes: bool = False
    exclude: tuple[str, ...] = ()
    concerns: Callable[[bytes], bool] = field(default=lambda _: True, repr=False)
    progress: Callable[[Sequence[Path]], Iterable[Path]] = field(default=lambda files: files, repr=False)

    def excludes(self, path: Path) -> bool:
        """Whether a pattern matches the path, its end, or a folder above it."""
        tails = ["/".join(path.parts[start:]) for start in range(len(path.parts))]
        return any(fnmatch(tail, each) or fnmatch(tail, f"{each}/*") for each in self.exclude for tail in tails)


@dataclass(slots=True)
class Manifests:
    """What paths hold. ``skipped`` counts what is not read, by its reason; ``charts`` are folders of Helm charts, and
    ``kustomizations`` the files of kustomize. ``unread`` is what cannot be read and does not concern the reader.
    """

    documents: list[Document] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    charts: list[Path] = field(default_factory=list)
    kustomizations: list[Path] = field(default_factory=list)
    unread: list[Problem] = field(default_factory=list)


def read_paths(paths: Sequence[Path | Contents], how: Reading) -> Manifests:
    """Read files and the manifests in folders, whose links are followed within a boundary; ``-`` is standard input."""
    found = Manifests()
    for path in paths:
        if isinstance(path, Contents):
            for name, each in path.files:
                if name.endswith(tuple(_SUFFIXES)):
                    _add(documents.decode(each, name), found, lenient=False)
        elif str(path) == "-":
            _add_standard_input(how, found)
        elif path.is_dir() and not how.strict and (chart := _chart_of(path)):
            _skip_templates(chart, _count(path), found)
        elif path.is_dir():
            _add_folder(path, how, found)
        elif how.excludes(path):
            found.skipped["excluded"] += 1
        elif how.lenient and (chart := _chart_of(path)):
            _skip_templates(chart, 1, found)
        elif how.lenient:
            _add_file(path, documents.scan_file(path, pipe=how.pipes), _patches_near(path), found, how)
        else:
            _add(documents.scan_file(path), found, lenient=False)
    return found


def read_text(path: Path, text: str, how: Reading) -> Manifests:
    """What a file would hold with this text, such as one that is being edited, as if its folder were read."""
    manifests = Manifests()
    if chart := _chart_of(path):
        _skip_templates(chart, 1, manifests)
    elif how.excludes(path):
        manifests.skipped["excluded"] += 1
    else:
        concerns = partial(how.concerns, text.encode(errors="replace"))
        _add_file(path, documents.scan_text(text, str(path)), _patches_near(path), manifests, how, concerns)
    return manifests


def _patches_near(path: Path) -> Collection[Path]:
    """The files that the kustomizations near a file apply as patches."""
    near = [folder / name for folder in path.absolute().parents[:_NEAR] for name in KUSTOMIZATIONS]
    return {patch for file in near if file.is_file() for patch in _patches(file, documents.scan_file(file))}


def as_manifests(scan: Scan) -> Manifests:
    """What a named file holds: all of it has to be manifests."""
    found = Manifests()
    _add(scan, found, lenient=False)
    return found


def _add_standard_input(how: Reading, found: Manifests) -> None:
    """Read standard input as bytes, because the locale may decode it wrongly."""
    if sys.stdin is None:
        found.problems.append(Problem("stdin", "", "cannot be read: it is closed"))
        return
    content = sys.stdin.buffer.read()
    scan = documents.decode(content, "stdin")
    _add(scan, found, lenient=how.lenient, concerns=partial(how.concerns, content), repeating=how.repeating)


def _add_folder(folder: Path, how: Reading, found: Manifests) -> None:
    """Read the manifests below a folder, in order."""
    files = sorted(_files(folder, how, found))
    if how.strict:
        for path in files:
            _add(documents.scan_file(path), found, lenient=False)
        return
    found.kustomizations += [path for path in files if path.name in KUSTOMIZATIONS]
    scans = {path: documents.scan_file(path) for path in how.progress(files)}
    patches = {each for path in files if path.name in KUSTOMIZATIONS for each in _patches(path, scans[path])}
    for path, scan in scans.items():
        _add_file(path, scan, patches, found, how)


def _add_file(
    path: Path,
    scan: Scan,
    patches: Collection[Path],
    found: Manifests,
    how: Reading,
    concerns: Callable[[], bool] | None = None,
) -> None:
    """Add what a file holds, unless it is meant for another program; ``concerns``: see :func:`_add`."""
    if path.name in KUSTOMIZATIONS:
        found.skipped["kustomization"] += 1
    elif path.resolve() in patches:
        found.skipped["kustomize patch"] += 1
    elif path.suffix == ".json" and not scan.documents and not _names_a_kind(path):
        found.skipped["not a manifest"] += 1
    else:
        _add(scan, found, lenient=True, concerns=concerns or partial(_concerns, path, how), repeating=how.repeating)


def _files(folder: Path, how: Reading, found: Manifests) -> Iterator[Path]:
    """The files below a folder with the suffix of a manifest, following links."""
    seen: set[str] = set()

    def unreadable(error: OSError) -> None:
        if error.errno == ENOENT:  # gone since its folder was read, such as a descriptor below /dev/fd
            return
        found.problems.append(Problem(str(error.filename), "", f"cannot be read: {error.strerror}"))

    try:
        boundary = Boundary(folder)
    except OSError as error:
        unreadable(error)
        return
    for here, folders, names in os.walk(folder, onerror=unreadable, followlinks=True):
        real = os.path.realpath(here)
        if real in seen:
            folders[:] = []
            continue
        seen.add(real)
        entered = sorted(name for name in folders if _enters(Path(here), name, names, how, found))
        folders[:] = [name for name in entered if _stays(Path(here, name), boundary, how, found)]
        for name in names:
            path = Path(here, name)
            if path.suffix not in _SUFFIXES and name not in KUSTOMIZATIONS:
                continue
            if name.startswith(".") and not how.strict:
                found.skipped["hidden"] += 1
            elif how.excludes(path):
                found.skipped["excluded"] += 1
            elif path.is_file() and _stays(path, boundary, how, found):
                yield path


def _stays(path: Path, boundary: Boundary, how: Reading, found: Manifests) -> bool:
    """Whether a path is within the boundary. A policy that is not read must not be missed, so that is an error."""
    if boundary.has(path):
        return True
    if how.strict:
        found.problems.append(Problem(str(path), "", "is a link that leads out of the folder: name its target instead"))
    else:
        found.skipped["link that leads out"] += 1
    return False


def _enters(here: Path, name: str, files: Sequence[str], how: Reading, found: Manifests) -> bool:
    """Whether to read a folder: not the copies of a ConfigMap (``..data``), nor hidden or excluded ones."""
    if name.startswith("..") or how.strict:
        return not name.startswith("..")
    if name == "templates" and "Chart.yaml" in files:
        _skip_templates(here, _count(here / name), found)
        return False
    reason = "hidden" if name.startswith(".") else "excluded" if how.excludes(here / name) else ""
    found.skipped.update([reason] if reason else [])
    return not reason


def _chart_of(path: Path) -> Path | None:
    """The chart whose templates a path is among."""
    for folder in (path, *path.parents):
        if folder.name == "templates" and (folder.parent / "Chart.yaml").is_file():
            return folder.parent
    return None


def _skip_templates(chart: Path, count: int, found: Manifests) -> None:
    found.skipped["Helm template"] += count
    if chart not in found.charts:
        found.charts.append(chart)


def _count(folder: Path) -> int:
    return sum(path.suffix in _SUFFIXES for path in folder.rglob("*"))


def _patches(path: Path, scan: Scan) -> Iterator[Path]:
    """The files that a kustomization applies as patches: parts of objects."""
    for document in scan.documents:
        value = document.value
        named: list[Any] = []
        for key in ("patches", "patchesJson6902", "patchesStrategicMerge"):
            items = value.get(key)
            named += items if isinstance(items, list) else []
        for item in named:
            name = item.get("path") if isinstance(item, dict) else item
            if isinstance(name, str) and "\n" not in name:
                yield (path.parent / name).resolve()


def _names_a_kind(path: Path) -> bool:
    """Whether a JSON file that cannot be read may be a manifest: configuration of other tools has comments in JSON."""
    try:
        found = content(path)
    except OSError:
        return True
    return b'"apiVersion"' in found and b'"kind"' in found


def _concerns(path: Path, how: Reading) -> bool:
    """Whether a file may hold an object to judge; one that cannot be read, or not twice, may."""
    try:
        return not path.is_file() or how.concerns(content(path))
    except OSError:
        return True


def _add(
    scan: Scan,
    found: Manifests,
    *,
    lenient: bool,
    concerns: Callable[[], bool] = lambda: True,
    repeating: bool = False,
) -> None:
    """Add what a text holds; ``concerns`` tells whether what cannot be read there may be an object to judge, and
    ``repeating`` takes objects with a key that is written twice.
    """
    faults = list(scan.problems)
    if lenient:
        found.skipped["not a manifest"] += len(scan.others)
    else:
        found.problems += scan.others
    for document in _in_order(scan):
        missing = [each for each in ("apiVersion", "kind") if not _is_named(document.value.get(each))]
        is_foreign = lenient and _is_foreign(document.value, missing)
        if document.repeats and (is_foreign or not repeating):
            faults += repeats_of(document)
            continue
        if is_foreign:
            found.skipped["not a manifest"] += 1
            continue
        where = document.where
        faults += [Problem(where, each, f"Required value{_near(each, document)}") for each in missing]
        if not missing and document.value["apiVersion"].count("/") > 1:
            faults.append(Problem(where, "apiVersion", 'expected "group/version": kubectl finds no kind'))
        elif not missing:
            found.documents.append(document)
    if faults and concerns():
        found.problems += faults
    else:
        found.unread += faults
        found.skipped["not readable"] += len(faults)
    found.skipped = +found.skipped


def _in_order(scan: Scan) -> Iterable[Document]:
    if not scan.repeating:
        return scan.documents
    return sorted([*scan.documents, *scan.repeating], key=lambda each: each.line)


def _near(key: str, document: Document) -> str:
    """Advice for a key that is written in other letters, such as ``apiversion``."""
    others = (each for each in document.value if each != key)
    wrong = next((each for each in others if each.lower().replace("_", "") == key.lower()), None)
    return "" if wrong is None else f'; the key is "{key}", not "{wrong}"'


def _is_named(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _is_foreign(value: Mapping[str, Any], missing: Sequence[str]) -> bool:
    """Whether a document is not meant for a cluster: values, workflows, Chart.yaml, files of kustomize.

    A document with one of apiVersion and kind, and with metadata or a specification, is a manifest with a fault.
    """
    if not missing:
        return str(value["apiVersion"]).startswith(_KUSTOMIZE)
    return len(missing) > 1 or not any(isinstance(value.get(part), dict) for part in ("metadata", "spec"))
