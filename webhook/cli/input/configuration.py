"""`.modelgate.yaml`: the flags of `check`, `normalise`, `explain` and `scan` for a repository.

With ``--git`` the files may be a stranger's, so the configuration is that of the commit, and so are the definitions,
policies and existing objects that it or a flag names.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from webhook.admission.errors import Problem, SettingsError
from webhook.catalog import UNKNOWN
from webhook.cli.output import say
from webhook.cli.shell.parser import Flags
from webhook.facts.settings import Behaviour, Settings, operator_pairs
from webhook.manifests.files import Contents, content, top_of

if TYPE_CHECKING:
    from webhook.cli.input.configurationfile import Configuration
    from webhook.cli.input.repository import Commit

FILE: Final = ".modelgate.yaml"
_SINGLE: Final = (
    "references",
    "fail_on",
    "docs_url",
    "unknown_kinds",
    "min_checked",
    "strict",
    "load_restrictor",
    "pins",
)
"""Keys with one value that are named as their flags."""


_OF_OPERATORS: Final = ("releases", "operators")
"""Settings that the configuration has by API, beside those of behaviour."""


class _File(NamedTuple):
    """A configuration: its place in the working tree, its name in messages, and its text.

    ``inside`` is the repository, which its paths must not leave; None for a file that the user names and is in none.
    """

    path: Path
    name: str
    text: bytes
    inside: Path | None = None


def add_arguments(flags: Flags) -> None:
    flags.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help=f"configuration (default: {FILE} in this folder, or in one above it within the repository)",
    )
    flags.add_argument("--no-config", action="store_true", help=f"read no {FILE}")
    flags.add_argument(
        "--untrusted",
        action="store_true",
        help=f"the FILEs are a stranger's: read no {FILE}, and judge by no definition among them that replaces one of "
        "Modelgate. With --git, which reads both at the commit, it is not needed",
    )


def configured(options: argparse.Namespace) -> argparse.Namespace:
    """The options, completed from the configuration; ``commit`` is that of --git, or None.

    What makes the check weaker is told on standard error.

    Raises:
        SettingsError: the configuration has a mistake, or --git names no commit of the repository.
    """
    given = vars(options)
    given["commit"] = commit = _commit(given.get("git"), given["files"])
    file = _file(options, commit)
    found = _read(file)
    if file is not None and found is not None:
        _tell(file.name, _weaker(found, options))
    if found is not None and found.operators and given.get("operators"):
        given["operators"] = _joined(given["operators"], found)
    for name, value in _choices(found):
        if given.get(name) is None:
            given[name] = value
    for name in ("exclude", "ignore"):
        given[name] = [*(given.get(name) or ()), *(getattr(found, name) if found else ())]
    given["substitute"] = {**(found.substitute if found else {}), **(given.get("substitute") or {})}
    _add_paths(options, file, found)
    for name in ("view", "crds"):
        given[name] = [_at(path, commit) for path in given[name]]
    if given.get("admission_policies") is not None:
        given["admission_policies"] = _at(given["admission_policies"], commit)
    return options


def _joined(flags: Sequence[str], file: Configuration) -> list[tuple[str, Any]]:
    """The settings of operators by flags, and those of the configuration that no flag sets.

    Raises:
        SettingsError: a flag is not read.
    """
    try:
        return [*{**dict(file.operators or ()), **dict(operator_pairs(flags))}.items()]
    except ValueError as error:
        raise SettingsError([Problem("--set", "", str(error))]) from None


def packs(options: argparse.Namespace) -> list[Path]:
    """The folders of rules of --policies, and those of the configuration here or above, for a command about rules.

    Raises:
        SettingsError: the configuration has a mistake, or is another user's.
    """
    file = _nearest(_places())
    found = _read(file)
    return list(options.packs) if file is None or found is None else _with_packs(options, file, found)


def _with_packs(options: argparse.Namespace, file: _File, found: Configuration) -> list[Path]:
    return [*options.packs, *(_inside(file.path.parent / each, "policies", file) for each in found.policies)]


def _commit(revision: str | None, paths: Sequence[Path]) -> Commit | None:
    if revision is None:
        return None
    from webhook.cli.input.repository import Repository  # noqa: PLC0415 - only --git needs it

    return Repository.of(paths).commit(revision)


def _at(path: Path, commit: Commit | None) -> Path | Contents:
    """What a path holds at the commit; the path itself if no commit has it."""
    if commit is None or str(path) == "-":
        return path
    found = commit.contents(path)
    if found is None:
        commit.must_not_lack(path)
    return found or path


def _add_paths(options: argparse.Namespace, file: _File | None, found: Configuration | None) -> None:
    """Add the paths of the configuration, which are relative to it."""
    if file is None or found is None:
        return
    folder = file.path.parent
    options.view = [*options.view, *(_inside(folder / each, "view", file) for each in found.view)]
    options.crds = [*options.crds, *(_inside(folder / each, "crds", file) for each in found.crds)]
    if found.policies and options.commit is not None:
        message = "are not read at a commit; give them by --policies"
        raise SettingsError([Problem(str(file.name), "policies", message)])
    options.packs = _with_packs(options, file, found)
    if options.admission_policies is None and found.admission_policies is not None:
        options.admission_policies = _inside(folder / found.admission_policies, "admissionPolicies", file)


def _inside(path: Path, key: str, file: _File) -> Path:
    """The path, if it does not leave the repository: findings quote what is read.

    Raises:
        SettingsError: it does.
    """
    if file.inside is not None and not Path(os.path.realpath(path)).is_relative_to(file.inside):
        message = f"{path} is outside of {file.inside}: name it on the command line"
        raise SettingsError([Problem(file.name, key, message)])
    return path


def _file(options: argparse.Namespace, commit: Commit | None) -> _File | None:
    """The configuration that counts.

    Raises:
        SettingsError: it cannot be read, or is another user's.
    """
    if options.config is not None:
        return _named(options.config, commit)
    if options.no_config:
        return None
    places = _places()
    if options.untrusted and commit is None:
        for each in filter(os.path.lexists, places):
            say(f"{each}: not used: the files are a stranger's (--untrusted)", sys.stderr)
        return None
    if commit is not None:
        return _committed([each for each in places if each.is_relative_to(commit.repository.top)], commit)
    return _nearest(places)


def _places() -> list[Path]:
    """Where a configuration may be, the nearest place first."""
    here = Path.cwd()
    top = top_of(here) or here
    return [each / FILE for each in (here, *here.parents) if each.is_relative_to(top)]


def _nearest(places: Sequence[Path]) -> _File | None:
    path = next(filter(os.path.lexists, places), None)
    if path is None:
        return None
    text = _text(path)
    _check_owner(path, places[0].parent)
    return _File(path, str(path), text, places[-1].parent)


def _named(path: Path, commit: Commit | None) -> _File:
    inside = top_of(path.parent.resolve())
    found = _at(path, commit)
    if isinstance(found, Contents):
        return _File(path, *found.files[0], inside)
    return _File(path, str(path), _text(path), inside)


def _committed(places: Iterable[Path], commit: Commit) -> _File | None:
    """The nearest configuration at a commit."""
    for path in places:
        if found := commit.contents(path):
            return _File(path, *found.files[0], commit.repository.top)
        if os.path.lexists(path):
            say(f"{path}: not used: {commit.name} has no such configuration", sys.stderr)
    return None


def _text(path: Path) -> bytes:
    try:
        return content(path)
    except OSError as error:
        raise SettingsError([Problem(str(path), "", f"cannot be read: {error.strerror}")]) from None


def _check_owner(path: Path, here: Path) -> None:
    """Refuse a configuration of another user, who may write to a folder above, such as /tmp.

    Files of a container's volume all belong to the user outside of it, as the current folder does.
    """
    if path.stat().st_uid not in {0, os.geteuid(), here.stat().st_uid}:
        message = "belongs to another user: name it by --config, or use --no-config"
        raise SettingsError([Problem(str(path), "", message)])


def _read(file: _File | None) -> Configuration | None:
    if file is None:
        return None
    from webhook.cli.input.configurationfile import read  # noqa: PLC0415 - most folders have none

    return read(file.text, file.name)


def _choices(content: Configuration | None) -> Iterator[tuple[str, Any]]:
    """The options with one value, by the names of their flags."""
    yield "profile", content.profile.value if content and content.profile else None
    for name in _SINGLE:
        yield name, content and getattr(content, name)
    for each in fields(Settings):
        value = content and getattr(content if each.name in _OF_OPERATORS else content.settings, each.name)
        yield each.name, value.value if isinstance(value, Behaviour) else value


def _weaker(found: Configuration, options: argparse.Namespace) -> Iterator[str]:
    """What of the configuration makes the check weaker, and no flag overrules."""
    given = vars(options)
    if found.fail_on == "never" and given.get("fail_on") is None:
        yield "failOn: never"
    if found.profile == "audit" and given.get("profile") is None:
        yield "profile: audit"
    if found.references == "open" and given.get("references") is None and (found.view or given.get("view")):
        yield "references: open"
    unknown = [api for api, release in (found.releases or {}).items() if release == UNKNOWN]
    if unknown and given.get("releases") is None:
        yield f"releases: {', '.join(unknown)} unknown"
    for name in ("exclude", "ignore"):
        if values := getattr(found, name):
            words = (value if isinstance(value, str) else ", ".join(value.codes) for value in values)
            yield f"{name}: {', '.join(words)}"


def _tell(name: str, weaker: Iterable[str]) -> None:
    if text := "; ".join(weaker):
        say(f"{name}: this configuration makes the check weaker: {text}", sys.stderr)
