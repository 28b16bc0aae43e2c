"""The Git repository of files. It is read without running a program that its content could name.

The files of a working tree may be a stranger's: a folder among them can look like a bare repository, with a
configuration that names programs. So Git does not look for a repository itself: it is found once, as the nearest folder
with a `.git`, and every call names it and its working tree. Configurations of the system and the user are not read,
nothing is fetched, and what a repository's own configuration could run is switched off.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple, NoReturn

from webhook.admission.errors import Problem, SettingsError
from webhook.manifests.documents import Document
from webhook.manifests.files import Contents, top_of

__all__ = ["Commit", "Repository", "surroundings"]

_SECONDS: Final = 120
"""Reading the trees of the largest repositories takes seconds."""
_LINKS: Final = "120000"
_FILES: Final = "100"
"""The start of the modes of regular files: 100644 and 100755."""

_SETTINGS: Final = {
    "safe.bareRepository": "explicit",
    "protocol.allow": "never",
    "core.alternateRefsCommand": "false",
    "core.askPass": "false",
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.pager": "cat",
    "core.sshCommand": "false",
    "credential.helper": "",
}
"""They count more than the repository's own configuration."""
_ENVIRONMENT: Final = {
    "GIT_ALLOW_PROTOCOL": "none",  # counts more than any configuration of a protocol
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}
_NO_CONFIGURATION: Final = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "HOME": "/"}


class Entry(NamedTuple):
    """A file at a commit; ``path`` is relative to the top of the working tree."""

    mode: str
    id: str
    path: str


@dataclass(frozen=True, slots=True)
class Repository:
    """``top`` is the top of the working tree, ``folder`` the repository itself."""

    top: Path
    folder: Path

    @classmethod
    def of(cls, paths: Sequence[Path]) -> Repository:
        """The repository of the current folder, or of the first path if that is elsewhere.

        Raises:
            SettingsError: there is none, Git does not open it, or it belongs to another working tree.
        """
        top = top_of(Path.cwd())
        first = next((path.resolve() for path in paths if str(path) != "-"), Path.cwd())
        if top is None or not first.is_relative_to(top):
            top = top_of(first)
        if top is None:
            _fail(f"{first} is in no Git repository")
        return cls.at(top)

    @classmethod
    def at(cls, top: Path) -> Repository:
        """The repository of a working tree, by the top of the tree.

        Raises:
            SettingsError: Git does not open it, or it belongs to another working tree.
        """
        folder = _opened(top)
        if not _belongs(folder, top):
            _fail(f"{top / '.git'} names {folder}, which is not the repository of this folder: use a clone")
        return cls(top, folder)

    def commit(self, revision: str) -> Commit:
        """The commit of a revision.

        Raises:
            SettingsError: Git does not know it.
        """
        arguments = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"]
        done = self.git(arguments)
        if done.returncode:
            shallow = self.git(["rev-parse", "--is-shallow-repository"]).stdout.strip() == b"true"
            fetch = "; the clone is shallow: fetch more (fetch-depth: 0 of actions/checkout, GIT_DEPTH: 0 of GitLab)"
            _fail(f"{self.top}: Git knows no commit {revision!r} there{fetch if shallow else ''}")
        return Commit(self, revision, done.stdout.decode().strip())

    def place(self, path: Path) -> str | None:
        """The path relative to the top, "" for the top itself; None if it is in another repository, or in none.

        Links in the tree are not followed: a stranger could let them lead to another file of the commit.
        """
        whole = Path(os.path.abspath(path))  # noqa: PTH100 - it follows no link
        top = next((each for each in (whole, *whole.parents) if each.resolve() == self.top), None)
        if top is None or any(os.path.lexists(each / ".git") for each in _between(whole, top)):
            return None
        return "" if whole == top else whole.relative_to(top).as_posix()

    def git(self, arguments: Sequence[str], given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        """Run Git in this repository."""
        named = [f"--git-dir={self.folder}", f"--work-tree={self.top}", "--literal-pathspecs"]
        return _run([*named, *arguments], surroundings(**_ENVIRONMENT, **_NO_CONFIGURATION), given)


@dataclass(frozen=True, slots=True)
class Commit:
    """``name`` is the revision as the user gives it, ``id`` the commit."""

    repository: Repository
    name: str
    id: str

    def files(self, *paths: Path) -> list[Entry]:
        """The files at paths, or below them, in their order.

        Raises:
            SettingsError: a path is not in the repository, or Git cannot read the commit.
        """
        places = {path: self.repository.place(path) for path in paths}
        for path, place in places.items():
            if place is None:
                _fail(
                    f"{path} is not in the repository {self.repository.top}, or in one of its own: run modelgate there"
                )
        wanted = [] if "" in places.values() else [each for each in places.values() if each]
        found = self._read(["ls-tree", "-r", "-z", "--full-tree", self.id, "--", *wanted]) if places else b""
        return [_entry(line) for line in os.fsdecode(found).split("\0") if line]

    def origin(self, document: Document) -> tuple[str, Path | None]:
        """The source and the kustomization of the same document at this commit."""
        built = None if document.built is None else self.repository.place(document.built)
        return f"{self.name}:{self.repository.place(Path(document.source))}", None if built is None else Path(built)

    def mentions(self, names: Sequence[str]) -> bool:
        """Whether a file has one of these names in it."""
        patterns = [part for name in names for part in ("-e", name)]
        search = ["grep", "--quiet", "-I", "--ignore-case", "--fixed-strings", "--no-recurse-submodules"]
        return bool(names) and not self.repository.git([*search, *patterns, self.id, "--"]).returncode

    def read(self, entries: Iterable[Entry]) -> Iterator[tuple[str, bytes]]:
        """The name, such as ``origin/main:manifests/model.yaml``, and the content of files.

        Raises:
            SettingsError: Git cannot read one.
        """
        wanted = [each for each in entries if each.mode.startswith(_FILES)]
        found = self._read(["cat-file", "--batch"], "".join(f"{each.id}\n" for each in wanted).encode())
        start = 0
        for each in wanted:
            end = found.find(b"\n", start)
            head = found[start:end].split()
            if head[1:2] != [b"blob"]:
                _fail(f"{self.name}:{each.path} is not in this clone: fetch it without a filter")
            start = end + 1 + int(head[2]) + 1
            yield f"{self.name}:{each.path}", found[end + 1 : start - 1]

    def contents(self, path: Path) -> Contents | None:
        """What is at a path; None if the commit does not have it.

        Raises:
            SettingsError: it is a symbolic link, or Git cannot read it.
        """
        place = self.repository.place(path)
        entries = [] if place is None else self.files(path)
        for each in entries:
            if each.mode == _LINKS:
                _fail(f"{self.name}:{each.path} is a symbolic link, which is not followed there")
        return Contents(f"{self.name}:{place}", tuple(self.read(entries))) if entries else None

    def must_not_lack(self, path: Path) -> None:
        """Refuse a path that this commit does not have and HEAD has: it is part of the change.

        Raises:
            SettingsError: it is so.
        """
        if self.repository.place(path) is not None and self.repository.commit("HEAD").files(path):
            _fail(f"{path} is not at {self.name}, whose configuration, definitions and policies count")

    def _read(self, arguments: Sequence[str], given: bytes = b"") -> bytes:
        done = self.repository.git(arguments, given)
        if done.returncode:
            _fail(f"Git cannot read {self.name}: {_said(done)}")
        return done.stdout


def _between(path: Path, top: Path) -> Iterator[Path]:
    """The path and the folders above it, below the top."""
    return (each for each in (path, *path.parents) if each != top and each.is_relative_to(top))


def _entry(line: str) -> Entry:
    about, _, path = line.partition("\t")
    mode, _, identity = about.split(" ")
    return Entry(mode, identity, path)


def _opened(top: Path) -> Path:
    """The repository of a working tree, if Git opens it: it must belong to this user, or be a safe.directory.

    Only that question needs the user's own configuration, which Git reads from HOME. A HOME in the tree does not count.
    """
    named = {key: os.environ.get(key, "") for key in ("HOME", "XDG_CONFIG_HOME", "SUDO_UID")}
    own = {key: value for key, value in named.items() if value and not Path(value).resolve().is_relative_to(top)}
    ceiling = {"GIT_CEILING_DIRECTORIES": str(top.parent)}
    done = _run(["-C", str(top), "rev-parse", "--absolute-git-dir"], surroundings(**_ENVIRONMENT, **ceiling, **own))
    if done.returncode:
        _fail(f"Git does not open {top}: {_said(done)}")
    return Path(os.fsdecode(done.stdout.rstrip(b"\n")))


def _belongs(folder: Path, top: Path) -> bool:
    """Whether a repository is that of a working tree. A `.git` that is a file can name any folder.

    The repository of a linked working tree names its `.git`, and that of a submodule its working tree.
    """
    named = top / ".git"
    if not named.is_symlink() and named.is_dir():
        return folder == named
    if folder.is_relative_to(top):
        return False
    try:
        back = Path(folder, (folder / "gitdir").read_text().strip())
    except (OSError, ValueError):
        done = _run(["config", "--file", str(folder / "config"), "core.worktree"], surroundings(**_NO_CONFIGURATION))
        return Path(folder, os.fsdecode(done.stdout.strip())).resolve() == top
    return back.name == ".git" and back.parent.resolve() == top


def _run(
    arguments: Sequence[str], environment: Mapping[str, str], given: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    settings = [part for key, value in _SETTINGS.items() for part in ("-c", f"{key}={value}")]
    command = ["git", "--no-pager", *settings, *arguments]
    try:
        return subprocess.run(  # noqa: S603 - Git, without a shell
            command, input=given, capture_output=True, check=False, env=dict(environment), timeout=_SECONDS
        )
    except FileNotFoundError:
        _fail("git is not installed")
    except subprocess.TimeoutExpired:
        _fail(f"git takes longer than {_SECONDS} s")


def _said(done: subprocess.CompletedProcess[bytes]) -> str:
    return " ".join(done.stderr.decode(errors="replace").split())[:300] or "no reason is given"


def _fail(message: str) -> NoReturn:
    raise SettingsError([Problem("--git", "", message)])


def surroundings(**more: str) -> dict[str, str]:
    """The environment: the absolute folders of PATH, and ``more``.

    A relative folder of PATH would be one of the tree that is checked.
    """
    folders = [each for each in os.environ.get("PATH", os.defpath).split(os.pathsep) if Path(each).is_absolute()]
    return {"PATH": os.pathsep.join(folders), "LC_ALL": "C.UTF-8", **more}
