"""`--what-if`: a change of what decides, such as the next release of an operator."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from webhook.admission import GroupVersionKind
from webhook.admission.errors import CatalogError, Problem, SettingsError
from webhook.catalog import UNKNOWN, Catalog, api_folders
from webhook.cli import choices
from webhook.cli.input.definitions import defined
from webhook.cli.shell.parser import Flags, nearest
from webhook.library.apiserver import is_definition, kind_of, read_definitions
from webhook.library.judge import is_policy
from webhook.library.rulings import JudgedAs
from webhook.manifests.documents import Document
from webhook.manifests.folders import read_all
from webhook.policy import Profile

FORMATS: Final = ("text", "json", "github", "markdown", "html")
"""The formats of a difference; a table is text, too."""

_FLAG: Final = "--what-if"
_WORDS: Final = {
    "release": "release=API=RELEASE",
    "profile": f"profile={'|'.join(Profile)}",
    "policies": "policies=DIR",
    "crds": "crds=FILE",
    "enforcement": "enforcement=PATH",
}
"""What can be changed, each with how it is written."""

_UNFIT: Final = {
    "fix": "edits the files, and a change of what decides leaves them as they are",
    "diff": "prints what is filled in now; the report of a change has what is filled in otherwise",
    "git": "compares the files with those of a commit, not two judgements of the same files",
}
"""Flags that do not go with a change, each with the reason."""


def add_what_if(flags: Flags) -> None:
    """Declare the flag."""
    flags.add_argument(
        _FLAG,
        action="append",
        default=[],
        metavar="WORD=VALUE",
        help="judge twice, as the other flags say and with this change, and print the difference: "
        f"{', '.join(_WORDS.values())}; repeatable, all together are one change",
    )


def must_fit(options: argparse.Namespace) -> None:
    """Refuse flags that do not go with a change.

    Raises:
        SettingsError: with each of them.
    """
    if not options.what_if:
        return
    unfit = {name: why for name, why in _UNFIT.items() if vars(options).get(name)}
    problems = [Problem(f"--{name}", "", f"{why}: remove it, or {_FLAG}") for name, why in unfit.items()]
    if options.output not in (*FORMATS, "table"):
        text = f"{options.output} is not a format of {_FLAG}: use {', '.join(FORMATS)}"
        problems.append(Problem("--output", "", text))
    if problems:
        raise SettingsError(problems)


@dataclass(frozen=True, slots=True)
class WhatIf:
    """What is to be different: releases by API, the profile, folders of rules, definitions, and how strict rules are.

    A folder takes the place of the given ones with the same APIs, a definition that of all others of its kind, and an
    Enforcement or PolicyException that of the one of its name.
    The definitions of an API whose release is named are those that Modelgate has for that release.
    """

    releases: tuple[tuple[str, str], ...] = ()
    profiles: tuple[str, ...] = ()
    packs: tuple[Path, ...] = ()
    crds: tuple[Path, ...] = ()
    enforcement: tuple[Path, ...] = ()

    @classmethod
    def of(cls, words: Iterable[str]) -> WhatIf:
        """The change that the values of the flag name.

        Raises:
            SettingsError: with every mistake: an unknown word or profile, no value, or two changes of one thing.
        """
        parts = [each.partition("=") for each in words]
        problems = [Problem(_FLAG, "", text) for word, _, value in parts if (text := _mistake(word, value))]
        values = {name: [value for word, _, value in parts if word == name] for name in _WORDS}
        pairs = [each.partition("=")[::2] for each in values["release"]]
        changed = [f"the release of {api[:60]}" for api, _ in pairs]
        changed += ["the profile" for _ in values["profile"]]
        files = ("policies", "crds", "enforcement")
        changed += [f"{name}={value[:200]}" for name in files for value in values[name]]
        twice = sorted({text for text in changed if changed.count(text) > 1})
        problems += [Problem(_FLAG, "", f"{text} is changed twice: give one change of it") for text in twice]
        if problems:
            raise SettingsError(problems)
        return cls(tuple(pairs), tuple(values["profile"]), *(tuple(map(Path, values[name])) for name in files))

    def applied(self, options: argparse.Namespace) -> argparse.Namespace:
        """The options with this change.

        Raises:
            SettingsError: a flag of the options has an invalid value.
        """
        changed = argparse.Namespace(**vars(options))
        if self.releases:
            changed.releases = {**dict(choices.chosen(options).releases), **dict(self.releases)}
        changed.profile = next(iter(self.profiles), options.profile)
        changed.packs = [*_without(options.packs, self.packs), *self.packs]
        changed.instead = (*options.instead, Instead.of(self.crds, self.releases, self.enforcement))
        return changed

    def texts(self, releases: Iterable[tuple[JudgedAs, JudgedAs]], profile: str) -> Iterator[str]:
        """What is changed, each with what it was: ``LLMKube 0.9.5 (the documented release) → LLMKube 0.9.19``.

        ``releases`` are those by which the objects are judged before and after, and ``profile`` is that before.
        """
        named, judged = dict(self.releases), set[str]()
        for before, after in releases:
            judged.add(after.api)
            if before.release != after.release:
                yield f"{before} → {after.release}"
            elif after.api in named:
                yield f"{after.release}, as now"
        yield from (f"release {api}={release}" for api, release in self.releases if api not in judged)
        for other in self.profiles:
            yield f"profile {other}, as now" if other == profile else f"profile {profile} → {other}"
        yield from (f"policies {folder}" for folder in self.packs)
        yield from (f"crds {file}" for file in self.crds)
        yield from (f"enforcement {path}" for path in self.enforcement)


class Instead(NamedTuple):
    """What decides instead of what a tree or a cluster has: files of definitions, those that Modelgate has for the
    releases of ``apis``, and files of Enforcements, PolicyExceptions and the Namespaces that these select.
    """

    crds: Sequence[Path] = ()
    apis: Collection[str] = ()
    enforcement: Sequence[Path] = ()

    @classmethod
    def of(cls, crds: Iterable[Path], releases: Iterable[tuple[str, str]], enforcement: Sequence[Path] = ()) -> Instead:
        """These files, and the definitions of these releases; of an unknown release there is none."""
        return cls(tuple(crds), frozenset(api for api, release in releases if release != UNKNOWN), enforcement)

    def applied(self, catalog: Catalog, beside: Sequence[Document], *parts: Sequence[Document]) -> Parts:
        """The definitions ``beside`` the objects, and other documents, without what is replaced; the first of them also
        with the files of definitions.

        Raises:
            CatalogError: a definition cannot be used.
        """
        if not self.crds and not self.apis:
            return beside, *parts
        crds = read_definitions(self.crds)
        kinds = {(gvk.group, gvk.kind) for gvk in catalog.kinds if catalog.uncompiled(gvk).api in self.apis}
        kinds |= {defined(each.value) for each in crds}
        beside, *rest = (_others(part, kinds) for part in (beside, *parts))
        return [*beside, *crds], *rest


Parts = tuple[Sequence[Document], ...]


def replaced(
    instead: Iterable[Instead], catalog: Catalog, beside: Sequence[Document], *parts: Sequence[Document]
) -> Parts:
    """The documents after all replacements, the last one of which decides.

    Raises:
        CatalogError: a definition cannot be used.
    """
    given: Parts = (beside, *parts)
    for each in instead:
        given = each.applied(catalog, *given)
    return given


def with_policies(instead: Iterable[Instead], documents: Iterable[Document]) -> list[Document]:
    """The documents with the policies of all changes, as if these were applied: each in the place of that of its name.

    Raises:
        CatalogError: a path has no policy.
        DocumentError: it cannot be read.
    """
    decides = [*documents]
    for path in (path for change in instead for path in change.enforcement):
        given = [document for document in read_all([path]) if _bears_on_policies(document.value)]
        if not any(is_policy(document.value) for document in given):
            raise CatalogError([Problem(str(path), "", "has no Enforcement and no PolicyException")])
        names = {_identity(document) for document in given}
        decides = [*(document for document in decides if _identity(document) not in names), *given]
    return decides


def _bears_on_policies(value: dict[str, Any]) -> bool:
    return is_policy(value) or kind_of(value) == GroupVersionKind("", "v1", "Namespace")


def _identity(document: Document) -> tuple[str, str, str]:
    gvk, metadata = kind_of(document.value), document.value.get("metadata")
    return gvk.group, gvk.kind, str(metadata.get("name") if isinstance(metadata, dict) else metadata)


def _others(documents: Iterable[Document], kinds: Collection[tuple[str, str]]) -> list[Document]:
    """The documents without the definitions of these kinds."""
    return [each for each in documents if not (is_definition(each.value) and defined(each.value) in kinds)]


def _mistake(word: str, value: str) -> str:
    """What is wrong with a word and its value; "" if nothing is."""
    if word not in _WORDS:
        unknown = f"there is no change {word[:60]!r}{nearest(word, list(_WORDS))}"
        return f"{unknown.rstrip('?')}; write {', '.join(_WORDS.values())}"
    if word == "profile" and value not in [*Profile]:
        return f"there is no profile {value[:60]!r}; use {', '.join(Profile)}"
    api, _, release = value.partition("=")
    if not value or (word == "release" and not (api and release)):
        return f"{word}={value[:60]} names no {word}; write it as {_WORDS[word]}"
    return ""


def _without(packs: Iterable[Path], changed: Iterable[Path]) -> Iterator[Path]:
    """The folders without the APIs that the changed ones have, too."""
    taken = {api.name for folder in changed for api in _apis(folder)}
    for folder in packs:
        apis = _apis(folder)
        left = [api for api in apis if api.name not in taken]
        yield from (left if len(left) < len(apis) else [folder])


def _apis(folder: Path) -> list[Path]:
    """The folders of APIs in one that a user gives; none if it does not exist, which loading it says."""
    return [Path(str(api)) for api in api_folders(folder.resolve())] if folder.is_dir() else []
