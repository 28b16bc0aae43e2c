"""The source of the weights of an LLMKube Model: the kinds of ``spec.source`` and their parts.

As the operator before 0.9.6: s3 is not supported, and a Hugging Face web address is a URL like any other.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from webhook.golang.strconv import SPACE

__all__ = ["Source", "SourceKind", "cache_key", "classify_source", "parse_hf", "parse_pvc", "parse_source", "quoted"]

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
