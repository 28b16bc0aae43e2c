"""The definitions of each release of an upstream, and their digests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from tools.follow.history import Release
from webhook.admission.errors import Problem, SettingsError
from webhook.cli.input.repository import Entry
from webhook.manifests import documents
from webhook.offline import is_definition
from webhook.schema.digest import digest

__all__ = ["Defined", "Reader"]

Definition = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Defined:
    """A definition of a release; ``file`` is where it stands."""

    name: str
    file: str
    digest: str
    value: Definition = field(repr=False)


@dataclass(slots=True)
class Reader:
    """Reads releases; a file that many of them have is read once.

    ``globs`` match the files. ``followed`` are names of definitions, ``others`` those that do not matter, with ``*``.
    ``unknown``: by name, the first release with a definition that is neither.
    """

    globs: Sequence[str]
    followed: Sequence[str]
    others: Sequence[str]
    unknown: dict[str, str] = field(default_factory=dict)
    _read: dict[str, list[Defined]] = field(default_factory=dict)

    def of(self, release: Release) -> dict[str, Defined]:
        """The definitions of a release that are followed, by name.

        Raises:
            LoadError: a file cannot be read, or two define one name.
        """
        found: dict[str, Defined] = {}
        entries = release.entries(self.globs)
        new = [each for each in entries if each.id not in self._read]
        for entry, (name, content) in zip(new, release.read(new), strict=True):
            self._read[entry.id] = list(_definitions(entry, name, content))
        for each in (defined for entry in entries for defined in self._read[entry.id]):
            if each.name in self.followed:
                if each.name in found and found[each.name].digest != each.digest:
                    message = f"defines {each.name} in another way than {found[each.name].file}"
                    raise SettingsError([Problem(each.file, "", message)])
                found[each.name] = each
            elif not any(fnmatchcase(each.name, other) for other in self.others):
                self.unknown.setdefault(each.name, release.name)
        return found


def _definitions(entry: Entry, name: str, content: bytes) -> Iterator[Defined]:
    scan = documents.decode(content, name)
    if scan.faults:
        raise SettingsError(scan.faults)
    for document in scan.documents:
        value = document.value
        if isinstance(value.get("apiVersion"), str) and isinstance(value.get("kind"), str) and is_definition(value):
            try:
                yield Defined(str(value["metadata"]["name"]), entry.path, digest(value), value)
            except (KeyError, TypeError, ValueError) as error:
                raise SettingsError([Problem(f"{name}:{document.line}", "", _reason(error))]) from None


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, ValueError) else "the definition has no metadata.name"
