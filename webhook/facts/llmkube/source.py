"""The source of an LLMKube Model: its kind, what a web address names, and the files that a repository stages."""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from webhook.golang.strconv import SPACE

_REPOSITORY: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9\-_./@]*\Z")
_SPACE: Final = re.compile(f"[{SPACE}]")


class SourceKind(StrEnum):
    """The way in which the weights reach the runtime."""

    PVC = "pvc"
    LOCAL = "local"
    REMOTE_HTTP = "remote-http"
    HF_REPO = "hf-repo"
    UNCLASSIFIED = "unclassified"


@dataclass(slots=True)  # never changed: frozen, it would take twice as long to make
class Source:
    """A parsed source.

    ``claim`` and ``path`` are set for pvc (``path`` also for local), ``repo`` and ``revision`` for
    hf-repo; other parts are "". ``error`` says why the source can never be served, or is "".
    """

    kind: SourceKind
    claim: str = ""
    path: str = ""
    repo: str = ""
    revision: str = ""
    error: str = ""


def classify_source(source: str) -> SourceKind:
    """Return the kind of a source. ``pvc://`` and ``hf://`` must be lowercase; the other schemes may have any case."""
    folded = source[:8].lower()
    if source.startswith("pvc://"):
        return SourceKind.PVC
    if source.startswith("/") or folded.startswith("file://"):
        return SourceKind.LOCAL
    if folded.startswith(("http://", "https://")):
        return SourceKind.REMOTE_HTTP
    repository = source.removeprefix("hf://")
    if "/" in repository and _REPOSITORY.match(repository):
        return SourceKind.HF_REPO
    return SourceKind.UNCLASSIFIED


def parse_source(source: str) -> Source:
    """Parse a source by its kind; the error is the operator's own message where it rejects the source."""
    match kind := classify_source(source):
        case SourceKind.PVC:
            return parse_pvc(source)
        case SourceKind.HF_REPO:
            return parse_hf(source)
        case SourceKind.LOCAL:
            return _parse_local(source)
        case SourceKind.REMOTE_HTTP:
            return Source(kind)
    return Source(kind, error=_unclassified(source))


def parse_pvc(source: str) -> Source:
    """Parse ``pvc://claim/path/in/the/volume``."""
    claim, slash, path = source.removeprefix("pvc://").partition("/")
    return Source(SourceKind.PVC, claim=claim, path=path, error=_pvc_error(source, claim, slash, path))


def parse_hf(source: str) -> Source:
    """Parse ``[hf://]org/repo[@revision]``; the first ``@`` ends the repository."""
    repo, at, revision = source.removeprefix("hf://").partition("@")
    return Source(SourceKind.HF_REPO, repo=repo, revision=revision, error=_hf_error(source, repo, at, revision))


def cleaned(path: str) -> str:
    """An absolute path as it is compared with allowed roots: without ``.``, ``..`` and double slashes."""
    return posixpath.normpath("/" + path.lstrip("/"))  # normpath keeps two leading slashes, a POSIX freedom


def cache_key(source: str) -> str:
    """Return the cache directory of a source: the first 16 hex digits of the SHA-256 of the source as written."""
    return hashlib.sha256(source.encode(errors="surrogatepass")).hexdigest()[:16]


def quoted(text: str) -> str:
    """Quote printable text as Go's %q does. CEL has the same, but the lean reconciler must not load CEL."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _pvc_error(source: str, claim: str, slash: str, path: str) -> str:
    if not claim and not slash:
        return f"empty PVC source: {source}"
    if not slash:
        return f"PVC source must include a file path: {source} (expected pvc://claim-name/path/to/model.gguf)"
    if not claim:
        return f"PVC source has empty claim name: {source}"
    return "" if path else f"PVC source has empty file path: {source}"


def _hf_error(source: str, repo: str, at: str, revision: str) -> str:
    if not repo and not at:
        return f"empty hf repo source: {source}"
    if not repo:
        return f"empty repo ID in hf source: {source}"
    if at and not revision:
        return f"empty revision in hf source: {source}"
    return f"hf revision must not contain whitespace: {source}" if _SPACE.search(revision) else ""


def _parse_local(source: str) -> Source:
    path = source if source.startswith("/") else source[len("file://") :]
    error = "" if path.startswith("/") else f"local model source must be an absolute path: {quoted(source)}"
    return Source(SourceKind.LOCAL, path=path, error=error)


def _unclassified(source: str) -> str:
    """Describe an unclassified source. The operator only tries a download, with Go's "unsupported protocol scheme"."""
    if source.startswith("hf://") and (error := parse_hf(source).error):
        return error
    return f"neither a URL, an absolute path, pvc://claim/path nor a Hugging Face org/repo: {source}"


_ADDRESS: Final = re.compile(r"https?://(?:www\.)?(?i:huggingface\.co)/([^?#]*)")
"""The host may be in any letter case, ``www.`` may not."""


class Page(StrEnum):
    """What an address names: a repository, one file of it, the page about a file, or none of them."""

    REPOSITORY = "repository"
    FILE = "file"
    BLOB = "blob"
    OTHER = "other"
    NONE = ""


def classify_page(source: str) -> Page:
    """Return what LLMKube 0.9.13 and later see in an address; ``NONE`` if it is not of this site.

    It downloads a blob as if it were a file. Of ``OTHER``, such as data sets, it makes neither a repository nor a file.
    """
    match = _ADDRESS.match(source)
    if match is None:
        return Page.NONE
    owner, name, view, *inner = [*filter(None, match[1].split("/")), "", "", ""]
    if view in {"resolve", "blob"} and len(inner) > 4:  # a revision, a path, and the three that are added
        return Page.FILE if view == "resolve" else Page.BLOB
    return Page.REPOSITORY if name and owner not in {"datasets", "spaces"} else Page.OTHER


def served_as(source: str, since: int) -> str:
    """What a server that fetches its model gets as its name; ``since`` is the release, 13 for 0.9.13.

    From 0.9.7 to 0.9.12 that is an address, which no server takes for a repository.
    """
    if since < 7:
        return source.removeprefix("hf://")
    if since < 13:
        return fetched_from(source, since)
    repo, revision = _repository(source)
    return f"{repo}@{revision}" if repo and revision else repo or source


def fetched_from(source: str, since: int) -> str:
    """The address from which the files of a repository are fetched; any other source as it is."""
    if since < 7:
        return f"https://huggingface.co/{source[5:]}" if source.startswith("hf://") else source
    is_named = source[:5].lower() == "hf://" or (since >= 13 and classify_page(source) is Page.REPOSITORY)
    repo, revision = _repository(source) if is_named else ("", "")
    return f"https://huggingface.co/{repo}/resolve/{revision or 'main'}/" if repo else source


def _repository(source: str) -> tuple[str, str]:
    """The repository and the revision that a source names, "" without."""
    match = _ADDRESS.match(source)
    if match is None:
        hub = parse_hf(source) if classify_source(source) is SourceKind.HF_REPO else Source(SourceKind.HF_REPO)
        return ("", "") if hub.error else (hub.repo, hub.revision)
    if classify_page(source) is not Page.REPOSITORY:
        return "", ""
    owner, name, view, revision, *_ = [*filter(None, match[1].split("/")), "", ""]
    revision = revision if view in {"tree", "resolve", "blob"} else ""
    return ("", "") if _SPACE.search(revision) else (f"{owner}/{name}", revision)


def bucket_and_key(source: str) -> tuple[str, str]:
    """The bucket and the key of ``s3://bucket/key``, "" for another source."""
    bucket, _, key = source[5:].partition("/") if source[:5].lower() == "s3://" else ("", "", "")
    return (bucket, key) if bucket and key else ("", "")


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
    error = next(_source_errors(source), "")
    return FileSet(error=error) if error else staged(files, mmproj)


def staged(files: Sequence[str], mmproj: str = "") -> FileSet:
    """The file set of ``spec.files`` and ``spec.mmproj`` alone, from whichever source they come."""
    if not files and not mmproj:
        return FileSet()
    if error := next(_set_errors(files, mmproj), ""):
        return FileSet(error=error)
    return FileSet(tuple(dict.fromkeys((*files, mmproj) if mmproj else files)))


def _source_errors(source: str) -> Iterator[str]:
    if source.startswith("hf://") or classify_source(source) is SourceKind.HF_REPO:
        yield from filter(None, [parse_hf(source).error])
    if classify_source(source) is not SourceKind.HF_REPO:
        yield f"multi-file staging requires a HuggingFace repo source, but got: {source}"


def _set_errors(files: Sequence[str], mmproj: str) -> Iterator[str]:
    """Yield all errors in the order in which the operator checks."""
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
