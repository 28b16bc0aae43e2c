"""The files of a repository that an LLMKube Model of several files stages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from webhook.facts.llmkube.source import SourceKind, classify_source, parse_hf, quoted

__all__ = ["FileSet", "resolve_fileset"]

_GLOB: Final = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class FileSet:
    """The files to stage, in order and without duplicates; the runtime gets the first one.

    Empty for a model of one file, which its source names. ``error`` is the message with which the
    operator rejects the set (InvalidFileSet), or "".
    """

    staged: tuple[str, ...] = ()
    error: str = ""


def resolve_fileset(source: str, files: Sequence[str], mmproj: str = "") -> FileSet:
    """Resolve ``spec.source``, ``spec.files`` and ``spec.mmproj`` to a file set; the first error found is its error."""
    if not files and not mmproj:
        return FileSet()
    if error := next(_errors(source, files, mmproj), ""):
        return FileSet(error=error)
    return FileSet(tuple(dict.fromkeys((*files, mmproj) if mmproj else files)))


def _errors(source: str, files: Sequence[str], mmproj: str) -> Iterator[str]:
    """Yield all errors in the order in which the operator checks."""
    if source.startswith("hf://") or classify_source(source) is SourceKind.HF_REPO:
        yield from filter(None, [parse_hf(source).error])
    if classify_source(source) is not SourceKind.HF_REPO:
        yield f"multi-file staging requires a HuggingFace repo source, but got: {source}"
    if not files:
        yield "spec.files must include a primary model file when spec.mmproj is set"
    for index, name in enumerate(files):
        yield from _file_errors(name, "resolve file" if index else "resolve primary file")
    if mmproj and not _relative(mmproj):
        yield f"spec.mmproj: invalid repo-relative path {quoted(mmproj)}"
    if _GLOB.search(mmproj):
        yield f"spec.mmproj must be a concrete repo-relative path, got glob {quoted(mmproj)}"


def _file_errors(name: str, step: str) -> Iterator[str]:
    if not _relative(name):
        yield f"{step} {quoted(name)}: invalid repo-relative path {quoted(name)}"
    if _GLOB.search(name):
        yield (
            f"glob pattern {quoted(name)} requires repository file listing, which is unavailable in production: "
            "use explicit file paths"
        )


def _relative(name: str) -> bool:
    return bool(name) and not name.startswith("/") and ".." not in name
