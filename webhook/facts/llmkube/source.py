"""Where the weights of an LLMKube Model come from: the classes of ``spec.source`` and what each one names.

Behaviour of the operator before 0.9.6: no s3, and a Hugging Face web address is a URL like any other.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

__all__ = ["Source", "SourceKind", "cache_key", "classify_source", "parse_hf", "parse_pvc", "parse_source", "quoted"]

_REPOSITORY: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9\-_./@]*\Z")
# strings.TrimSpace and unicode.IsSpace of Go, which str.isspace exceeds by four separators
_SPACE: Final = re.compile("[\t\n\v\f\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")


class SourceKind(StrEnum):
    """How the weights get to the runtime."""

    PVC = "pvc"
    LOCAL = "local"
    REMOTE_HTTP = "remote-http"
    HF_REPO = "hf-repo"
    UNCLASSIFIED = "unclassified"


@dataclass(frozen=True, slots=True)
class Source:
    """A source taken apart.

    ``claim`` and ``path`` belong to pvc (``path`` also to local), ``repo`` and ``revision`` to
    hf-repo; a part that the kind does not have is "". ``error`` says why the source can never
    be served, "" where it can.
    """

    kind: SourceKind
    claim: str = ""
    path: str = ""
    repo: str = ""
    revision: str = ""
    error: str = ""


def classify_source(source: str) -> SourceKind:
    """The one class a source belongs to. ``pvc://`` and ``hf://`` are lowercase, the other schemes any case."""
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
    """The source by its class, with the operator's own words where it will refuse it."""
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
    """``pvc://claim/path/in/the/volume``."""
    claim, slash, path = source.removeprefix("pvc://").partition("/")
    return Source(SourceKind.PVC, claim=claim, path=path, error=_pvc_error(source, claim, slash, path))


def parse_hf(source: str) -> Source:
    """``[hf://]org/repo[@revision]``; the first ``@`` ends the repository."""
    repo, at, revision = source.removeprefix("hf://").partition("@")
    return Source(SourceKind.HF_REPO, repo=repo, revision=revision, error=_hf_error(source, repo, at, revision))


def cache_key(source: str) -> str:
    """The cache directory of a source: 16 hex digits of the SHA-256 of its text, exactly as written."""
    return hashlib.sha256(source.encode(errors="surrogatepass")).hexdigest()[:16]


def quoted(text: str) -> str:
    """``text`` as Go's %q prints it, as far as printable text goes; that of CEL would be no lean reconciler's."""
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
    """Our own words: the operator tries a download and reports Go's "unsupported protocol scheme"."""
    if source.startswith("hf://") and (error := parse_hf(source).error):
        return error
    return f"neither a URL, an absolute path, pvc://claim/path nor a Hugging Face org/repo: {source}"
