"""The definitions of each release of an upstream, and their digests."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from tools.follow.history import Release
from webhook.admission.errors import Problem, SettingsError
from webhook.cli.input.repository import Entry
from webhook.library.apiserver import is_definition
from webhook.manifests import documents
from webhook.manifests.documents import Document
from webhook.schema import SchemaError, load_crd
from webhook.schema.crd.digest import digest

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
    ``accepted``: digests of definitions that need no check, which takes ten times as long as to read them.
    ``unknown``: by name, the first release with a definition that is neither.
    """

    globs: Sequence[str]
    followed: Sequence[str]
    others: Sequence[str]
    accepted: Collection[str] = ()
    unknown: dict[str, str] = field(default_factory=dict)
    _read: dict[str, list[Defined]] = field(default_factory=dict)

    def of(self, release: Release) -> dict[str, Defined]:
        """The definitions of a release that are followed, by name.

        Raises:
            LoadError: a file cannot be read, an API server refuses a definition, or two define one name.
        """
        found: dict[str, Defined] = {}
        for each in self._defined(release):
            if each.name in self.followed:
                if found.setdefault(each.name, each).digest != each.digest:
                    message = f"defines {each.name} in another way than {found[each.name].file}"
                    raise SettingsError([Problem(f"{release.commit.name}:{each.file}", "", message)])
            elif not any(fnmatchcase(each.name, other) for other in self.others):
                self.unknown.setdefault(each.name, release.name)
        return found

    def _defined(self, release: Release) -> Iterator[Defined]:
        entries = release.entries(self.globs)
        new = [each for each in entries if each.id not in self._read]
        for entry, (name, content) in zip(new, release.read(new), strict=True):
            self._read[entry.id] = list(self._definitions(entry, name, content))
        return (defined for entry in entries for defined in self._read[entry.id])

    def _definitions(self, entry: Entry, name: str, content: bytes) -> Iterator[Defined]:
        scan = documents.decode(content, name)
        if scan.faults:
            raise SettingsError(scan.faults)
        for document in (each for each in scan.documents if is_object(each) and is_definition(each.value)):
            where = f"{name}:{document.line}"
            try:
                defined = Defined(
                    document.value["metadata"]["name"], entry.path, digest(document.value), document.value
                )
                if defined.name in self.followed and defined.digest not in self.accepted:
                    load_crd(document.value)
            except (KeyError, TypeError):
                raise SettingsError([Problem(where, "metadata.name", "a definition must have a name")]) from None
            except ValueError as error:
                raise SettingsError([Problem(where, "", str(error))]) from None
            except SchemaError as error:
                found = [Problem(where, each.field, each.body()) for each in error.errors]
                raise SettingsError(found) from None
            yield defined


def is_object(document: Document) -> bool:
    """Whether a document names its kind, as an object of Kubernetes does."""
    return all(isinstance(document.value.get(key), str) for key in ("apiVersion", "kind"))
